/* Ends the program on a broken assertion. */
#include "base/check.h"
#include <stdio.h>
#include <stdlib.h>

void check_failed(const char *condition, const char *file, int line, const char *function)
{
	fprintf(stderr, "mlserve: bug: %s:%d: %s: %s does not hold\n", file, line, function, condition);
	abort();
}
