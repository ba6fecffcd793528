/* Why a head is refused: the status of the answer and a static text for log and error page. */
#ifndef HTTP_REFUSAL_H
#define HTTP_REFUSAL_H

#include <stdbool.h>

struct refusal {
	unsigned status; /* 0: not refused */
	const char *reason;
};

/* Always false, for `return refuse(...)`. */
static inline bool refuse(struct refusal *to, unsigned status, const char *reason)
{
	*to = (struct refusal){status, reason};
	return false;
}

#endif
