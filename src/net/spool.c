/*
 * In the order of the bytes: `front` in memory, `window` read back from the file, the file,
 * `moving` while it is being written, `tail` that waits to be written. One job at a time.
 */
#include "net/spool.h"
#include "base/check.h"
#include "base/fd.h"
#include "net/spool_file.h"
#include <errno.h>
#include <stdlib.h>

enum {
	READ_BYTES = 60 * 1024,
	WRITE_BYTES = 60 * 1024, /* worth a job */
	TAIL_BYTES = 2 * WRITE_BYTES,
};

enum spool_work { SPOOL_IDLE, SPOOL_WRITES, SPOOL_READS, SPOOL_CLOSES };

struct spool {
	struct job job;
	struct spool_owner owner;
	int64_t memory_bytes, most_bytes, total, left; /* bytes ever appended; of these, not taken */
	bool keeps;
	bool reader_waits;
	struct pieces front, window, tail;
	struct pieces kept_front, kept_tail; /* what was taken of these */
	int64_t file_from, file_to;          /* bytes before these were read from the file, and written to it */
	int error, read_error;
	enum spool_work work;
	bool is_abandoned;    /* nobody but the job that runs knows of it any more */
	bool read_is_in_vain; /* it was rewound meanwhile */

	/* The job's while it runs. */
	int fd;
	struct pieces moving;
	int64_t job_at, read_bytes, done_bytes;
	int job_error;
	char directory[];
};

/* ---- jobs: in the executor ---------------------------------------------------------------- */

static void run_write(void *argument)
{
	struct spool *s = argument;
	if (s->fd < 0)
		s->job_error = spool_file_open(s->directory, &s->fd);
	if (!s->job_error)
		s->done_bytes = spool_file_write(s->fd, s->most_bytes, s->job_at, &s->moving, &s->job_error);
}

static void run_read(void *argument)
{
	struct spool *s = argument;
	s->done_bytes = spool_file_read(s->fd, s->most_bytes, s->job_at, s->read_bytes, &s->moving, &s->job_error);
}

static void run_close(void *argument)
{
	struct spool *s = argument;
	fd_close(&s->fd);
}

/* ---- jobs: begin and end --------------------------------------------------------------------- */

static void on_done(struct loop *, struct job *);

static bool submit(struct spool *s, enum spool_work work, void (*run)(void *), int64_t at)
{
	struct executor *e = *s->owner.executor;
	s->job = (struct job){.work = run, .argument = s, .done = on_done, .is_release = work == SPOOL_CLOSES};
	s->job_at = at;
	s->job_error = 0;
	s->done_bytes = 0;
	s->read_is_in_vain = false;
	if (!e || !executor_submit(e, s->owner.loop, &s->job))
		return false;
	s->work = work;
	if (work != SPOOL_CLOSES)
		stat_add(s->owner.loop->stats, STAT_pending_tasks, 1);
	return true;
}

static void stop_working(struct spool *s)
{
	s->work = SPOOL_IDLE;
	stat_add(s->owner.loop->stats, STAT_pending_tasks, -1);
}

/* false: the executor is full. */
static bool start_write(struct spool *s)
{
	pieces_join(&s->moving, &s->tail);
	if (submit(s, SPOOL_WRITES, run_write, s->file_to))
		return true;
	pieces_join(&s->tail, &s->moving);
	return false;
}

/* Not while kept bytes are being taken: those of the tail must stay behind all that is in the file. */
static bool is_write_due(const struct spool *s)
{
	if (s->keeps && s->left != s->total)
		return false;
	return s->work == SPOOL_IDLE && !s->error && s->tail.bytes >= WRITE_BYTES;
}

/* false: no memory, or the executor is full. */
static bool start_read(struct spool *s)
{
	struct piece *p;
	s->read_bytes = 0;
	while (s->read_bytes < READ_BYTES && s->file_from + s->read_bytes < s->file_to) {
		if (!(p = piece_take(s->owner.blocks)))
			break;
		pieces_append(&s->moving, p);
		s->read_bytes += p->room;
	}
	if (s->read_bytes > s->file_to - s->file_from)
		s->read_bytes = s->file_to - s->file_from;
	if (s->read_bytes && submit(s, SPOOL_READS, run_read, s->file_from))
		return true;
	pieces_give(&s->moving, s->owner.blocks);
	return false;
}

