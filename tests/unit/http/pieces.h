/* For tests that need no heads. */
#ifndef TESTS_HTTP_PIECES_H
#define TESTS_HTTP_PIECES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/slice.h"

#define assert_slice(value, text)                                                                                      \
	do {                                                                                                           \
		struct slice given = (value);                                                                          \
		assert_int_equal(given.length, strlen(text));                                                          \
		if (given.length)                                                                                      \
			assert_memory_equal(given.data, text, given.length);                                           \
	} while (0)

#endif
