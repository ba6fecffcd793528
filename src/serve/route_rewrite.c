/* Reading of such texts, and writing what comes of them. The result is normalised by whoever asks. */
#include "serve/route_rewrite.h"
#include "http/byte.h"
#include "http/uri.h"
#include "serve/route_match.h"
#include "serve/route_path.h"
#include <stdlib.h>

struct piece {
	struct slice literal;
	unsigned group; /* behind it; 0: none */
};

struct route_rewrite {
	size_t count; /* at least 1 */
	char *memory; /* of the literals */
	struct piece pieces[];
};

/* ---- reading -------------------------------------------------------------------------- */

/* Of one text, while it is read. */
struct reading {
	const struct mlserve_settings *settings;
	const char *option;
	const pcre2_code *regex; /* NULL: the path is no expression */
	struct route_rewrite *rewrite;
	size_t used; /* of the memory */
};

static size_t count_dollars(struct slice text)
{
	size_t count = 0;
	for (size_t i = 0; i < text.length; i++)
		count += text.data[i] == '$';
	return count;
}

static struct route_rewrite *create(struct slice text)
{
	struct route_rewrite *r = calloc(1, sizeof *r + (count_dollars(text) + 1) * sizeof *r->pieces);
	if (!r || !(r->memory = malloc(text.length + 1)))
		route_rewrite_free(&r);
	return r;
}

void route_rewrite_free(struct route_rewrite **r)
{
	if (!*r)
		return;
	free((*r)->memory);
	free(*r);
	*r = NULL;
}

/* What stands at a '$': how long it is, and the name in ${name} or its digit. 0: no capture. */
static size_t capture_at(struct slice text, struct slice *ret_name)
{
	if (text.length >= 2 && text.data[1] >= '1' && text.data[1] <= '9') {
		*ret_name = (struct slice){text.data + 1, 1};
		return 2;
	}
	const char *close = text.length >= 2 && text.data[1] == '{' ? memchr(text.data, '}', text.length) : NULL;
	if (!close)
		return 0;
	*ret_name = (struct slice){text.data + 2, (size_t)(close - text.data) - 2};
	return ret_name->length ? (size_t)(close - text.data) + 1 : 0;
}

/* By its number or name; 0: there is none. */
static unsigned find_group(const pcre2_code *regex, struct slice name, bool is_number)
{
	unsigned number = (unsigned)(name.data[0] - '0');
	if (!is_number)
		return route_regex_group(regex, name);
	return number <= route_regex_group_count(regex) ? number : 0;
}

/* The group of the capture at the front of `text`; 0: a fault was reported. */
static unsigned read_group(const struct reading *r, struct slice text, size_t *ret_length)
{
	struct slice name, shown = {text.data, text.length < 12 ? text.length : 12};
	size_t length = capture_at(text, &name);
	unsigned group = length && r->regex ? find_group(r->regex, name, length == 2) : 0;
	*ret_length = length;
	if (!length)
		mlserve_setting_fault(r->settings, r->option, 0,
		        "\"%.*s\" is no capture; allowed: $1 to $9, ${name}, and $$ for a dollar", SLICE_ARGS(shown));
	else if (!r->regex)
		mlserve_setting_fault(r->settings, r->option, 0,
		        "%.*s is a capture, but the path of this route is no regular expression; allowed: "
		        "path = ~ expression, or $$ for a dollar",
		        (int)length, text.data);
	else if (!group)
		mlserve_setting_fault(r->settings, r->option, 0,
		        "%.*s is no group of the path's expression; allowed: groups that it has, as $1 to $9 or "
		        "${name}",
		        (int)length, text.data);
	return group;
}

static void add(struct reading *r, struct piece *piece, struct slice text)
{
	char *to = r->rewrite->memory + r->used;
	memcpy(to, text.data, text.length);
	if (!piece->literal.data)
		piece->literal.data = to;
	piece->literal.length += text.length;
	r->used += text.length;
}

static bool read_pieces(struct reading *r, struct slice rest)
{
	struct piece *piece = r->rewrite->pieces;
	r->rewrite->count = 1;
	while (rest.length) {
		const char *dollar = memchr(rest.data, '$', rest.length);
		size_t length = dollar ? (size_t)(dollar - rest.data) : rest.length;
		add(r, piece, (struct slice){rest.data, length});
		rest = slice_from(rest, length);
		if (rest.length == 0)
			break;
		if (slice_starts(rest, SLICE("$$"))) {
			add(r, piece, SLICE("$"));
			rest = slice_from(rest, 2);
			continue;
		}
		piece->group = read_group(r, rest, &length);
		if (!piece->group)
			return false;
		rest = slice_from(rest, length);
		piece++;
		r->rewrite->count++;
	}
	return true;
}

