/* Listening sockets. Options set here are inherited by accepted sockets, which saves a call each. */
#include "net/listener.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_PASSED_FD = 3 };

static void set_option(int fd, int level, int name)
{
	int one = 1;
	setsockopt(fd, level, name, &one, sizeof one);
}

/* Whether the socket file at this path has no listener behind it. */
static bool is_stale(const struct endpoint *e)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	bool refused = connect(fd, &e->to.any, e->length) && errno == ECONNREFUSED;
	fd_close(&fd);
	return refused;
}

static int make_way(const struct endpoint *e)
{
	struct stat status;
	if (lstat(e->to.un.sun_path, &status))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(status.st_mode))
		return -EEXIST;
	if (!is_stale(e))
		return -EADDRINUSE;
	return unlink(e->to.un.sun_path) ? -errno : 0;
}

/* SO_REUSEPORT would let a second server of this user in, and the kernel split the connections between both. So the
 * first socket is bound without, which fails when anybody listens there; it may be set from then on to before listen,
 * where the kernel begins the group that the others join. */
static int bind_and_listen(int fd, struct endpoint *e, int backlog, unsigned flags)
{
	bool shares = flags & LISTENER_REUSEPORT, is_first = flags & LISTENER_FIRST;
	if (shares && !is_first)
		set_option(fd, SOL_SOCKET, SO_REUSEPORT);
	if (bind(fd, &e->to.any, e->length))
		return -errno;
	if (shares && is_first)
		set_option(fd, SOL_SOCKET, SO_REUSEPORT);
	if (listen(fd, backlog))
		return -errno;
	e->length = sizeof e->to;
	return getsockname(fd, &e->to.any, &e->length) ? -errno : 0;
}

int listener_open(struct endpoint *e, int backlog, unsigned flags)
{
	sa_family_t family = e->to.any.sa_family;
	int error = family == AF_UNIX ? make_way(e) : 0;
	if (error)
		return error;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (family != AF_UNIX) {
		set_option(fd, SOL_SOCKET, SO_REUSEADDR);
		set_option(fd, IPPROTO_TCP, TCP_NODELAY);
	}
	if (family == AF_INET6)
		set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY);
	error = bind_and_listen(fd, e, backlog, flags);
	if (error) {
		fd_close(&fd);
		return error;
	}
	return fd;
}

int listener_adopt(int fd, struct endpoint *ret)
{
	struct endpoint e = {.length = sizeof e.to};
	int listening = 0, flags = fcntl(fd, F_GETFL);
	socklen_t length = sizeof listening;
	if (flags < 0 || getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length))
		return -errno;
	if (!listening)
		return -EINVAL;
	if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) || fcntl(fd, F_SETFD, FD_CLOEXEC) ||
	        getsockname(fd, &e.to.any, &e.length))
		return -errno;
	if (e.to.any.sa_family != AF_UNIX)
		set_option(fd, IPPROTO_TCP, TCP_NODELAY);
	*ret = e;
	return 0;
}

/* The name of passed descriptor `index` in LISTEN_FDNAMES, "unknown" as systemd says when there is none. */
static struct slice passed_name(const char *names, long index)
{
	struct slice rest = slice_of(names);
	if (!names)
		return SLICE("unknown");
	while (index-- > 0) {
		const char *colon = rest.length ? memchr(rest.data, ':', rest.length) : NULL;
		if (!colon)
			return SLICE("unknown");
		rest = slice_from(rest, (size_t)(colon - rest.data) + 1);
	}
	const char *end = rest.length ? memchr(rest.data, ':', rest.length) : NULL;
	return (struct slice){rest.data, end ? (size_t)(end - rest.data) : rest.length};
}

int listener_passed(const char *name)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	if (!pid || !count || strtol(pid, NULL, 10) != (long)getpid())
		return -1;
	long passed = strtol(count, NULL, 10);
	for (long i = 0; i < passed; i++) {
		int fd = FIRST_PASSED_FD + (int)i, flags = fcntl(fd, F_GETFD);
		/* One that has close-on-exec set was given out before. */
		if (flags < 0 || (flags & FD_CLOEXEC) ||
		        !slice_equal(passed_name(getenv("LISTEN_FDNAMES"), i), slice_of(name)))
			continue;
		fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
		return fd;
	}
	return -1;
}
