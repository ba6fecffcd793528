/*
 * A c-ares channel on a loop: libev watches its sockets, a timer runs its timeouts, and nothing blocks. It asks the
 * servers that it was given for whole names, or those of resolv.conf(5), as it is now, with that file's search list.
 */
#ifndef NET_DNS_CHANNEL_H
#define NET_DNS_CHANNEL_H

#include "base/list.h"
#include "event/loop.h"
#include "net/search_list.h"
/* What replaces ares_query in c-ares 1.28 and later is not in 1.18 (Debian 12). */
#define CARES_NO_DEPRECATED
#include <ares.h>
#include <sys/stat.h>

struct dns_channel {
	struct loop *loop;
	ares_channel ares; /* NULL: not open */
	struct timer timer;
	struct list sockets;
	struct search_list search;
	const char *system_file;  /* NULL: the servers were given */
	struct stat system_stamp; /* the file's when it was read */
};

#define DNS_SYSTEM_FILE "/etc/resolv.conf"

/* `servers`: ADDRESS:PORT texts; none: those of `system_file`, whose name stays. false: *ret_reason says why, and there
 * is nothing to close. */
bool dns_channel_open(struct dns_channel *, struct loop *, const char *const *servers, size_t server_count,
        const char *system_file, const char **ret_reason);
/* Reads the file again when it is another one than before; then queries that run end with ARES_EDESTRUCTION. Not from a
 * callback of a query. */
void dns_channel_follow_system(struct dns_channel *);
/* Queries that run end with ARES_EDESTRUCTION before this returns. Not from a callback of a query. */
void dns_channel_close(struct dns_channel *);
/* The callback comes once, perhaps before this returns; it may ask, but not close. */
void dns_channel_ask(struct dns_channel *, const char *name, int type, ares_callback, void *argument);

#endif
