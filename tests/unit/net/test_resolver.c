/* Hosts looked up at a scripted DNS server: what it answers, what it does not, and how lookups live and end. */
#include "base/check.h"
#include "resolving.h"
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static size_t count_asked(uint16_t type, bool over_tcp)
{
	size_t count = 0;
	for (size_t i = 0; i < dns_asked_count; i++)
		count += dns_asked[i].type == type && dns_asked[i].over_tcp == over_tcp;
	return count;
}

/* ---- answers ------------------------------------------------------------------------------- */

static void answer_rotating(const struct dns_asked *asked, struct dns_reply *r)
{
	static const char *const addresses[] = {"192.0.2.30", "192.0.2.4", "192.0.2.101"};
	static unsigned turn;
	reply_begin(r, asked, 0);
	turn++;
	for (unsigned i = 0; asked->type == DNS_A && i < 3; i++)
		reply_a(r, asked->name, 60, addresses[(i + turn) % 3]);
	if (asked->type == DNS_A)
		reply_a(r, asked->name, 60, addresses[turn % 3]); /* a double */
	if (asked->type == DNS_AAAA)
		reply_aaaa(r, asked->name, 60, "::1");
}

static void test_a_host_has_all_its_addresses_once_and_in_the_same_order_however_they_come(void **state)
{
	static char first[sizeof found];
	(void)state;
	use_script(answer_rotating);
	look_up("app.test", 8080, RESOLVER_HOST);
	assert_int_equal(strncmp(found, "192.0.2.4:8080 192.0.2.30:8080 192.0.2.101:8080", 47), 0);
	strcpy(first, found);
	for (int i = 0; i < 3; i++) {
		look_up("app.test", 8080, RESOLVER_HOST);
		expect_found(first, 60);
	}
	assert_int_equal(dns_asked_count, 8);
	assert_int_equal(count_asked(DNS_A, false), 4);
	assert_int_equal(count_asked(DNS_AAAA, false), 4);
	assert_string_equal(dns_asked[0].name, "app.test");
}

static void answer_v6_only(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, 0);
	if (asked->type == DNS_AAAA)
		reply_aaaa(r, asked->name, 7, "2001:db8::7");
}

static void test_ipv6_alone_is_an_answer_with_or_without_a_route(void **state)
{
	(void)state;
	use_script(answer_v6_only);
	look_up_host("six.test");
	expect_found("[2001:db8::7]:80", 7);
}

static uint32_t ttl_s;

static void answer_ttl(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, 0);
	if (asked->type == DNS_A)
		reply_a(r, asked->name, ttl_s, "192.0.2.1");
}

static void test_the_ttl_is_what_the_record_says(void **state)
{
	static const struct {
		uint32_t sent;
		int64_t told;
	} cases[] = {{0, 0}, {1, 1}, {86400, 86400}, {0x7fffffff, 0x7fffffff}, {0x80000000, 0}};
	(void)state;
	use_script(answer_ttl);
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		ttl_s = cases[i].sent;
		look_up_host("app.test");
		expect_found("192.0.2.1:80", cases[i].told);
	}
	assert_int_equal(count_asked(DNS_A, false), ARRAY_COUNT(cases)); /* nothing is kept between lookups */
}

static void answer_chain(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, 0);
	reply_cname(r, asked->name, 300, "b.test");
	reply_cname(r, "b.test", 20, "c.test");
	if (asked->type == DNS_A)
		reply_a(r, "c.test", 600, "192.0.2.1");
}

static void test_the_smallest_ttl_of_a_chain_of_names_counts(void **state)
{
	(void)state;
	use_script(answer_chain);
	look_up_host("a.test");
	expect_found("192.0.2.1:80", 20);
}

/* ---- answers without addresses ---------------------------------------------------------------- */

static int code;

static void answer_code(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, code);
}

