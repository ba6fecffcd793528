/* A DNS server that answers as a test scripts it, over UDP and TCP, on the loop of the test itself. */
#ifndef TESTS_NET_DNS_SERVER_H
#define TESTS_NET_DNS_SERVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/loop.h"
#include "net/dns_message.h"

enum { DNS_MESSAGE_BYTES = 65535, DNS_ASKED = 256 };

struct dns_asked {
	char name[256];
	uint16_t id, type;
	bool over_tcp;
};

struct dns_reply {
	uint8_t bytes[DNS_MESSAGE_BYTES];
	size_t length; /* 0: silence */
	bool in_additional;
};

typedef void dns_script(const struct dns_asked *, struct dns_reply *);

extern struct dns_asked dns_asked[DNS_ASKED]; /* what was asked, in order */
extern size_t dns_asked_count;

/* Returns the port, on 127.0.0.1 and for IPv6 on ::1. */
uint16_t dns_server_open(struct loop *, bool on_v6, dns_script *);
void dns_server_close(void);

/* A reply begins with these; records follow, those after reply_additional in that section. */
void reply_begin(struct dns_reply *, const struct dns_asked *, int code);
void reply_truncate(struct dns_reply *);
void reply_additional(struct dns_reply *);
void reply_a(struct dns_reply *, const char *name, uint32_t ttl_s, const char *address);
void reply_aaaa(struct dns_reply *, const char *name, uint32_t ttl_s, const char *address);
void reply_cname(struct dns_reply *, const char *name, uint32_t ttl_s, const char *target);
void reply_srv(struct dns_reply *, const char *name, uint32_t ttl_s, uint16_t priority, uint16_t weight, uint16_t port,
        const char *target);
/* Data that is not what its type should have. */
void reply_raw(struct dns_reply *, const char *name, uint16_t type, uint32_t ttl_s, const void *data, uint16_t length);

#endif
