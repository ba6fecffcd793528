/* SRV lookups at a scripted DNS server: targets with their ports, priorities and weights. */
#include "resolving.h"
#include <stdio.h>
#include <string.h>

static const char SERVICE[] = "_http._tcp.app.test";

static void give_target(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, 0);
	if (asked->type == DNS_A && strcmp(asked->name, "one.test") == 0)
		reply_a(r, asked->name, 50, "192.0.2.1");
	else if (asked->type == DNS_A && strcmp(asked->name, "two.test") == 0)
		reply_a(r, asked->name, 40, "192.0.2.2");
	else
		reply_begin(r, asked, strstr(asked->name, ".test") ? 0 : ns_r_nxdomain);
}

static void answer_targets(const struct dns_asked *asked, struct dns_reply *r)
{
	if (asked->type != DNS_SRV) {
		give_target(asked, r);
		return;
	}
	reply_begin(r, asked, 0);
	reply_srv(r, asked->name, 30, 20, 7, 9002, "two.test");
	reply_srv(r, asked->name, 60, 10, 3, 9001, "one.test");
	reply_srv(r, asked->name, 60, 10, 0, 9003, "one.test");
}

static void test_a_service_has_the_addresses_of_its_targets_with_their_ports_priorities_and_weights(void **state)
{
	(void)state;
	use_script(answer_targets);
	look_up_service(SERVICE);
	expect_found("192.0.2.1:9001 10/3 192.0.2.1:9003 10/1 192.0.2.2:9002 20/7", 30);
	assert_string_equal(dns_asked[0].name, SERVICE);
}

static void answer_with_additional(const struct dns_asked *asked, struct dns_reply *r)
{
	assert_int_equal(asked->type, DNS_SRV);
	reply_begin(r, asked, 0);
	reply_srv(r, asked->name, 30, 1, 2, 9001, "one.test");
	reply_srv(r, asked->name, 30, 1, 2, 9002, "two.test");
	reply_additional(r);
	reply_a(r, "ONE.test", 12, "192.0.2.11");
	reply_a(r, "one.test", 25, "192.0.2.10");
	reply_a(r, "stray.test", 1, "192.0.2.13");
	reply_a(r, "two.test", 25, "192.0.2.12");
}

static void test_addresses_that_come_along_are_not_asked_for(void **state)
{
	(void)state;
	use_script(answer_with_additional);
	look_up_service(SERVICE);
	expect_found("192.0.2.10:9001 1/2 192.0.2.11:9001 1/2 192.0.2.12:9002 1/2", 12);
	assert_int_equal(dns_asked_count, 1);
}

static void answer_heavy(const struct dns_asked *asked, struct dns_reply *r)
{
	if (asked->type != DNS_SRV) {
		give_target(asked, r);
		return;
	}
	reply_begin(r, asked, 0);
	reply_srv(r, asked->name, 30, 1, 65535, 1, "one.test");
	reply_srv(r, asked->name, 30, 1, 32768, 2, "one.test");
	reply_srv(r, asked->name, 30, 1, 1, 3, "one.test");
	reply_srv(r, asked->name, 30, 2, 256, 4, "one.test");
	reply_srv(r, asked->name, 30, 2, 1, 5, "one.test");
	reply_srv(r, asked->name, 30, 3, 0, 6, "one.test");
}

static void test_weights_above_256_are_scaled_among_their_priority(void **state)
{
	(void)state;
	use_script(answer_heavy);
	look_up_service(SERVICE);
	expect_found("192.0.2.1:1 1/256 192.0.2.1:2 1/128 192.0.2.1:3 1/1 192.0.2.1:4 2/256 192.0.2.1:5 2/1"
	             " 192.0.2.1:6 3/1",
	        30);
}

static void answer_doubles(const struct dns_asked *asked, struct dns_reply *r)
{
	if (asked->type != DNS_SRV) {
		give_target(asked, r);
		return;
	}
	reply_begin(r, asked, 0);
	reply_srv(r, asked->name, 30, 2, 9, 80, "one.test");
	reply_srv(r, asked->name, 30, 1, 3, 80, "one.test");
	reply_srv(r, asked->name, 30, 1, 5, 80, "one.test");
}

static void test_an_endpoint_named_twice_is_taken_as_what_prefers_it_most(void **state)
{
	(void)state;
	use_script(answer_doubles);
	look_up_service(SERVICE);
	expect_found("192.0.2.1:80 1/5", 30);
}

static void answer_no_service(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, 0);
	reply_srv(r, asked->name, 30, 0, 0, 0, ".");
}

static void test_a_dot_for_a_target_says_that_there_is_no_service(void **state)
{
	(void)state;
	use_script(answer_no_service);
	look_up_service(SERVICE);
	expect_error(RESOLVER_NO_ADDRESS);
	assert_int_equal(dns_asked_count, 1);
}