static void test_each_way_to_have_no_address_is_told_apart(void **state)
{
	static const struct {
		int code;
		enum resolver_error error;
	} cases[] = {
	        {ns_r_nxdomain, RESOLVER_NO_NAME},
	        {ns_r_noerror, RESOLVER_NO_ADDRESS},
	        {ns_r_servfail, RESOLVER_FAILED},
	        {ns_r_refused, RESOLVER_FAILED},
	        {ns_r_notimpl, RESOLVER_FAILED},
	        {ns_r_formerr, RESOLVER_FAILED},
	};
	(void)state;
	use_script(answer_code);
	for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
		code = cases[i].code;
		look_up_host("app.test");
		expect_error(cases[i].error);
	}
}

static void answer_v4_and_fail_v6(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, asked->type == DNS_AAAA ? code : 0);
	if (asked->type == DNS_A)
		reply_a(r, asked->name, 5, "192.0.2.1");
}

static void test_one_family_is_enough_whatever_becomes_of_the_other(void **state)
{
	static const int codes[] = {ns_r_noerror, ns_r_nxdomain, ns_r_servfail, ns_r_refused};
	(void)state;
	use_script(answer_v4_and_fail_v6);
	for (size_t i = 0; i < ARRAY_COUNT(codes); i++) {
		code = codes[i];
		look_up_host("app.test");
		expect_found("192.0.2.1:80", 5);
	}
}

static void answer_no_v6_and_fail_v4(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, asked->type == DNS_A ? ns_r_servfail : ns_r_noerror);
}

static void test_a_family_that_fails_is_not_taken_for_one_that_is_empty(void **state)
{
	(void)state;
	use_script(answer_no_v6_and_fail_v4);
	look_up_host("app.test");
	expect_error(RESOLVER_FAILED);
}

static void answer_malformed(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, 0);
	reply_a(r, asked->name, 5, "192.0.2.1");
	r->length -= 2; /* the address breaks off */
}

static void answer_short_address(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, 0);
	reply_a(r, asked->name, 5, "192.0.2.1");
	reply_raw(r, asked->name, DNS_A, 5, "\300\0\2", 3);
}

static void answer_unrelated(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, 0);
	reply_raw(r, asked->name, ns_t_txt, 5, "\2no", 3);
}

static void test_malformed_answers_bring_nothing(void **state)
{
	(void)state;
	use_script(answer_malformed);
	look_up_host("app.test");
	expect_error(RESOLVER_FAILED);
}

static void test_an_address_of_the_wrong_size_makes_its_answer_malformed(void **state)
{
	(void)state;
	use_script(answer_short_address);
	look_up_host("app.test");
	expect_error(RESOLVER_FAILED);
}

static void test_records_of_other_types_are_no_address(void **state)
{
	(void)state;
	use_script(answer_unrelated);
	look_up_host("app.test");
	expect_error(RESOLVER_NO_ADDRESS);
}

static void test_a_name_that_no_dns_can_have_is_no_name(void **state)
{
	char label[70 + 6] = "";
	(void)state;
	use_script(answer_ttl);
	look_up_host("a..test");
	expect_error(RESOLVER_NO_NAME);
	memset(label, 'a', 70);
	strcpy(label + 70, ".test");
	look_up_host(label);
	expect_error(RESOLVER_NO_NAME);
	assert_int_equal(dns_asked_count, 0);
}

/* ---- large answers ------------------------------------------------------------------------------ */

static unsigned address_count;

static void answer_many(const struct dns_asked *asked, struct dns_reply *r)
{
	reply_begin(r, asked, 0);
	if (asked->type != DNS_A)
		return;
	if (!asked->over_tcp) {
		reply_truncate(r);
		return;
	}
	for (unsigned i = 0; i < address_count; i++) {
		char address[32];
		snprintf(address, sizeof address, "10.1.%u.%u", i >> 8, i & 255);
		reply_a(r, asked->name, 9, address);
	}
}

static size_t count_found(void)
{
	size_t count = 0;
	for (const char *at = found; (at = strstr(at, ":80")); at++)
		count++;
	return count;
}

