/* Reading, writing and watching one socket. */
#include "net/stream.h"
#include "base/check.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { FLUSH_BYTES = 2 << 20, SPLICE = SPLICE_F_MOVE | SPLICE_F_NONBLOCK };

bool stream_open(struct stream *s, struct loop *l, struct blocks *blocks, int fd)
{
	if (!loop_adopt(l, &s->watch))
		return false;
	s->loop = l;
	s->blocks = blocks;
	s->fd = fd;
	s->error = 0;
	s->readable = s->writable = true;
	s->hung_up = s->ends = s->has_ended = false;
	s->in = s->out = NULL;
	s->in_start = s->in_end = s->in_capacity = s->in_pinned = 0;
	s->out_start = s->out_end = s->out_capacity = 0;
	s->segment = (struct segment){.kind = SEGMENT_NONE};
	s->bytes_in = s->bytes_out = 0;
	s->emptied_epoch = l->epoch - 1;
	return true;
}

static void give_buffer(struct stream *s, char **buffer, uint32_t *capacity)
{
	if (*capacity == s->blocks->bytes)
		blocks_give(s->blocks, *buffer);
	else
		free(*buffer);
	*buffer = NULL;
	*capacity = 0;
}

void stream_drop_segment(struct stream *s)
{
	struct segment segment = s->segment;
	s->segment.kind = SEGMENT_NONE;
	if (segment.kind != SEGMENT_NONE && segment.done)
		segment.done(segment.argument);
}

void stream_drop_lent(struct stream *s)
{
	if (s->segment.kind != SEGMENT_PIPE)
		stream_drop_segment(s);
}

void stream_close(struct stream *s)
{
	stream_drop_segment(s);
	give_buffer(s, &s->in, &s->in_capacity);
	give_buffer(s, &s->out, &s->out_capacity);
	s->in_start = s->in_end = s->in_pinned = s->out_start = s->out_end = 0;
	loop_release(&s->watch);
	fd_close(&s->fd);
}

uint64_t stream_taken(const struct stream *s)
{
	int queued = 0;
	if (ioctl(s->fd, SIOCOUTQ, &queued) || queued < 0)
		return s->bytes_out;
	return (uint64_t)queued < s->bytes_out ? s->bytes_out - (uint64_t)queued : 0;
}

void stream_reset_on_close(struct stream *s)
{
	struct linger now = {.l_onoff = 1, .l_linger = 0};
	setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void stream_note(struct stream *s, uint32_t events)
{
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		s->readable = true;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		s->hung_up = true;
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		s->writable = true;
}

int stream_wait(struct stream *s)
{
	return s->watch.registered ? 0 : loop_register(&s->watch, s->fd);
}

/* ---- in ------------------------------------------------------------------------------ */

static void compact(struct stream *s)
{
	uint32_t length = s->in_end - s->in_start;
	if (s->in_start == s->in_pinned)
		return;
	if (length)
		memmove(s->in + s->in_pinned, s->in + s->in_start, length);
	s->in_start = s->in_pinned;
	s->in_end = s->in_pinned + length;
}

/* A new buffer of that size with the unconsumed bytes at its begin. */
static bool move_in(struct stream *s, size_t capacity)
{
	MUST(s->in_pinned == 0);
	uint32_t length = s->in_end - s->in_start;
	char *bigger = capacity == s->blocks->bytes ? blocks_take(s->blocks) : malloc(capacity);
	if (!bigger)
		return false;
	if (length)
		memcpy(bigger, s->in + s->in_start, length);
	give_buffer(s, &s->in, &s->in_capacity);
	s->in = bigger;
	s->in_capacity = (uint32_t)capacity;
	s->in_start = 0;
	s->in_end = length;
	return true;
}

bool stream_grow(struct stream *s, size_t bytes)
{
	compact(s);
	return s->in_capacity >= bytes || move_in(s, bytes < s->blocks->bytes ? s->blocks->bytes : bytes);
}

static enum stream_result fail(struct stream *s, int error)
{
	s->error = error;
	return STREAM_FAILED;
}

static void note_empty(struct stream *s)
{
	s->readable = false;
	s->emptied_epoch = s->loop->epoch;
}

/* A read that brought no bytes: an empty buffer is not kept for the wait. */
static enum stream_result read_nothing(struct stream *s, int error)
{
	stream_consume(s, 0);
	if (error == EAGAIN)
		note_empty(s);
	return error == EAGAIN ? STREAM_AGAIN : error ? fail(s, error) : STREAM_CLOSED;
}

enum stream_result stream_read(struct stream *s)
{
	if (!s->readable)
		return STREAM_AGAIN;
	if (!s->in && !move_in(s, s->blocks->bytes))
		return fail(s, ENOMEM);
	if (s->in_end == s->in_capacity)
		compact(s);
	size_t room = s->in_capacity - s->in_end;
	if (room == 0)
		return STREAM_FULL;
	ssize_t n;
	do
		n = recv(s->fd, s->in + s->in_end, room, 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return read_nothing(s, n < 0 ? errno : 0);
	/* A short read took all there was; what comes later is a new edge. Only an end that was announced before must
	 * still be read. */
	if ((size_t)n < room && !s->hung_up && s->watch.registered)
		note_empty(s);
	s->in_end += (uint32_t)n;
	s->bytes_in += (uint64_t)n;
	return STREAM_DONE;
}

enum stream_result stream_read_to(struct stream *s, struct pipe *pipe, size_t bytes)
{
	MUST(s->in_start == s->in_end && pipe->held == 0);
	if (!s->readable)
		return STREAM_AGAIN;
	ssize_t n;
	do
		n = splice(s->fd, NULL, pipe->write_end, NULL, bytes < pipe->capacity ? bytes : pipe->capacity, SPLICE);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EINVAL || errno == ENOSYS || errno == EPERM))
		return STREAM_FULL;
	if (n <= 0)
		return read_nothing(s, n < 0 ? errno : 0);
	pipe->held = (size_t)n;
	s->bytes_in += (uint64_t)n;
	return STREAM_DONE;
}

