/* Conditional requests (RFC 9110 13). */
#ifndef HTTP_CONDITIONAL_H
#define HTTP_CONDITIONAL_H

#include "http/message.h"
#include <time.h>

struct validators {
	struct slice etag; /* with its quotes, and W/ when weak */
	time_t modified;
	bool modified_is_strong; /* RFC 9110 8.8.2.2: not changed within the last second */
};

/* By RFC 9110 13.2.2: 0 to go on, 304, or 412. */
unsigned conditional_evaluate(const struct request_head *, const struct validators *);
/* Whether Range may be honoured: no If-Range, or one that matches strongly (13.1.5). */
bool conditional_range_holds(const struct request_head *, const struct validators *);

#endif
