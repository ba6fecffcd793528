/*
 * A bounded queue from many threads to one, which wakes its reader by eventfd only
 * when the reader sleeps or is about to.
 */
#ifndef EVENT_MAILBOX_H
#define EVENT_MAILBOX_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;

/* One message: a function that the reader calls in its own thread, and what it needs. */
struct mail {
	void (*deliver)(struct loop *, struct mail *);
	void *object;
	int fd; /* a descriptor that moves with the message, or any number */
	unsigned char bytes[36];
};

struct mailbox_cell {
	alignas(64) atomic_size_t turn; /* whose turn: writer of lap n at n, reader at n + 1 */
	struct mail mail;
};

struct mailbox {
	struct mailbox_cell *cells;
	size_t mask;
	int event_fd;
	alignas(64) atomic_size_t tail; /* writers */
	alignas(64) size_t head;        /* reader */
	atomic_bool sleeping;           /* the reader sleeps, or will not look again before it does */
	atomic_uint_least64_t wakes;    /* eventfd writes, for statistics */
};

/* `capacity` is rounded up to a power of two. Returns 0 or a negative errno. */
int mailbox_init(struct mailbox *, size_t capacity);
void mailbox_fini(struct mailbox *);

/* Any thread. false: full; nothing was taken. */
bool mailbox_post(struct mailbox *, const struct mail *);
/* The same without waking the reader: mailbox_wake must follow soon. */
bool mailbox_put(struct mailbox *, const struct mail *);
/* Any thread: wakes the reader if it sleeps, for what was put or left elsewhere by a sequentially consistent store. */
void mailbox_wake(struct mailbox *);
/* Any thread: about how many messages wait. */
size_t mailbox_count(const struct mailbox *);

/* Reader only. */
bool mailbox_is_empty(const struct mailbox *);
bool mailbox_take(struct mailbox *, struct mail *ret);
/* Before sleeping: true when the reader may sleep (the next post wakes it); false when there is mail. */
bool mailbox_may_sleep(struct mailbox *);
/* After waking. The eventfd is watched edge-triggered and never read. */
void mailbox_awake(struct mailbox *);

#endif
