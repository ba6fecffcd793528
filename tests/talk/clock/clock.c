/* Preloaded into a server under test: its wall clock runs beside the machine's by as many seconds as stand in the file
 * that TALK_CLOCK names, so that a test can make it jump. Other clocks are as they are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset_s;

__attribute__((constructor)) static void map_offset(void)
{
	const char *path = getenv("TALK_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset_s, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		abort(); /* a test that runs on the true clock would show nothing */
	close(fd);
	offset_s = at;
}

static int64_t offset(clockid_t id)
{
	return offset_s && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) ? *offset_s : 0;
}

int clock_gettime(clockid_t id, struct timespec *to)
{
	static int (*real)(clockid_t, struct timespec *);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
	int result = real(id, to);
	if (result == 0)
		to->tv_sec += offset(id);
	return result;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone)
{
	struct timespec now;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*to = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
	return 0;
}

time_t time(time_t *to)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (to)
		*to = now.tv_sec;
	return now.tv_sec;
}

/* libev asks for the time without the C library. */
long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long a[6];
	va_list arguments;
	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, long);
	va_end(arguments);
	if (number == SYS_clock_gettime)
		return clock_gettime((clockid_t)a[0], (struct timespec *)a[1]);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
