/*
 * A byte stream over one socket with a buffer each way, towards clients and upstreams
 * alike. It alone reads, writes and watches the socket. Owned by one loop's thread.
 *
 * In: bytes stand in one buffer, [in + in_start, in + in_end). The owner takes them by
 * stream_consume. Bytes that the owner has pinned (a parsed head) never move.
 *
 * Out: first the bytes of the out buffer, then at most one segment (memory, part of a
 * file, what stands in a pipe) that is sent from where it lies. While a segment waits nothing can be added.
 *
 * Buffers are borrowed from the loop's blocks and go back as soon as they are empty.
 */
#ifndef NET_STREAM_H
#define NET_STREAM_H

#include "base/slice.h"
#include "event/loop.h"
#include "net/blocks.h"
#include "net/pipes.h"

enum stream_result {
	STREAM_DONE,   /* read: bytes came; flush: all is written */
	STREAM_AGAIN,  /* the socket has no bytes, or no room; ready() will be called */
	STREAM_CLOSED, /* read: the peer ended its side */
	STREAM_FAILED, /* reset, or no memory; stream->error has the errno */
	STREAM_FULL,   /* read: no room in the buffer until bytes are consumed */
};

enum segment_kind { SEGMENT_NONE, SEGMENT_MEMORY, SEGMENT_FILE, SEGMENT_PIPE };

struct segment {
	enum segment_kind kind;
	int fd;
	const char *data;
	struct pipe *pipe;
	int64_t offset, left;
	void (*done)(void *);
	void *argument;
};

struct stream {
	struct watch watch; /* watch.ready and watch.expired are the owner's, who calls stream_note first */
	struct loop *loop;
	struct blocks *blocks;
	int fd;
	int error;
	bool readable, writable; /* may be tried; false: the last try found nothing, an event will come */
	bool hung_up;            /* the peer's end was announced: read until CLOSED */
	bool ends, has_ended;    /* our own side: once all is written, and done */
	char *in, *out;
	uint32_t in_start, in_end, in_capacity, in_pinned;
	uint32_t out_start, out_end, out_capacity;
	struct segment segment;
	uint64_t bytes_in, bytes_out; /* over the stream's life */
	uint64_t emptied_epoch;       /* the loop's, when a read last left nothing; before that none that can be now */
};

/* Takes over fd (non-blocking). The watch gets its slot but the socket is registered only when there is something to
 * wait for (stream_wait), so that a short connection costs no epoll_ctl. false: no memory; fd stays the caller's. */
bool stream_open(struct stream *, struct loop *, struct blocks *, int fd);
/* Closes the socket and gives everything back; a segment's done is called. */
void stream_close(struct stream *);
/* How many of bytes_out the peer's system has acknowledged, and not merely ours taken: only this tells whether a peer
 * still reads, as the socket stays unwritable until a large part of its buffer has drained. Asks the system. For a
 * unix socket about what the peer has read. */
uint64_t stream_taken(const struct stream *);
/* stream_close will reset the connection: what is not sent yet is thrown away, and the peer sees an error. */
void stream_reset_on_close(struct stream *);
/* For ready(): remembers what the events say. */
void stream_note(struct stream *, uint32_t events);
/* Registers the socket if it is not yet; after that every change is announced. 0 or a negative errno. */
int stream_wait(struct stream *);

/* One read into the in buffer; it grows by `extra` over a block at most. */
enum stream_result stream_read(struct stream *);
/* One read of at most `bytes` into an empty pipe, past the empty in buffer; DONE: pipe->held of them came. FULL: the
 * kernel does not do that with this socket; nothing was moved. */
enum stream_result stream_read_to(struct stream *, struct pipe *, size_t bytes);
/* Makes room for `bytes` contiguous bytes from in_start in all (a head longer than a block). false: no memory. Unpinned
 * only. */
bool stream_grow(struct stream *, size_t bytes);
static inline struct slice stream_bytes(const struct stream *s);
void stream_consume(struct stream *, size_t bytes);
/* Pins the next `bytes`: they are consumed but stay where they are, for slices that point at them, until stream_unpin.
 * At least a quarter of a block stays free behind them. false: no memory. May move bytes: pin before parsing. */
bool stream_pin(struct stream *, size_t bytes, const char **ret_bytes);
void stream_unpin(struct stream *);

/* Bytes that can be added to the out buffer now; 0 while a segment waits. */
size_t stream_room(const struct stream *);
/* Room for exactly `bytes` more, growing the buffer over a block when needed (answer heads). NULL: no memory, or a
 * segment waits. Followed by stream_commit. */
char *stream_reserve(struct stream *, size_t bytes);
void stream_commit(struct stream *, size_t bytes);
/* Copies what fits; returns how much. */
size_t stream_put(struct stream *, const void *data, size_t length);
/* Sends the out buffer and these bytes in one call without copying them; returns how many of these were sent. Failures
 * show at the next flush. */
size_t stream_send(struct stream *, const void *data, size_t length);
/* Adds the segment. There is none. */
void stream_put_memory(struct stream *, const void *data, size_t length, void (*done)(void *), void *argument);
void stream_put_file(struct stream *, int fd, int64_t offset, int64_t length, void (*done)(void *), void *argument);
/* The same for what the pipe holds, at least a byte; then the pipe is given back. Nothing waits to be written. */
void stream_put_pipe(struct stream *, struct pipe *);
/* Gives up what is left of the segment; its done is called. */
void stream_drop_segment(struct stream *);
/* The same for memory or a file, which are lent; what stands in a pipe is the stream's, and goes out. */
void stream_drop_lent(struct stream *);
bool stream_is_drained(const struct stream *); /* nothing waits to be written */
/* Ends our side, as soon as all that waits is written; reading goes on. Nothing may be added any more. */
void stream_end(struct stream *);
/* Writes what waits, at most about two mebibytes a call (then AGAIN with writable still set). A file that ends early is
 * FAILED with error EIO. */
enum stream_result stream_flush(struct stream *);

static inline struct slice stream_bytes(const struct stream *s)
{
	/* An empty buffer is NULL, to which not even 0 may be added (C11 6.5.6). */
	return (struct slice){s->in ? s->in + s->in_start : NULL, s->in_end - s->in_start};
}

#endif
