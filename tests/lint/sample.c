/* Prints the annotated sample configuration, for `make conf` and for the lint that compares. */
#include "config/config.h"
#include <stdio.h>

int main(void)
{
	config_sample(stdout);
	return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