static void answer_alias(const struct dns_asked *asked, struct dns_reply *r)
{
	if (asked->type != DNS_SRV) {
		give_target(asked, r);
		return;
	}
	reply_begin(r, asked, 0);
	reply_cname(r, asked->name, 8, "_real._tcp.test");
	reply_srv(r, "_real._tcp.test", 30, 0, 1, 81, "one.test");
}

static void test_a_service_may_be_an_alias_whose_ttl_counts(void **state)
{
	(void)state;
	use_script(answer_alias);
	look_up_service(SERVICE);
	expect_found("192.0.2.1:81 0/1", 8);
}

static int code;

static void answer_code(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, code);
}

static void test_a_service_that_is_not_there_and_one_that_fails_are_told_apart(void **state)
{
	(void)state;
	use_script(answer_code);
	code = ns_r_nxdomain;
	look_up_service(SERVICE);
	expect_error(RESOLVER_NO_NAME);
	code = ns_r_noerror;
	look_up_service(SERVICE);
	expect_error(RESOLVER_NO_ADDRESS);
	code = ns_r_servfail;
	look_up_service(SERVICE);
	expect_error(RESOLVER_FAILED);
}

static void answer_malformed(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, 0);
	reply_srv(r, asked->name, 30, 0, 1, 81, "one.test");
	reply_raw(r, asked->name, ns_t_srv, 30, "\0\1\0\2\0", 5);
}

static void test_a_malformed_service_brings_nothing(void **state)
{
	(void)state;
	use_script(answer_malformed);
	look_up_service(SERVICE);
	expect_error(RESOLVER_FAILED);
}

static int broken_code;

static void answer_one_broken(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, 0);
	if (asked->type == DNS_SRV) {
		reply_srv(r, asked->name, 30, 0, 1, 81, "broken.test");
		reply_srv(r, asked->name, 30, 0, 1, 82, "two.test");
	} else if (strcmp(asked->name, "broken.test") == 0) {
		reply_begin(r, asked, broken_code);
	} else {
		give_target(asked, r);
	}
}

static void test_a_target_without_addresses_does_not_hide_the_others(void **state)
{
	(void)state;
	use_script(answer_one_broken);
	broken_code = ns_r_nxdomain;
	look_up_service(SERVICE);
	expect_found("192.0.2.2:82 0/1", 30);
	broken_code = ns_r_servfail;
	look_up_service(SERVICE);
	expect_found("192.0.2.2:82 0/1", 30);
}

enum { MANY = 60 };

static void answer_many(const struct dns_asked *asked, struct dns_reply *r)
{
	unsigned number;
	reply_begin(r, asked, 0);
	for (unsigned i = 0; asked->type == DNS_SRV && i < MANY; i++) {
		char target[32];
		snprintf(target, sizeof target, "t%u.test", i);
		reply_srv(r, asked->name, 30, 0, 1, (uint16_t)(1000 + i), target);
	}
	if (asked->type == DNS_SRV && !asked->over_tcp) {
		reply_begin(r, asked, 0);
		reply_truncate(r);
	}
	if (asked->type == DNS_A && sscanf(asked->name, "t%u.", &number) == 1) {
		char address[32];
		snprintf(address, sizeof address, "10.0.0.%u", number);
		reply_a(r, asked->name, 30, address);
	}
}

static void test_many_targets_are_all_asked_for(void **state)
{
	(void)state;
	use_script(answer_many);
	look_up_service(SERVICE);
	assert_int_equal(answer.error, RESOLVER_FINE);
	assert_int_equal(answer.count, MANY);
	assert_non_null(strstr(found, "10.0.0.59:1059 0/1"));
}

static void answer_local_target(const struct dns_asked *asked, struct dns_reply *r)
{
	assert_int_equal(asked->type, DNS_SRV);
	reply_begin(r, asked, 0);
	reply_srv(r, asked->name, 30, 0, 1, 81, "localhost");
}

static void test_a_target_may_be_a_name_that_needs_no_server(void **state)
{
	(void)state;
	use_script(answer_local_target);
	look_up_service(SERVICE);
	assert_int_equal(answer.error, RESOLVER_FINE);
	assert_int_equal(strncmp(found, "127.0.0.1:81 0/1", 16), 0);
	assert_int_equal(answer.ttl_s, 30);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, resolving_setup, resolving_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_a_service_has_the_addresses_of_its_targets_with_their_ports_priorities_and_weights),
	        TEST(test_addresses_that_come_along_are_not_asked_for),
	        TEST(test_weights_above_256_are_scaled_among_their_priority),
	        TEST(test_an_endpoint_named_twice_is_taken_as_what_prefers_it_most),
	        TEST(test_a_dot_for_a_target_says_that_there_is_no_service),
	        TEST(test_a_service_may_be_an_alias_whose_ttl_counts),
	        TEST(test_a_service_that_is_not_there_and_one_that_fails_are_told_apart),
	        TEST(test_a_malformed_service_brings_nothing),
	        TEST(test_a_target_without_addresses_does_not_hide_the_others),
	        TEST(test_many_targets_are_all_asked_for),
	        TEST(test_a_target_may_be_a_name_that_needs_no_server),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
