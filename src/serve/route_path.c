/* Paths of routes. What the normal form is, is only known to http/uri.h; here is how to say it. */
#include "serve/route_path.h"
#include "http/byte.h"
#include "http/uri.h"
#include <stdio.h>
#include <stdlib.h>

enum route_path_kind route_path_split(struct slice text, struct slice *ret_path)
{
	*ret_path = slice_trim(text);
	if (ret_path->length < 2 || (ret_path->data[1] != ' ' && ret_path->data[1] != '\t'))
		return PATH_PREFIX;
	char sign = ret_path->data[0];
	if (sign != '=' && sign != '~')
		return PATH_PREFIX;
	*ret_path = slice_trim(slice_from(*ret_path, 1));
	return sign == '=' ? PATH_EXACT : PATH_REGEX;
}

/* Escapes what may not stand in a request's path as it is: blanks, controls, '#', '\' and what is not ASCII. `to` has
 * room for three times path.length. */
static struct slice escape(struct slice path, char *to)
{
	static const char digits[] = "0123456789ABCDEF";
	char *at = to;
	for (size_t i = 0; i < path.length; i++) {
		unsigned char byte = (unsigned char)path.data[i];
		if (byte_is(path.data[i], BYTE_PLAIN) || byte == '%' || byte == '/') {
			*at++ = path.data[i];
			continue;
		}
		*at++ = '%';
		*at++ = digits[byte >> 4];
		*at++ = digits[byte & 15];
	}
	return (struct slice){to, (size_t)(at - to)};
}

/* The normal form of a path without query, which the caller frees; length 0: there is none, or no memory. */
static struct slice normal_form(struct slice path)
{
	char *escaped = malloc(path.length * 3 + 1), *normal = malloc(path.length * 3 + 1);
	struct slice form = {normal, 0};
	if (escaped && normal && !uri_normalise(escape(path, escaped), normal, &form.length))
		form.length = 0;
	free(escaped);
	return form;
}

/* Only for what looks like a path whose '/' was forgotten, not for "=/x", "*" or "http://...". */
static void fault_slash(const struct mlserve_settings *s, const char *sign, struct slice path)
{
	bool forgotten =
	        path.length && byte_is(path.data[0], BYTE_UNRESERVED) && path.data[0] != '~' && path.data[0] != '.';
	for (size_t i = 0; i < path.length; i++)
		forgotten = forgotten && path.data[i] != ':' && path.data[i] != '?';
	char *slashed = malloc(path.length + 1);
	struct slice form = SLICE_NONE;
	if (forgotten && slashed) {
		slashed[0] = '/';
		memcpy(slashed + 1, path.data, path.length);
		form = normal_form((struct slice){slashed, path.length + 1});
	}
	mlserve_setting_fault(s, "path", 0,
	        "must begin with '/' (or be \"= /exact\" or \"~ regular expression\")%s%s%.*s",
	        form.length ? "; write " : "", form.length ? sign : "", SLICE_ARGS(form));
	free((char *)(uintptr_t)form.data);
	free(slashed);
}

static void fault_form(const struct mlserve_settings *s, const char *sign, struct slice path)
{
	const char *query = memchr(path.data, '?', path.length);
	struct slice form = normal_form(query ? (struct slice){path.data, (size_t)(query - path.data)} : path);
	if (form.length == 0)
		mlserve_setting_fault(s, "path", 0,
		        "\"%.*s\" leaves the root or has a bad escape, which requests are refused for; "
		        "allowed: a path such as /a/b%%20c, and %%25 for '%%' itself",
		        SLICE_ARGS(path));
	else if (query)
		mlserve_setting_fault(s, "path", 0,
		        "\"%.*s\" matches no request, as a query is no part of the path; "
		        "write %s%.*s (and %%3F for a '?' within a path)",
		        SLICE_ARGS(path), sign, SLICE_ARGS(form));
	else
		mlserve_setting_fault(s, "path", 0,
		        "\"%.*s\" matches no request, as their paths are normalised first; write %s%.*s",
		        SLICE_ARGS(path), sign, SLICE_ARGS(form));
	free((char *)(uintptr_t)form.data);
}

bool route_path_check(const struct mlserve_settings *s, const char *sign, struct slice path)
{
	if (uri_is_normal(path))
		return true;
	if (path.length && path.data[0] == '/')
		fault_form(s, sign, path);
	else
		fault_slash(s, sign, path);
	return false;
}

bool route_path_may_begin(const struct mlserve_settings *s, struct slice prefix)
{
	struct slice path;
	enum route_path_kind kind = route_path_split(slice_of(mlserve_setting_text(s, "path")), &path);
	if (kind == PATH_PREFIX && path.length && path.data[path.length - 1] == '/')
		path.length--;
	return kind == PATH_REGEX || uri_path_begins(path, prefix) ||
	       (kind == PATH_PREFIX && uri_path_begins(prefix, path));
}
