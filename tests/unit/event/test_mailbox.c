/* The queue between threads: order, bounds, and who is woken when. The rare interleavings are tests/stress's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/mailbox.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { WRITERS = 4, MAILS_A_WRITER = 20000 };

static struct mail numbered(int number)
{
	return (struct mail){.fd = number};
}

static void post(struct mailbox *m, int number)
{
	struct mail mail = numbered(number);
	assert_true(mailbox_post(m, &mail));
}

static void expect(struct mailbox *m, int number)
{
	struct mail mail;
	assert_true(mailbox_take(m, &mail));
	assert_int_equal(mail.fd, number);
}

static void expect_empty(struct mailbox *m)
{
	struct mail mail;
	assert_false(mailbox_take(m, &mail));
	assert_int_equal(mailbox_count(m), 0);
}

/* How often the eventfd was written since it was last asked. */
static uint64_t writes(const struct mailbox *m)
{
	uint64_t count;
	if (read(m->event_fd, &count, sizeof count) == sizeof count)
		return count;
	assert_int_equal(errno, EAGAIN);
	return 0;
}

static void test_mailbox_gives_mail_in_the_order_of_posting(void **state)
{
	struct mailbox m;
	(void)state;
	assert_int_equal(mailbox_init(&m, 8), 0);
	expect_empty(&m);
	for (int lap = 0; lap < 100; lap++) {
		for (int i = 0; i < 5; i++)
			post(&m, lap * 5 + i);
		for (int i = 0; i < 5; i++)
			expect(&m, lap * 5 + i);
		expect_empty(&m);
	}
	mailbox_fini(&m);
}

static void test_mailbox_carries_every_byte_of_a_mail(void **state)
{
	struct mailbox m;
	struct mail sent = {.object = &m, .fd = -7}, got;
	(void)state;
	assert_int_equal(mailbox_init(&m, 2), 0);
	for (size_t i = 0; i < sizeof sent.bytes; i++)
		sent.bytes[i] = (unsigned char)(200 + i);
	assert_true(mailbox_post(&m, &sent));
	assert_true(mailbox_take(&m, &got));
	assert_ptr_equal(got.object, &m);
	assert_int_equal(got.fd, -7);
	assert_memory_equal(got.bytes, sent.bytes, sizeof sent.bytes);
	mailbox_fini(&m);
}

static void test_mailbox_refuses_when_full(void **state)
{
	struct mailbox m;
	struct mail late = numbered(99);
	(void)state;
	assert_int_equal(mailbox_init(&m, 5), 0); /* rounded up to 8 */
	for (int lap = 0; lap < 20; lap++) {
		for (int i = 0; i < 8; i++) {
			assert_int_equal(mailbox_count(&m), i);
			post(&m, i);
		}
		assert_false(mailbox_post(&m, &late));
		assert_int_equal(mailbox_count(&m), 8);
		expect(&m, 0);
		post(&m, 8);
		assert_false(mailbox_post(&m, &late));
		for (int i = 1; i <= 8; i++)
			expect(&m, i);
		expect_empty(&m);
	}
	mailbox_fini(&m);
}

static void test_mailbox_has_room_for_two_at_least(void **state)
{
	struct mailbox m;
	struct mail late = numbered(2);
	(void)state;
	assert_int_equal(mailbox_init(&m, 0), 0);
	post(&m, 0);
	post(&m, 1);
	assert_false(mailbox_post(&m, &late));
	expect(&m, 0);
	expect(&m, 1);
	mailbox_fini(&m);
}

/* Positions only grow: the test puts them just before where they wrap. */
static void test_mailbox_goes_on_when_positions_wrap(void **state)
{
	struct mailbox m;
	struct mail late = numbered(0);
	(void)state;
	assert_int_equal(mailbox_init(&m, 4), 0);
	size_t begin = SIZE_MAX - 5;
	m.head = begin;
	atomic_store(&m.tail, begin);
	for (size_t at = begin; at != begin + 4; at++)
		atomic_store(&m.cells[at & m.mask].turn, at);
	for (int lap = 0; lap < 5; lap++) {
		for (int i = 0; i < 4; i++)
			post(&m, i);
		assert_int_equal(mailbox_count(&m), 4);
		assert_false(mailbox_post(&m, &late));
		for (int i = 0; i < 4; i++)
			expect(&m, i);
		expect_empty(&m);
	}
	assert_true(m.head < begin);
	mailbox_fini(&m);
}

static void test_mailbox_wakes_only_a_sleeper_and_only_once(void **state)
{
	struct mailbox m;
	(void)state;
	assert_int_equal(mailbox_init(&m, 16), 0);
	post(&m, 0);
	assert_int_equal(writes(&m), 0);
	expect(&m, 0);
	assert_true(mailbox_may_sleep(&m));
	post(&m, 1);
	post(&m, 2);
	post(&m, 3);
	assert_int_equal(writes(&m), 1);
	mailbox_awake(&m);
	post(&m, 4);
	assert_int_equal(writes(&m), 0);
	assert_int_equal(atomic_load(&m.wakes), 1);
	mailbox_fini(&m);
}

