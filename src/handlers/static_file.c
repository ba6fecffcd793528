/* openat2 with RESOLVE_BENEATH decides what is inside of the root; no check of ours on names is relied upon. */
#include "handlers/static_file.h"
#include "base/clock.h"
#include "base/fd.h"
#include "http/uri.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OPEN_TRIES = 4 };

/* Stamps come from a clock that ticks every 1 to 10 ms, on some file systems every second or two. */
static const int64_t STAMP_GRAIN_NS = 20 * NS_PER_MS, COARSE_STAMP_GRAIN_NS = 2 * NS_PER_S;

/* ---- names ------------------------------------------------------------------------------ */

/* Names that begin with a dot are private (.git, .htpasswd), all but /.well-known/ (RFC 8615). */
static bool is_hidden(struct slice name)
{
	if (slice_starts(name, SLICE(".well-known/")))
		name = slice_from(name, sizeof ".well-known/" - 1);
	if (name.length && name.data[0] == '.')
		return true;
	for (size_t i = 1; i < name.length; i++)
		if (name.data[i] == '.' && name.data[i - 1] == '/')
			return true;
	return false;
}

/* Puts root, '/' and the decoded rest into path. 0: the rest names nothing that could exist. */
static size_t put_path(const struct static_site *site, struct slice rest, char path[PATH_MAX])
{
	size_t root_length = strlen(site->root), length;
	if (rest.length && rest.data[0] == '/')
		rest = slice_from(rest, 1);
	/* Decoding never makes it longer. */
	if (root_length + 1 + rest.length + NAME_MAX + 1 >= PATH_MAX)
		return 0;
	memcpy(path, site->root, root_length);
	path[root_length] = '/';
	char *name = path + root_length + 1;
	if (!uri_decode(rest, name, &length) || is_hidden((struct slice){name, length}))
		return 0;
	name[length] = 0;
	return root_length + 1 + length;
}

/* ---- opening ------------------------------------------------------------------------------ */

static unsigned status_of(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
	case ENAMETOOLONG:
	case EINVAL:
		return 404;
	case EACCES:
	case EPERM:
	case ELOOP:
	case EXDEV:  /* leads out of the root */
	case ENXIO:  /* a socket */
	case ENODEV: /* a device that is not there */
		return 403;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case EAGAIN:
		return 503;
	default:
		return 500;
	}
}

/* Returns the descriptor or a negative errno. */
static int open_beneath(int root_fd, const char *name, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
	for (int try = 0; try < OPEN_TRIES; try++) {
		int fd = (int)syscall(SYS_openat2, root_fd, *name ? name : ".", &how, sizeof how);
		if (fd >= 0)
			return fd;
		/* EAGAIN: a ".." of a link raced with a rename, and the kernel could not tell where it led. */
		if (errno != EAGAIN && errno != EINTR)
			break;
	}
	return -errno;
}

static void put_identity(const struct statx *s, struct file_identity *ret)
{
	*ret = (struct file_identity){
	        .device = (uint64_t)s->stx_dev_major << 32 | s->stx_dev_minor,
	        .inode = s->stx_ino,
	        .size = (int64_t)s->stx_size,
	        .modified_ns = s->stx_mtime.tv_sec * NS_PER_S + s->stx_mtime.tv_nsec,
	        .changed_ns = s->stx_ctime.tv_sec * NS_PER_S + s->stx_ctime.tv_nsec,
	};
}

enum { WANTED = STATX_TYPE | STATX_INO | STATX_SIZE | STATX_MTIME | STATX_CTIME };

static bool is_directory(int root_fd, const char *name)
{
	struct statx s;
	int fd = open_beneath(root_fd, name, O_PATH);
	bool is = fd >= 0 && statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &s) == 0 && S_ISDIR(s.stx_mode);
	fd_close(&fd);
	return is;
}

