/* Groups from configurations, and whose turn it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/clock.h"
#include "config/load.h"
#include "upstream/pool.h"
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

static struct member *member_at(const struct group *g, size_t index)
{
	assert_true(index < g->set->count);
	return g->set->entries[index].server;
}

static void test_groups_are_found_by_name_with_their_settings(void **state)
{
	(void)state;
	struct made m = make("[upstream a]\nserver = 127.0.0.1:81\nserver = [::1]:82 backup weight=3\n"
	                     "server = app.internal:80\nserver = 127.0.0.1:83 max_connections=7 drain\n"
	                     "server = srv:_http._tcp.app.example weight=2\nmax_connections = 9\n"
	                     "[upstream b]\nserver = unix:/run/b.sock\nkeepalive = 5\nretries = 0\n"
	                     "connect_timeout = 250ms\nresponse_timeout = 7s\nbalance = hash:cookie=sid\n");
	assert_int_equal(groups_count(m.groups), 2);
	struct group *a = groups_find(m.groups, "a"), *b = groups_find(m.groups, "b");
	assert_ptr_equal(groups_at(m.groups, 0), a);
	assert_string_equal(b->name, "b");
	assert_null(groups_find(m.groups, "c"));
	/* Primaries first; names have no servers yet. */
	assert_int_equal(a->set->count, 3);
	assert_true(a->set->is_pending);
	assert_int_equal(a->set->unresolved_count, 2);
	assert_string_equal(a->set->unresolved[1], "srv:_http._tcp.app.example");
	assert_int_equal(member_at(a, 0)->limit, 9);
	assert_int_equal(member_at(a, 1)->limit, 7);
	assert_true(a->set->entries[1].is_draining);
	assert_true(a->set->entries[2].is_backup);
	assert_int_equal(a->set->entries[2].weight, 3);
	assert_int_equal(member_at(a, 2)->endpoint.to.any.sa_family, AF_INET6);
	assert_string_equal(member_at(a, 2)->name, "[::1]:82");
	assert_int_equal(a->lines[2].kind, SERVER_NAME);
	assert_string_equal(a->lines[2].name, "app.internal");
	assert_int_equal(a->lines[2].port, 80);
	assert_int_equal(a->lines[4].kind, SERVER_SRV);
	assert_int_equal(b->keepalive, 5);
	assert_int_equal(b->retries, 0);
	assert_int_equal(b->connect_timeout_ns, 250 * NS_PER_MS);
	assert_int_equal(b->response_timeout_ns, 7 * NS_PER_S);
	assert_int_equal(b->key, KEY_COOKIE);
	assert_true(slice_equal(b->key_name, SLICE("sid")));
	assert_false(b->set->is_pending);
	drop(&m);
}