void stream_consume(struct stream *s, size_t bytes)
{
	MUST(bytes <= s->in_end - s->in_start);
	s->in_start += (uint32_t)bytes;
	if (s->in_start != s->in_end)
		return;
	s->in_start = s->in_end = s->in_pinned;
	if (s->in_pinned == 0)
		give_buffer(s, &s->in, &s->in_capacity);
}

bool stream_pin(struct stream *s, size_t bytes, const char **ret_bytes)
{
	MUST(s->in_pinned == 0 && bytes <= s->in_end - s->in_start);
	size_t spare = s->blocks->bytes / 4;
	if (s->in_capacity - s->in_start - bytes < spare && !stream_grow(s, bytes + spare + (s->in_end - s->in_start)))
		return false;
	*ret_bytes = s->in + s->in_start;
	s->in_start += (uint32_t)bytes;
	s->in_pinned = s->in_start;
	return true;
}

void stream_unpin(struct stream *s)
{
	s->in_pinned = 0;
	if (s->in_start == s->in_end)
		stream_consume(s, 0);
}

/* ---- out ----------------------------------------------------------------------------- */

size_t stream_room(const struct stream *s)
{
	if (s->segment.kind != SEGMENT_NONE)
		return 0;
	return s->out ? s->out_capacity - s->out_end : s->blocks->bytes;
}

char *stream_reserve(struct stream *s, size_t bytes)
{
	if (s->segment.kind != SEGMENT_NONE)
		return NULL;
	uint32_t length = s->out_end - s->out_start;
	if (s->out && s->out_capacity - s->out_end >= bytes)
		return s->out + s->out_end;
	size_t capacity = s->blocks->bytes;
	while (capacity < length + bytes)
		capacity *= 2;
	char *bigger = capacity == s->blocks->bytes ? blocks_take(s->blocks) : malloc(capacity);
	if (!bigger)
		return NULL;
	if (length)
		memcpy(bigger, s->out + s->out_start, length);
	give_buffer(s, &s->out, &s->out_capacity);
	s->out = bigger;
	s->out_capacity = (uint32_t)capacity;
	s->out_start = 0;
	s->out_end = length;
	return s->out + s->out_end;
}

void stream_commit(struct stream *s, size_t bytes)
{
	MUST(bytes <= s->out_capacity - s->out_end);
	s->out_end += (uint32_t)bytes;
}

size_t stream_put(struct stream *s, const void *data, size_t length)
{
	size_t room = stream_room(s);
	if (length > room)
		length = room;
	char *to = length ? stream_reserve(s, length) : NULL;
	if (!to)
		return 0;
	memcpy(to, data, length);
	stream_commit(s, length);
	return length;
}

static void sent_from_out(struct stream *s, size_t bytes)
{
	s->out_start += (uint32_t)bytes;
	if (s->out_start != s->out_end)
		return;
	s->out_start = s->out_end = 0;
	give_buffer(s, &s->out, &s->out_capacity);
}

/* Sends the out buffer and `length` bytes behind it. Returns what went out in all, 0 for EAGAIN, or a negative errno.
 */