/* What was not written stays in memory, before what came later. */
static void end_write(struct spool *s)
{
	int64_t left = s->done_bytes;
	s->file_to += s->done_bytes;
	s->error = s->job_error;
	while (left) {
		int64_t here = (int64_t)pieces_first(&s->moving).length;
		struct piece *gone = pieces_consume(&s->moving, (size_t)(left < here ? left : here));
		left -= left < here ? left : here;
		if (gone)
			blocks_give(s->owner.blocks, (char *)gone);
	}
	pieces_join(&s->moving, &s->tail);
	pieces_join(&s->tail, &s->moving);
}

static void end_read(struct spool *s)
{
	if (s->read_is_in_vain) {
		pieces_give(&s->moving, s->owner.blocks);
		return;
	}
	s->read_error = s->job_error;
	s->file_from += s->done_bytes;
	for (struct piece *p = s->moving.first, *next; p; p = next) {
		next = p->next;
		if (p->end)
			pieces_append(&s->window, p);
		else
			blocks_give(s->owner.blocks, (char *)p);
	}
	s->moving = (struct pieces){0};
}

/* A large file takes long to close, when that is its end. */
static void close_file(struct spool *s)
{
	if (s->fd >= 0 && submit(s, SPOOL_CLOSES, run_close, 0))
		return;
	fd_close(&s->fd);
	free(s);
}

static void on_done(struct loop *l, struct job *job)
{
	struct spool *s = CONTAINER_OF(job, struct spool, job);
	enum spool_work was = s->work;
	(void)l;
	if (was == SPOOL_CLOSES) {
		free(s);
		return;
	}
	stop_working(s);
	if (s->is_abandoned) {
		pieces_free(&s->moving); /* the loop may have ended, and with it its blocks */
		close_file(s);
		return;
	}
	if (was == SPOOL_WRITES)
		end_write(s);
	else
		end_read(s);
	/* In turns, so that neither a fast writer nor a slow disk keeps the reader waiting. */
	bool reads = was == SPOOL_WRITES && s->reader_waits && !s->front.first && s->file_from < s->file_to;
	if (!(reads && start_read(s)) && is_write_due(s))
		start_write(s);
	s->owner.changed(s->owner.argument);
}

/* ---- life ------------------------------------------------------------------------------------- */

struct spool *spool_create(const struct spool_place *place, const struct spool_owner *owner, bool keeps)
{
	size_t length = strlen(place->directory) + 1;
	struct spool *s = malloc(sizeof *s + length);
	if (!s)
		return NULL;
	*s = (struct spool){.owner = *owner, .keeps = keeps, .fd = -1, .most_bytes = place->most_bytes};
	s->memory_bytes = place->memory_bytes;
	memcpy(s->directory, place->directory, length);
	return s;
}

void spool_free(struct spool **spool)
{
	struct spool *s = *spool;
	*spool = NULL;
	if (!s)
		return;
	struct pieces *const lists[] = {&s->front, &s->window, &s->tail, &s->kept_front, &s->kept_tail};
	for (size_t i = 0; i < ARRAY_COUNT(lists); i++)
		pieces_give(lists[i], s->owner.blocks);
	s->is_abandoned = true;
	if (s->work != SPOOL_IDLE && !(*s->owner.executor && executor_withdraw(*s->owner.executor, &s->job)))
		return;
	if (s->work != SPOOL_IDLE)
		stop_working(s);
	pieces_give(&s->moving, s->owner.blocks);
	close_file(s);
}

/* ---- appending --------------------------------------------------------------------------------- */

static bool file_is_empty(const struct spool *s)
{
	return s->file_from == s->file_to && s->work != SPOOL_WRITES;
}