static void test_groups_report_every_fault(void **state)
{
	(void)state;
	static const char text[] = "[upstream a]\nserver = 127.0.0.1:81 weight=0\nserver = 127.0.0.1\n"
	                           "server = 127.0.0.1:82 backups\nserver = 127.0.0.1:83 weight=010\n"
	                           "[upstream b]\nserver = unix:\n"
	                           "[upstream c]\nserver = 127.0.0.1:84 weight=2 weight=3\n"
	                           "server = 127.0.0.1:85 drain drain\nserver = 127.0.0.1:0\n"
	                           "server = [::1]:0 weight=2\nserver = localhost:0\nserver = srv:a.example:80\n"
	                           "server = a..b:80\nserver = 127.0.0.1:1 backup=1\n"
	                           "[upstream d]\nserver = a:1\nbalance = hash:header=\nsticky_cookie = a b\n"
	                           "health_path = x\nresolve_min_ttl = 10m\n";
	struct faults faults;
	faults_init(&faults);
	struct config *config = load_bytes(text, strlen(text), NULL, &faults);
	assert_non_null(config);
	assert_null(groups_create(config, 1));
	char *found = faults_text(&faults);
#define ALLOWED                                                                                                        \
	"; after the address weight=1..256, max_connections=0..1000000, backup and drain are allowed, each once\n"
	assert_string_equal(found,
	        "t.ini:2: [upstream a] server: does not know \"weight=0\"" ALLOWED
	        "t.ini:3: [upstream a] server: 127.0.0.1: not ADDRESS:PORT, NAME:PORT, [IPV6]:PORT, srv:NAME or "
	        "unix:/PATH\n"
	        "t.ini:4: [upstream a] server: does not know \"backups\"" ALLOWED
	        "t.ini:5: [upstream a] server: does not know \"weight=010\"" ALLOWED
	        "t.ini:7: [upstream b] server: unix:: a unix socket's path has 1 to 107 bytes\n"
	        "t.ini:9: [upstream c] server: repeats \"weight=3\"" ALLOWED
	        "t.ini:10: [upstream c] server: repeats \"drain\"" ALLOWED
	        "t.ini:11: [upstream c] server: 127.0.0.1:0: there is no port 0; a port from 1 to 65535 is wanted\n"
	        "t.ini:12: [upstream c] server: [::1]:0: there is no port 0; a port from 1 to 65535 is wanted\n"
	        "t.ini:13: [upstream c] server: localhost:0: there is no port 0; a port from 1 to 65535 is wanted\n"
	        "t.ini:14: [upstream c] server: srv:a.example:80: srv: wants a name such as "
	        "srv:_http._tcp.app.example, "
	        "without a port\n"
	        "t.ini:15: [upstream c] server: a..b:80: not ADDRESS:PORT, NAME:PORT, [IPV6]:PORT, srv:NAME or "
	        "unix:/PATH\n"
	        "t.ini:16: [upstream c] server: does not know \"backup=1\"" ALLOWED
	        "t.ini:19: [upstream d] balance: does not know \"hash:header=\"; allowed: least-requests, round-robin, "
	        "two-choices, hash:client-ip, hash:uri, hash:header=NAME, hash:cookie=NAME\n"
	        "t.ini:20: [upstream d] sticky_cookie: \"a b\" is no name of a cookie; allowed: up to 64 letters, "
	        "digits "
	        "and !#$%&'*+-.^_`|~\n"
	        "t.ini:21: [upstream d] health_path: \"x\" is no path; it begins with /, as in /healthz, and has no "
	        "blanks, no # and at most 512 bytes\n"
	        "t.ini:22: [upstream d] resolve_min_ttl: is more than resolve_max_ttl; allowed: as much or less\n");
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

/* Which entry of the set is picked; -1: none, for `ret_why`. */
static int pick_with(struct group *g, struct pick *p, enum pick_result *ret_why)
{
	const struct set_entry *entry;
	p->now_ns = clock_now_ns();
	enum pick_result result = group_pick(g->pools[0], p, &entry);
	if (ret_why)
		*ret_why = result;
	return result == PICK_DONE ? (int)(entry - g->pools[0]->set->entries) : -1;
}

static int pick_one(struct group *g)
{
	struct pick p = {0};
	return pick_with(g, &p, NULL);
}

/* As a loop does between its turns. */
static void take_set(struct pool *p)
{
	struct member_set *before = p->set, *set = atomic_exchange(&p->coming, NULL);
	p->set = set ? set : before;
	if (set)
		set_release(before);
}

static struct group *first_of(struct made *m)
{
	struct group *g = groups_at(m->groups, 0);
	take_set(g->pools[0]);
	return g;
}

/* The servers picked in turn, as digits. */
static void expect_turns(const char *text, const char *wanted)
{
	struct made m = make(text);
	struct group *g = first_of(&m);
	char got[40] = "";
	for (size_t i = 0; i < strlen(wanted); i++)
		got[i] = (char)('0' + pick_one(g));
	assert_string_equal(got, wanted);
	drop(&m);
}

static void test_round_robin_spreads_turns_by_weight(void **state)
{
	(void)state;
	expect_turns("[upstream even]\nbalance = round-robin\nserver = 127.0.0.1:1\nserver = 127.0.0.1:2\n", "010101");
	expect_turns("[upstream odd]\nbalance = round-robin\nserver = 127.0.0.1:1 weight=10\n"
	             "server = 127.0.0.1:2 weight=2\nserver = 127.0.0.1:3 weight=2\n",
	        "00102000010200");
	expect_turns("[upstream one]\nbalance = round-robin\nserver = 127.0.0.1:1 weight=7\n", "000");
}

static void test_least_requests_lets_equals_take_turns(void **state)
{
	(void)state;
	expect_turns("[upstream a]\nserver = 127.0.0.1:1\nserver = 127.0.0.1:2\nserver = 127.0.0.1:3\n", "012012");
}

static const char *const policies[] = {"least-requests", "round-robin", "two-choices", "hash:uri"};

static struct made make_three(const char *policy, const char *more)
{
	char text[400];
	snprintf(text, sizeof text,
	        "[upstream a]\nbalance = %s\nserver = 127.0.0.1:1\nserver = 127.0.0.1:2\nserver = 127.0.0.1:3\n%s",
	        policy, more);
	return make(text);
}

static void test_pick_passes_over_servers_that_were_tried(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(policies); i++) {
		struct made m = make_three(policies[i], "");
		struct group *g = first_of(&m);
		struct member *tried[3];
		enum pick_result why;
		for (size_t count = 0; count < 3; count++) {
			struct pick p = {.tried = tried, .tried_count = count, .key = 7, .has_key = true};
			int at = pick_with(g, &p, NULL);
			assert_true(at >= 0);
			tried[count] = member_at(g, (size_t)at);
			for (size_t k = 0; k < count; k++)
				assert_ptr_not_equal(tried[k], tried[count]);
		}
		struct pick p = {.tried = tried, .tried_count = 3};
		assert_int_equal(pick_with(g, &p, &why), -1);
		assert_int_equal(why, PICK_TRIED);
		drop(&m);
	}
}

