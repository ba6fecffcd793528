/* Feeds heads to scan and parse for every split of their bytes, and holds that the outcome is the same each time. */
#ifndef TESTS_HTTP_HEADS_H
#define TESTS_HTTP_HEADS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/parser.h"

enum { HEADS_FIELDS = 100 };

extern const struct head_limits heads_limits;

/* The outcome of scan and, when that was ready, parse. */
struct head_outcome {
	enum head_result result; /* HEAD_READY: parsed too */
	unsigned status;
	const char *reason;
	size_t length;
};

/* For every split. The parsed head is that of the whole input and lives until the next call. */
struct head_outcome heads_request(const char *bytes, size_t length, const struct head_limits *);
struct head_outcome heads_response(const char *bytes, size_t length, enum method to);
extern struct request_head heads_last_request;
extern struct response_head heads_last_response;

/* cmocka group setup. */
int heads_setup(void **state);

void heads_assert_slice(struct slice, const char *text, const char *file, int line);
void heads_assert_refused(const char *bytes, size_t length, unsigned status, const char *file, int line);
const struct request_head *heads_assert_taken(const char *bytes, size_t length, const char *file, int line);
void heads_assert_bad_response(const char *bytes, size_t length, const char *file, int line);
const struct response_head *heads_assert_response(
        const char *bytes, size_t length, enum method to, const char *file, int line);

#define assert_slice(value, text) heads_assert_slice(value, text, __FILE__, __LINE__)
/* Literals, which may hold zero bytes. */
#define assert_refused(literal, status) heads_assert_refused(literal, sizeof(literal) - 1, status, __FILE__, __LINE__)
#define assert_taken(literal) heads_assert_taken(literal, sizeof(literal) - 1, __FILE__, __LINE__)
#define assert_bad_response(literal) heads_assert_bad_response(literal, sizeof(literal) - 1, __FILE__, __LINE__)
#define assert_response(literal, to) heads_assert_response(literal, sizeof(literal) - 1, to, __FILE__, __LINE__)

#endif