/* What no request's path could hold, whatever the captures are; NULL: nothing. */
static const char *literal_fault(struct slice literal)
{
	for (size_t i = 0; i < literal.length; i++) {
		const char *at = literal.data + i, *end = literal.data + literal.length;
		char byte;
		if (*at == '?')
			return "holds a '?', but the query goes on as it came; allowed: a path, and %3F for a '?' "
			       "within";
		if (*at == '%' && (!byte_read_escape(at, end, &byte) || byte == 0))
			return "has a bad escape; allowed: a path, and %25 for '%' itself";
		if (*at != '%' && *at != '/' && !byte_is(*at, BYTE_PLAIN))
			return "holds a byte that a path cannot; allowed: escapes such as %20";
	}
	return NULL;
}

static const char *find_fault(const struct route_rewrite *r)
{
	struct slice start = r->pieces[0].literal;
	const char *wrong = NULL;
	if (start.length ? start.data[0] != '/' : r->count == 1)
		return "does not begin with /; allowed: a path such as /new/$1";
	for (size_t i = 0; !wrong && i < r->count; i++)
		wrong = literal_fault(r->pieces[i].literal);
	return wrong;
}

/* Whatever the captures are. */
static bool has_dot_segment(const struct route_rewrite *r)
{
	struct slice whole = {NULL, 1};
	for (size_t i = 0; i < r->count; i++)
		whole.length += r->pieces[i].literal.length + 1;
	char *to = malloc(whole.length * 2), *at = to, *normal = to + whole.length;
	if (!to)
		return false;
	*at++ = '/';
	for (size_t i = 0; i < r->count; i++) {
		struct slice literal = r->pieces[i].literal;
		if (literal.length)
			memcpy(at, literal.data, literal.length);
		at += literal.length;
		if (r->pieces[i].group)
			*at++ = 'x';
	}
	whole = (struct slice){to, (size_t)(at - to)};
	/* Escaped ones are gone, or out of the root, once it is normal. */
	size_t length;
	bool has_any = uri_has_dot_segment(whole) || !uri_normalise(whole, normal, &length);
	free(to);
	return has_any;
}

static bool check(const struct reading *r)
{
	const char *wrong = find_fault(r->rewrite);
	if (!wrong && has_dot_segment(r->rewrite))
		wrong = "holds a dot segment; allowed: a path without . and .. in it, such as /new/$1";
	if (wrong)
		mlserve_setting_fault(r->settings, r->option, 0, "%s", wrong);
	return !wrong;
}

bool route_rewrite_read(
        const struct mlserve_settings *s, const char *option, struct slice text, struct route_rewrite **ret_rewrite)
{
	struct slice path;
	bool has_regex = route_path_split(slice_of(mlserve_setting_text(s, "path")), &path) == PATH_REGEX;
	/* What is wrong with the path is told where it is read. */
	pcre2_code *regex = has_regex ? route_regex_compile(NULL, NULL, 0, path) : NULL;
	struct reading r = {.settings = s, .option = option, .regex = regex, .rewrite = create(text)};
	bool fine = has_regex == (regex != NULL) && r.rewrite && read_pieces(&r, text) && check(&r);
	pcre2_code_free(regex);
	if (fine)
		*ret_rewrite = r.rewrite;
	else
		route_rewrite_free(&r.rewrite);
	return fine;
}

/* ---- rewriting ------------------------------------------------------------------------ */

bool route_rewrite_has_captures(const struct route_rewrite *r)
{
	return r->count > 1;
}

struct slice route_rewrite_start(const struct route_rewrite *r)
{
	return r->pieces[0].literal;
}

static struct slice capture(const struct piece *p, const struct route_match *m, struct slice path)
{
	return p->group ? route_match_group(m, path, p->group) : SLICE_NONE;
}

size_t route_rewrite_length(const struct route_rewrite *r, const struct route_match *m, struct slice path)
{
	size_t length = 0;
	for (size_t i = 0; i < r->count; i++)
		length += r->pieces[i].literal.length + capture(&r->pieces[i], m, path).length;
	return length;
}

static char *append(char *to, struct slice s)
{
	if (s.length)
		memcpy(to, s.data, s.length);
	return to + s.length;
}

void route_rewrite_write(const struct route_rewrite *r, const struct route_match *m, struct slice path, char *to)
{
	for (size_t i = 0; i < r->count; i++)
		to = append(append(to, r->pieces[i].literal), capture(&r->pieces[i], m, path));
}
