/* From [listener] sections to open sockets. */
#include "app/listeners.h"
#include "app/claims.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/fd.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t ns_of(const struct mlserve_settings *s, const char *name)
{
	return mlserve_setting_number(s, name) * NS_PER_US;
}

/* What the socket would listen on, for messages. */
static void address_of_socket(const struct listener_socket *s, char to[ENDPOINT_TEXT_BYTES])
{
	if (s->passed_name)
		snprintf(to, ENDPOINT_TEXT_BYTES, "systemd:%s", s->passed_name);
	else
		endpoint_format(&s->endpoint, to);
}

static bool read_trusted(struct listener_settings *l, const struct mlserve_settings *s)
{
	const char *const *items;
	size_t count = mlserve_setting_list(s, "trusted_proxies", &items);
	bool fine = true;
	l->trusted = calloc(count + 1, sizeof *l->trusted);
	if (!l->trusted)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!network_parse(slice_of(items[i]), &l->trusted[l->trusted_count])) {
			mlserve_setting_fault(s, "trusted_proxies", i,
			        "%s is not a network (ADDRESS or ADDRESS/BITS, or unix)", items[i]);
			fine = false;
			continue;
		}
		l->trusted_count++;
	}
	return fine;
}

static bool read_settings(struct listener_settings *l, const struct mlserve_settings *s)
{
	l->name = config_name(s);
	l->index = (unsigned)config_index(s);
	l->header_timeout_ns = ns_of(s, "header_timeout");
	l->body_timeout_ns = ns_of(s, "body_timeout");
	l->send_timeout_ns = ns_of(s, "send_timeout");
	l->keepalive_timeout_ns = ns_of(s, "keepalive_timeout");
	l->min_rate = mlserve_setting_number(s, "min_rate");
	l->keepalive_requests = (uint64_t)mlserve_setting_number(s, "keepalive_requests");
	l->max_header_bytes = (size_t)mlserve_setting_number(s, "max_header_size");
	l->max_fields = (size_t)mlserve_setting_number(s, "max_headers");
	l->max_body_bytes = mlserve_setting_number(s, "max_body_size");
	return read_trusted(l, s);
}

static struct listener_socket *add(struct listeners *l, const struct listener_socket *socket)
{
	struct listener_socket *grown = realloc(l->sockets, (l->socket_count + 1) * sizeof *grown);
	if (!grown)
		return NULL;
	l->sockets = grown;
	l->sockets[l->socket_count] = *socket;
	return &l->sockets[l->socket_count++];
}

/* One socket a loop, on one port or on a row of ports. */
static bool add_for_loops(
        struct listeners *l, struct listener_socket socket, enum config_accept accept, unsigned loop_count)
{
	uint16_t port = endpoint_port(&socket.endpoint);
	for (unsigned i = 0; i < loop_count; i++) {
		socket.for_loop = (int)i;
		if (accept == CONFIG_ACCEPT_REUSEPORT) {
			socket.flags = LISTENER_REUSEPORT | (i == 0 ? LISTENER_FIRST : 0);
			socket.shares_port = i > 0 && port == 0;
		} else {
			endpoint_set_port(&socket.endpoint, (uint16_t)(port + i));
		}
		if (!add(l, &socket))
			return false;
	}
	return true;
}

/* NULL, or why this way of accepting does not fit the address. */
static const char *unfit(const struct listener_socket *socket, enum config_accept accept, unsigned loop_count)
{
	uint16_t port = endpoint_port(&socket->endpoint);
	if (accept == CONFIG_ACCEPT_CENTRAL)
		return NULL;
	if (socket->passed_name)
		return "a socket of systemd's can only be accepted from centrally";
	if (socket->endpoint.to.any.sa_family == AF_UNIX)
		return "a unix socket can only be accepted from centrally";
	if (accept == CONFIG_ACCEPT_SHARDED_PORTS && (port == 0 || port + loop_count - 1 > 65535))
		return "sharded-ports needs a port from 1 with one more for each loop";
	return NULL;
}

static bool claim(struct claims *claims, const struct listener_socket *socket, const struct mlserve_settings *s,
        size_t item, unsigned port_count)
{
	return claims_add(claims, &(struct claim){.settings = s,
	                                  .item = item,
	                                  .passed_name = socket->passed_name,
	                                  .endpoint = socket->endpoint,
	                                  .port_count = port_count});
}

