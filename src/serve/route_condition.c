/* Conditions: NAME, NAME=VALUE, NAME~REGEX, with ! in front for not. */
#include "serve/route_condition.h"
#include "base/check.h"
#include "http/byte.h"
#include "http/query.h"
#include "serve/route.h"

enum condition_test { TEST_PRESENT, TEST_EQUAL, TEST_REGEX };

struct route_condition {
	const char *option;
	bool is_query, is_negated;
	enum condition_test test;
	enum field_id field; /* of a header */
	struct slice name, value;
	pcre2_code *regex;
};

/* ---- reading -------------------------------------------------------------------------- */

static bool is_name(bool is_query, struct slice name)
{
	if (name.length == 0 || name.data[0] == '!')
		return false;
	if (!is_query)
		return byte_is_token(name);
	for (size_t i = 0; i < name.length; i++)
		if (name.data[i] == ' ' || name.data[i] == '\t' || name.data[i] == '&')
			return false;
	return true;
}

/* Cuts the name off. */
static enum condition_test split(struct slice text, struct slice *ret_name, struct slice *ret_value)
{
	size_t length = 0;
	while (length < text.length && text.data[length] != '=' && text.data[length] != '~')
		length++;
	*ret_name = (struct slice){text.data, length};
	*ret_value = SLICE_NONE;
	if (length == text.length)
		return TEST_PRESENT;
	*ret_value = slice_from(text, length + 1);
	return text.data[length] == '=' ? TEST_EQUAL : TEST_REGEX;
}

static bool read_condition(
        struct route_condition *c, const struct mlserve_settings *s, size_t item, const char *written)
{
	struct slice text = slice_of(written);
	c->is_negated = slice_starts(text, SLICE("!"));
	c->test = split(slice_from(text, c->is_negated ? 1 : 0), &c->name, &c->value);
	c->field = field_id_of(c->name);
	if (!is_name(c->is_query, c->name)) {
		mlserve_setting_fault(s, c->option, item,
		        "\"%s\" names no %s; allowed: NAME, NAME=VALUE or NAME~REGEX, with ! in front for not", written,
		        c->is_query ? "parameter" : "header field");
		return false;
	}
	if (c->test == TEST_EQUAL && !c->is_query && slice_trim(c->value).length != c->value.length) {
		mlserve_setting_fault(s, c->option, item,
		        "\"%s\" begins its value with a blank, which no field's value does; write %s%.*s=%.*s", written,
		        c->is_negated ? "!" : "", SLICE_ARGS(c->name), SLICE_ARGS(slice_trim(c->value)));
		return false;
	}
	if (c->test == TEST_REGEX && c->value.length == 0) {
		mlserve_setting_fault(s, c->option, item,
		        "\"%s\" has no regular expression behind ~; allowed: NAME~REGEX, or NAME for any value",
		        written);
		return false;
	}
	if (c->test == TEST_REGEX)
		c->regex = route_regex_compile(s, c->option, item, c->value);
	return c->test != TEST_REGEX || c->regex;
}

static bool read_all(struct route_conditions *all, const struct mlserve_settings *s, const char *option, bool is_query)
{
	const char *const *texts;
	size_t count = mlserve_setting_list(s, option, &texts);
	bool fine = true;
	for (size_t i = 0; i < count; i++) {
		struct route_condition *c = &all->items[all->count++];
		c->option = option;
		c->is_query = is_query;
		fine = read_condition(c, s, i, texts[i]) && fine;
	}
	return fine;
}

static bool read_methods(struct arena *arena, const struct mlserve_settings *s, struct route_methods *ret)
{
	const char *const *names;
	size_t count = mlserve_setting_list(s, "if_method", &names);
	struct route_methods methods = {.items = arena_alloc(arena, count * sizeof *methods.items)};
	bool fine = methods.items != NULL;
	for (size_t i = 0; methods.items && i < count; i++) {
		const char *wrong = route_methods_wrong(slice_of(names[i]));
		if (wrong)
			mlserve_setting_fault(
			        s, "if_method", i, "%s is %s; allowed: methods such as GET HEAD", names[i], wrong);
		else if (!route_methods_have(&methods, slice_of(names[i])))
			methods.items[methods.count++] = slice_of(names[i]);
		fine = fine && !wrong;
	}
	*ret = methods;
	return fine;
}

bool route_conditions_read(struct arena *arena, const struct mlserve_settings *s, struct route_conditions *ret)
{
	const char *const *texts;
	size_t most = mlserve_setting_list(s, "if_header", &texts) + mlserve_setting_list(s, "if_query", &texts);
	*ret = (struct route_conditions){.items = arena_alloc(arena, most * sizeof *ret->items)};
	if (!ret->items)
		return false;
	bool fine = read_methods(arena, s, &ret->methods);
	fine = read_all(ret, s, "if_header", false) && fine;
	return read_all(ret, s, "if_query", true) && fine;
}