static void test_pick_passes_over_servers_that_fail_checks_or_are_full(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_COUNT(policies); i++) {
		struct made m = make_three(policies[i], "max_connections = 2\n");
		struct group *g = first_of(&m);
		enum pick_result why;
		struct pick p = {.key = 9, .has_key = true};
		atomic_store(&member_at(g, 0)->is_failing, true);
		atomic_store(&member_at(g, 2)->active, 2);
		for (int k = 0; k < 20; k++)
			assert_int_equal(pick_with(g, &p, NULL), 1);
		atomic_store(&member_at(g, 1)->active, 2);
		assert_int_equal(pick_with(g, &p, &why), -1);
		assert_int_equal(why, PICK_FULL);
		atomic_store(&member_at(g, 1)->is_failing, true);
		atomic_store(&member_at(g, 2)->is_failing, true);
		assert_int_equal(pick_with(g, &p, &why), -1);
		assert_int_equal(why, PICK_DOWN);
		drop(&m);
	}
}

static void test_backups_serve_when_no_primary_does(void **state)
{
	(void)state;
	struct made m = make("[upstream a]\nserver = 127.0.0.1:1 backup\nserver = 127.0.0.1:2\n"
	                     "server = 127.0.0.1:3 drain\n");
	struct group *g = first_of(&m);
	/* Primaries stand first: :2, the draining :3, then the backup. */
	for (int i = 0; i < 10; i++)
		assert_int_equal(pick_one(g), 0);
	atomic_store(&member_at(g, 0)->is_failing, true);
	assert_int_equal(pick_one(g), 2);
	drop(&m);
}

static void test_sticky_clients_come_back_also_to_a_draining_server(void **state)
{
	(void)state;
	struct made m = make("[upstream a]\nsticky_cookie = s\nserver = 127.0.0.1:1\nserver = 127.0.0.1:2 drain\n"
	                     "max_connections = 1\n");
	struct group *g = first_of(&m);
	struct pick p = {.has_sticky = true, .sticky = member_at(g, 1)->id};
	for (int i = 0; i < 3; i++)
		assert_int_equal(pick_with(g, &p, NULL), 1);
	assert_int_equal(pick_one(g), 0);
	/* Busy: a guest elsewhere, who comes back. */
	atomic_store(&member_at(g, 1)->active, 1);
	assert_int_equal(pick_with(g, &p, NULL), 0);
	assert_true(p.sticky_is_full);
	atomic_store(&member_at(g, 1)->is_failing, true);
	assert_int_equal(pick_with(g, &p, NULL), 0);
	assert_false(p.sticky_is_full);
	drop(&m);
}

static void test_hash_keeps_keys_and_moves_only_those_of_a_lost_server(void **state)
{
	(void)state;
	enum { KEYS = 600 };
	struct made m = make("[upstream a]\nbalance = hash:uri\nserver = 127.0.0.1:1 weight=2\n"
	                     "server = 127.0.0.1:2\nserver = 127.0.0.1:3\n");
	struct group *g = first_of(&m);
	int before[KEYS], counts[3] = {0};
	for (uint64_t key = 0; key < KEYS; key++) {
		struct pick p = {.has_key = true, .key = key * 77};
		before[key] = pick_with(g, &p, NULL);
		assert_in_range(before[key], 0, 2);
		counts[before[key]]++;
	}
	/* 2:1:1, within what chance leaves. */
	assert_in_range(counts[0], 250, 350);
	assert_in_range(counts[1], 110, 190);
	atomic_store(&member_at(g, 1)->is_failing, true);
	for (uint64_t key = 0; key < KEYS; key++) {
		struct pick p = {.has_key = true, .key = key * 77};
		int now = pick_with(g, &p, NULL);
		assert_true(before[key] == 1 ? now != 1 : now == before[key]);
	}
	/* No key: turns. */
	assert_int_not_equal(pick_one(g), pick_one(g));
	drop(&m);
}

