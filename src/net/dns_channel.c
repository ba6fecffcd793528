/* See dns_channel.h. */
#include "net/dns_channel.h"
#include "net/address.h"
#include <arpa/nameser.h>
#include <stdlib.h>
#include <string.h>

/* The second try of a server waits twice as long as the first: nobody there is known after 4.5 s. The size is what
 * passes everywhere unfragmented (DNS flag day 2020). */
enum { FIRST_TRY_MS = 1500, TRIES = 2, UDP_BYTES = 1232 };

/* c-ares 1.31 and later keep answers by themselves unless told not to; before there is nothing to tell. */
#ifndef ARES_OPT_QUERY_CACHE
#define ARES_OPT_QUERY_CACHE 0
#endif

struct socket_watch {
	struct list node;
	struct dns_channel *channel;
	ev_io io;
};

/* ---- sockets and time ------------------------------------------------------------------- */

/* After each call that may have begun or ended a query. */
static void settle(struct dns_channel *c)
{
	struct timeval room, *left = ares_timeout(c->ares, NULL, &room);
	if (left)
		timer_start(c->loop, &c->timer, (int64_t)left->tv_sec * (NS_PER_S / NS_PER_US) + left->tv_usec);
	else
		timer_stop(c->loop, &c->timer);
}

static void on_timer(struct timer *t)
{
	struct dns_channel *c = CONTAINER_OF(t, struct dns_channel, timer);
	ares_process_fd(c->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	settle(c);
}

static void on_socket_ready(struct ev_loop *ev, ev_io *io, int events)
{
	struct dns_channel *c = CONTAINER_OF(io, struct socket_watch, io)->channel;
	int fd = io->fd; /* the watch may be gone before ares_process_fd returns */
	(void)ev;
	ares_process_fd(c->ares, events & EV_READ ? fd : ARES_SOCKET_BAD, events & EV_WRITE ? fd : ARES_SOCKET_BAD);
	settle(c);
}

static struct socket_watch *find_watch(struct dns_channel *c, int fd)
{
	LIST_EACH (node, &c->sockets) {
		struct socket_watch *w = CONTAINER_OF(node, struct socket_watch, node);
		if (w->io.fd == fd)
			return w;
	}
	return NULL;
}

static struct socket_watch *make_watch(struct dns_channel *c)
{
	struct socket_watch *w = malloc(sizeof *w);
	if (!w)
		return NULL;
	w->channel = c;
	list_init(&w->node);
	list_append(&c->sockets, &w->node);
	ev_init(&w->io, on_socket_ready);
	loop_count_watcher(c->loop, 1);
	return w;
}

static void free_watch(struct socket_watch *w)
{
	ev_io_stop(w->channel->loop->ev, &w->io);
	loop_count_watcher(w->channel->loop, -1);
	list_remove(&w->node);
	free(w);
}

/* c-ares says what it waits for; for nothing: before it closes the socket. A socket for whose watch memory is short
 * stays unwatched, and its queries time out. */
static void on_socket_state(void *argument, ares_socket_t fd, int readable, int writable)
{
	struct dns_channel *c = argument;
	struct socket_watch *w = find_watch(c, fd);
	if (!readable && !writable) {
		if (w)
			free_watch(w);
		return;
	}
	if (!w)
		w = make_watch(c);
	if (!w)
		return;
	ev_io_stop(c->loop->ev, &w->io);
	ev_io_set(&w->io, fd, (readable ? EV_READ : 0) | (writable ? EV_WRITE : 0));
	ev_io_start(c->loop->ev, &w->io);
}

/* ---- servers and options ----------------------------------------------------------------------- */

/* As c-ares reads it: comma-separated. NULL: no memory, or *ret_reason says which server is none. */
static char *join_servers(const char *const *servers, size_t count, const char **ret_reason)
{
	char *joined = malloc(count * (ENDPOINT_TEXT_BYTES + 1)), *at = joined;
	*ret_reason = "no memory";
	for (size_t i = 0; joined && i < count; i++) {
		struct endpoint e;
		if (!endpoint_parse(slice_of(servers[i]), false, &e, ret_reason) || endpoint_port(&e) == 0) {
			free(joined);
			return NULL;
		}
		if (i > 0)
			*at++ = ',';
		endpoint_format(&e, at);
		at += strlen(at);
	}
	return joined;
}

static int set_servers(struct dns_channel *c, const char *const *servers, size_t count, const char **ret_reason)
{
	char *joined = join_servers(servers, count, ret_reason);
	if (!joined)
		return ARES_EBADSTR;
	int status = ares_set_servers_ports_csv(c->ares, joined);
	*ret_reason = ares_strerror(status);
	free(joined);
	return status;
}

static int make_ares(struct dns_channel *c, ares_channel *ret)
{
	char *path = c->system_file ? strdup(c->system_file) : NULL; /* c-ares takes no const */
	struct ares_options options = {
	        .flags = ARES_FLAG_EDNS,
	        .timeout = FIRST_TRY_MS,
	        .tries = TRIES,
	        .ednspsz = UDP_BYTES,
	        .sock_state_cb = on_socket_state,
	        .sock_state_cb_data = c,
	        .resolvconf_path = path,
	};
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_EDNSPSZ | ARES_OPT_SOCK_STATE_CB |
	           ARES_OPT_QUERY_CACHE | (path ? ARES_OPT_RESOLVCONF : 0);
	int status = c->system_file && !path ? ARES_ENOMEM : ares_init_options(ret, &options, mask);
	free(path);
	return status;
}

/* ---- the system's servers -------------------------------------------------------------------- */

/* What stays the same as long as nobody wrote the file. A file that is not there looks like one of its own. */
static struct stat stamp_of(const char *path)
{
	struct stat s;
	if (stat(path, &s))
		memset(&s, 0, sizeof s);
	return s;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Makes the channel anew, with what the file says; the one before stays when that fails. */
static int read_system(struct dns_channel *c)
{
	struct stat stamp = stamp_of(c->system_file); /* before it is read: a later change is seen next time */
	ares_channel ares = NULL;
	int status = make_ares(c, &ares);
	if (status != ARES_SUCCESS)
		return status;
	if (!search_list_read(&c->search, c->system_file)) {
		ares_destroy(ares);
		return ARES_EFILE;
	}
	if (c->ares)
		ares_destroy(c->ares);
	c->ares = ares;
	c->system_stamp = stamp;
	return ARES_SUCCESS;
}

void dns_channel_follow_system(struct dns_channel *c)
{
	if (!c->system_file)
		return;
	struct stat stamp = stamp_of(c->system_file);
	if (!is_same(&stamp, &c->system_stamp) && read_system(c) == ARES_SUCCESS)
		settle(c);
}

/* ---- life --------------------------------------------------------------------------------- */

bool dns_channel_open(struct dns_channel *c, struct loop *loop, const char *const *servers, size_t server_count,
        const char *system_file, const char **ret_reason)
{
	*c = (struct dns_channel){.loop = loop, .system_file = server_count == 0 ? system_file : NULL};
	timer_init(&c->timer, on_timer);
	list_init(&c->sockets);
	search_list_init(&c->search);
	int status = ares_library_init(ARES_LIB_INIT_ALL);
	if (status != ARES_SUCCESS) {
		*ret_reason = ares_strerror(status);
		return false;
	}
	status = c->system_file ? read_system(c) : make_ares(c, &c->ares);
	*ret_reason = ares_strerror(status);
	if (status == ARES_SUCCESS && server_count > 0)
		status = set_servers(c, servers, server_count, ret_reason);
	if (status != ARES_SUCCESS)
		dns_channel_close(c);
	return status == ARES_SUCCESS;
}

void dns_channel_close(struct dns_channel *c)
{
	if (c->ares)
		ares_destroy(c->ares);
	c->ares = NULL;
	LIST_EACH_SAFE (node, &c->sockets)
		free_watch(CONTAINER_OF(node, struct socket_watch, node));
	timer_stop(c->loop, &c->timer);
	search_list_fini(&c->search);
	ares_library_cleanup();
}

void dns_channel_ask(struct dns_channel *c, const char *name, int type, ares_callback callback, void *argument)
{
	ares_query(c->ares, name, ns_c_in, type, callback, argument);
	settle(c);
}
