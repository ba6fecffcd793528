/*
 * A queue of bytes that may outgrow memory: appended at the end, taken from the front. The
 * first of them stay in memory; what is beyond goes to a temporary file, which the
 * executor opens, writes, reads and closes, so that no disk ever holds the loop. Owned by
 * one loop's thread; what a running job works on outlives the queue.
 *
 * When the file cannot be made or written, nothing is lost: the queue takes no more than
 * memory holds, and says so.
 */
#ifndef NET_SPOOL_H
#define NET_SPOOL_H

#include "base/slice.h"
#include "event/executor.h"
#include "net/blocks.h"

struct spool;

struct spool_place {
	const char *directory; /* of the file */
	int64_t memory_bytes;  /* so many before the file is used */
	int64_t most_bytes;    /* in all */
};

struct spool_owner {
	struct loop *loop;
	struct blocks *blocks;
	struct executor *const *executor; /* NULL there: it is gone, or there is none */
	void (*changed)(void *argument);  /* a job is done: try again what waited; may free the spool */
	void *argument;
};

enum spool_result {
	SPOOL_DONE,
	SPOOL_WAITS,  /* for a job: changed() will be called */
	SPOOL_EMPTY,  /* peek: nothing is left */
	SPOOL_FULL,   /* append: there is as much as there may be */
	SPOOL_BUSY,   /* the executor takes no job now; nobody will call */
	SPOOL_FAILED, /* spool_error says why; append: not more than memory holds */
};

/* `keeps`: what was taken is kept, and can be taken again after spool_rewind. NULL: no memory. */
struct spool *spool_create(const struct spool_place *, const struct spool_owner *, bool keeps);
void spool_free(struct spool **);

/* Copies from the begin of *rest, which is left with what was not taken; SPOOL_DONE: nothing is left of it. */
enum spool_result spool_append(struct spool *, struct slice *rest);
/* SPOOL_DONE: *ret_bytes is at least a byte at the front, valid until the next call for this spool. With `keeps` and
 * nothing appended meanwhile: until it is taken. */
enum spool_result spool_peek(struct spool *, struct slice *ret_bytes);
/* Takes so many of the bytes that spool_peek has shown. */
void spool_take(struct spool *, size_t bytes);
/* The next byte is the first one again; nothing is appended any more. */
void spool_rewind(struct spool *);

/* Bytes appended so far. */
int64_t spool_total(const struct spool *);
bool spool_is_empty(const struct spool *);
/* A negative errno, 0: none. */
int spool_error(const struct spool *);

#endif