static void test_two_choices_prefers_the_less_busy(void **state)
{
	(void)state;
	struct made m = make("[upstream a]\nbalance = two-choices\nserver = 127.0.0.1:1\nserver = 127.0.0.1:2\n");
	struct group *g = first_of(&m);
	int seen[2] = {0};
	for (int i = 0; i < 100; i++)
		seen[pick_one(g)]++;
	assert_true(seen[0] > 10 && seen[1] > 10);
	atomic_store(&member_at(g, 0)->active, 5);
	seen[0] = 0;
	for (int i = 0; i < 100; i++)
		seen[0] += pick_one(g) == 0;
	/* Only when chance names it five times. */
	assert_in_range(seen[0], 0, 15);
	drop(&m);
}

static void test_least_requests_weighs_what_is_in_progress(void **state)
{
	(void)state;
	struct made m = make("[upstream a]\nserver = 127.0.0.1:1 weight=3\nserver = 127.0.0.1:2\n");
	struct group *g = first_of(&m);
	for (int i = 0; i < 8; i++)
		atomic_fetch_add(&member_at(g, (size_t)pick_one(g))->active, 1);
	assert_int_equal(member_at(g, 0)->active, 6);
	assert_int_equal(member_at(g, 1)->active, 2);
	struct member_figures figures;
	member_figures(member_at(g, 0), clock_now_ns(), &figures);
	assert_int_equal(figures.active, 6);
	assert_string_equal(figures.server, "127.0.0.1:1");
	assert_string_equal(member_state_text(figures.state), "up");
	drop(&m);
}

static void test_slow_start_gives_a_server_its_share_by_and_by(void **state)
{
	(void)state;
	static const char *const slow[] = {"round-robin", "least-requests"};
	for (size_t i = 0; i < ARRAY_COUNT(slow); i++) {
		struct made m = make_three(slow[i], "slow_start = 1h\n");
		struct group *g = first_of(&m);
		int seen[3] = {0};
		atomic_store(&member_at(g, 0)->up_since_ns, clock_now_ns());
		for (int k = 0; k < 300; k++) {
			int at = pick_one(g);
			seen[at]++;
			atomic_fetch_add(&member_at(g, (size_t)at)->active, 1);
		}
		assert_in_range(seen[0], 0, 30);
		atomic_store(&member_at(g, 1)->is_failing, true);
		atomic_store(&member_at(g, 2)->is_failing, true);
		assert_int_equal(pick_one(g), 0); /* better than nobody */
		drop(&m);
	}
}

/* ---- ejection ---------------------------------------------------------------------------------- */

static void note_failures(struct member *m, unsigned count, int64_t begun_ns)
{
	for (unsigned i = 0; i < count; i++)
		member_note_failure(m, begun_ns, clock_now_ns(), false, "test");
}

static void test_a_server_is_ejected_after_failures_in_a_row_only(void **state)
{
	(void)state;
	struct made m = make("[upstream a]\neject_errors = 3\neject_time = 1h\nserver = 127.0.0.1:1\n"
	                     "server = 127.0.0.1:2\n[log]\nlevel = error\n");
	struct group *g = first_of(&m);
	struct member *first = member_at(g, 0);
	int64_t begun_ns = clock_now_ns();
	note_failures(first, 2, begun_ns);
	member_note_success(first, begun_ns, begun_ns);
	note_failures(first, 2, begun_ns);
	assert_false(member_is_ejected(first, clock_now_ns()));
	note_failures(first, 1, begun_ns);
	assert_true(member_is_ejected(first, clock_now_ns()));
	for (int i = 0; i < 5; i++)
		assert_int_equal(pick_one(g), 1);
	/* What began before does not bring it back. */
	member_note_success(first, begun_ns, clock_now_ns());
	assert_true(member_is_ejected(first, clock_now_ns()));
	member_note_success(first, clock_now_ns() + 1, clock_now_ns());
	assert_false(member_is_ejected(first, clock_now_ns()));
	drop(&m);
}

