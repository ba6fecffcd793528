/* See spooling.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spooling.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

char *pattern;
static struct stats stats;
static struct loop loop;
static struct blocks blocks;
static struct executor *executor, *taken;
static int change_count, refused_with;

/* ---- open() without O_TMPFILE ------------------------------------------------------------------ */

int open(const char *path, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
	va_end(more);
	if (refused_with && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = refused_with;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

void refuse_nameless(int error)
{
	refused_with = error;
}

/* ---- life ------------------------------------------------------------------------------------------ */

void begin_everything(void)
{
	int error = 0;
	stats_init(&stats);
	blocks_init(&blocks, BLOCK_BYTES);
	assert_int_equal(loop_init(&loop, 0, &stats, 4), 0);
	executor = executor_create(1, 16, &error);
	assert_non_null(executor);
}

void end_everything(void)
{
	blocks_fini(&blocks);
	assert_true(executor_free(&executor, 10 * NS_PER_S));
	loop_fini(&loop);
}

int spooling_setup(void **state)
{
	(void)state;
	alarm(300);
	if (!pattern) {
		pattern = malloc(PATTERN);
		for (size_t i = 0; i < PATTERN; i++)
			pattern[i] = (char)(i * 31 + i / 251 + i / 65521);
	}
	change_count = refused_with = 0;
	begin_everything();
	return 0;
}

int spooling_teardown(void **state)
{
	(void)state;
	settle();
	assert_int_equal(jobs_pending(), 0);
	end_everything();
	assert_int_equal(file_count(), 0);
	return 0;
}

/* ---- jobs -------------------------------------------------------------------------------------------- */

static void on_change(void *argument)
{
	assert_ptr_equal(argument, &loop);
	change_count++;
}

int changes(void)
{
	return change_count;
}

int jobs_pending(void)
{
	return (int)stat_get(&stats, STAT_pending_tasks);
}

void turn(void)
{
	loop_turn(&loop, jobs_pending() > 0);
}

static bool is_working(void)
{
	struct executor_figures f = executor_figures(executor);
	return f.active || f.queued || jobs_pending();
}

void settle(void)
{
	/* What a job's end begins is posted before the job counts as over. */
	do {
		while (is_working())
			loop_turn(&loop, false);
		loop_turn(&loop, false);
	} while (is_working());
}

void take_executor(void)
{
	taken = executor;
	executor = NULL;
}

void give_executor(void)
{
	executor = taken;
}

static sem_t begun, go_on;
static struct job held;

static void hold(void *argument)
{
	(void)argument;
	sem_post(&begun);
	while (sem_wait(&go_on))
		;
}

static void on_held(struct loop *l, struct job *j)
{
	(void)l, (void)j;
}

void hold_executor(void)
{
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	held = (struct job){.work = hold, .done = on_held};
	assert_true(executor_submit(executor, &loop, &held));
	while (sem_wait(&begun))
		;
}

void let_executor_go(void)
{
	sem_post(&go_on);
}

/* ---- bytes --------------------------------------------------------------------------------------------- */

struct spool *make(const struct spool_place *place, bool keeps)
{
	struct spool_owner owner = {&loop, &blocks, &executor, on_change, &loop};
	struct spool *s = spool_create(place, &owner, keeps);
	assert_non_null(s);
	return s;
}

size_t try_put(struct spool *s, size_t from, size_t length)
{
	struct slice rest = {pattern + from, length};
	while (rest.length) {
		enum spool_result result = spool_append(s, &rest);
		if (result == SPOOL_WAITS)
			turn();
		else if (result != SPOOL_DONE)
			break;
	}
	return length - rest.length;
}

void put(struct spool *s, size_t from, size_t length)
{
	assert_int_equal(try_put(s, from, length), length);
}

void expect(struct spool *s, size_t from, size_t length)
{
	while (length) {
		struct slice data;
		enum spool_result result = spool_peek(s, &data);
		if (result == SPOOL_WAITS) {
			turn();
			continue;
		}
		assert_int_equal(result, SPOOL_DONE);
		assert_true(data.length > 0);
		size_t n = data.length < length ? data.length : length;
		assert_memory_equal(data.data, pattern + from, n);
		spool_take(s, n);
		from += n;
		length -= n;
	}
}

size_t try_take(struct spool *s, size_t from, size_t most)
{
	size_t done = 0;
	struct slice data;
	while (done < most && spool_peek(s, &data) == SPOOL_DONE) {
		size_t n = data.length < most - done ? data.length : most - done;
		assert_memory_equal(data.data, pattern + from + done, n);
		spool_take(s, n);
		done += n;
	}
	return done;
}

/* ---- files ------------------------------------------------------------------------------------------------ */

/* How many there are; *ret_fd is one of them. */
static int find_files(int *ret_fd)
{
	DIR *all = opendir("/proc/self/fd");
	int count = 0;
	assert_non_null(all);
	for (struct dirent *entry; (entry = readdir(all));) {
		struct stat about;
		int fd = atoi(entry->d_name);
		if (entry->d_name[0] != '.' && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
		        about.st_nlink == 0) {
			*ret_fd = fd;
			count++;
		}
	}
	closedir(all);
	return count;
}

int file_count(void)
{
	int fd;
	return find_files(&fd);
}

off_t file_size(void)
{
	struct stat about;
	int fd = -1;
	assert_int_equal(find_files(&fd), 1);
	assert_int_equal(fstat(fd, &about), 0);
	return about.st_size;
}

bool file_is_nameless(void)
{
	char link[64], path[256] = "";
	int fd = -1;
	assert_int_equal(find_files(&fd), 1);
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	assert_true(readlink(link, path, sizeof path - 1) > 0);
	return strstr(path, "/mlserve-") && strstr(path, " (deleted)");
}

void shorten_file(off_t length)
{
	int fd = -1;
	assert_int_equal(find_files(&fd), 1);
	assert_int_equal(ftruncate(fd, length), 0);
}