static bool is_racy(const struct file_identity *id, int64_t now_ns)
{
	bool coarse = id->modified_ns % NS_PER_S == 0 && id->changed_ns % NS_PER_S == 0;
	int64_t grain_ns = coarse ? COARSE_STAMP_GRAIN_NS : STAMP_GRAIN_NS;
	/* Only the change stamp cannot be set at will; a modification stamp far in the future says nothing. */
	return id->changed_ns > now_ns - grain_ns ||
	       (id->modified_ns > now_ns - grain_ns && id->modified_ns <= now_ns + grain_ns);
}

static int64_t wall_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Opens one name; 0 or a status as static_file_open gives it. O_NONBLOCK: a FIFO or a device must not hold the loop. */
static unsigned open_name(int root_fd, const char *name, struct static_file *ret)
{
	struct statx s;
	int64_t now_ns = wall_now_ns();
	int fd = open_beneath(root_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd == -EACCES && is_directory(root_fd, name))
		return 301; /* may be entered though not listed */
	if (fd < 0)
		return status_of(-fd);
	unsigned status = statx(fd, "", AT_EMPTY_PATH, WANTED, &s) ? status_of(errno)
	                  : S_ISDIR(s.stx_mode)                    ? 301
	                  : S_ISREG(s.stx_mode)                    ? 0
	                                                           : 403;
	if (status) {
		fd_close(&fd);
		return status;
	}
	ret->fd = fd;
	put_identity(&s, &ret->identity);
	ret->is_racy = is_racy(&ret->identity, now_ns);
	return 0;
}

static unsigned open_index(
        const struct static_site *site, int root_fd, char *name, size_t length, struct static_file *ret)
{
	ret->index_at = (size_t)(name - ret->path) + length;
	for (unsigned i = 0; i < site->index_count; i++) {
		strcpy(name + length, site->index[i]); /* NAME_MAX at most, for which put_path left room */
		unsigned status = open_name(root_fd, name, ret);
		ret->index_number = i;
		if (status == 301)
			return 403;
		if (status != 404)
			return status;
	}
	name[length] = 0;
	return is_directory(root_fd, name) ? 403 : 404;
}

unsigned static_file_open(
        const struct static_site *site, struct slice rest, struct static_file *ret, int *ret_root_error)
{
	size_t length = put_path(site, rest, ret->path), root_length = strlen(site->root);
	*ret_root_error = 0;
	if (!length)
		return 404;
	int root_fd = open(site->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0) {
		*ret_root_error = errno;
		return status_of(errno);
	}
	char *name = ret->path + root_length + 1;
	size_t name_length = length - root_length - 1;
	bool wants_index = rest.length && rest.data[rest.length - 1] == '/';
	ret->index_number = 0;
	ret->index_at = 0;
	unsigned status =
	        wants_index ? open_index(site, root_fd, name, name_length, ret) : open_name(root_fd, name, ret);
	fd_close(&root_fd);
	return status;
}

/* ---- freshness ---------------------------------------------------------------------------- */

bool static_file_identify(int fd, struct file_identity *ret)
{
	struct statx s;
	if (statx(fd, "", AT_EMPTY_PATH, WANTED, &s))
		return false;
	put_identity(&s, ret);
	return true;
}

bool static_file_is_same(const char *path, const struct file_identity *then)
{
	struct statx s;
	struct file_identity now;
	if (statx(AT_FDCWD, path, 0, WANTED, &s))
		return false;
	put_identity(&s, &now);
	return memcmp(&now, then, sizeof now) == 0;
}

bool static_file_is_first_index(
        const struct static_site *site, const char *path, size_t index_at, unsigned index_number)
{
	char earlier[PATH_MAX];
	struct statx s;
	memcpy(earlier, path, index_at);
	for (unsigned i = 0; i < index_number; i++) {
		strcpy(earlier + index_at, site->index[i]);
		if (statx(AT_FDCWD, earlier, AT_SYMLINK_NOFOLLOW, STATX_TYPE, &s) == 0 || errno != ENOENT)
			return false;
	}
	return true;
}

/* ---- start ---------------------------------------------------------------------------------- */

int static_root_check(const char *root)
{
	int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	int fd = open_beneath(root_fd, "", O_PATH);
	int error = fd < 0 ? fd : 0;
	fd_close(&fd);
	fd_close(&root_fd);
	return error;
}
