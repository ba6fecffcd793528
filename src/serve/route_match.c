/* Running of PCRE2, and nothing of what its answers mean for a request. */
#include "serve/route_match.h"
#include "base/check.h"
#include <stdlib.h>

enum { GROUP_NAME_BYTES = 129 }; /* PCRE2's limit, 32 before 10.44 and 128 since, and a zero */

struct route_match {
	pcre2_match_data *path, *value;
	pcre2_match_context *context;
	pcre2_jit_stack *stack; /* NULL: there is no JIT here */
	struct slice matched;   /* the path whose groups are in `path` */
	char *room;
	size_t room_bytes;
	char reason[128];
};

/* ---- expressions -------------------------------------------------------------------- */

pcre2_code *route_regex_compile(
        const struct mlserve_settings *s, const char *option, size_t item, struct slice expression)
{
	int error;
	PCRE2_SIZE at;
	PCRE2_UCHAR message[128];
	/* Else $ would match before a line end, which values may hold that were decoded. */
	pcre2_code *code =
	        pcre2_compile((PCRE2_SPTR)expression.data, expression.length, PCRE2_DOLLAR_ENDONLY, &error, &at, NULL);
	if (code) {
		pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* where there is no JIT the interpreter serves */
	} else if (s) {
		pcre2_get_error_message(error, message, sizeof message);
		mlserve_setting_fault(s, option, item, "regular expression is wrong at byte %zu: %s", (size_t)at,
		        (const char *)message);
	}
	return code;
}

size_t route_regex_group_count(const pcre2_code *code)
{
	uint32_t count = 0;
	MUST(pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &count) == 0);
	return count;
}

unsigned route_regex_group(const pcre2_code *code, struct slice name)
{
	char text[GROUP_NAME_BYTES] = "";
	if (name.length == 0 || name.length >= sizeof text)
		return 0;
	memcpy(text, name.data, name.length);
	int number = pcre2_substring_number_from_name(code, (PCRE2_SPTR)text);
	return number > 0 ? (unsigned)number : 0;
}

/* ---- scratch memory ------------------------------------------------------------------- */

struct route_match *route_match_create(size_t group_count)
{
	/* Without a stack of its own an expression gets 32 KiB, which some need more of for the longest path. */
	enum { STACK_BYTES = 32 * 1024, STACK_MOST_BYTES = 1024 * 1024 };
	struct route_match *m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	m->path = pcre2_match_data_create((uint32_t)group_count + 1, NULL);
	m->value = pcre2_match_data_create(1, NULL);
	m->context = pcre2_match_context_create(NULL);
	m->stack = pcre2_jit_stack_create(STACK_BYTES, STACK_MOST_BYTES, NULL);
	if (!m->path || !m->value || !m->context) {
		route_match_free(&m);
		return NULL;
	}
	pcre2_jit_stack_assign(m->context, NULL, m->stack);
	return m;
}

void route_match_free(struct route_match **m)
{
	if (!*m)
		return;
	pcre2_match_data_free((*m)->path);
	pcre2_match_data_free((*m)->value);
	pcre2_match_context_free((*m)->context);
	pcre2_jit_stack_free((*m)->stack);
	free((*m)->room);
	free(*m);
	*m = NULL;
}

char *route_match_room(struct route_match *m, size_t bytes)
{
	if (bytes > m->room_bytes) {
		char *room = realloc(m->room, bytes);
		if (!room)
			return NULL;
		m->room = room;
		m->room_bytes = bytes;
	}
	return m->room;
}

/* ---- matching ------------------------------------------------------------------------- */

static enum route_answer run(struct route_match *m, pcre2_match_data *data, const pcre2_code *code, const char *option,
        struct slice subject, struct route_failure *ret_failure)
{
	/* 0: there was a match, and more groups than have room. */
	int result = pcre2_match(code, (PCRE2_SPTR)subject.data, subject.length, 0, 0, data, m->context);
	if (result >= 0)
		return ROUTE_YES;
	if (result == PCRE2_ERROR_NOMATCH)
		return ROUTE_NO;
	*ret_failure = (struct route_failure){option, result};
	return ROUTE_UNSURE;
}

enum route_answer route_match_path(
        struct route_match *m, const pcre2_code *code, struct slice path, struct route_failure *ret_failure)
{
	m->matched = path;
	return run(m, m->path, code, "path", path, ret_failure);
}

enum route_answer route_match_value(struct route_match *m, const pcre2_code *code, const char *option,
        struct slice value, struct route_failure *ret_failure)
{
	return run(m, m->value, code, option, value.data ? value : SLICE(""), ret_failure);
}

struct slice route_match_group(const struct route_match *m, struct slice path, unsigned group)
{
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(m->path);
	MUST(group < pcre2_get_ovector_count(m->path));
	MUST(m->matched.data == path.data && m->matched.length == path.length);
	PCRE2_SIZE start = ends[2 * group], end = ends[2 * group + 1];
	if (start == PCRE2_UNSET)
		return SLICE_NONE;
	MUST(start <= end && end <= path.length);
	return (struct slice){path.data + start, end - start};
}

const char *route_match_reason(struct route_match *m, const struct route_failure *failure)
{
	if (pcre2_get_error_message(failure->error, (PCRE2_UCHAR *)m->reason, sizeof m->reason) < 0)
		return "unknown error";
	return m->reason;
}
