/* Groups from configurations, and whose turn it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/clock.h"
#include "config/load.h"
#include "upstream/group.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct made {
	struct config *config;
	struct groups *groups;
};

static struct made make(const char *text)
{
	struct made m = {.config = load_good(text)};
	m.groups = groups_create(m.config, 2);
	assert_non_null(m.groups);
	return m;
}

static void drop(struct made *m)
{
	groups_free(&m->groups);
	assert_null(m->groups);
	config_free(&m->config);
}

static void test_groups_are_found_by_name_with_their_settings(void **state)
{
	(void)state;
	struct made m = make("[upstream a]\nserver = 127.0.0.1:81\nserver = [::1]:82 weight=3\n"
	                     "[upstream b]\nserver = unix:/run/b.sock\nkeepalive = 5\nretries = 0\n"
	                     "connect_timeout = 250ms\nresponse_timeout = 7s\n");
	assert_int_equal(groups_count(m.groups), 2);
	struct group *a = groups_find(m.groups, "a"), *b = groups_find(m.groups, "b");
	assert_ptr_equal(groups_at(m.groups, 0), a);
	assert_string_equal(group_name(b), "b");
	assert_null(groups_find(m.groups, "c"));
	assert_int_equal(group_server_count(a), 2);
	assert_int_equal(a->servers[1].weight, 3);
	assert_int_equal(a->servers[1].endpoint.to.any.sa_family, AF_INET6);
	assert_string_equal(a->servers[1].name, "[::1]:82");
	assert_int_equal(b->keepalive, 5);
	assert_int_equal(b->retries, 0);
	assert_int_equal(b->connect_timeout_ns, 250 * NS_PER_MS);
	assert_int_equal(b->response_timeout_ns, 7 * NS_PER_S);
	drop(&m);
}

static void test_groups_report_every_faulty_server(void **state)
{
	(void)state;
	static const char text[] = "[upstream a]\nserver = 127.0.0.1:81 weight=0\nserver = 127.0.0.1\n"
	                           "server = 127.0.0.1:82 backup\nserver = 127.0.0.1:83 weight=257\n"
	                           "[upstream b]\nserver = unix:\n"
	                           "[upstream c]\nserver = 127.0.0.1:84 weight=2 weight=3\n"
	                           "server = 127.0.0.1:85 weight=2 weight=2\nserver = 127.0.0.1:0\n"
	                           "server = [::1]:0 weight=2\nserver = localhost:0\n";
	struct faults faults;
	faults_init(&faults);
	struct config *config = load_bytes(text, strlen(text), NULL, &faults);
	assert_non_null(config);
	assert_null(groups_create(config, 1));
	char *found = faults_text(&faults);
	assert_string_equal(found,
	        "t.ini:2: [upstream a] server: does not know \"weight=0\"; after the address weight=1..256 is allowed\n"
	        "t.ini:3: [upstream a] server: 127.0.0.1: not ADDRESS:PORT, [IPV6]:PORT or unix:/PATH\n"
	        "t.ini:4: [upstream a] server: does not know \"backup\"; after the address weight=1..256 is allowed\n"
	        "t.ini:5: [upstream a] server: does not know \"weight=257\"; after the address weight=1..256 is "
	        "allowed\n"
	        "t.ini:7: [upstream b] server: unix:: a unix socket's path has 1 to 107 bytes\n"
	        "t.ini:9: [upstream c] server: repeats weight (\"weight=3\"); after the address one weight=1..256 is "
	        "allowed\n"
	        "t.ini:10: [upstream c] server: repeats weight (\"weight=2\"); after the address one weight=1..256 is "
	        "allowed\n"
	        "t.ini:11: [upstream c] server: 127.0.0.1:0: there is no port 0; a port from 1 to 65535 is wanted\n"
	        "t.ini:12: [upstream c] server: [::1]:0: there is no port 0; a port from 1 to 65535 is wanted\n"
	        "t.ini:13: [upstream c] server: localhost:0: there is no port 0; a port from 1 to 65535 is wanted\n");
	free(found);
	config_free(&config);
	faults_fini(&faults);
}

static void test_groups_instance_differs_each_time(void **state)
{
	(void)state;
	struct made one = make(""), other = make("");
	struct slice id = groups_instance(one.groups);
	assert_int_equal(id.length, strlen("mlserve-") + 16);
	assert_true(slice_starts(id, SLICE("mlserve-")));
	assert_false(slice_equal(id, groups_instance(other.groups)));
	assert_int_equal(groups_count(one.groups), 0);
	drop(&one);
	drop(&other);
}

/* The servers picked in turn, as digits. */
static void expect_turns(struct group *g, const char *wanted)
{
	char got[40] = "";
	uint16_t server;
	for (size_t i = 0; i < strlen(wanted); i++) {
		assert_true(group_pick(g, NULL, 0, &server));
		got[i] = (char)('0' + server);
	}
	assert_string_equal(got, wanted);
}

