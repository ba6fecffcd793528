/* See dns_server.h. */
#include "dns_server.h"
#include "base/fd.h"
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEADER_BYTES = 12, COUNT_AT_ANSWER = 6, COUNT_AT_ADDITIONAL = 10, CONNECTIONS = 16 };

struct connection {
	struct watch watch;
	int fd;
	uint8_t bytes[2048];
	size_t length;
};

struct dns_asked dns_asked[DNS_ASKED];
size_t dns_asked_count;

static dns_script *script;
static struct watch udp_watch, tcp_watch;
static int udp_fd = -1, tcp_fd = -1;
static struct connection connections[CONNECTIONS];
static struct dns_reply reply;

/* ---- building replies --------------------------------------------------------------------- */

static void put(struct dns_reply *r, const void *bytes, size_t length)
{
	assert_true(r->length + length <= sizeof r->bytes);
	memcpy(r->bytes + r->length, bytes, length);
	r->length += length;
}

static void put16(struct dns_reply *r, unsigned number)
{
	put(r, (uint8_t[]){(uint8_t)(number >> 8), (uint8_t)number}, 2);
}

static void put_name(struct dns_reply *r, const char *name)
{
	while (*name && strcmp(name, ".") != 0) {
		size_t length = strcspn(name, ".");
		put(r, (uint8_t[]){(uint8_t)length}, 1);
		put(r, name, length);
		name += length + (name[length] == '.');
	}
	put(r, "", 1);
}

void reply_begin(struct dns_reply *r, const struct dns_asked *asked, int code)
{
	r->length = 0;
	r->in_additional = false;
	put16(r, asked->id);
	put16(r, 0x8180 | (unsigned)code);
	put16(r, 1);
	put(r, "\0\0\0\0\0\0", 6);
	put_name(r, asked->name);
	put16(r, asked->type);
	put16(r, ns_c_in);
}

void reply_truncate(struct dns_reply *r)
{
	r->bytes[2] |= 2;
}

void reply_additional(struct dns_reply *r)
{
	r->in_additional = true;
}

static void put_head(struct dns_reply *r, const char *name, unsigned type, uint32_t ttl_s)
{
	uint8_t *count = r->bytes + (r->in_additional ? COUNT_AT_ADDITIONAL : COUNT_AT_ANSWER);
	unsigned records = (unsigned)(count[0] << 8 | count[1]) + 1;
	count[0] = (uint8_t)(records >> 8);
	count[1] = (uint8_t)records;
	put_name(r, name);
	put16(r, type);
	put16(r, ns_c_in);
	put16(r, ttl_s >> 16);
	put16(r, ttl_s & 0xffff);
}

void reply_raw(struct dns_reply *r, const char *name, uint16_t type, uint32_t ttl_s, const void *data, uint16_t length)
{
	put_head(r, name, type, ttl_s);
	put16(r, length);
	put(r, data, length);
}

void reply_a(struct dns_reply *r, const char *name, uint32_t ttl_s, const char *address)
{
	uint8_t bytes[4];
	assert_int_equal(inet_pton(AF_INET, address, bytes), 1);
	reply_raw(r, name, ns_t_a, ttl_s, bytes, sizeof bytes);
}

void reply_aaaa(struct dns_reply *r, const char *name, uint32_t ttl_s, const char *address)
{
	uint8_t bytes[16];
	assert_int_equal(inet_pton(AF_INET6, address, bytes), 1);
	reply_raw(r, name, ns_t_aaaa, ttl_s, bytes, sizeof bytes);
}

static void end_data(struct dns_reply *r, size_t length_at)
{
	size_t length = r->length - length_at - 2;
	r->bytes[length_at] = (uint8_t)(length >> 8);
	r->bytes[length_at + 1] = (uint8_t)length;
}

void reply_cname(struct dns_reply *r, const char *name, uint32_t ttl_s, const char *target)
{
	put_head(r, name, ns_t_cname, ttl_s);
	size_t length_at = r->length;
	put16(r, 0);
	put_name(r, target);
	end_data(r, length_at);
}

void reply_srv(struct dns_reply *r, const char *name, uint32_t ttl_s, uint16_t priority, uint16_t weight, uint16_t port,
        const char *target)
{
	put_head(r, name, ns_t_srv, ttl_s);
	size_t length_at = r->length;
	put16(r, 0);
	put16(r, priority);
	put16(r, weight);
	put16(r, port);
	put_name(r, target);
	end_data(r, length_at);
}

/* ---- serving -------------------------------------------------------------------------------- */

static void read_question(const uint8_t *bytes, size_t length, struct dns_asked *asked)
{
	size_t at = HEADER_BYTES, used = 0;
	assert_true(length > HEADER_BYTES + 5);
	while (bytes[at]) {
		assert_true(at + 1 + bytes[at] + 5 <= length && used + bytes[at] + 2 < sizeof asked->name);
		if (used)
			asked->name[used++] = '.';
		memcpy(asked->name + used, bytes + at + 1, bytes[at]);
		used += bytes[at];
		at += 1 + (size_t)bytes[at];
	}
	asked->name[used] = 0;
	asked->id = (uint16_t)(bytes[0] << 8 | bytes[1]);
	asked->type = (uint16_t)(bytes[at + 1] << 8 | bytes[at + 2]);
}

