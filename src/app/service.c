/* sd_notify's protocol, pid files, privileges. */
#include "app/service.h"
#include "base/fd.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

void service_notify(const char *format, ...)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char text[512];
	if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof to.sun_path)
		return;
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	size_t length = strlen(path);
	memcpy(to.sun_path, path, length);
	if (path[0] == '@')
		to.sun_path[0] = 0; /* abstract */
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&to,
	        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	fd_close(&fd);
}

/* ---- pid file ------------------------------------------------------------------------------- */

static int try_lock(int fd, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
	if (fcntl(fd, F_SETLK, &lock) == 0)
		return 0;
	return errno == EACCES || errno == EAGAIN ? -EEXIST : -errno;
}

/* Opens and locks the file that is at that path when the lock is held: one that ends at the same moment removes its
 * own. */
static int open_locked(const char *path)
{
	for (;;) {
		struct stat opened, present;
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
		if (fd < 0)
			return -errno;
		int error = try_lock(fd, F_WRLCK);
		if (!error && fstat(fd, &opened) == 0 && stat(path, &present) == 0 && opened.st_dev == present.st_dev &&
		        opened.st_ino == present.st_ino)
			return fd;
		fd_close(&fd);
		if (error)
			return error;
	}
}

int pid_file_open(const char *path)
{
	char text[32];
	int fd = open_locked(path), error = 0;
	if (fd < 0)
		return fd;
	int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
	if ((ftruncate(fd, 0) || write(fd, text, (size_t)length) != length))
		error = errno ? -errno : -ENOSPC;
	if (error) {
		fd_close(&fd);
		return error;
	}
	return fd;
}

void pid_file_close(int *fd, const char *path)
{
	if (*fd >= 0 && unlink(path) && ftruncate(*fd, 0))
		errno = 0; /* a directory that is no longer ours: the lock goes with the descriptor all the same */
	fd_close(fd);
}

int pid_file_owner(const char *path)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	/* Asks the kernel who holds the lock, so a number left behind by a dead instance names nobody. */
	int result = fcntl(fd, F_GETLK, &lock) ? -errno : lock.l_type == F_UNLCK ? 0 : (int)lock.l_pid;
	fd_close(&fd);
	return result;
}

/* ---- privileges ------------------------------------------------------------------------------- */

bool service_user_exists(const char *user)
{
	return getpwnam(user) != NULL;
}

bool service_drop_privileges(const char *user, bool *ret_stays_root, char *error, size_t error_bytes)
{
	static const char standard[] = "mlserve";
	*ret_stays_root = false;
	if (geteuid() != 0)
		return true;
	if (user && strcmp(user, "root") == 0)
		return true;
	struct passwd *entry = getpwnam(user ? user : standard);
	if (!entry && !user) {
		*ret_stays_root = true;
		return true;
	}
	if (!entry) {
		snprintf(error, error_bytes, "user %s: there is no such user", user);
		return false;
	}
	if (initgroups(entry->pw_name, entry->pw_gid) || setgid(entry->pw_gid) || setuid(entry->pw_uid)) {
		snprintf(error, error_bytes, "user %s: cannot become it: %s", entry->pw_name, strerror(errno));
		return false;
	}
	/* So that /proc/self stays readable to ourselves: what a stalled loop does is read from there. */
	prctl(PR_SET_DUMPABLE, 1);
	return true;
}
