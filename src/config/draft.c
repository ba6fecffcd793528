/* Building and searching of drafts. */
#include "config/draft.h"
#include "config/options.h"
#include "config/suggest.h"

void draft_init(struct draft *d, struct arena *arena, struct faults *faults)
{
	*d = (struct draft){.arena = arena, .faults = faults, .last = &d->first};
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
	       c == '.';
}

const char *draft_name_fault(enum config_kind kind, struct slice name)
{
	if (name.length && !options_kinds[kind].named)
		return "such a section has no name";
	if (name.length == 0 && options_kinds[kind].named)
		return "such a section needs a name: letters, digits, - _ .";
	for (size_t i = 0; i < name.length; i++)
		if (!is_name_byte(name.data[i]))
			return "a byte that is not allowed in a name; allowed: letters, digits, - _ .";
	return NULL;
}

struct draft_section *draft_add_section(struct draft *d, enum config_kind kind, struct slice name, struct place place)
{
	struct draft_section *s = arena_alloc(d->arena, sizeof *s);
	char *title = arena_format(d->arena, "%s%s%.*s", options_kinds[kind].name, name.length ? " " : "",
	        (int)name.length, name.length ? name.data : "");
	char *copy = arena_text(d->arena, name);
	if (!s || !title || !copy) {
		d->exhausted = true;
		return NULL;
	}
	*s = (struct draft_section){.kind = kind, .name = copy, .title = title, .place = place, .last = &s->first};
	*d->last = s;
	d->last = &s->next;
	return s;
}

struct draft_entry *draft_add_entry(
        struct draft *d, struct draft_section *s, struct slice key, const struct slice *value, struct place place)
{
	struct draft_entry *e = arena_alloc(d->arena, sizeof *e);
	char *key_copy = arena_text(d->arena, key);
	char *value_copy = value ? arena_text(d->arena, *value) : NULL;
	if (!e || !key_copy || (value && !value_copy)) {
		d->exhausted = true;
		return NULL;
	}
	*e = (struct draft_entry){.key = key_copy, .value = value_copy, .place = place};
	*s->last = e;
	s->last = &e->next;
	return e;
}

struct draft_section *draft_find_section(const struct draft *d, enum config_kind kind, struct slice name)
{
	for (struct draft_section *s = d->first; s; s = s->next)
		if (s->kind == kind && slice_equal(slice_of(s->name), name))
			return s;
	return NULL;
}

const struct draft_entry *draft_find_entry(const struct draft_section *s, const char *key)
{
	for (const struct draft_entry *e = s->first; e; e = e->next)
		if (strcmp(e->key, key) == 0)
			return e;
	return NULL;
}

void draft_drop_file_entries(struct draft_section *s, struct slice key)
{
	for (struct draft_entry **link = &s->first; *link;) {
		struct draft_entry *e = *link;
		if (e->place.line && slice_equal(slice_of(e->key), key))
			*link = e->next;
		else
			link = &e->next;
	}
	s->last = &s->first;
	while (*s->last)
		s->last = &(*s->last)->next;
}

void draft_fault_kind(struct draft *d, struct place place, struct slice kind)
{
	struct suggestion near;
	suggest_begin(&near, kind);
	for (size_t i = 0; i < CONFIG_KIND_COUNT; i++)
		suggest_offer(&near, slice_of(options_kinds[i].name));
	struct slice best = suggest_best(&near);
	const char *allowed = "allowed: server, log, listener NAME, route NAME, upstream NAME";
	if (best.data)
		faults_add(d->faults, place.file, place.line, NULL, NULL,
		        "no such section: [%.*s]; did you mean [%.*s]? %s", SLICE_ARGS(kind), SLICE_ARGS(best),
		        allowed);
	else
		faults_add(d->faults, place.file, place.line, NULL, NULL, "no such section: [%.*s]; %s",
		        SLICE_ARGS(kind), allowed);
}
