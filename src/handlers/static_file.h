/*
 * Files below a root: from a request's path to an open descriptor, never to anything
 * outside the root, whatever links there are; and what tells a changed file from the
 * same one.
 */
#ifndef HANDLERS_STATIC_FILE_H
#define HANDLERS_STATIC_FILE_H

#include "base/slice.h"
#include <limits.h>
#include <stdint.h>

/* One route's files. */
struct static_site {
	const char *root; /* may be replaced while we run, as by a swapped link */
	const char *const *index;
	size_t index_count;
};

struct file_identity {
	uint64_t device, inode;
	int64_t size, modified_ns, changed_ns; /* wall clock */
};

struct static_file {
	int fd;
	struct file_identity identity;
	/* So young that a later change may leave the same time stamps. */
	bool is_racy;
	unsigned index_number; /* which index file it is, when a directory was asked for; else 0 */
	size_t index_at;       /* where its name stands in path; 0: no index file */
	char path[PATH_MAX];   /* root included */
};

/* `rest`: normalised, still escaped, begins with '/' or is empty. 0: found, ret->fd is open and names a regular file.
 * Else the status to answer: 301 (a directory without its slash), 403, 404, 500, 503. *ret_root_error: the errno when
 * the root itself cannot be opened, else 0. */
unsigned static_file_open(const struct static_site *, struct slice rest, struct static_file *ret, int *ret_root_error);
/* Of an open file. false: cannot be told. */
bool static_file_identify(int fd, struct file_identity *ret);
/* Whether the path still names the file that it named: one system call. */
bool static_file_is_same(const char *path, const struct file_identity *);
/* No earlier index file came to be in this file's directory. One system call for each earlier name. */
bool static_file_is_first_index(const struct static_site *, const char *path, size_t index_at, unsigned index_number);

/* For start: 0 or a negative errno; -ENOSYS when the kernel cannot confine lookups. */
int static_root_check(const char *root);

#endif