static ssize_t send_both(struct stream *s, const void *data, size_t length, int flags)
{
	char *out = s->out ? s->out + s->out_start : NULL;
	struct iovec parts[2] = {{out, s->out_end - s->out_start}, {(void *)(uintptr_t)data, length}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	ssize_t n;
	do
		n = parts[1].iov_len == 0   ? send(s->fd, parts[0].iov_base, parts[0].iov_len, flags | MSG_NOSIGNAL)
		    : parts[0].iov_len == 0 ? send(s->fd, parts[1].iov_base, parts[1].iov_len, flags | MSG_NOSIGNAL)
		                            : sendmsg(s->fd, &message, flags | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN)
		return -errno;
	if (n < (ssize_t)(parts[0].iov_len + length))
		s->writable = false;
	if (n < 0)
		return 0;
	s->bytes_out += (uint64_t)n;
	return n;
}

size_t stream_send(struct stream *s, const void *data, size_t length)
{
	if (!s->writable || s->error || s->segment.kind != SEGMENT_NONE)
		return 0;
	size_t before = s->out_end - s->out_start;
	ssize_t n = send_both(s, data, length, 0);
	if (n < 0) {
		s->error = (int)-n;
		return 0;
	}
	size_t from_out = (size_t)n < before ? (size_t)n : before;
	if (from_out)
		sent_from_out(s, from_out);
	return (size_t)n - from_out;
}

void stream_put_memory(struct stream *s, const void *data, size_t length, void (*done)(void *), void *argument)
{
	MUST(s->segment.kind == SEGMENT_NONE);
	s->segment = (struct segment){.kind = SEGMENT_MEMORY,
	        .fd = -1,
	        .data = data,
	        .left = (int64_t)length,
	        .done = done,
	        .argument = argument};
}

void stream_put_file(struct stream *s, int fd, int64_t offset, int64_t length, void (*done)(void *), void *argument)
{
	MUST(s->segment.kind == SEGMENT_NONE);
	s->segment = (struct segment){
	        .kind = SEGMENT_FILE, .fd = fd, .offset = offset, .left = length, .done = done, .argument = argument};
}

static void give_pipe(void *pipe)
{
	pipes_give(pipe);
}

void stream_put_pipe(struct stream *s, struct pipe *pipe)
{
	MUST(stream_is_drained(s) && pipe->held);
	s->segment = (struct segment){.kind = SEGMENT_PIPE,
	        .fd = pipe->read_end,
	        .pipe = pipe,
	        .left = (int64_t)pipe->held,
	        .done = give_pipe,
	        .argument = pipe};
}

bool stream_is_drained(const struct stream *s)
{
	return s->out_start == s->out_end && s->segment.kind == SEGMENT_NONE;
}

/* Bytes of the segment for one call. */
static size_t segment_part(const struct stream *s)
{
	return s->segment.left > FLUSH_BYTES ? FLUSH_BYTES : (size_t)s->segment.left;
}

/* One call's worth of the segment's file or pipe. Returns bytes, 0 for EAGAIN, or a negative errno. */
static ssize_t send_from(struct stream *s)
{
	off_t offset = s->segment.offset;
	ssize_t n;
	do
		n = s->segment.kind == SEGMENT_PIPE ? splice(s->segment.fd, NULL, s->fd, NULL, segment_part(s), SPLICE)
		                                    : sendfile(s->fd, s->segment.fd, &offset, segment_part(s));
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN)
		return -errno;
	if (n == 0)
		return -EIO; /* the file became shorter than announced */
	if (n < 0) {
		s->writable = false;
		return 0;
	}
	s->bytes_out += (uint64_t)n;
	return n;
}

static ssize_t send_some(struct stream *s)
{
	bool bytes = s->out_start != s->out_end;
	bool file = s->segment.kind == SEGMENT_FILE || s->segment.kind == SEGMENT_PIPE;
	if (file && !bytes)
		return send_from(s);
	/* MSG_MORE: the head leaves with the first bytes of the file. */
	if (file || s->segment.kind == SEGMENT_NONE)
		return send_both(s, NULL, 0, file ? MSG_MORE : 0);
	return send_both(s, s->segment.data, segment_part(s), 0);
}

static void sent(struct stream *s, size_t n)
{
	size_t from_out = s->out_end - s->out_start;
	if (from_out > n)
		from_out = n;
	if (from_out)
		sent_from_out(s, from_out);
	n -= from_out;
	if (s->segment.kind == SEGMENT_MEMORY)
		s->segment.data += n;
	if (s->segment.kind == SEGMENT_PIPE)
		s->segment.pipe->held -= n;
	s->segment.offset += (int64_t)n;
	s->segment.left -= (int64_t)n;
	if (s->segment.kind != SEGMENT_NONE && s->segment.left == 0)
		stream_drop_segment(s);
}

static void end_when_drained(struct stream *s)
{
	if (!s->ends || s->has_ended || !stream_is_drained(s))
		return;
	s->has_ended = true;
	shutdown(s->fd, SHUT_WR);
}

void stream_end(struct stream *s)
{
	s->ends = true;
	end_when_drained(s);
}

enum stream_result stream_flush(struct stream *s)
{
	size_t budget = FLUSH_BYTES;
	if (s->segment.kind != SEGMENT_NONE && s->segment.left == 0)
		stream_drop_segment(s);
	while (!stream_is_drained(s)) {
		if (s->error)
			return STREAM_FAILED;
		if (!s->writable || budget == 0)
			return STREAM_AGAIN;
		ssize_t n = send_some(s);
		if (n < 0)
			return fail(s, (int)-n);
		sent(s, (size_t)n);
		budget = (size_t)n < budget ? budget - (size_t)n : 0;
	}
	end_when_drained(s);
	return s->error ? STREAM_FAILED : STREAM_DONE;
}
