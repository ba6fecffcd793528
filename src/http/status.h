/* Status codes and methods as text. */
#ifndef HTTP_STATUS_H
#define HTTP_STATUS_H

#include "http/message.h"

struct slice status_reason(unsigned status); /* "OK"; "Unknown" for codes that have none */
struct slice status_line(unsigned status);   /* "HTTP/1.1 200 OK\r\n" for codes we know; empty for others */
enum method method_of(struct slice name);    /* METHOD_UNKNOWN: a token we do not know */
struct slice method_name(enum method);

#endif
