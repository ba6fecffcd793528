/* The error log. The only global variable of the program is this sink. */
#include "base/log.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = PIPE_BUF / 2 };

static struct {
	int fd;
	atomic_int level;
	atomic_ulong lost;
} sink = {STDERR_FILENO, LOG_LEVEL_INFO, 0};

int log_open(const char *path, enum log_level level)
{
	log_set_level(level);
	if (!path)
		return 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0640);
	if (fd < 0)
		return -errno;
	log_close();
	sink.fd = fd;
	return 0;
}

void log_close(void)
{
	if (sink.fd > STDERR_FILENO)
		fd_close(&sink.fd);
	sink.fd = STDERR_FILENO;
}

void log_set_level(enum log_level level)
{
	atomic_store_explicit(&sink.level, level, memory_order_relaxed);
}

/* Control bytes become \xNN, so that no text from outside can forge a line. Returns the new length. */
static size_t escape(const char *from, char *to, size_t room)
{
	static const char digits[] = "0123456789abcdef";
	size_t length = 0;
	for (; *from && length + 4 < room; from++) {
		unsigned char c = (unsigned char)*from;
		if (c >= 0x20 && c < 0x7f) {
			to[length++] = (char)c;
			continue;
		}
		to[length++] = '\\';
		to[length++] = 'x';
		to[length++] = digits[c >> 4];
		to[length++] = digits[c & 15];
	}
	return length;
}

static void emit(const char *line, size_t length)
{
	/* A pipe that polls writable takes PIPE_BUF bytes at once; one that does not would block the caller. */
	struct pollfd ready = {sink.fd, POLLOUT, 0};
	if (length > PIPE_BUF)
		length = PIPE_BUF;
	if (poll(&ready, 1, 0) != 1 || !(ready.revents & POLLOUT) || write(sink.fd, line, length) != (ssize_t)length)
		atomic_fetch_add_explicit(&sink.lost, 1, memory_order_relaxed);
}

void log_line(enum log_level level, const char *format, ...)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};
	char text[LINE_BYTES], line[2 * LINE_BYTES];
	if ((int)level > atomic_load_explicit(&sink.level, memory_order_relaxed))
		return;
	int saved = errno;
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	struct timespec now;
	struct tm tm;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	size_t length = strftime(line, 64, "%Y-%m-%dT%H:%M:%S", &tm);
	length += (size_t)snprintf(line + length, 64, ".%03ldZ %s: ", now.tv_nsec / 1000000, names[level]);
	unsigned long lost = atomic_exchange_explicit(&sink.lost, 0, memory_order_relaxed);
	if (lost)
		length += (size_t)snprintf(line + length, 64, "(%lu lines lost before this) ", lost);
	length += escape(text, line + length, sizeof line - length - 1);
	line[length++] = '\n';
	emit(line, length);
	errno = saved;
}
