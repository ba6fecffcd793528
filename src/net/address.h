/* Addresses of peers, networks to match them with, and endpoints to listen on or connect to. */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include "base/slice.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Small, so that it can travel with a socket and stay in a waiting connection. */
struct address {
	uint8_t family; /* AF_INET, AF_INET6, AF_UNIX, or 0: not known */
	uint16_t port;
	uint8_t bytes[16];
};

enum { ADDRESS_TEXT_BYTES = 64 };

struct address address_of(const struct sockaddr *, socklen_t length);
/* "192.0.2.1", "2001:db8::1" or "unix"; returns the length, ended by zero. IPv4 mapped into IPv6 is shown as IPv4. */
size_t address_format(const struct address *, char to[ADDRESS_TEXT_BYTES]);
bool address_is_loopback(const struct address *); /* 127/8, ::1, or a unix socket's peer */

struct network {
	struct address address;
	unsigned bits;
};

/* "127.0.0.0/8", "::1", "unix", "loopback" is not one (see networks_parse). false: malformed. */
bool network_parse(struct slice, struct network *ret);
bool network_holds(const struct network *, const struct address *);

enum { ENDPOINT_TEXT_BYTES = 128 };

struct endpoint {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_un un;
	} to;
	socklen_t length;
};

/* "127.0.0.1:80", "[::1]:80", "unix:/path", and if `localhost` may be named "localhost:80". false: *ret_reason says
 * what is wrong. */
bool endpoint_parse(struct slice, bool localhost, struct endpoint *ret, const char **ret_reason);
/* Of an IPv4 or IPv6 address. */
struct endpoint endpoint_of(const struct address *, uint16_t port);
/* Of an IPv4 or IPv6 address; others have none: 0, and setting it changes nothing. */
uint16_t endpoint_port(const struct endpoint *);
void endpoint_set_port(struct endpoint *, uint16_t port);
/* The same address and port, or path. */
bool endpoint_equal(const struct endpoint *, const struct endpoint *);
/* As it is parsed; ended by zero. */
void endpoint_format(const struct endpoint *, char to[ENDPOINT_TEXT_BYTES]);

#endif
