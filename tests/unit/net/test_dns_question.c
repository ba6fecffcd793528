/* Names under a search list. The list is the test's own: it stands in for what /etc/resolv.conf says. */
#include "base/check.h"
#include "dns_server.h"
#include "net/dns_question.h"
#include <stdio.h>
#include <string.h>

static struct stats stats;
static struct loop loop;
static struct dns_channel channel;
static struct dns_question question;
static int ended_with;

static void note_end(struct dns_question *q, int status)
{
	assert_ptr_equal(q, &question);
	ended_with = status;
	loop_stop(&loop);
}

static int read_any(struct dns_question *q, const uint8_t *message, size_t length)
{
	struct dns_message m;
	struct dns_record record;
	(void)q;
	assert_true(dns_message_open(&m, message, length));
	return dns_message_next(&m, &record) == DNS_RECORD ? ARES_SUCCESS : ARES_ENODATA;
}

static int setup(void **state)
{
	(void)state;
	stats_init(&stats);
	return loop_init(&loop, 0, &stats, 4);
}

static int teardown(void **state)
{
	(void)state;
	dns_channel_close(&channel);
	dns_server_close();
	loop_fini(&loop);
	return 0;
}

static void use_script(dns_script *script, size_t ndots)
{
	char text[32];
	const char *server = text, *reason;
	snprintf(text, sizeof text, "127.0.0.1:%u", dns_server_open(&loop, false, script));
	assert_true(dns_channel_open(&channel, &loop, &server, 1, DNS_SYSTEM_FILE, &reason));
	assert_int_equal(channel.search.count, 0); /* given servers are asked for whole names */
	channel.search.domains[0] = "one.test";
	channel.search.domains[1] = "two.test";
	channel.search.count = 2;
	channel.search.ndots = ndots;
}

/* Returns how it ended. */
static int ask(const char *name)
{
	question = (struct dns_question){
	        .read = read_any, .ended = note_end, .name = name, .types = {DNS_A, DNS_AAAA}, .type_count = 2};
	dns_asked_count = 0;
	loop.stopping = false;
	dns_question_ask(&question, &channel);
	assert_int_equal(loop_run(&loop), 0);
	return ended_with;
}

/* Both types of each name are asked before the next name. */
static void expect_asked(const char *const *names, size_t count)
{
	assert_int_equal(dns_asked_count, 2 * count);
	for (size_t i = 0; i < 2 * count; i++)
		assert_string_equal(dns_asked[i].name, names[i / 2]);
}

static void answer_nothing(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, ns_r_nxdomain);
}

static void test_a_short_name_is_asked_for_under_the_list_and_then_alone(void **state)
{
	static const char *const names[] = {"app.one.test", "app.two.test", "app"};
	(void)state;
	use_script(answer_nothing, 1);
	assert_int_equal(ask("app"), ARES_ENOTFOUND);
	expect_asked(names, ARRAY_COUNT(names));
}

static void test_a_name_with_dots_enough_is_asked_for_alone_first(void **state)
{
	static const char *const names[] = {"app.ns", "app.ns.one.test", "app.ns.two.test"};
	(void)state;
	use_script(answer_nothing, 1);
	assert_int_equal(ask("app.ns"), ARES_ENOTFOUND);
	expect_asked(names, ARRAY_COUNT(names));
}

static void test_ndots_says_how_many_dots_are_enough(void **state)
{
	static const char *const names[] = {"app.ns.one.test", "app.ns.two.test", "app.ns"};
	(void)state;
	use_script(answer_nothing, 5);
	assert_int_equal(ask("app.ns"), ARES_ENOTFOUND);
	expect_asked(names, ARRAY_COUNT(names));
}

static void test_a_name_that_ends_with_a_dot_is_whole(void **state)
{
	static const char *const names[] = {"app.ns"};
	(void)state;
	use_script(answer_nothing, 5);
	assert_int_equal(ask("app.ns."), ARES_ENOTFOUND);
	expect_asked(names, ARRAY_COUNT(names));
}

static void answer_v6_in_one_and_v4_in_two(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, 0);
	if (asked->type == DNS_AAAA && strcmp(asked->name, "app.one.test") == 0)
		reply_aaaa(r, asked->name, 5, "::1");
	if (asked->type == DNS_A && strcmp(asked->name, "app.two.test") == 0)
		reply_a(r, asked->name, 5, "192.0.2.1");
}

static void test_the_first_name_with_an_answer_ends_the_list_for_both_types(void **state)
{
	static const char *const names[] = {"app.one.test"};
	(void)state;
	use_script(answer_v6_in_one_and_v4_in_two, 1);
	assert_int_equal(ask("app"), ARES_SUCCESS);
	expect_asked(names, ARRAY_COUNT(names));
}

static void answer_empty_in_one(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, strcmp(asked->name, "app.one.test") == 0 ? ns_r_noerror : ns_r_nxdomain);
}

static void test_a_name_that_exists_anywhere_in_the_list_exists(void **state)
{
	(void)state;
	use_script(answer_empty_in_one, 1);
	assert_int_equal(ask("app"), ARES_ENODATA);
	assert_int_equal(dns_asked_count, 6);
}

static void fail_in_one(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, strcmp(asked->name, "app.one.test") == 0 ? ns_r_servfail : 0);
	if (asked->type == DNS_A && strcmp(asked->name, "app.two.test") == 0)
		reply_a(r, asked->name, 5, "192.0.2.1");
}

static void test_a_failure_ends_the_list_as_it_may_hide_an_answer(void **state)
{
	(void)state;
	use_script(fail_in_one, 1);
	int status = ask("app");
	assert_int_not_equal(status, ARES_SUCCESS);
	assert_int_not_equal(status, ARES_ENOTFOUND);
	assert_int_not_equal(status, ARES_ENODATA);
	for (size_t i = 0; i < dns_asked_count; i++)
		assert_string_equal(dns_asked[i].name, "app.one.test");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_a_short_name_is_asked_for_under_the_list_and_then_alone),
	        TEST(test_a_name_with_dots_enough_is_asked_for_alone_first),
	        TEST(test_ndots_says_how_many_dots_are_enough),
	        TEST(test_a_name_that_ends_with_a_dot_is_whole),
	        TEST(test_the_first_name_with_an_answer_ends_the_list_for_both_types),
	        TEST(test_a_name_that_exists_anywhere_in_the_list_exists),
	        TEST(test_a_failure_ends_the_list_as_it_may_hide_an_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
