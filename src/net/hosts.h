/* Names that need no DNS: those of /etc/hosts as it is now, localhost (RFC 6761 6.3), and addresses written out. */
#ifndef NET_HOSTS_H
#define NET_HOSTS_H

#include "net/dns_channel.h"
#include "net/findings.h"

struct hosts {
	ares_channel ares; /* one that never asks a server; NULL: not open */
};

/* A status of c-ares. */
int hosts_open(struct hosts *);
void hosts_close(struct hosts *);
/* Adds all addresses of the name. ARES_SUCCESS: it had some; ARES_ENOTFOUND; or what went wrong. */
int hosts_find(const struct hosts *, const char *name, const struct terms *, struct findings *);

#endif
