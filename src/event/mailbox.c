/*
 * The queue is Dmitry Vyukov's bounded ring: each cell carries the number of the lap
 * whose turn it is, so writers claim cells with one compare-and-swap and readers see
 * only finished ones.
 *
 * The wake-up is a pair of store and load on both sides (Dekker): the writer stores
 * the cell, then loads `sleeping`; the reader stores `sleeping`, then loads the cell.
 * All four are sequentially consistent, so at least one side sees the other.
 */
#include "event/mailbox.h"
#include "base/check.h"
#include "base/fd.h"
#include "event/stress.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int mailbox_init(struct mailbox *m, size_t capacity)
{
	size_t count = 2;
	while (count < capacity)
		count *= 2;
	*m = (struct mailbox){.mask = count - 1, .event_fd = -1};
	m->cells = aligned_alloc(alignof(struct mailbox_cell), count * sizeof *m->cells);
	if (!m->cells)
		return -ENOMEM;
	memset(m->cells, 0, count * sizeof *m->cells);
	for (size_t i = 0; i < count; i++)
		atomic_init(&m->cells[i].turn, i);
	m->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (m->event_fd < 0) {
		int error = -errno;
		mailbox_fini(m);
		return error;
	}
	return 0;
}

void mailbox_fini(struct mailbox *m)
{
	fd_close(&m->event_fd);
	free(m->cells);
	m->cells = NULL;
}

void mailbox_wake(struct mailbox *m)
{
	uint64_t one = 1;
	/* Only the writer that takes the flag writes the eventfd: one wake-up for a burst. */
	if (!atomic_load_explicit(&m->sleeping, MAILBOX_LOOK_ORDER))
		return;
	STRESS_POINT();
	if (!atomic_exchange_explicit(&m->sleeping, false, memory_order_seq_cst))
		return;
	STRESS_POINT();
	/* EAGAIN means that the counter is full of wake-ups already: the reader will wake. */
	ssize_t n = write(m->event_fd, &one, sizeof one);
	MUST(n == sizeof one || errno == EAGAIN || errno == EINTR);
	atomic_fetch_add_explicit(&m->wakes, 1, memory_order_relaxed);
}

bool mailbox_put(struct mailbox *m, const struct mail *mail)
{
	size_t at = atomic_load_explicit(&m->tail, memory_order_relaxed);
	struct mailbox_cell *cell;
	for (;;) {
		cell = &m->cells[at & m->mask];
		size_t turn = atomic_load_explicit(&cell->turn, memory_order_seq_cst); /* beside acceptor_waits */
		if (turn == at) {
			if (atomic_compare_exchange_weak_explicit(
			            &m->tail, &at, at + 1, memory_order_relaxed, memory_order_relaxed))
				break;
		} else if ((ptrdiff_t)(turn - at) < 0) {
			return false;
		} else {
			at = atomic_load_explicit(&m->tail, memory_order_relaxed);
		}
	}
	STRESS_POINT();
	cell->mail = *mail;
	atomic_store_explicit(&cell->turn, at + 1, MAILBOX_POST_ORDER);
	STRESS_POINT();
	return true;
}

bool mailbox_post(struct mailbox *m, const struct mail *mail)
{
	if (!mailbox_put(m, mail))
		return false;
	mailbox_wake(m);
	return true;
}

size_t mailbox_count(const struct mailbox *m)
{
	/* The head belongs to the reader; whoever wants an exact figure counts takes by himself. */
	size_t waiting = 0, tail = atomic_load_explicit(&m->tail, memory_order_relaxed);
	while (waiting <= m->mask && atomic_load_explicit(&m->cells[(tail - 1 - waiting) & m->mask].turn,
	                                     memory_order_relaxed) == tail - waiting)
		waiting++;
	return waiting;
}

bool mailbox_is_empty(const struct mailbox *m)
{
	return atomic_load_explicit(&m->tail, memory_order_acquire) == m->head;
}

bool mailbox_take(struct mailbox *m, struct mail *ret)
{
	struct mailbox_cell *cell = &m->cells[m->head & m->mask];
	if (atomic_load_explicit(&cell->turn, memory_order_acquire) != m->head + 1)
		return false;
	*ret = cell->mail;
	STRESS_POINT();
	atomic_store_explicit(&cell->turn, m->head + m->mask + 1, memory_order_release);
	m->head++;
	return true;
}

bool mailbox_may_sleep(struct mailbox *m)
{
	atomic_store_explicit(&m->sleeping, true, MAILBOX_SLEEP_ORDER);
	STRESS_POINT();
	struct mailbox_cell *cell = &m->cells[m->head & m->mask];
	if (atomic_load_explicit(&cell->turn, MAILBOX_LOOK_ORDER) != m->head + 1)
		return true;
	STRESS_POINT();
	atomic_store_explicit(&m->sleeping, false, memory_order_relaxed);
	return false;
}

void mailbox_awake(struct mailbox *m)
{
	atomic_store_explicit(&m->sleeping, false, memory_order_relaxed);
}
