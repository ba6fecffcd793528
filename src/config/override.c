/* Overrides: taken apart by the first dot and the last one before '=', then put into the draft. */
#include "config/override.h"
#include "config/options.h"

struct override {
	struct slice kind, name, key, value;
};

static const struct place override_place = {OVERRIDE_FILE, 0};

/* false: not of the form kind[.name].key=value. */
static bool split(struct slice text, struct override *ret)
{
	const char *equals = text.length ? memchr(text.data, '=', text.length) : NULL;
	if (!equals)
		return false;
	struct slice left = slice_trim((struct slice){text.data, (size_t)(equals - text.data)});
	const char *first = left.length ? memchr(left.data, '.', left.length) : NULL;
	const char *last = left.length ? memrchr(left.data, '.', left.length) : NULL;
	if (!first || first == left.data || last + 1 == left.data + left.length)
		return false;
	ret->kind = (struct slice){left.data, (size_t)(first - left.data)};
	ret->name = last > first ? (struct slice){first + 1, (size_t)(last - first) - 1} : SLICE_NONE;
	ret->key = slice_from(left, (size_t)(last + 1 - left.data));
	ret->value = slice_trim(slice_from(text, (size_t)(equals - text.data) + 1));
	return true;
}

static void fault(struct draft *d, const char *text, const char *wrong)
{
	faults_add(d->faults, OVERRIDE_FILE, 0, NULL, NULL, "%s: %s", text, wrong);
}

/* The section meant, made when there is none. NULL: reported. */
static struct draft_section *find_section(struct draft *d, const char *text, const struct override *o)
{
	enum config_kind kind;
	if (!options_kind_find(o->kind, &kind)) {
		draft_fault_kind(d, override_place, o->kind);
		return NULL;
	}
	const char *wrong = draft_name_fault(kind, o->name);
	if (wrong) {
		fault(d, text, wrong);
		return NULL;
	}
	struct draft_section *section = draft_find_section(d, kind, o->name);
	return section ? section : draft_add_section(d, kind, o->name, override_place);
}

static void apply(struct draft *d, const char *text)
{
	struct override o;
	if (!split(slice_of(text), &o)) {
		fault(d, text, "not understood; allowed: kind.key=value or kind.name.key=value");
		return;
	}
	struct draft_section *section = find_section(d, text, &o);
	if (!section)
		return;
	if (section->kind == CONFIG_SERVER && slice_equal(o.key, SLICE("include"))) {
		fault(d, text, "includes are read before this; allowed: in the file");
		return;
	}
	draft_drop_file_entries(section, o.key);
	draft_add_entry(d, section, o.key, &o.value, override_place);
}

void override_apply(struct draft *d, const char *const *texts, size_t count)
{
	if (count)
		faults_file(d->faults, OVERRIDE_FILE);
	for (size_t i = 0; i < count; i++)
		apply(d, texts[i]);
}
