/* A loop, an executor that can be held up, and what spools do with them and with files. Include after cmocka.h. */
#ifndef TESTS_UNIT_NET_SPOOLING_H
#define TESTS_UNIT_NET_SPOOLING_H

#include "net/pieces.h"
#include "net/spool.h"
#include <sys/types.h>

extern char *pattern; /* PATTERN bytes that do not repeat soon */
enum { PATTERN = 48 << 20, PIECE_BYTES = BLOCK_BYTES - sizeof(struct piece), WRITE_BYTES = 60 * 1024 };

int spooling_setup(void **state);
int spooling_teardown(void **state);
void begin_everything(void);
/* In the order of the server's end. */
void end_everything(void);

struct spool *make(const struct spool_place *, bool keeps);
/* Appends pattern[from, from + length), waiting for jobs. */
void put(struct spool *, size_t from, size_t length);
/* The same, as far as it goes; returns how far. */
size_t try_put(struct spool *, size_t from, size_t length);
/* Takes exactly these bytes of the pattern, waiting for jobs. */
void expect(struct spool *, size_t from, size_t length);
/* Takes at most so many that are at hand, and holds them to the pattern; returns how many. */
size_t try_take(struct spool *, size_t from, size_t most);

/* One turn, which waits for a job if one runs. */
void turn(void);
/* Until no job runs, also of those that nobody is told of. */
void settle(void);
int jobs_pending(void);
int changes(void); /* calls of changed() */

/* Nobody takes jobs any more; the same again. */
void take_executor(void);
void give_executor(void);
/* All of its threads are busy. */
void hold_executor(void);
void let_executor_go(void);

/* Of this process's open files that have no name. */
int file_count(void);
off_t file_size(void);
bool file_is_nameless(void);
void shorten_file(off_t);
/* open() fails so with O_TMPFILE until the test's end. */
void refuse_nameless(int error);

#endif
