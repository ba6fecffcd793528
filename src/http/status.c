/* Tables of status codes and methods. */
#include "http/status.h"
#include "base/check.h"

enum { FIRST_CODE = 100, LAST_CODE = 599 };

/* By code, mostly empty: one load in the path of every answer. */
static const struct slice lines[LAST_CODE - FIRST_CODE + 1] = {
#define STATUS(code, reason) [code - FIRST_CODE] = {"HTTP/1.1 " #code " " reason "\r\n", sizeof(reason) - 1 + 15},
#include "http/statuses.def"
#undef STATUS
};

enum { REASON_OFFSET = sizeof("HTTP/1.1 200 ") - 1 };

struct slice status_line(unsigned status)
{
	if (status < FIRST_CODE || status > LAST_CODE || !lines[status - FIRST_CODE].data)
		return (struct slice){"", 0};
	return lines[status - FIRST_CODE];
}

struct slice status_reason(unsigned status)
{
	struct slice line = status_line(status);
	if (!line.length)
		return SLICE("Unknown");
	return (struct slice){line.data + REASON_OFFSET, line.length - REASON_OFFSET - 2};
}

static const struct {
	struct slice name;
	enum method method;
} methods[] = {
#define METHOD(id, name) {{name, sizeof(name) - 1}, METHOD_##id},
#include "http/methods.def"
#undef METHOD
};

enum method method_of(struct slice name)
{
	for (size_t i = 0; i < ARRAY_COUNT(methods); i++)
		if (slice_equal(methods[i].name, name))
			return methods[i].method;
	return METHOD_UNKNOWN;
}

struct slice method_name(enum method method)
{
	for (size_t i = 0; i < ARRAY_COUNT(methods) && method != METHOD_OTHER; i++)
		if (methods[i].method == method)
			return methods[i].name;
	return method == METHOD_OTHER ? SLICE("OTHER") : SLICE("UNKNOWN");
}
