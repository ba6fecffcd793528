/* Descriptors. */
#include "base/fd.h"
#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

void fd_close(int *fd)
{
	int saved = errno;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = saved;
}

long fd_raise_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 1024;
	rlim_t before = limit.rlim_cur;
	limit.rlim_cur = limit.rlim_max;
	if (before != limit.rlim_max && setrlimit(RLIMIT_NOFILE, &limit))
		limit.rlim_cur = before;
	return limit.rlim_cur > 1000000 ? 1000000 : (long)limit.rlim_cur;
}
