/* Reads /proc and the thread clocks; nothing here waits for the thread that is looked at. */
#include "handlers/stall.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/fd.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Below this share of a CPU a thread that wants to run is starved. */
static const double burning_share = 0.05;

static const struct {
	long number;
	const char *name;
} usual[] = {
#define CALL(name) {SYS_##name, #name},
#include "handlers/syscalls.def"
#undef CALL
};

int64_t stall_cpu_ns(int tid)
{
	/* The clock of another thread of this process, as pthread_getcpuclockid makes it from a thread's number. */
	clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | 6u);
	struct timespec t;
	if (tid <= 0 || clock_gettime(clock, &t))
		return -1;
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* One short file of /proc/self/task/TID; ended by zero. */
static bool read_task_file(int tid, const char *name, char *to, size_t room)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/task/%d/%s", tid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, to, room - 1);
	fd_close(&fd);
	if (n <= 0)
		return false;
	to[n] = 0;
	return true;
}

/* "42 (name) R ...": the name may hold anything, so the last bracket counts. 0: not known. */
static char state_of(int tid)
{
	char text[512];
	const char *bracket;
	if (!read_task_file(tid, "stat", text, sizeof text) || !(bracket = strrchr(text, ')')) || bracket[1] != ' ')
		return 0;
	return bracket[2];
}

/* "NUMBER arguments...", or "running"; not readable after privileges were dropped without PR_SET_DUMPABLE. */
static void put_syscall(int tid, char to[STALL_SYSCALL_BYTES])
{
	char text[256], *end;
	to[0] = 0;
	if (!read_task_file(tid, "syscall", text, sizeof text))
		return;
	long number = strtol(text, &end, 10);
	if (end == text || number < 0)
		return;
	snprintf(to, STALL_SYSCALL_BYTES, "%ld", number);
	for (size_t i = 0; i < ARRAY_COUNT(usual); i++)
		if (usual[i].number == number)
			snprintf(to, STALL_SYSCALL_BYTES, "%s", usual[i].name);
}

void stall_explain(int tid, int64_t cpu_before_ns, int64_t elapsed_ns, struct stall *ret)
{
	int64_t cpu_ns = cpu_before_ns < 0 ? -1 : stall_cpu_ns(tid);
	bool knows_cpu = cpu_ns >= 0 && elapsed_ns > 0;
	char state = state_of(tid);
	*ret = (struct stall){.kind = NULL};
	if (knows_cpu && (double)(cpu_ns - cpu_before_ns) >= burning_share * (double)elapsed_ns) {
		ret->kind = "burn";
	} else if (state == 'S' || state == 'D') {
		ret->kind = "blocked";
		put_syscall(tid, ret->syscall);
	} else if (state == 'R' && knows_cpu) {
		ret->kind = "starved";
	}
}
