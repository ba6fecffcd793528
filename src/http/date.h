/* HTTP dates (RFC 9110 5.6.7). */
#ifndef HTTP_DATE_H
#define HTTP_DATE_H

#include "base/slice.h"
#include <time.h>

enum { DATE_BYTES = 29 };

/* IMF-fixdate, exactly DATE_BYTES, not ended by zero. Any thread. */
void date_format(time_t, char to[DATE_BYTES]);
/* All three formats of RFC 9110 5.6.7. */
bool date_parse(struct slice, time_t *ret_time);

#endif