static void test_round_robin_spreads_turns_by_weight(void **state)
{
	(void)state;
	struct made m = make("[upstream even]\nbalance = round-robin\nserver = 127.0.0.1:1\nserver = 127.0.0.1:2\n"
	                     "[upstream odd]\nbalance = round-robin\nserver = 127.0.0.1:1 weight=10\n"
	                     "server = 127.0.0.1:2 weight=2\nserver = 127.0.0.1:3 weight=2\n"
	                     "[upstream one]\nbalance = round-robin\nserver = 127.0.0.1:1 weight=7\n");
	expect_turns(groups_find(m.groups, "even"), "010101");
	expect_turns(groups_find(m.groups, "odd"), "00102000010200");
	expect_turns(groups_find(m.groups, "one"), "000");
	drop(&m);
}

static void test_pick_passes_over_servers_that_were_tried(void **state)
{
	(void)state;
	static const char *const policies[] = {"least-requests", "round-robin"};
	for (size_t i = 0; i < ARRAY_COUNT(policies); i++) {
		char text[300];
		snprintf(text, sizeof text,
		        "[upstream a]\nbalance = %s\nserver = 127.0.0.1:1\nserver = 127.0.0.1:2\nserver = "
		        "127.0.0.1:3\n",
		        policies[i]);
		struct made m = make(text);
		struct group *g = groups_at(m.groups, 0);
		uint16_t tried[3], server;
		for (size_t count = 0; count < 3; count++) {
			assert_true(group_pick(g, tried, count, &tried[count]));
			assert_false(balance_was_tried(tried, count, tried[count]));
		}
		assert_false(group_pick(g, tried, 3, &server));
		drop(&m);
	}
	struct made m = make("[upstream a]\nserver = 127.0.0.1:1\n");
	uint16_t server = 9, tried = 0;
	assert_true(group_pick(groups_at(m.groups, 0), NULL, 0, &server));
	assert_int_equal(server, 0);
	assert_false(group_pick(groups_at(m.groups, 0), &tried, 1, &server));
	drop(&m);
}

static void test_least_requests_weighs_what_is_in_progress(void **state)
{
	(void)state;
	struct made m = make("[upstream a]\nserver = 127.0.0.1:1 weight=3\nserver = 127.0.0.1:2\n");
	struct group *g = groups_at(m.groups, 0);
	uint16_t server;
	for (int i = 0; i < 8; i++) {
		assert_true(group_pick(g, NULL, 0, &server));
		atomic_fetch_add(&g->servers[server].active, 1);
	}
	assert_int_equal(g->servers[0].active, 6);
	assert_int_equal(g->servers[1].active, 2);
	struct server_figures figures;
	group_server_figures(g, 0, &figures);
	assert_int_equal(figures.active, 6);
	assert_string_equal(figures.server, "127.0.0.1:1");
	assert_string_equal(server_state_text(figures.state), "up");
	drop(&m);
}

static void test_least_requests_lets_equals_take_turns(void **state)
{
	(void)state;
	struct made m = make("[upstream a]\nserver = 127.0.0.1:1\nserver = 127.0.0.1:2\nserver = 127.0.0.1:3\n");
	expect_turns(groups_at(m.groups, 0), "012012");
	drop(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_groups_are_found_by_name_with_their_settings),
	        cmocka_unit_test(test_groups_report_every_faulty_server),
	        cmocka_unit_test(test_groups_instance_differs_each_time),
	        cmocka_unit_test(test_round_robin_spreads_turns_by_weight),
	        cmocka_unit_test(test_pick_passes_over_servers_that_were_tried),
	        cmocka_unit_test(test_least_requests_weighs_what_is_in_progress),
	        cmocka_unit_test(test_least_requests_lets_equals_take_turns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