static bool read_bind(struct listeners *l, struct claims *claims, const struct mlserve_settings *s, size_t item,
        const char *bind, unsigned loop_count)
{
	enum config_accept accept = (enum config_accept)mlserve_setting_number(s, "accept");
	bool control = mlserve_setting_number(s, "served_by") == CONFIG_SERVED_BY_CONTROL;
	struct listener_socket socket = {.settings = &l->settings[config_index(s)], .fd = -1};
	struct slice passed = SLICE("systemd:");
	const char *reason = NULL;
	socket.backlog = (int)mlserve_setting_number(s, "backlog");
	if (slice_starts(slice_of(bind), passed))
		socket.passed_name = bind + passed.length;
	else if (!endpoint_parse(slice_of(bind), false, &socket.endpoint, &reason)) {
		mlserve_setting_fault(s, "bind", item, "%s: %s", bind, reason);
		return false;
	}
	if (control)
		accept = CONFIG_ACCEPT_CENTRAL;
	if ((reason = unfit(&socket, accept, loop_count))) {
		mlserve_setting_fault(s, "bind", item, "%s: %s", bind, reason);
		return false;
	}
	if (!claim(claims, &socket, s, item, accept == CONFIG_ACCEPT_SHARDED_PORTS ? loop_count : 1))
		return false;
	socket.for_loop = control ? SOCKET_FOR_CONTROL : SOCKET_FOR_ACCEPTOR;
	if (accept != CONFIG_ACCEPT_CENTRAL)
		return add_for_loops(l, socket, accept, loop_count);
	return add(l, &socket) != NULL;
}

bool listeners_init(struct listeners *l, const struct config *config, unsigned loop_count)
{
	size_t count = config_count(config, CONFIG_LISTENER);
	bool fine = true, loops_seen = false;
	struct claims claims = {0};
	*l = (struct listeners){.settings = calloc(count + 1, sizeof *l->settings), .settings_count = count};
	if (!l->settings)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct mlserve_settings *s = config_at(config, CONFIG_LISTENER, i);
		const char *const *binds;
		size_t bind_count = mlserve_setting_list(s, "bind", &binds);
		fine = read_settings(&l->settings[i], s) && fine;
		if (l->settings[i].max_fields > l->max_fields)
			l->max_fields = l->settings[i].max_fields;
		for (size_t b = 0; b < bind_count; b++)
			fine = read_bind(l, &claims, s, b, binds[b], loop_count) && fine;
		if (!loops_seen && mlserve_setting_number(s, "served_by") == CONFIG_SERVED_BY_LOOPS) {
			l->accept = (enum config_accept)mlserve_setting_number(s, "accept");
			loops_seen = true;
		}
	}
	claims_fini(&claims);
	return fine;
}

static int adopt(struct listener_socket *s)
{
	s->fd = listener_passed(s->passed_name);
	if (s->fd < 0)
		return -ENOENT;
	return listener_adopt(s->fd, &s->endpoint);
}

/* systemd may pass several sockets of one name: each gets an entry of its own. 0 or a negative errno. */
static int adopt_others(struct listeners *l, size_t first)
{
	for (;;) {
		struct listener_socket another = l->sockets[first];
		int error = adopt(&another);
		if (error == -ENOENT)
			return 0;
		if (error || !add(l, &another)) {
			fd_close(&another.fd);
			return error ? error : -ENOMEM;
		}
	}
}

static void note_file(struct listener_socket *s)
{
	struct stat status;
	if (s->endpoint.to.any.sa_family == AF_UNIX && lstat(s->endpoint.to.un.sun_path, &status) == 0) {
		s->device = status.st_dev;
		s->inode = status.st_ino;
	}
}

static int open_one(struct listeners *l, size_t index)
{
	struct listener_socket *s = &l->sockets[index];
	if (!s->passed_name) {
		s->fd = listener_open(&s->endpoint, s->backlog, s->flags);
		if (s->fd >= 0)
			note_file(s);
		return s->fd < 0 ? s->fd : 0;
	}
	int error = adopt(s);
	return error ? error : adopt_others(l, index);
}

static const char *explain(const struct listener_socket *s, int error)
{
	if (s->passed_name && error == ENOENT)
		return "no socket of that name was passed in (LISTEN_FDS)";
	if (error == EEXIST)
		return "the path exists and is not a socket";
	return strerror(error);
}

bool listeners_open(struct listeners *l, char *error, size_t error_bytes)
{
	/* What is passed in beyond the first of a name is added behind the configured ones. */
	for (size_t i = 0, configured = l->socket_count; i < configured; i++) {
		struct listener_socket *s = &l->sockets[i];
		char address[ENDPOINT_TEXT_BYTES];
		if (s->shares_port)
			endpoint_set_port(&s->endpoint, endpoint_port(&l->sockets[i - 1].endpoint));
		address_of_socket(s, address);
		int result = open_one(l, i);
		if (result < 0) {
			snprintf(error, error_bytes, "listener %s: cannot listen on %s: %s",
			        l->sockets[i].settings->name, address, explain(&l->sockets[i], -result));
			return false;
		}
	}
	return true;
}

void listeners_close(struct listener_socket *s)
{
	struct stat status;
	const char *path = s->endpoint.to.un.sun_path;
	bool has_file = s->fd >= 0 && !s->passed_name && s->endpoint.to.any.sa_family == AF_UNIX;
	if (has_file && lstat(path, &status) == 0 && status.st_dev == s->device && status.st_ino == s->inode)
		unlink(path);
	fd_close(&s->fd);
}

void listeners_fini(struct listeners *l)
{
	for (size_t i = 0; i < l->socket_count; i++)
		listeners_close(&l->sockets[i]);
	for (size_t i = 0; l->settings && i < l->settings_count; i++)
		free(l->settings[i].trusted);
	free(l->sockets);
	free(l->settings);
	*l = (struct listeners){0};
}
