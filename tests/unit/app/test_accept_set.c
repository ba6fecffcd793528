/* Accepting: in batches, when nobody has room, and when descriptors run out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/accept_set.h"
#include "base/check.h"
#include "base/fd.h"
#include "base/log.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MANY = 100 };

static struct stats stats;
static struct loop loop;
static struct acceptor_figures figures;
static struct accept_set set;
static struct listener_settings settings;
static struct listener_socket listener;
static int taken[MANY], taken_count, room, clients[MANY], client_count, batches, wanted;
static uint16_t taken_ports[MANY];
static struct rlimit limit_before;
static bool gave_up;

static bool take(struct accept_set *s, const struct listener_settings *l, int fd, const struct address *peer)
{
	assert_ptr_equal(s, &set);
	assert_ptr_equal(l, &settings);
	if (taken_count >= room)
		return false;
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	taken_ports[taken_count] = peer->port;
	taken[taken_count++] = fd;
	return true;
}

static void begin_batch(struct accept_set *s)
{
	(void)s;
	batches++;
}

static bool (*is_done)(void);

static void on_turn_end(struct loop *l)
{
	if (is_done && is_done())
		loop_stop(l);
}

static int setup(void **state)
{
	const char *reason;
	(void)state;
	log_set_level(LOG_LEVEL_ERROR);
	stats_init(&stats);
	memset(&figures, 0, sizeof figures);
	taken_count = client_count = batches = 0;
	room = MANY;
	settings = (struct listener_settings){.name = "main"};
	listener = (struct listener_socket){.settings = &settings};
	assert_true(endpoint_parse(SLICE("127.0.0.1:0"), false, &listener.endpoint, &reason));
	listener.fd = listener_open(&listener.endpoint, 64, 0);
	assert_true(listener.fd >= 0);
	assert_int_equal(loop_init(&loop, 0, &stats, 4), 0);
	loop.turn_end = on_turn_end;
	assert_int_equal(accept_set_init(&set, &loop, &figures, 1), 0);
	set.take = take;
	set.begin_batch = begin_batch;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit_before), 0);
	return accept_set_add(&set, &listener);
}

static void close_all(int *fds, int *count)
{
	while (*count)
		fd_close(&fds[--*count]);
}

static int teardown(void **state)
{
	(void)state;
	setrlimit(RLIMIT_NOFILE, &limit_before);
	accept_set_fini(&set);
	listeners_close(&listener);
	loop_fini(&loop);
	close_all(taken, &taken_count);
	close_all(clients, &client_count);
	return 0;
}

static void connect_clients(int count)
{
	while (count--) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(fd, &listener.endpoint.to.any, listener.endpoint.length), 0);
		clients[client_count++] = fd;
	}
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in sa;
	socklen_t length = sizeof sa;
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &length), 0);
	return ntohs(sa.sin_port);
}

static void give_up(struct timer *t)
{
	(void)t;
	gave_up = true;
	loop_stop(&loop);
}

/* Runs until that holds at a turn's end; fails after ten seconds. */
static void run_until(bool (*done)(void))
{
	struct timer t;
	is_done = done;
	gave_up = false;
	loop.stopping = false;
	timer_init(&t, give_up);
	timer_start(&loop, &t, 10 * 1000 * 1000);
	assert_int_equal(loop_run(&loop), 0);
	timer_stop(&loop, &t);
	assert_false(gave_up);
}

static bool has_taken_wanted(void)
{
	return taken_count >= wanted;
}

static bool is_paused(void)
{
	return set.paused;
}

static bool has_refused_two(void)
{
	return atomic_load(&figures.refused) == 2;
}

static void run_until_taken(int count)
{
	wanted = count;
	run_until(has_taken_wanted);
}

