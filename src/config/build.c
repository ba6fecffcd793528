/* Building of settings from a draft, section by section, then the names between sections. */
#include "config/build.h"
#include "config/build_faults.h"
#include "config/line.h"
#include "config/option.h"
#include "config/options.h"
#include "config/value_list.h"

struct build {
	struct config *config;
	struct draft *draft;
	const struct config_handlers *handlers;
};

#define entry_fault(b, d, e, ...)                                                                                      \
	faults_add((b)->draft->faults, (e)->place.file, (e)->place.line, (d)->title, (e)->key, __VA_ARGS__)

/* ---- values ---- */

static bool may_be_unset(const struct mlserve_option *o)
{
	return !o->initial && !(o->flags & MLSERVE_REQUIRED);
}

static void set_number(struct build *b, const struct draft_section *d, struct setting *s, const struct draft_entry *e)
{
	char fault[OPTION_TEXT_BYTES];
	if (!*e->value && may_be_unset(s->option))
		return;
	s->is_set = option_parse(s->option, slice_of(e->value), &s->number, fault);
	if (!s->is_set)
		entry_fault(b, d, e, "%s", fault);
}

static void set_text(struct build *b, const struct draft_section *d, struct setting *s, struct value_list *list,
        const struct draft_entry *e)
{
	if (!*e->value) {
		if (!may_be_unset(s->option))
			entry_fault(b, d, e, "is empty; allowed: a text");
		return;
	}
	s->is_set = true;
	s->text = e->value;
	if (option_is_list(s->option))
		value_list_add(list, slice_of(e->value), e->place);
}

static void set_words(struct build *b, const struct draft_section *d, struct setting *s, struct value_list *list,
        const struct draft_entry *e)
{
	if (!*e->value && (s->option->flags & MLSERVE_REQUIRED))
		entry_fault(b, d, e, "is empty; allowed: words");
	s->is_set = s->is_set || *e->value || !may_be_unset(s->option);
	value_list_add_words(list, e->value, e->place);
}

static void set_value(struct build *b, const struct draft_section *d, struct setting *s, struct value_list *list,
        const struct draft_entry *e)
{
	if (s->entry && !(s->option->flags & MLSERVE_REPEATS)) {
		if (s->entry->place.line)
			entry_fault(b, d, e, "stands already in %s:%d; allowed: once", s->entry->place.file,
			        s->entry->place.line);
		else
			entry_fault(b, d, e, "is given twice; allowed: once");
		return;
	}
	if (!s->entry)
		s->entry = e;
	if (!e->value)
		return;
	if (option_is_number(s->option))
		set_number(b, d, s, e);
	else if (s->option->type == MLSERVE_TEXT)
		set_text(b, d, s, list, e);
	else
		set_words(b, d, s, list, e);
}

static void set_default(struct setting *s, struct value_list *list, struct place place)
{
	const struct mlserve_option *o = s->option;
	char fault[OPTION_TEXT_BYTES];
	s->number = MLSERVE_AUTO_VALUE;
	if (!o->initial)
		return;
	if (option_is_number(o))
		option_parse(o, slice_of(o->initial), &s->number, fault);
	else if (o->type == MLSERVE_WORDS)
		value_list_add_words(list, o->initial, place);
	else if (option_is_list(o))
		value_list_add(list, slice_of(o->initial), place);
	else
		s->text = o->initial;
}

/* Lists become arrays, choices get their names. */
static void finish_setting(struct build *b, struct setting *s, const struct value_list *list)
{
	const struct mlserve_option *o = s->option;
	if (o->type == MLSERVE_CHOICE && (o->initial || s->is_set)) {
		s->text = arena_text(b->draft->arena, option_choice(o, s->number));
		b->draft->exhausted |= !s->text;
	}
	if (!option_is_list(o))
		return;
	s->text = NULL;
	s->item_count = list->count;
	if (!value_list_finish(list, &s->items, &s->places, o->type == MLSERVE_WORDS ? &s->text : NULL))
		b->draft->exhausted = true;
}

static void check_writable(struct build *b, const struct draft_section *d, const struct setting *s)
{
	bool each = s->option->type == MLSERVE_TEXT && option_is_list(s->option);
	bool writable = true;
	for (size_t i = 0; each && i < s->item_count; i++)
		writable = writable && line_print(NULL, d->kind, s->option->name, slice_of(s->items[i]));
	if (!each && s->text)
		writable = line_print(NULL, d->kind, s->option->name, slice_of(s->text));
	if (!writable)
		entry_fault(b, d, s->entry,
		        "no lines of a file could hold this value; allowed: no blank before ';', no control bytes, "
		        "words of up to %d bytes",
		        LINE_LIMIT - 1);
}

/* ---- sections ---- */

