/* A fixed number of pipes, made when they are first needed. */
#include "net/pipes.h"
#include "base/check.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { SKIPS = 256 };

void pipes_init(struct pipes *p)
{
	*p = (struct pipes){0};
	for (int i = 0; i < PIPES_MOST; i++)
		p->all[i] = (struct pipe){.pool = p, .read_end = -1, .write_end = -1};
}

static void close_pipe(struct pipe *pipe)
{
	fd_close(&pipe->read_end);
	fd_close(&pipe->write_end);
	pipe->held = 0;
}

void pipes_fini(struct pipes *p)
{
	for (int i = 0; i < PIPES_MOST; i++) {
		MUST(!p->all[i].is_taken);
		close_pipe(&p->all[i]);
	}
}

/* What all pipes of a user hold together is limited (pipe-user-pages-soft in proc(5)); then less may still be had. */
static bool open_pipe(struct pipe *pipe)
{
	int ends[2];
	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC))
		return false;
	pipe->read_end = ends[0];
	pipe->write_end = ends[1];
	int bytes = fcntl(pipe->write_end, F_SETPIPE_SZ, PIPE_BYTES);
	if (bytes < 0)
		bytes = fcntl(pipe->write_end, F_SETPIPE_SZ, PIPE_LEAST_BYTES);
	if (bytes < PIPE_LEAST_BYTES) {
		close_pipe(pipe);
		return false;
	}
	pipe->capacity = (size_t)bytes;
	return true;
}

struct pipe *pipes_take(struct pipes *p)
{
	struct pipe *unmade = NULL;
	for (int i = 0; i < PIPES_MOST; i++) {
		struct pipe *pipe = &p->all[i];
		if (pipe->is_taken)
			continue;
		if (pipe->read_end >= 0) {
			pipe->is_taken = true;
			return pipe;
		}
		unmade = unmade ? unmade : pipe;
	}
	if (unmade && p->skips) {
		p->skips--;
		return NULL;
	}
	if (!unmade || !open_pipe(unmade)) {
		p->skips = SKIPS;
		return NULL;
	}
	unmade->is_taken = true;
	return unmade;
}

void pipes_give(struct pipe *pipe)
{
	MUST(pipe->is_taken);
	pipe->is_taken = false;
	if (pipe->held)
		close_pipe(pipe);
}