static void test_after_its_time_one_request_tries_an_ejected_server(void **state)
{
	(void)state;
	struct made m = make("[upstream a]\neject_errors = 1\neject_time = 1ms\nserver = 127.0.0.1:1\n"
	                     "server = 127.0.0.1:2\n");
	struct group *g = first_of(&m);
	int seen = 0;
	note_failures(member_at(g, 0), 1, clock_now_ns());
	while (member_is_ejected(member_at(g, 0), clock_now_ns()))
		;
	for (int i = 0; i < 20; i++)
		seen += pick_one(g) == 0;
	assert_int_equal(seen, 1);
	drop(&m);
}

static void test_with_all_ejected_one_request_a_second_goes_to_the_first_due(void **state)
{
	(void)state;
	struct made m = make("[upstream a]\neject_errors = 1\neject_time = 1h\nserver = 127.0.0.1:1\n"
	                     "server = 127.0.0.1:2\n");
	struct group *g = first_of(&m);
	enum pick_result why;
	struct pick p = {0};
	note_failures(member_at(g, 1), 1, clock_now_ns());
	note_failures(member_at(g, 0), 1, clock_now_ns());
	assert_int_equal(pick_with(g, &p, NULL), 1);
	assert_int_equal(pick_with(g, &p, &why), -1);
	assert_int_equal(why, PICK_DOWN);
	member_note_success(member_at(g, 1), clock_now_ns(), clock_now_ns());
	assert_int_equal(pick_one(g), 1);
	assert_int_equal(pick_one(g), 1);
	drop(&m);
}

/* ---- sets ---------------------------------------------------------------------------------------- */

static void test_a_server_is_freed_when_nothing_uses_it_any_more(void **state)
{
	(void)state;
	struct made m = make("[upstream a]\nserver = 127.0.0.1:1\n[upstream b]\nserver = 127.0.0.1:2\n");
	struct group *g = first_of(&m);
	struct member *first = member_at(g, 0), *second = group_add_member(g, 0, &g->lines[0].endpoint);
	struct set_entry entry = {second, 1, false, false};
	atomic_fetch_add(&first->connections, 1);
	assert_true(group_publish(g, &entry, 1, NULL, 0, false));
	assert_true(atomic_load(&first->is_retired));
	assert_false(atomic_load(&second->is_retired));
	/* The pools go by the old set still. */
	assert_false(member_is_unused(first));
	for (unsigned i = 0; i < g->loop_count; i++)
		take_set(g->pools[i]);
	assert_false(member_is_unused(first));
	atomic_fetch_sub(&first->connections, 1);
	assert_true(member_is_unused(first));
	group_collect(g);
	assert_ptr_equal(g->servers.next, &second->node);
	assert_ptr_equal(g->servers.previous, &second->node);
	drop(&m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_groups_are_found_by_name_with_their_settings),
	        cmocka_unit_test(test_groups_report_every_fault),
	        cmocka_unit_test(test_groups_instance_differs_each_time),
	        cmocka_unit_test(test_round_robin_spreads_turns_by_weight),
	        cmocka_unit_test(test_least_requests_lets_equals_take_turns),
	        cmocka_unit_test(test_pick_passes_over_servers_that_were_tried),
	        cmocka_unit_test(test_pick_passes_over_servers_that_fail_checks_or_are_full),
	        cmocka_unit_test(test_backups_serve_when_no_primary_does),
	        cmocka_unit_test(test_sticky_clients_come_back_also_to_a_draining_server),
	        cmocka_unit_test(test_hash_keeps_keys_and_moves_only_those_of_a_lost_server),
	        cmocka_unit_test(test_two_choices_prefers_the_less_busy),
	        cmocka_unit_test(test_least_requests_weighs_what_is_in_progress),
	        cmocka_unit_test(test_slow_start_gives_a_server_its_share_by_and_by),
	        cmocka_unit_test(test_a_server_is_ejected_after_failures_in_a_row_only),
	        cmocka_unit_test(test_after_its_time_one_request_tries_an_ejected_server),
	        cmocka_unit_test(test_with_all_ejected_one_request_a_second_goes_to_the_first_due),
	        cmocka_unit_test(test_a_server_is_freed_when_nothing_uses_it_any_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