static void test_a_truncated_answer_is_asked_for_again_by_tcp(void **state)
{
	(void)state;
	use_script(answer_many);
	address_count = 40;
	look_up_host("many.test");
	assert_int_equal(answer.error, RESOLVER_FINE);
	assert_int_equal(answer.count, 40);
	assert_int_equal(count_found(), 40);
	assert_int_equal(count_asked(DNS_A, false), 1);
	assert_int_equal(count_asked(DNS_A, true), 1);
}

static void test_more_addresses_than_the_limit_are_cut_to_it(void **state)
{
	(void)state;
	use_script(answer_many);
	address_count = 1500;
	look_up_host("many.test");
	assert_int_equal(answer.count, RESOLVER_ADDRESSES);
	assert_int_equal(count_found(), RESOLVER_ADDRESSES);
	assert_non_null(strstr(found, "10.1.3.255:80"));
	assert_null(strstr(found, "10.1.4.0:80"));
}

/* ---- answers that do not come --------------------------------------------------------------------- */

static void say_nothing(const struct dns_asked *asked, struct dns_reply *r)
{
	(void)asked, (void)r;
}

static void test_silence_ends_in_a_timeout_after_two_tries(void **state)
{
	int64_t begin_ns = clock_now_ns();
	(void)state;
	use_script(say_nothing);
	look_up_host("app.test");
	expect_error(RESOLVER_TIMEOUT);
	assert_in_range((clock_now_ns() - begin_ns) / NS_PER_MS, 1000, 6500);
	assert_int_equal(count_asked(DNS_A, false), 2);
	assert_int_equal(count_asked(DNS_AAAA, false), 2);
}

static void answer_second_try(const struct dns_asked *asked, struct dns_reply *r)
{
	if (dns_asked_count > 2)
		answer_ttl(asked, r);
}

static void test_a_lost_datagram_is_asked_for_again(void **state)
{
	(void)state;
	use_script(answer_second_try);
	ttl_s = 3;
	look_up_host("app.test");
	expect_found("192.0.2.1:80", 3);
	assert_in_range(count_asked(DNS_A, false), 2, 3);
}

static void answer_with_wrong_id(const struct dns_asked *asked, struct dns_reply *r)
{
	answer_ttl(asked, r);
	if (dns_asked_count <= 2)
		r->bytes[1] ^= 1;
}

static void test_an_answer_with_a_wrong_id_is_not_taken(void **state)
{
	(void)state;
	use_script(answer_with_wrong_id);
	ttl_s = 3;
	look_up_host("app.test");
	expect_found("192.0.2.1:80", 3);
	assert_in_range(count_asked(DNS_A, false), 2, 3);
}

static void test_a_server_that_is_not_there_is_a_failure_at_once(void **state)
{
	int64_t begin_ns = clock_now_ns();
	char server[32];
	(void)state;
	snprintf(server, sizeof server, "127.0.0.1:%u", dns_server_open(&loop, false, say_nothing));
	dns_server_close();
	use_server(server);
	look_up_host("app.test");
	expect_error(RESOLVER_FAILED);
	assert_in_range((clock_now_ns() - begin_ns) / NS_PER_MS, 0, 1000);
}

static void test_no_descriptors_are_a_failure_at_once_and_leave_nothing_behind(void **state)
{
	int64_t begin_ns;
	struct rlimit saved, none;
	(void)state;
	use_script(answer_ttl);
	ttl_s = 4;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
	none = saved;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	begin_ns = clock_now_ns();
	look_up_host("app.test");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
	expect_error(RESOLVER_FAILED);
	assert_in_range((clock_now_ns() - begin_ns) / NS_PER_MS, 0, 1000);
	assert_int_equal(loop.ev_watchers, 0);
	look_up_host("app.test");
	expect_found("192.0.2.1:80", 4);
}

/* ---- names that need no server ----------------------------------------------------------------------- */

