/* Opening, writing and reading temporary files without a name. */
#include "net/spool_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* For file systems without O_TMPFILE: the name is there for a moment only. */
static int open_and_unlink(const char *directory, int *ret_fd)
{
	char path[4096];
	int length = snprintf(path, sizeof path, "%s/mlserve-XXXXXX", directory);
	if (length < 0 || (size_t)length >= sizeof path)
		return -ENAMETOOLONG;
	int fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	*ret_fd = fd;
	return 0;
}

int spool_file_open(const char *directory, int *ret_fd)
{
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
	if (fd < 0)
		return errno == EOPNOTSUPP || errno == EISDIR ? open_and_unlink(directory, ret_fd) : -errno;
	*ret_fd = fd;
	return 0;
}

/* As much as stands in one stretch of the ring. */
static size_t stretch(int64_t capacity, int64_t at, int64_t bytes)
{
	int64_t to_end = capacity - at % capacity;
	return (size_t)(bytes < to_end ? bytes : to_end);
}

int64_t spool_file_write(int fd, int64_t capacity, int64_t at, const struct pieces *pieces, int *ret_error)
{
	int64_t done = 0;
	for (const struct piece *p = pieces->first; p; p = p->next) {
		for (uint32_t from = p->start; from < p->end;) {
			size_t part = stretch(capacity, at + done, p->end - from);
			ssize_t n = pwrite(fd, p->bytes + from, part, (at + done) % capacity);
			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0) {
				*ret_error = n < 0 ? -errno : -ENOSPC;
				return done;
			}
			from += (uint32_t)n;
			done += n;
		}
	}
	return done;
}

int64_t spool_file_read(int fd, int64_t capacity, int64_t at, int64_t bytes, struct pieces *pieces, int *ret_error)
{
	int64_t done = 0;
	for (struct piece *p = pieces->first; p && done < bytes; p = p->next) {
		while (p->end < p->room && done < bytes) {
			int64_t wanted = bytes - done < p->room - p->end ? bytes - done : p->room - p->end;
			size_t part = stretch(capacity, at + done, wanted);
			ssize_t n = pread(fd, p->bytes + p->end, part, (at + done) % capacity);
			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0) {
				*ret_error = n < 0 ? -errno : -EIO; /* shorter than what was written */
				return done;
			}
			p->end += (uint32_t)n;
			done += n;
		}
	}
	return done;
}