static bool is_closed(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static void test_accept_set_takes_all_that_wait_in_few_batches_and_in_order(void **state)
{
	(void)state;
	connect_clients(50);
	run_until_taken(50);
	for (int i = 0; i < 50; i++)
		assert_int_equal(taken_ports[i], port_of(clients[i]));
	assert_int_equal(batches, 1);
	assert_int_equal(atomic_load(&figures.accepted), 50);
	connect_clients(1);
	run_until_taken(51);
	assert_int_equal(atomic_load(&figures.errors), 0);
}

static void test_accept_set_expects_as_many_as_lately(void **state)
{
	(void)state;
	for (int i = 1; i <= 5; i++) {
		connect_clients(1);
		run_until_taken(i);
	}
	/* The first batch ended by an accept4 in vain, the others after the one that they expected. */
	assert_int_equal(batches, 5);
	assert_int_equal(set.sockets[0].usual, 2); /* after four full ones */
	connect_clients(60);
	run_until_taken(65);
	for (int i = 0; i < 65; i++)
		assert_int_equal(taken_ports[i], port_of(clients[i]));
	assert_in_range(batches, 10, 25); /* it learns fast */
}

static void test_accept_set_pauses_when_the_taker_is_full_and_keeps_the_socket(void **state)
{
	(void)state;
	room = 1;
	connect_clients(4);
	run_until(is_paused);
	assert_int_equal(taken_count, 1);
	assert_true(set.paused);
	assert_true(set.held.fd >= 0);
	assert_int_equal(set.held.peer.port, port_of(clients[1]));
	assert_int_equal(atomic_load(&figures.accepted), 2); /* the others wait in the kernel */
	accept_set_resume(&set);                             /* still no room */
	assert_true(set.paused);
	room = MANY;
	accept_set_resume(&set);
	assert_int_equal(taken_count, 2);
	assert_false(set.paused);
	assert_int_equal(set.held.fd, -1);
	run_until_taken(4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(taken_ports[i], port_of(clients[i]));
	assert_int_equal(atomic_load(&figures.refused), 0);
}

static void test_accept_set_that_is_paused_tries_again_by_itself(void **state)
{
	(void)state;
	room = 0;
	connect_clients(2);
	run_until(is_paused);
	room = MANY;
	run_until_taken(2); /* nobody calls resume */
	assert_false(set.paused);
}

static void test_accept_set_survives_without_descriptors(void **state)
{
	struct rlimit tight = {.rlim_max = limit_before.rlim_max};
	(void)state;
	connect_clients(6);
	/* Room for two more. */
	int two[2] = {dup(0), dup(0)};
	tight.rlim_cur = (rlim_t)two[1] + 1;
	close(two[0]);
	close(two[1]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	run_until(is_paused);
	assert_int_equal(taken_count, 2);
	assert_true(set.paused); /* does not spin */
	assert_int_equal(atomic_load(&figures.errors), 1);
	assert_int_equal(atomic_load(&figures.refused), 1); /* one learns that it is not served */
	assert_true(is_closed(clients[2]));
	assert_false(is_closed(clients[3]));
	assert_true(set.reserve_fd >= 0);
	run_until(has_refused_two); /* tried again, in vain: the next one is turned away */
	assert_int_equal(atomic_load(&figures.refused), 2);
	assert_true(is_closed(clients[3]));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit_before), 0);
	run_until_taken(4); /* with descriptors back it goes on by itself */
	assert_false(is_closed(clients[4]));
	assert_false(is_closed(clients[5]));
	assert_false(set.paused);
}

static void test_accept_set_finish_takes_what_the_kernel_has_queued_and_closes(void **state)
{
	(void)state;
	connect_clients(30);
	assert_true(accept_set_finish(&set));
	assert_int_equal(taken_count, 30);
	assert_int_equal(listener.fd, -1);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, &listener.endpoint.to.any, listener.endpoint.length), -1);
	assert_int_equal(errno, ECONNREFUSED);
	close(fd);
	accept_set_resume(&set); /* does not begin anew */
	assert_true(set.paused);
}

static void test_accept_set_finish_waits_for_room(void **state)
{
	(void)state;
	room = 3;
	connect_clients(10);
	assert_false(accept_set_finish(&set));
	assert_int_equal(taken_count, 3);
	room = MANY;
	assert_true(accept_set_finish(&set));
	assert_int_equal(taken_count, 10);
	for (int i = 0; i < 10; i++)
		assert_int_equal(taken_ports[i], port_of(clients[i]));
	assert_int_equal(atomic_load(&figures.refused), 0);
}

static void test_accept_set_close_refuses_what_it_held(void **state)
{
	(void)state;
	room = 0;
	connect_clients(1);
	run_until(is_paused);
	accept_set_close(&set);
	assert_int_equal(atomic_load(&figures.refused), 1);
	assert_true(is_closed(clients[0]));
	assert_int_equal(listener.fd, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_accept_set_takes_all_that_wait_in_few_batches_and_in_order),
	        TEST(test_accept_set_expects_as_many_as_lately),
	        TEST(test_accept_set_pauses_when_the_taker_is_full_and_keeps_the_socket),
	        TEST(test_accept_set_that_is_paused_tries_again_by_itself),
	        TEST(test_accept_set_survives_without_descriptors),
	        TEST(test_accept_set_finish_takes_what_the_kernel_has_queued_and_closes),
	        TEST(test_accept_set_finish_waits_for_room),
	        TEST(test_accept_set_close_refuses_what_it_held),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