void route_conditions_fini(struct route_conditions *all)
{
	for (size_t i = 0; i < all->count; i++)
		pcre2_code_free(all->items[i].regex);
	all->count = 0;
}

/* ---- comparing -------------------------------------------------------------------------- */

static bool is_same(const struct route_condition *a, const struct route_condition *b)
{
	bool same_name = a->is_query ? slice_equal(a->name, b->name) : slice_equal_nocase(a->name, b->name);
	return a->is_query == b->is_query && same_name && a->is_negated == b->is_negated && a->test == b->test &&
	       slice_equal(a->value, b->value);
}

static bool has(const struct route_conditions *all, const struct route_condition *c)
{
	for (size_t i = 0; i < all->count; i++)
		if (is_same(&all->items[i], c))
			return true;
	return false;
}

bool route_conditions_within(const struct route_conditions *a, const struct route_conditions *b)
{
	for (size_t i = 0; i < a->count; i++)
		if (!has(b, &a->items[i]))
			return false;
	for (size_t i = 0; a->methods.count && i < b->methods.count; i++)
		if (!route_methods_have(&a->methods, b->methods.items[i]))
			return false;
	return a->methods.count == 0 || b->methods.count > 0;
}

/* ---- asking ----------------------------------------------------------------------------- */

static enum route_answer fits(
        const struct route_condition *c, struct route_match *m, struct slice value, struct route_failure *ret_failure)
{
	if (c->test == TEST_EQUAL)
		return slice_equal(c->value, value) ? ROUTE_YES : ROUTE_NO;
	if (c->test == TEST_REGEX)
		return route_match_value(m, c->regex, c->option, value, ret_failure);
	return ROUTE_YES;
}

static enum route_answer fits_parameter(
        const struct route_condition *c, struct route_match *m, struct slice raw, struct route_failure *ret_failure)
{
	if (c->test == TEST_EQUAL)
		return query_equals(raw, c->value) ? ROUTE_YES : ROUTE_NO;
	if (c->test == TEST_PRESENT || query_is_plain(raw))
		return fits(c, m, raw, ret_failure);
	char *decoded = route_match_room(m, raw.length);
	if (!decoded) {
		*ret_failure = (struct route_failure){c->option, PCRE2_ERROR_NOMEMORY};
		return ROUTE_UNSURE;
	}
	return fits(c, m, (struct slice){decoded, query_decode(raw, decoded)}, ret_failure);
}

static enum route_answer any_field_fits(const struct route_condition *c, struct route_match *m,
        const struct fields *fields, struct route_failure *ret_failure)
{
	enum route_answer best = ROUTE_NO;
	if (c->field != FIELD_OTHER && !(fields->seen & UINT32_C(1) << c->field))
		return ROUTE_NO;
	for (size_t i = 0; i < fields->count && best != ROUTE_YES; i++) {
		const struct field *f = &fields->items[i];
		if (f->id != c->field || (f->id == FIELD_OTHER && !slice_equal_nocase(f->name, c->name)))
			continue;
		enum route_answer answer = fits(c, m, f->value, ret_failure);
		best = answer > best ? answer : best;
	}
	return best;
}

static enum route_answer any_parameter_fits(
        const struct route_condition *c, struct route_match *m, struct slice query, struct route_failure *ret_failure)
{
	enum route_answer best = ROUTE_NO;
	struct slice name, value;
	while (best != ROUTE_YES && query_next(&query, &name, &value)) {
		if (!query_equals(name, c->name))
			continue;
		enum route_answer answer = fits_parameter(c, m, value, ret_failure);
		best = answer > best ? answer : best;
	}
	return best;
}

static enum route_answer holds(const struct route_condition *c, struct route_match *m,
        const struct route_request *request, struct route_failure *ret_failure)
{
	enum route_answer answer = c->is_query ? any_parameter_fits(c, m, request->query, ret_failure)
	                                       : any_field_fits(c, m, request->fields, ret_failure);
	if (!c->is_negated || answer == ROUTE_UNSURE)
		return answer;
	return answer == ROUTE_YES ? ROUTE_NO : ROUTE_YES;
}

enum route_answer route_conditions_hold(const struct route_conditions *all, struct route_match *m,
        const struct route_request *request, struct route_failure *ret_failure)
{
	enum route_answer worst = ROUTE_YES;
	if (all->methods.count && !route_methods_have(&all->methods, request->method))
		return ROUTE_NO;
	for (size_t i = 0; i < all->count && worst != ROUTE_NO; i++) {
		enum route_answer answer = holds(&all->items[i], m, request, ret_failure);
		worst = answer < worst ? answer : worst;
	}
	return worst;
}
