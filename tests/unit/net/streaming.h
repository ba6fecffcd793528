/* One stream over a socket pair or TCP; the test holds the other end. */
#ifndef TESTS_NET_STREAMING_H
#define TESTS_NET_STREAMING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/stream.h"

enum { BIG = 3 << 20 };

extern struct loop loop;
extern struct blocks blocks;
extern struct stream s;
extern int peer, done_count;
extern char *big; /* BIG bytes, each told from its neighbours */

/* cmocka setup and teardown. */
int streaming_setup(void **state);
int streaming_teardown(void **state);
/* `send_bytes`: SO_SNDBUF of the stream's socket; 0: as it is. Both may follow a stream_close. */
void use_pair(int send_bytes);
void use_tcp(void);
void peer_sends(const void *bytes, size_t length);
/* Until the socket has something to tell. */
void wait_ready(void);
void expect_bytes(const char *text);
/* Counts; its argument is &done_count. */
void on_done(void *argument);

#endif
