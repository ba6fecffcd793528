/* The SRV records of a service (RFC 2782): where its addresses are found, and with which port, priority and weight. */
#ifndef NET_SERVICES_H
#define NET_SERVICES_H

#include "net/findings.h"

struct service {
	char *target;
	struct terms terms;
	bool has_addresses; /* the message that named it had some of them */
};

struct services {
	struct service *items;
	size_t count, room;
};

enum services_result {
	SERVICES_FOUND, /* perhaps none: "." says that there is no such service */
	SERVICES_NO_DATA,
	SERVICES_MALFORMED,
	SERVICES_NO_MEMORY,
};

void services_init(struct services *);
void services_fini(struct services *);
/* A target that is known without an answer: a host. false: no memory. Beyond RESOLVER_ADDRESSES more are not kept. */
bool services_add(struct services *, const char *target, const struct terms *);
/* Reads an answer; addresses that it brings along go to the findings, as do TTLs. */
enum services_result services_read(struct services *, const uint8_t *message, size_t length, struct findings *);

#endif