static void test_localhost_and_written_addresses_ask_nobody(void **state)
{
	(void)state;
	use_script(answer_ttl);
	look_up_host("localhost");
	assert_int_equal(answer.error, RESOLVER_FINE);
	assert_int_equal(strncmp(found, "127.0.0.1:80", 12), 0);
	assert_int_equal(answer.ttl_s, -1);
	look_up_host("App.localhost.");
	assert_int_equal(answer.error, RESOLVER_FINE);
	assert_int_equal(strncmp(found, "127.0.0.1:80", 12), 0);
	look_up_host("192.0.2.77");
	expect_found("192.0.2.77:80", -1);
	look_up_host("2001:db8::77");
	expect_found("[2001:db8::77]:80", -1);
	assert_int_equal(dns_asked_count, 0);
	look_up_host("notlocalhost");
	assert_int_equal(dns_asked_count, 2);
}

static void test_the_servers_of_the_system_are_taken_when_none_are_given(void **state)
{
	const char *reason = NULL;
	(void)state;
	resolver = resolver_create(&loop, NULL, 0, &reason);
	assert_non_null(resolver);
	look_up_host("localhost");
	assert_int_equal(answer.error, RESOLVER_FINE);
}

static void test_a_server_may_be_given_by_its_ipv6_address(void **state)
{
	char server[32];
	(void)state;
	struct endpoint loopback;
	const char *reason;
	assert_true(endpoint_parse(SLICE("[::1]:0"), false, &loopback, &reason));
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool has_v6 = fd >= 0 && bind(fd, &loopback.to.any, loopback.length) == 0;
	close(fd);
	if (!has_v6) {
		print_message("there is no ::1 here\n");
		skip();
	}
	snprintf(server, sizeof server, "[::1]:%u", dns_server_open(&loop, true, answer_ttl));
	use_server(server);
	ttl_s = 6;
	look_up_host("app.test");
	expect_found("192.0.2.1:80", 6);
	resolver_free(&resolver);
	dns_server_close();
}

static void test_what_is_no_server_is_refused_with_a_reason(void **state)
{
	static const char *const refused[] = {"nonsense", "127.0.0.1", "127.0.0.1:0", "::1", "unix:/tmp/s", ""};
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(refused); i++) {
		const char *servers[] = {"127.0.0.1:53", refused[i]}, *reason = NULL;
		assert_null(resolver_create(&loop, servers, 2, &reason));
		assert_non_null(reason);
	}
	assert_int_equal(loop.ev_watchers, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, resolving_setup, resolving_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_a_host_has_all_its_addresses_once_and_in_the_same_order_however_they_come),
	        TEST(test_ipv6_alone_is_an_answer_with_or_without_a_route),
	        TEST(test_the_ttl_is_what_the_record_says),
	        TEST(test_the_smallest_ttl_of_a_chain_of_names_counts),
	        TEST(test_each_way_to_have_no_address_is_told_apart),
	        TEST(test_one_family_is_enough_whatever_becomes_of_the_other),
	        TEST(test_a_family_that_fails_is_not_taken_for_one_that_is_empty),
	        TEST(test_malformed_answers_bring_nothing),
	        TEST(test_an_address_of_the_wrong_size_makes_its_answer_malformed),
	        TEST(test_records_of_other_types_are_no_address),
	        TEST(test_a_name_that_no_dns_can_have_is_no_name),
	        TEST(test_a_truncated_answer_is_asked_for_again_by_tcp),
	        TEST(test_more_addresses_than_the_limit_are_cut_to_it),
	        TEST(test_silence_ends_in_a_timeout_after_two_tries),
	        TEST(test_a_lost_datagram_is_asked_for_again),
	        TEST(test_an_answer_with_a_wrong_id_is_not_taken),
	        TEST(test_a_server_that_is_not_there_is_a_failure_at_once),
	        TEST(test_no_descriptors_are_a_failure_at_once_and_leave_nothing_behind),
	        TEST(test_localhost_and_written_addresses_ask_nobody),
	        TEST(test_the_servers_of_the_system_are_taken_when_none_are_given),
	        TEST(test_a_server_may_be_given_by_its_ipv6_address),
	        TEST(test_what_is_no_server_is_refused_with_a_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