/* All values of one option. */
static void build_setting(struct build *b, const struct draft_section *d, struct setting *s)
{
	struct value_list list, initial;
	value_list_init(&list, b->draft->arena);
	value_list_init(&initial, b->draft->arena);
	set_default(s, &initial, d->place);
	for (const struct draft_entry *e = d->first; e; e = e->next)
		if (strcmp(e->key, s->option->name) == 0)
			set_value(b, d, s, &list, e);
	finish_setting(b, s, s->is_set ? &list : &initial);
	if (s->is_set)
		check_writable(b, d, s);
	if (!s->entry && (s->option->flags & MLSERVE_REQUIRED))
		faults_add(b->draft->faults, d->place.file, d->place.line, d->title, s->option->name,
		        "is missing; allowed: one%s",
		        s->option->flags & MLSERVE_REPEATS ? " or more values" : " value");
}

static struct setting *make_settings(
        struct build *b, const struct mlserve_option *own, const struct mlserve_option *more)
{
	size_t own_count = options_count(own), count = own_count + (more ? options_count(more) : 0);
	struct setting *settings = arena_alloc(b->draft->arena, count * sizeof *settings);
	for (size_t i = 0; settings && i < count; i++)
		settings[i].option = i < own_count ? &own[i] : &more[i - own_count];
	return settings;
}

/* The table of a route's handler; NULL: not a route, or a fault was reported, or its key is missing. */
static const struct mlserve_option *find_handler(struct build *b, const struct draft_section *d)
{
	const struct draft_entry *e = d->kind == CONFIG_ROUTE ? draft_find_entry(d, "handler") : NULL;
	const char *reason = NULL;
	if (!e || !e->value || !*e->value)
		return NULL;
	const struct mlserve_option *table = b->handlers->find(b->handlers->context, e->value, &reason);
	if (!table) {
		build_fault_handler(b->draft, d, e, b->handlers, reason);
		return NULL;
	}
	return build_fault_table(b->draft, d, e, table) ? NULL : table;
}

static void build_section(struct build *b, const struct draft_section *d, struct mlserve_settings *s)
{
	size_t faults_before = b->draft->faults->count;
	const struct mlserve_option *own = options_kinds[d->kind].options, *more = find_handler(b, d);
	*s = (struct mlserve_settings){b->config, d->kind, b->config->counts[d->kind], d->name, d->title, d->place,
	        make_settings(b, own, more), options_count(own) + (more ? options_count(more) : 0), false};
	if (!s->settings) {
		b->draft->exhausted = true;
		s->count = 0;
	}
	for (size_t i = 0; i < s->count; i++)
		build_setting(b, d, &s->settings[i]);
	for (const struct draft_entry *e = d->first; e; e = e->next)
		if (!options_find(own, slice_of(e->key)) && !(more && options_find(more, slice_of(e->key))))
			build_fault_key(b->draft, d, e, more, b->handlers);
	s->faulty = b->draft->faults->count != faults_before;
	b->config->sections[d->kind][b->config->counts[d->kind]++] = s;
}

static bool make_room(struct build *b)
{
	size_t counts[CONFIG_KIND_COUNT] = {0};
	for (const struct draft_section *d = b->draft->first; d; d = d->next)
		counts[d->kind]++;
	for (size_t kind = 0; kind < CONFIG_KIND_COUNT; kind++) {
		b->config->sections[kind] =
		        arena_alloc(b->draft->arena, (counts[kind] + 1) * sizeof(struct mlserve_settings *));
		if (!b->config->sections[kind])
			return false;
	}
	return true;
}

/* ---- names between sections ---- */

static void check_names(struct build *b, const struct mlserve_settings *s, const struct setting *setting)
{
	enum config_kind kind = setting->option->flags & MLSERVE_NAMES_LISTENER ? CONFIG_LISTENER : CONFIG_UPSTREAM;
	bool list = option_is_list(setting->option);
	size_t count = list ? setting->item_count : setting->text != NULL;
	for (size_t i = 0; i < count; i++) {
		struct slice value = slice_of(list ? setting->items[i] : setting->text), word = value;
		slice_next_word(&value, &word);
		const char *name = arena_text(b->draft->arena, word);
		if (!name)
			b->draft->exhausted = true;
		else if (!config_find(b->config, kind, name))
			build_fault_name(b->config, s, setting, i, kind, name);
	}
}

static void check_all_names(struct build *b)
{
	for (size_t kind = 0; kind < CONFIG_KIND_COUNT; kind++)
		for (size_t i = 0; i < b->config->counts[kind]; i++) {
			const struct mlserve_settings *s = b->config->sections[kind][i];
			for (size_t k = 0; k < s->count; k++)
				if (s->settings[k].option->flags & (MLSERVE_NAMES_LISTENER | MLSERVE_NAMES_UPSTREAM))
					check_names(b, s, &s->settings[k]);
		}
}

void build_config(struct config *config, struct draft *draft, const struct config_handlers *handlers)
{
	struct build b = {config, draft, handlers};
	if (!make_room(&b)) {
		draft->exhausted = true;
		return;
	}
	for (const struct draft_section *d = draft->first; d; d = d->next) {
		struct mlserve_settings *s = arena_alloc(draft->arena, sizeof *s);
		if (s)
			build_section(&b, d, s);
		else
			draft->exhausted = true;
	}
	if (!draft->exhausted)
		check_all_names(&b);
}