static void test_mailbox_does_not_let_sleep_over_late_mail(void **state)
{
	struct mailbox m;
	(void)state;
	assert_int_equal(mailbox_init(&m, 16), 0);
	post(&m, 0);
	assert_false(mailbox_may_sleep(&m));
	/* And the flag was taken back: the reader is awake, nobody writes for it. */
	post(&m, 1);
	assert_int_equal(writes(&m), 0);
	expect(&m, 0);
	assert_false(mailbox_may_sleep(&m));
	expect(&m, 1);
	assert_true(mailbox_may_sleep(&m));
	mailbox_fini(&m);
}

static void test_mailbox_awake_ends_the_sleep_without_mail(void **state)
{
	struct mailbox m;
	(void)state;
	assert_int_equal(mailbox_init(&m, 16), 0);
	assert_true(mailbox_may_sleep(&m));
	mailbox_awake(&m);
	post(&m, 0);
	assert_int_equal(writes(&m), 0);
	expect(&m, 0);
	mailbox_fini(&m);
}

static void test_mailbox_put_leaves_the_waking_to_the_writer(void **state)
{
	struct mailbox m;
	struct mail mail = numbered(1);
	(void)state;
	assert_int_equal(mailbox_init(&m, 4), 0);
	assert_true(mailbox_may_sleep(&m));
	for (int i = 0; i < 4; i++)
		assert_true(mailbox_put(&m, &mail));
	assert_false(mailbox_put(&m, &mail));
	assert_int_equal(writes(&m), 0);
	mailbox_wake(&m);
	mailbox_wake(&m);
	assert_int_equal(writes(&m), 1);
	mailbox_fini(&m);
}

static void test_mailbox_wakes_for_what_was_left_elsewhere(void **state)
{
	struct mailbox m;
	(void)state;
	assert_int_equal(mailbox_init(&m, 16), 0);
	mailbox_wake(&m);
	assert_int_equal(writes(&m), 0);
	assert_true(mailbox_may_sleep(&m));
	mailbox_wake(&m);
	mailbox_wake(&m);
	assert_int_equal(writes(&m), 1);
	expect_empty(&m);
	mailbox_fini(&m);
}

/* ---- many writers ---------------------------------------------------------------------- */

struct writer {
	pthread_t thread;
	struct mailbox *to;
	int id;
};

static void *write_all(void *argument)
{
	struct writer *w = argument;
	for (int i = 0; i < MAILS_A_WRITER; i++) {
		struct mail mail = {.object = w, .fd = i};
		while (!mailbox_post(w->to, &mail))
			sched_yield();
	}
	return NULL;
}

/* As a loop does it: edge-triggered, never read. false: nobody woke us. */
static bool sleep_until_woken(int set_fd)
{
	struct epoll_event event;
	int n;
	do
		n = epoll_wait(set_fd, &event, 1, 20000);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static void test_mailbox_loses_and_doubles_nothing_of_many_writers(void **state)
{
	struct mailbox m;
	struct writer writers[WRITERS];
	int next[WRITERS] = {0}, total = 0, set_fd = epoll_create1(EPOLL_CLOEXEC);
	(void)state;
	assert_int_equal(mailbox_init(&m, 64), 0);
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	assert_int_equal(epoll_ctl(set_fd, EPOLL_CTL_ADD, m.event_fd, &event), 0);
	for (int i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){.to = &m, .id = i};
		assert_int_equal(pthread_create(&writers[i].thread, NULL, write_all, &writers[i]), 0);
	}
	while (total < WRITERS * MAILS_A_WRITER) {
		struct mail mail;
		if (mailbox_take(&m, &mail)) {
			struct writer *from = mail.object;
			assert_int_equal(mail.fd, next[from->id]); /* each writer's own order holds */
			next[from->id]++;
			total++;
		} else if (mailbox_may_sleep(&m)) {
			assert_true(sleep_until_woken(set_fd));
			mailbox_awake(&m);
		}
	}
	for (int i = 0; i < WRITERS; i++) {
		pthread_join(writers[i].thread, NULL);
		assert_int_equal(next[i], MAILS_A_WRITER);
	}
	expect_empty(&m);
	close(set_fd);
	mailbox_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_mailbox_gives_mail_in_the_order_of_posting),
	        cmocka_unit_test(test_mailbox_carries_every_byte_of_a_mail),
	        cmocka_unit_test(test_mailbox_refuses_when_full),
	        cmocka_unit_test(test_mailbox_has_room_for_two_at_least),
	        cmocka_unit_test(test_mailbox_goes_on_when_positions_wrap),
	        cmocka_unit_test(test_mailbox_wakes_only_a_sleeper_and_only_once),
	        cmocka_unit_test(test_mailbox_does_not_let_sleep_over_late_mail),
	        cmocka_unit_test(test_mailbox_awake_ends_the_sleep_without_mail),
	        cmocka_unit_test(test_mailbox_put_leaves_the_waking_to_the_writer),
	        cmocka_unit_test(test_mailbox_wakes_for_what_was_left_elsewhere),
	        cmocka_unit_test(test_mailbox_loses_and_doubles_nothing_of_many_writers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
