/* See findings.h. */
#include "net/findings.h"
#include "base/fd.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a single message can hold. One lookup may bring many of these. */
enum { FIRST_ROOM = 8, MOST_KEPT = 4096 };

void findings_init(struct findings *f)
{
	*f = (struct findings){.ttl_s = -1};
}

void findings_fini(struct findings *f)
{
	free(f->addresses);
	f->addresses = NULL;
	f->count = f->room = 0;
}

void findings_note_ttl(struct findings *f, int64_t ttl_s)
{
	if (f->ttl_s < 0 || ttl_s < f->ttl_s)
		f->ttl_s = ttl_s;
}

bool findings_add(struct findings *f, const struct address *a, const struct terms *terms)
{
	if (f->count == MOST_KEPT)
		return true;
	if (f->count == f->room) {
		size_t room = f->room ? 2 * f->room : FIRST_ROOM;
		struct resolver_address *grown = realloc(f->addresses, room * sizeof *grown);
		if (!grown)
			return false;
		f->addresses = grown;
		f->room = room;
	}
	f->addresses[f->count++] = (struct resolver_address){
	        .endpoint = endpoint_of(a, terms->port), .weight = terms->weight, .priority = terms->priority};
	return true;
}

/* ---- one set ---------------------------------------------------------------------------- */

static int compare_endpoints(const struct endpoint *a, const struct endpoint *b)
{
	if (a->to.any.sa_family != b->to.any.sa_family)
		return a->to.any.sa_family < b->to.any.sa_family ? -1 : 1;
	int order = a->to.any.sa_family == AF_INET ? memcmp(&a->to.v4.sin_addr, &b->to.v4.sin_addr, 4)
	                                           : memcmp(&a->to.v6.sin6_addr, &b->to.v6.sin6_addr, 16);
	return order ? order : endpoint_port(a) - endpoint_port(b);
}

/* Of doubles the one to keep comes first: the most preferred. */
static int compare(const void *left, const void *right)
{
	const struct resolver_address *a = left, *b = right;
	int order = compare_endpoints(&a->endpoint, &b->endpoint);
	if (order)
		return order;
	if (a->priority != b->priority)
		return a->priority < b->priority ? -1 : 1;
	return (a->weight < b->weight) - (a->weight > b->weight);
}

static void leave_out_doubles(struct findings *f)
{
	size_t kept = 0;
	for (size_t i = 0; i < f->count; i++)
		if (kept == 0 || compare_endpoints(&f->addresses[kept - 1].endpoint, &f->addresses[i].endpoint) != 0)
			f->addresses[kept++] = f->addresses[i];
	f->count = kept;
}

/* The kernel looks for a route when a datagram socket is connected; nothing is sent. */
static bool has_route(const struct endpoint *e)
{
	int fd = socket(e->to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno != EAFNOSUPPORT;
	int error = connect(fd, &e->to.any, e->length) ? errno : 0;
	fd_close(&fd);
	return error != ENETUNREACH && error != EHOSTUNREACH && error != EADDRNOTAVAIL;
}

static bool is_v6(const struct resolver_address *a)
{
	return a->endpoint.to.any.sa_family == AF_INET6;
}

/* IPv6 without a route is of use to nobody while there is IPv4. Alone it stays: an error that names the address says
 * more than none. IPv4 comes first in the order. */
static void leave_out_unreachable(struct findings *f)
{
	size_t kept = 0;
	if (f->count == 0 || is_v6(&f->addresses[0]))
		return;
	for (size_t i = 0; i < f->count; i++)
		if (!is_v6(&f->addresses[i]) || has_route(&f->addresses[i].endpoint))
			f->addresses[kept++] = f->addresses[i];
	f->count = kept;
}

void findings_settle(struct findings *f)
{
	if (f->count == 0)
		return;
	qsort(f->addresses, f->count, sizeof *f->addresses, compare);
	leave_out_doubles(f);
	if (f->count > RESOLVER_ADDRESSES)
		f->count = RESOLVER_ADDRESSES;
	leave_out_unreachable(f);
}
