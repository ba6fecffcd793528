/* Files as resolv.conf(5) has them, and what else stands in some. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "net/search_list.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[32], text[8192];

/* "ndots: domain domain ..." of the file. */
static const char *read_text(const char *content)
{
	struct search_list l;
	strcpy(path, "/tmp/test_search.XXXXXX");
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	close(fd);
	search_list_init(&l);
	assert_true(search_list_read(&l, path));
	unlink(path);
	size_t length = (size_t)snprintf(text, sizeof text, "%zu:", l.ndots);
	for (size_t i = 0; i < l.count; i++)
		length += (size_t)snprintf(text + length, sizeof text - length, " %s", l.domains[i]);
	search_list_fini(&l);
	return text;
}

static void test_each_line_says_what_resolv_conf_says(void **state)
{
	static const struct {
		const char *content, *expected;
	} cases[] = {
	        {"search one.test", "1: one.test"},
	        {"search one.test two.test\n", "1: one.test two.test"},
	        {"\tsearch\tone.test \t two.test\r\n", "1: one.test two.test"},
	        {"search one.test.\n", "1: one.test"},
	        {"search .\n", "1:"},
	        {"search\n", "1:"},
	        {"domain one.test two.test\n", "1: one.test"},
	        {"domain one.test\nsearch two.test three.test\n", "1: two.test three.test"},
	        {"search two.test three.test\ndomain one.test\n", "1: one.test"},
	        {"nameserver 127.0.0.1\n# search no.test\n;search no.test\nsearch one.test\n", "1: one.test"},
	        {"searches no.test\nsearch one.test\n", "1: one.test"},
	        {"search one.test\noptions edns0 ndots:5 rotate\n", "5: one.test"},
	        {"search .\noptions ndots:0\n", "0:"},
	        {"search .\noptions ndots:99\n", "15:"},
	        {"search .\noptions ndots:x ndots:-1 ndots: ndots\n", "1:"},
	        {"search .\noptions ndots:2\noptions ndots:3\n", "3:"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
		assert_string_equal(read_text(cases[i].content), cases[i].expected);
}

static void test_more_domains_than_there_is_room_for_are_left_out(void **state)
{
	char content[4096] = "search";
	(void)state;
	for (int i = 0; i < SEARCH_DOMAINS + 10; i++)
		sprintf(content + strlen(content), " d%d.test", i);
	read_text(content);
	assert_non_null(strstr(text, " d31.test"));
	assert_null(strstr(text, " d32.test"));
}

static void test_without_a_word_in_the_file_this_machines_domain_is_searched(void **state)
{
	char name[256] = "", expected[512] = "1:";
	(void)state;
	assert_int_equal(gethostname(name, sizeof name - 1), 0);
	if (strchr(name, '.') && strchr(name, '.')[1])
		sprintf(expected, "1: %s", strchr(name, '.') + 1);
	assert_string_equal(read_text("nameserver 127.0.0.1\n"), expected);
	assert_string_equal(read_text(""), expected);
}

static void test_a_file_that_is_not_there_is_like_an_empty_one(void **state)
{
	struct search_list l;
	(void)state;
	search_list_init(&l);
	assert_true(search_list_read(&l, "/nonexistent/resolv.conf"));
	assert_int_equal(l.ndots, 1);
	search_list_fini(&l);
}

static void test_reading_again_forgets_what_was_before(void **state)
{
	struct search_list l;
	(void)state;
	search_list_init(&l);
	l.domains[l.count++] = "old.test";
	l.ndots = 7;
	assert_true(search_list_read(&l, "/nonexistent/resolv.conf"));
	assert_int_equal(l.ndots, 1);
	for (size_t i = 0; i < l.count; i++)
		assert_string_not_equal(l.domains[i], "old.test");
	search_list_fini(&l);
	assert_int_equal(l.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_each_line_says_what_resolv_conf_says),
	        cmocka_unit_test(test_more_domains_than_there_is_room_for_are_left_out),
	        cmocka_unit_test(test_without_a_word_in_the_file_this_machines_domain_is_searched),
	        cmocka_unit_test(test_a_file_that_is_not_there_is_like_an_empty_one),
	        cmocka_unit_test(test_reading_again_forgets_what_was_before),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