static void play(const uint8_t *bytes, size_t length, bool over_tcp)
{
	assert_true(dns_asked_count < DNS_ASKED);
	struct dns_asked *asked = &dns_asked[dns_asked_count++];
	asked->over_tcp = over_tcp;
	read_question(bytes, length, asked);
	reply.length = 0;
	script(asked, &reply);
}

static void on_datagram(struct watch *w, uint32_t events)
{
	uint8_t bytes[2048];
	struct sockaddr_storage from;
	socklen_t from_length = sizeof from;
	ssize_t length = recvfrom(udp_fd, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr *)&from, &from_length);
	(void)w, (void)events;
	if (length < 0)
		return;
	play(bytes, (size_t)length, false);
	if (reply.length)
		sendto(udp_fd, reply.bytes, reply.length, 0, (struct sockaddr *)&from, from_length);
}

static void close_connection(struct connection *c)
{
	loop_unregister(&c->watch, c->fd);
	loop_release(&c->watch);
	fd_close(&c->fd);
}

static void on_stream(struct watch *w, uint32_t events)
{
	struct connection *c = CONTAINER_OF(w, struct connection, watch);
	ssize_t length = recv(c->fd, c->bytes + c->length, sizeof c->bytes - c->length, MSG_DONTWAIT);
	(void)events;
	if (length <= 0) {
		close_connection(c);
		return;
	}
	c->length += (size_t)length;
	while (c->length >= 2 && c->length >= 2 + (size_t)(c->bytes[0] << 8 | c->bytes[1])) {
		size_t whole = 2 + (size_t)(c->bytes[0] << 8 | c->bytes[1]);
		play(c->bytes + 2, whole - 2, true);
		c->length -= whole;
		memmove(c->bytes, c->bytes + whole, c->length);
		uint8_t head[2] = {(uint8_t)(reply.length >> 8), (uint8_t)reply.length};
		if (reply.length) {
			assert_int_equal(send(c->fd, head, 2, MSG_MORE | MSG_NOSIGNAL), 2);
			assert_int_equal(send(c->fd, reply.bytes, reply.length, MSG_NOSIGNAL), (ssize_t)reply.length);
		}
	}
}

static void nothing(struct watch *w)
{
	(void)w;
}

static void on_connection(struct watch *w, uint32_t events)
{
	struct connection *c = connections;
	(void)events;
	while (c < connections + CONNECTIONS && c->fd >= 0)
		c++;
	assert_true(c < connections + CONNECTIONS);
	c->fd = accept4(tcp_fd, NULL, NULL, SOCK_CLOEXEC);
	if (c->fd < 0)
		return;
	c->length = 0;
	c->watch = (struct watch){.ready = on_stream, .expired = nothing};
	assert_true(loop_adopt(w->loop, &c->watch));
	assert_int_equal(loop_register_listener(&c->watch, c->fd), 0);
}

/* UDP and TCP on the same port. false: the port that UDP got is taken for TCP. */
static bool bind_both(struct endpoint *e)
{
	int family = e->to.any.sa_family;
	udp_fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	tcp_fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(udp_fd >= 0 && tcp_fd >= 0);
	assert_int_equal(bind(udp_fd, &e->to.any, e->length), 0);
	assert_int_equal(getsockname(udp_fd, &e->to.any, &e->length), 0);
	if (bind(tcp_fd, &e->to.any, e->length) == 0 && listen(tcp_fd, CONNECTIONS) == 0)
		return true;
	fd_close(&udp_fd);
	fd_close(&tcp_fd);
	return false;
}

static void watch_fd(struct loop *loop, struct watch *w, int fd, void (*ready)(struct watch *, uint32_t))
{
	*w = (struct watch){.ready = ready, .expired = nothing};
	assert_true(loop_adopt(loop, w));
	assert_int_equal(loop_register_listener(w, fd), 0);
}

uint16_t dns_server_open(struct loop *loop, bool on_v6, dns_script *answers)
{
	struct endpoint e;
	const char *reason;
	do {
		assert_true(endpoint_parse(on_v6 ? SLICE("[::1]:0") : SLICE("127.0.0.1:0"), false, &e, &reason));
	} while (!bind_both(&e));
	script = answers;
	dns_asked_count = 0;
	for (size_t i = 0; i < CONNECTIONS; i++)
		connections[i].fd = -1;
	watch_fd(loop, &udp_watch, udp_fd, on_datagram);
	watch_fd(loop, &tcp_watch, tcp_fd, on_connection);
	return endpoint_port(&e);
}

void dns_server_close(void)
{
	for (size_t i = 0; i < CONNECTIONS; i++)
		if (connections[i].fd >= 0)
			close_connection(&connections[i]);
	fd_close(&udp_fd);
	fd_close(&tcp_fd);
}
