/* Which idle connection is lent, which is closed, and that a server's word or silence ends one. */
#include "base/check.h"
#include "base/fd.h"
#include "upstream/bench.h"
#include <string.h>
#include <unistd.h>

/* Serves one exchange on the link, so that it can be kept. */
static void serve(struct bench *b, struct link *l, int fd)
{
	static const char answer[] = "HTTP/1.1 204 No Content\r\n\r\n";
	struct field fields[LINK_HEAD_FIELDS];
	struct response_head head = {.fields = {.items = fields, .capacity = LINK_HEAD_FIELDS}};
	size_t length;
	bench_say(fd, answer, sizeof answer - 1);
	bench_settle(b);
	assert_int_equal(link_head(l, METHOD_GET, &head, &length), LINK_DONE);
	link_take_head(l, METHOD_GET, &head, length);
	link_release(l);
}

/* Makes `count` connections to the server and keeps them, in this order. */
static void keep(struct bench *b, uint16_t server, unsigned count, struct link *links[], int fds[])
{
	for (unsigned i = 0; i < count; i++) {
		links[i] = bench_begin(b, server);
		fds[i] = bench_accept(b, server);
	}
	for (unsigned i = 0; i < count; i++)
		serve(b, links[i], fds[i]);
}

static void close_all(int fds[], unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (fds[i] >= 0)
			fd_close(&fds[i]);
}

static bool is_closed_by_us(int fd)
{
	char byte;
	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void test_pool_lends_the_newest_first(void **state)
{
	(void)state;
	struct bench b;
	struct link *links[3];
	int fds[3];
	bench_open(&b, 1, "");
	keep(&b, 0, 3, links, fds);
	assert_int_equal(bench_figures(&b, 0).idle, 3);
	for (int i = 2; i >= 0; i--) {
		struct link *l = pool_take(b.pool, bench_member(&b, 0), i % 2);
		assert_ptr_equal(l, links[i]);
		bench_begin_on(&b, l);
		assert_true(l->reused);
		assert_false(link_has_sent(l));
		assert_false(link_has_received(l));
	}
	assert_null(pool_take(b.pool, bench_member(&b, 0), false));
	assert_int_equal(bench_figures(&b, 0).active, 3);
	for (int i = 0; i < 3; i++)
		link_drop(links[i]);
	assert_int_equal(bench_figures(&b, 0).requests, 6);
	close_all(fds, 3);
	bench_close(&b);
}

static void test_pool_keeps_servers_apart(void **state)
{
	(void)state;
	struct bench b;
	struct link *links[2];
	int fds[2];
	bench_open(&b, 2, "");
	keep(&b, 1, 1, links, fds);
	assert_null(pool_take(b.pool, bench_member(&b, 0), false));
	assert_int_equal(bench_figures(&b, 0).idle, 0);
	assert_int_equal(bench_figures(&b, 1).idle, 1);
	close_all(fds, 1);
	bench_close(&b);
}

static void test_pool_closes_the_oldest_when_there_are_enough(void **state)
{
	(void)state;
	struct bench b;
	struct link *links[4];
	int fds[4];
	bench_open(&b, 2, "keepalive = 3");
	keep(&b, 0, 2, links, fds);
	keep(&b, 1, 2, links + 2, fds + 2);
	assert_int_equal(bench_figures(&b, 0).idle, 1);
	assert_int_equal(bench_figures(&b, 1).idle, 2);
	assert_true(is_closed_by_us(fds[0]));
	assert_false(is_closed_by_us(fds[1]));
	close_all(fds, 4);
	bench_close(&b);
}

static void test_pool_keeps_nothing_when_keepalive_is_0(void **state)
{
	(void)state;
	struct bench b;
	struct link *links[1];
	int fds[1];
	bench_open(&b, 1, "keepalive = 0");
	keep(&b, 0, 1, links, fds);
	assert_int_equal(bench_figures(&b, 0).idle, 0);
	assert_true(is_closed_by_us(fds[0]));
	close_all(fds, 1);
	bench_close(&b);
}

static bool has_none(struct bench *b, void *argument)
{
	(void)argument;
	return bench_figures(b, 0).idle == 0;
}

static void test_pool_drops_an_idle_connection_whose_server_moves(void **state)
{
	(void)state;
	struct bench b;
	struct link *links[1];
	int fds[1];
	bench_open(&b, 1, "");
	for (int how = 0; how < 3; how++) {
		keep(&b, 0, 1, links, fds);
		assert_int_equal(bench_figures(&b, 0).idle, 1);
		if (how == 0)
			fd_close(&fds[0]);
		else if (how == 1)
			bench_reset(&fds[0]);
		else
			bench_say(fds[0], "x", 1);
		bench_turn_until(&b, has_none, NULL);
		assert_null(pool_take(b.pool, bench_member(&b, 0), false));
		close_all(fds, 1);
	}
	assert_int_equal(bench_figures(&b, 0).failures, 0);
	bench_close(&b);
}

/* Of two idle connections something came on the one that was put last, and the loop does not know yet. */
static void expect_other_lent(void (*come)(int *fd), bool probe)
{
	struct bench b;
	struct link *links[2];
	int fds[2];
	bench_open(&b, 1, "");
	keep(&b, 0, 2, links, fds);
	come(&fds[1]);
	b.loop.epoch++; /* as the next look at the set, whose events name this connection last */
	assert_ptr_equal(pool_take(b.pool, bench_member(&b, 0), probe), links[0]);
	assert_int_equal(bench_figures(&b, 0).idle, 0);
	bench_begin_on(&b, links[0]);
	link_drop(links[0]);
	close_all(fds, 2);
	bench_close(&b);
}

static void say_something(int *fd)
{
	bench_say(*fd, "x", 1);
}

static void test_pool_probe_sees_a_close_that_the_loop_has_not_seen(void **state)
{
	(void)state;
	expect_other_lent(fd_close, true);
}

static void test_pool_does_not_lend_what_got_input_that_the_loop_has_not_seen(void **state)
{
	(void)state;
	expect_other_lent(say_something, false);
	expect_other_lent(say_something, true);
}

static void test_pool_outlives_its_loop_with_connections_left(void **state)
{
	(void)state;
	struct bench b;
	struct link *links[1];
	int fds[1];
	bench_open(&b, 1, "");
	keep(&b, 0, 1, links, fds);
	/* As after a loop that died: nobody closed the pool. */
	loop_fini(&b.loop);
	groups_free(&b.groups);
	assert_true(is_closed_by_us(fds[0]));
	close_all(fds, 1);
	close_all(b.listeners, 1);
	blocks_fini(&b.blocks);
	config_free(&b.config);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_pool_lends_the_newest_first),
	        cmocka_unit_test(test_pool_keeps_servers_apart),
	        cmocka_unit_test(test_pool_closes_the_oldest_when_there_are_enough),
	        cmocka_unit_test(test_pool_keeps_nothing_when_keepalive_is_0),
	        cmocka_unit_test(test_pool_drops_an_idle_connection_whose_server_moves),
	        cmocka_unit_test(test_pool_probe_sees_a_close_that_the_loop_has_not_seen),
	        cmocka_unit_test(test_pool_does_not_lend_what_got_input_that_the_loop_has_not_seen),
	        cmocka_unit_test(test_pool_outlives_its_loop_with_connections_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
