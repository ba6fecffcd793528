/* The temporary file of a spool: it has no name, and is used as a ring, so that it never grows beyond its capacity.
 * Every function blocks: for the executor. */
#ifndef NET_SPOOL_FILE_H
#define NET_SPOOL_FILE_H

#include "net/pieces.h"

/* 0 or a negative errno. */
int spool_file_open(const char *directory, int *ret_fd);
/* Writes the pieces from byte `at` on, counted over the file's life. Returns how many went; fewer than there are:
 * *ret_error is a negative errno. */
int64_t spool_file_write(int fd, int64_t capacity, int64_t at, const struct pieces *, int *ret_error);
/* Fills the empty pieces with at most `bytes` from byte `at` on. Returns how many came, as above. */
int64_t spool_file_read(int fd, int64_t capacity, int64_t at, int64_t bytes, struct pieces *, int *ret_error);

#endif
