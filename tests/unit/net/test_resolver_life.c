/* Lookups that are cancelled, freed, repeated and many, at a scripted DNS server. */
#include "resolving.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CROWD = 200 };

struct asker {
	struct lookup lookup;
	unsigned answers;
	enum resolver_error error;
	char address[ENDPOINT_TEXT_BYTES];
};

static struct asker crowd[CROWD];
static unsigned answers_due;

static void on_crowd_answer(struct lookup *l, const struct resolver_answer *a)
{
	struct asker *asker = CONTAINER_OF(l, struct asker, lookup);
	asker->answers++;
	asker->error = a->error;
	if (a->count == 1)
		endpoint_format(&a->addresses[0].endpoint, asker->address);
	if (--answers_due == 0)
		loop_stop(&loop);
}

static void start_crowd(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		char name[32];
		crowd[i] = (struct asker){0};
		lookup_init(&crowd[i].lookup, on_crowd_answer);
		snprintf(name, sizeof name, "h%u.test", i);
		resolver_start(resolver, &crowd[i].lookup, name, (uint16_t)(1000 + i), RESOLVER_HOST);
	}
	answers_due = count;
}

static void answer_by_number(const struct dns_asked *asked, struct dns_reply *r)
{
	unsigned number = 0;
	char address[32];
	sscanf(asked->name, "h%u.", &number);
	snprintf(address, sizeof address, "10.0.0.%u", number);
	reply_begin(r, asked, 0);
	if (asked->type == DNS_A)
		reply_a(r, asked->name, 5, address);
	dns_asked_count = 0; /* more than can be noted */
}

static void expect_answered(unsigned i)
{
	char expected[ENDPOINT_TEXT_BYTES];
	snprintf(expected, sizeof expected, "10.0.0.%u:%u", i, 1000 + i);
	assert_int_equal(crowd[i].answers, 1);
	assert_int_equal(crowd[i].error, RESOLVER_FINE);
	assert_string_equal(crowd[i].address, expected);
}

static void test_many_lookups_at_once_each_get_their_own_answer(void **state)
{
	(void)state;
	use_script(answer_by_number);
	start_crowd(CROWD);
	run_loop();
	for (unsigned i = 0; i < CROWD; i++)
		expect_answered(i);
}

static void test_a_cancelled_lookup_has_no_answer_and_takes_none_from_others(void **state)
{
	(void)state;
	use_script(answer_by_number);
	start_crowd(20);
	for (unsigned i = 0; i < 20; i += 2) {
		resolver_cancel(&crowd[i].lookup);
		resolver_cancel(&crowd[i].lookup);
		assert_false(lookup_is_running(&crowd[i].lookup));
		answers_due--;
	}
	run_loop();
	for (unsigned i = 0; i < 20; i++) {
		if (i % 2)
			expect_answered(i);
		else
			assert_int_equal(crowd[i].answers, 0);
	}
}

static void test_a_cancelled_lookup_can_be_started_again_at_once(void **state)
{
	(void)state;
	use_script(answer_by_number);
	start_crowd(1);
	resolver_cancel(&crowd[0].lookup);
	resolver_start(resolver, &crowd[0].lookup, "h7.test", 1, RESOLVER_HOST);
	run_loop();
	assert_int_equal(crowd[0].answers, 1);
	assert_string_equal(crowd[0].address, "10.0.0.7:1");
}

static void say_nothing(const struct dns_asked *asked, struct dns_reply *r)
{
	(void)asked, (void)r;
	if (dns_asked_count == 6)
		loop_stop(&loop);
}

static void test_lookups_that_run_end_with_their_resolver_and_without_an_answer(void **state)
{
	(void)state;
	use_script(say_nothing);
	start_crowd(3);
	run_loop(); /* until all is asked */
	resolver_cancel(&crowd[1].lookup);
	resolver_free(&resolver);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(crowd[i].answers, 0);
		assert_false(lookup_is_running(&crowd[i].lookup));
	}
	loop_turn(&loop, false);
	assert_int_equal(crowd[0].answers, 0);
}

static void free_resolver(struct lookup *l, const struct resolver_answer *a)
{
	(void)l;
	assert_int_equal(a->error, RESOLVER_FINE);
	resolver_free(&resolver);
	assert_int_equal(a->count, 1); /* still there */
	assert_int_equal(endpoint_port(&a->addresses[0].endpoint), 1000);
	loop_stop(&loop);
}

static void test_the_resolver_can_be_freed_by_who_gets_an_answer(void **state)
{
	(void)state;
	use_script(answer_by_number);
	start_crowd(5);
	crowd[0].lookup.done = free_resolver;
	run_loop();
	assert_null(resolver);
	for (unsigned i = 1; i < 5; i++)
		assert_false(lookup_is_running(&crowd[i].lookup));
	loop_turn(&loop, false);
}

static void ask_again(struct lookup *l, const struct resolver_answer *a)
{
	struct asker *asker = CONTAINER_OF(l, struct asker, lookup);
	assert_int_equal(a->error, RESOLVER_FINE);
	if (++asker->answers == 5)
		loop_stop(&loop);
	else
		resolver_start(resolver, l, "h1.test", 1, RESOLVER_HOST);
}

static void test_the_next_lookup_can_be_started_by_who_gets_an_answer(void **state)
{
	(void)state;
	use_script(answer_by_number);
	start_crowd(1);
	crowd[0].lookup.done = ask_again;
	run_loop();
	assert_int_equal(crowd[0].answers, 5);
}

static void test_nothing_is_watched_once_all_is_answered(void **state)
{
	(void)state;
	use_script(answer_by_number);
	look_up_host("h1.test");
	expect_found("10.0.0.1:80", 5);
	assert_int_equal(loop.ev_watchers, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, resolving_setup, resolving_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_many_lookups_at_once_each_get_their_own_answer),
	        TEST(test_a_cancelled_lookup_has_no_answer_and_takes_none_from_others),
	        TEST(test_a_cancelled_lookup_can_be_started_again_at_once),
	        TEST(test_lookups_that_run_end_with_their_resolver_and_without_an_answer),
	        TEST(test_the_resolver_can_be_freed_by_who_gets_an_answer),
	        TEST(test_the_next_lookup_can_be_started_by_who_gets_an_answer),
	        TEST(test_nothing_is_watched_once_all_is_answered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
