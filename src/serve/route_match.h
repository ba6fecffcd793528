/*
 * Regular expressions of routes: how they are compiled, and what a loop runs them with. One
 * that gives up (match limit, memory) has said neither yes nor no, and is never taken for a no:
 * behind a locked route there may be an open one.
 */
#ifndef SERVE_ROUTE_MATCH_H
#define SERVE_ROUTE_MATCH_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include "base/slice.h"
#include <pcre2.h>

struct route_match; /* scratch memory: one a loop */

enum route_answer { ROUTE_NO, ROUTE_UNSURE, ROUTE_YES };

/* Of an expression that gave up. */
struct route_failure {
	const char *option; /* where it stands */
	int error;          /* of PCRE2; 0: none did */
};

/* Of the value `item` of that option. NULL: a fault was reported; `s` NULL: to nobody. The caller frees it. */
pcre2_code *route_regex_compile(
        const struct mlserve_settings *s, const char *option, size_t item, struct slice expression);
size_t route_regex_group_count(const pcre2_code *);
/* The group of that name, from 1; 0: there is none, or more than one. */
unsigned route_regex_group(const pcre2_code *, struct slice name);

/* For expressions with up to so many groups. NULL: no memory. */
struct route_match *route_match_create(size_t group_count);
void route_match_free(struct route_match **);
/* Whether there is a match in the path; its groups are kept until the next call. *ret_failure is set when unsure. */
enum route_answer route_match_path(
        struct route_match *, const pcre2_code *, struct slice path, struct route_failure *ret_failure);
/* The same for other texts, which leaves the path's groups alone. */
enum route_answer route_match_value(struct route_match *, const pcre2_code *, const char *option, struct slice value,
        struct route_failure *ret_failure);
/* Of the last match in a path, which must be that one: what the group took; empty: nothing. */
struct slice route_match_group(const struct route_match *, struct slice path, unsigned group);
/* Room for so many bytes until the next call; NULL: no memory. */
char *route_match_room(struct route_match *, size_t bytes);
/* Why that expression gave up; valid until the next call. */
const char *route_match_reason(struct route_match *, const struct route_failure *);

#endif