/* Memory alone does again, once the reader has caught up with the file. */
static void catch_up(struct spool *s)
{
	if (!s->keeps && !s->front.first && !s->window.first && file_is_empty(s))
		pieces_join(&s->front, &s->tail);
}

static bool is_in_memory(const struct spool *s)
{
	return file_is_empty(s) && !s->window.first && !s->tail.first;
}

/* How much may still be added to that list. */
static int64_t room_in(const struct spool *s, const struct pieces *list)
{
	int64_t most = s->most_bytes - s->left, room = TAIL_BYTES - s->tail.bytes;
	if (list == &s->front)
		room = s->memory_bytes - s->front.bytes;
	else if (s->error)
		room = s->memory_bytes - s->front.bytes - s->tail.bytes;
	return most < room ? most : room;
}

static enum spool_result refuse(struct spool *s)
{
	if (s->left >= s->most_bytes)
		return SPOOL_FULL;
	if (s->error)
		return SPOOL_FAILED;
	if (s->work != SPOOL_IDLE)
		return SPOOL_WAITS;
	return start_write(s) ? SPOOL_WAITS : SPOOL_BUSY;
}

enum spool_result spool_append(struct spool *s, struct slice *rest)
{
	catch_up(s);
	while (rest->length) {
		struct pieces *to = is_in_memory(s) && s->front.bytes < s->memory_bytes ? &s->front : &s->tail;
		int64_t room = room_in(s, to);
		if (room <= 0)
			return refuse(s);
		size_t part = (int64_t)rest->length < room ? rest->length : (size_t)room;
		size_t n = pieces_put(to, s->owner.blocks, (struct slice){rest->data, part});
		if (n == 0)
			s->error = -ENOMEM;
		if (n == 0)
			return SPOOL_FAILED;
		*rest = slice_from(*rest, n);
		s->total += (int64_t)n;
		s->left += (int64_t)n;
	}
	if (is_write_due(s))
		start_write(s);
	return SPOOL_DONE;
}

/* ---- taking -------------------------------------------------------------------------------------- */

/* Where the next byte stands in memory; NULL: nowhere. */
static struct pieces *next_list(struct spool *s)
{
	if (s->front.first)
		return &s->front;
	if (s->window.first)
		return &s->window;
	return file_is_empty(s) && s->tail.first ? &s->tail : NULL;
}

enum spool_result spool_peek(struct spool *s, struct slice *ret_bytes)
{
	const struct pieces *list = next_list(s);
	if (list) {
		*ret_bytes = pieces_first(list);
		return SPOOL_DONE;
	}
	if (s->left == 0)
		return SPOOL_EMPTY;
	if (s->read_error)
		return SPOOL_FAILED;
	s->reader_waits = true;
	if (s->work != SPOOL_IDLE)
		return SPOOL_WAITS;
	return start_read(s) ? SPOOL_WAITS : SPOOL_BUSY;
}

void spool_take(struct spool *s, size_t bytes)
{
	struct pieces *list = next_list(s);
	if (bytes == 0)
		return;
	struct piece *gone = pieces_consume(list, bytes);
	s->left -= (int64_t)bytes;
	s->reader_waits = false;
	if (!gone)
		return;
	if (s->keeps && list != &s->window)
		pieces_append(list == &s->front ? &s->kept_front : &s->kept_tail, gone);
	else
		blocks_give(s->owner.blocks, (char *)gone);
}

static void refill(struct pieces *list, struct pieces *kept)
{
	pieces_join(kept, list);
	pieces_join(list, kept);
	pieces_refill(list);
}

void spool_rewind(struct spool *s)
{
	MUST(s->keeps);
	refill(&s->front, &s->kept_front);
	refill(&s->tail, &s->kept_tail);
	pieces_give(&s->window, s->owner.blocks);
	s->file_from = 0;
	s->left = s->total;
	s->read_is_in_vain = true;
}

int64_t spool_total(const struct spool *s)
{
	return s->total;
}

bool spool_is_empty(const struct spool *s)
{
	return s->left == 0;
}

int spool_error(const struct spool *s)
{
	return s->error ? s->error : s->read_error;
}
