/* One `server` value of [upstream]: an address or a name, and what stands behind it. */
#ifndef UPSTREAM_SERVER_LINE_H
#define UPSTREAM_SERVER_LINE_H

#include "config/config.h"
#include "net/address.h"

enum server_kind {
	SERVER_FIXED, /* an address */
	SERVER_NAME,  /* a host name and port: A and AAAA */
	SERVER_SRV,   /* srv:_service._proto.name */
};

struct server_line {
	enum server_kind kind;
	char *text; /* its first word */
	char *name; /* to be looked up; NULL for an address */
	uint16_t port;
	struct endpoint endpoint; /* of an address */
	unsigned weight;
	bool is_backup, is_draining;
	int64_t limit; /* connections; -1: as the group says, 0: none */
};

/* Reads value number `item`. false: a fault was reported, or no memory. Whatever happens, fini copes. */
bool server_line_read(struct server_line *, const struct mlserve_settings *, size_t item, const char *value);
void server_line_fini(struct server_line *);

#endif
