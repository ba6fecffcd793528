/* The input as a path, an authority and a query: what is normal stays so, and nothing comes out that should not. */
#include "http/byte.h"
#include "http/query.h"
#include "http/uri.h"
#include "pieces.h"

/* Of normalised paths: no dot segment, no empty one, no escape of what needs none. */
static void expect_normal(struct slice path)
{
	MUST(path.length > 0 && path.data[0] == '/' && uri_is_normal(path));
	for (size_t at = 0; at < path.length; at++) {
		struct slice rest = slice_from(path, at);
		MUST(!slice_starts(rest, SLICE("//")) && !slice_starts(rest, SLICE("/./")) &&
		        !slice_starts(rest, SLICE("/../")));
		MUST(!slice_equal(rest, SLICE("/.")) && !slice_equal(rest, SLICE("/..")));
		MUST(byte_is(rest.data[0], BYTE_TARGET) && rest.data[0] != '\\' && rest.data[0] != '?');
	}
}

/* As seen by somebody who decodes %2F and %5C and cuts parameters off: no segment may be "..". */
static void expect_no_hidden_dots(struct slice path)
{
	size_t length = 0, dots = 0;
	bool is_cut = false;
	for (size_t at = 0; at <= path.length; at++) {
		struct slice rest = slice_from(path, at);
		bool is_escape = slice_starts(rest, SLICE("%2F")) || slice_starts(rest, SLICE("%5C"));
		if (rest.length == 0 || is_escape || rest.data[0] == '/') {
			MUST(!(length == 2 && dots == 2));
			length = dots = 0;
			is_cut = false;
			at += is_escape ? 2 : 0;
			continue;
		}
		is_cut = is_cut || rest.data[0] == ';';
		length += !is_cut;
		dots += !is_cut && rest.data[0] == '.';
	}
}

static void expect_decoded(struct slice path)
{
	char *to = piece_copy(path.data, path.length);
	size_t length = 0;
	if (uri_decode(path, to, &length)) {
		MUST(length <= path.length);
		MUST(!memchr(to, 0, length) || memchr(path.data, 0, path.length));
	}
	free(to);
}

static void check_path(struct slice path)
{
	char *once = piece_copy(path.data, path.length);
	size_t length = 0, again_length = 0;
	bool is_good = uri_normalise(path, once, &length);
	struct slice normal = {once, length};
	MUST(uri_is_normal(path) == (is_good && slice_equal(normal, path)));
	if (is_good) {
		MUST(length <= path.length);
		expect_normal(normal);
		expect_no_hidden_dots(normal);
		char *twice = piece_copy(once, length);
		MUST(uri_normalise(normal, twice, &again_length));
		MUST(slice_equal(normal, (struct slice){twice, again_length}));
		free(twice);
		expect_decoded(normal);
	}
	free(once);
}

static void check_authority(struct slice authority)
{
	struct slice host, port;
	if (!uri_split_authority(authority, &host, &port))
		return;
	const char *end = authority.data + authority.length;
	MUST(host.length > 0 && host.data >= authority.data && host.data + host.length <= end);
	MUST(port.length <= 5 && port.data >= host.data + host.length && port.data + port.length == end);
	MUST(byte_run(port.data, end, BYTE_DIGIT) == port.length);
	MUST(!memchr(authority.data, '@', authority.length) && !memchr(authority.data, 0, authority.length));
}

static void check_parameters(struct slice query)
{
	struct slice name, value, rest = query;
	while (query_next(&rest, &name, &value)) {
		char *to = piece_copy(value.data, value.length);
		struct slice decoded = {to, query_decode(value, to)};
		MUST(!memchr(name.data, '=', name.length) && !memchr(value.data, '&', value.length));
		MUST(decoded.length <= value.length && query_equals(value, decoded));
		MUST(!query_is_plain(value) || slice_equal(value, decoded));
		free(to);
	}
}

static void check_query(struct slice query)
{
	struct slice value;
	check_parameters(query);
	if (!uri_query_value(query, SLICE("a"), &value))
		return;
	MUST(value.data >= query.data + 2 && value.data + value.length <= query.data + query.length);
	MUST(memcmp(value.data - 2, "a=", 2) == 0 && !memchr(value.data, '&', value.length));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = piece_copy(data, size);
	struct slice input = {copy, size};
	check_path(input);
	check_authority(input);
	check_query(input);
	expect_decoded(input);
	free(copy);
	return 0;
}
