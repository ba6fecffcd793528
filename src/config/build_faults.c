/* Faults with hints: where a key belongs, which name is near. */
#include "config/build_faults.h"
#include "config/option.h"
#include "config/options.h"
#include "config/suggest.h"

#define entry_fault(draft, d, e, ...)                                                                                  \
	faults_add((draft)->faults, (e)->place.file, (e)->place.line, (d)->title, (e)->key, __VA_ARGS__)

/* The kind of section that has such an option; NULL: none. */
static const struct options_kind *owning_kind(struct slice key)
{
	for (size_t i = 0; i < CONFIG_KIND_COUNT; i++)
		if (options_find(options_kinds[i].options, key))
			return &options_kinds[i];
	return NULL;
}

/* The handler that has such an option; its data is NULL when there is none. */
static struct slice owning_handler(const struct config_handlers *handlers, struct slice key)
{
	for (const char *at = handlers->names; at && *at; at += strspn(at, " ")) {
		struct slice word = {at, strcspn(at, " ")};
		const char *reason = NULL;
		char name[64];
		at += word.length;
		if (word.length >= sizeof name)
			continue;
		snprintf(name, sizeof name, "%.*s", SLICE_ARGS(word));
		const struct mlserve_option *table = handlers->find(handlers->context, name, &reason);
		if (table && options_find(table, key))
			return word;
	}
	return SLICE_NONE;
}

static void offer_table(struct suggestion *near, const struct mlserve_option *table)
{
	for (; table && table->name; table++)
		suggest_offer(near, slice_of(table->name));
}

static void fault_unknown(struct draft *draft, const struct draft_section *d, const struct draft_entry *e,
        const struct mlserve_option *more)
{
	struct suggestion near;
	const char *kind = options_kinds[d->kind].name;
	suggest_begin(&near, slice_of(e->key));
	offer_table(&near, options_kinds[d->kind].options);
	offer_table(&near, more);
	struct slice best = suggest_best(&near);
	if (best.data)
		entry_fault(draft, d, e, "is not known; did you mean %.*s? allowed: see mlserve --help-config %s",
		        SLICE_ARGS(best), kind);
	else
		entry_fault(draft, d, e, "is not known; allowed: see mlserve --help-config %s", kind);
}

/* Without a handler, what some handler has may be right. */
static bool may_be_handlers(const struct draft_section *d, struct slice owner)
{
	const struct draft_entry *handler = draft_find_entry(d, "handler");
	bool module = handler && handler->value && strchr(handler->value, '/');
	return owner.data || module || (handler && !handler->value);
}

void build_fault_key(struct draft *draft, const struct draft_section *d, const struct draft_entry *e,
        const struct mlserve_option *more, const struct config_handlers *handlers)
{
	struct slice key = slice_of(e->key), owner = owning_handler(handlers, key);
	const struct options_kind *kind = owning_kind(key);
	if (d->kind == CONFIG_ROUTE && !more && may_be_handlers(d, owner))
		return;
	if (d->kind == CONFIG_ROUTE && owner.data)
		entry_fault(draft, d, e,
		        "belongs to handler %.*s, this route's handler is %s; allowed: see mlserve --help-config",
		        SLICE_ARGS(owner), draft_find_entry(d, "handler")->value);
	else if (kind)
		entry_fault(draft, d, e, "belongs to [%s%s]; allowed: see mlserve --help-config %s", kind->name,
		        kind->named ? " NAME" : "", options_kinds[d->kind].name);
	else if (owner.data)
		entry_fault(draft, d, e,
		        "belongs to a [route NAME] whose handler is %.*s; allowed: see mlserve --help-config %s",
		        SLICE_ARGS(owner), options_kinds[d->kind].name);
	else
		fault_unknown(draft, d, e, more);
}

void build_fault_handler(struct draft *draft, const struct draft_section *d, const struct draft_entry *handler,
        const struct config_handlers *handlers, const char *reason)
{
	struct suggestion near;
	if (reason) {
		entry_fault(draft, d, handler, "%s: %s", handler->value, reason);
		return;
	}
	suggest_begin(&near, slice_of(handler->value));
	suggest_offer_words(&near, handlers->names);
	struct slice best = suggest_best(&near);
	if (best.data)
		entry_fault(draft, d, handler,
		        "\"%s\" is not known; did you mean %.*s? allowed: %s or the path of a .so module",
		        handler->value, SLICE_ARGS(best), handlers->names);
	else
		entry_fault(draft, d, handler, "\"%s\" is not known; allowed: %s or the path of a .so module",
		        handler->value, handlers->names);
}

bool build_fault_table(struct draft *draft, const struct draft_section *d, const struct draft_entry *handler,
        const struct mlserve_option *table)
{
	const struct mlserve_option *option = NULL;
	const char *wrong = options_unsound(table, &option);
	for (const struct mlserve_option *o = table; !wrong && o->name; o++) {
		if (options_find(options_route, slice_of(o->name))) {
			option = o;
			wrong = "has the name of an option that every route has";
		}
	}
	if (wrong)
		entry_fault(draft, d, handler, "%s: its option %s %s", handler->value, option->name, wrong);
	return wrong != NULL;
}

void build_fault_name(const struct config *config, const struct mlserve_settings *s, const struct setting *setting,
        size_t item, enum config_kind kind, const char *name)
{
	struct suggestion near;
	struct place place = settings_place(s, setting, item);
	const char *kind_name = options_kinds[kind].name;
	suggest_begin(&near, slice_of(name));
	for (size_t i = 0; i < config->counts[kind]; i++)
		suggest_offer(&near, slice_of(config->sections[kind][i]->name));
	struct slice best = suggest_best(&near);
	if (best.data)
		faults_add(config->faults, place.file, place.line, s->title, setting->option->name,
		        "no [%s %s]; did you mean [%s %.*s]?", kind_name, name, kind_name, SLICE_ARGS(best));
	else
		faults_add(config->faults, place.file, place.line, s->title, setting->option->name,
		        "no [%s %s]; allowed: the name of %s", kind_name, name,
		        config->counts[kind] ? "one that there is" : "one; there is none yet");
}
