/* The error log. The only global variable of the program is this sink. */
#include "base/log.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES = PIPE_BUF / 2 };

static struct {
	int fd;
	atomic_int level;
	atomic_ulong lost;
	struct sockaddr_un syslog; /* without a path: the sink is a file */
} sink = {.fd = STDERR_FILENO, .level = LOG_LEVEL_INFO};

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

int log_open_syslog(const char *path, enum log_level level)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	log_set_level(level);
	if (strlen(path) >= sizeof address.sun_path)
		return -ENAMETOOLONG;
	strcpy(address.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	log_close();
	sink.syslog = address;
	sink.fd = fd;
	return 0;
}

void log_close(void)
{
	if (sink.fd > STDERR_FILENO)
		fd_close(&sink.fd);
	sink.fd = STDERR_FILENO;
	sink.syslog.sun_path[0] = 0;
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

/* A line that could not be written, and those of which it would have told. */
static void lose(unsigned long told)
{
	atomic_fetch_add_explicit(&sink.lost, told + 1, memory_order_relaxed);
}

static bool emit(int fd, const char *line, size_t length)
{
	/* A pipe that polls writable takes PIPE_BUF bytes at once; one that does not would block the caller. */
	struct pollfd ready = {fd, POLLOUT, 0};
	if (length > PIPE_BUF)
		length = PIPE_BUF;
	return poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) && write(fd, line, length) == (ssize_t)length;
}

/* What comes before the text. */
static size_t begin_line(enum log_level level, char *to, size_t room)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};
	struct timespec now;
	struct tm tm;
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	size_t length = strftime(to, room, "%Y-%m-%dT%H:%M:%S", &tm);
	return length +
	       (size_t)snprintf(to + length, room - length, ".%03ldZ %s: ", now.tv_nsec / 1000000, names[level]);
}

/* The same for syslog (RFC 3164 4.1): the level is in the priority, the stamp is local time. */
static size_t begin_syslog_line(enum log_level level, char *to, size_t room)
{
	static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
	time_t now = time(NULL);
	struct tm tm;
	localtime_r(&now, &tm);
	size_t length = (size_t)snprintf(to, room, "<%d>", LOG_DAEMON | priorities[level]);
	length += strftime(to + length, room - length, "%b %e %H:%M:%S", &tm);
	return length + (size_t)snprintf(to + length, room - length, " mlserve[%ld]: ", (long)getpid());
}

/* The rest of a line, but for its end. */
static size_t put_text(const char *text, unsigned long lost, char *to, size_t room)
{
	size_t length = 0;
	if (lost)
		length = (size_t)snprintf(to, room, "(%lu lines lost before this) ", lost);
	return length + escape(text, to + length, room - length - 1);
}

/* Not by syslog(3), which waits for a daemon that does not read. The address goes with each line, so a daemon that was
 * started again gets the next one. false: there is no daemon. */
static bool emit_syslog(enum log_level level, const char *text, unsigned long lost)
{
	char line[2 * LINE_BYTES];
	size_t length = begin_syslog_line(level, line, sizeof line);
	length += put_text(text, lost, line + length, sizeof line - length);
	if (sendto(sink.fd, line, length, MSG_NOSIGNAL, (struct sockaddr *)&sink.syslog, sizeof sink.syslog) >= 0)
		return true;
	if (errno != EAGAIN && errno != ENOBUFS)
		return false;
	lose(lost);
	return true;
}

void log_line(enum log_level level, const char *format, ...)
{
	char text[LINE_BYTES], line[2 * LINE_BYTES];
	if ((int)level > atomic_load_explicit(&sink.level, memory_order_relaxed))
		return;
	int saved = errno;
	bool is_syslog = sink.syslog.sun_path[0] != 0;
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	unsigned long lost = atomic_exchange_explicit(&sink.lost, 0, memory_order_relaxed);
	if (!is_syslog || !emit_syslog(level, text, lost)) {
		size_t length = begin_line(level, line, 64);
		length += put_text(text, lost, line + length, sizeof line - length);
		line[length++] = '\n';
		if (!emit(is_syslog ? STDERR_FILENO : sink.fd, line, length))
			lose(lost);
	}
	errno = saved;
}
