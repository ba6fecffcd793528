/* Descriptors. */
#ifndef BASE_FD_H
#define BASE_FD_H

/* Closes *fd when it is one, and sets it to -1. Keeps errno. */
void fd_close(int *fd);
/* Raises the soft limit of open files to the hard one; returns the limit in force. */
long fd_raise_limit(void);

#endif
