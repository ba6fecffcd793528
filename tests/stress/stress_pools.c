/*
 * Several loops ask servers with few connections for answers, as fast as they can, with
 * random delays at every point where threads could meet (event/stress.h): they take idle
 * connections over from each other, wait in queues and wake each other, while servers close
 * connections at any time and the control thread changes the set of servers all the time.
 * No request may be lost, no limit exceeded, no count left over, and nobody may sleep over a
 * free place for good: that would be seen as a standstill.
 *
 * stress_pools [REQUESTS [SEED]]
 */
#include "base/check.h"
#include "event/stress.h"
#include "upstream/offer.h"
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	LOOPS = 3,
	SERVERS = 3,
	CLIENTS_A_LOOP = 6, /* three times what the servers take */
	STANDSTILL_S = 60,
};

static const char settings[] =
        "[upstream app]\nserver = 127.0.0.1:%u\nserver = 127.0.0.1:%u\nserver = 127.0.0.1:%u\n"
        "max_connections = 2\nqueue = 1000\nqueue_timeout = 1h\neject_errors = 0\nkeepalive = 4\n";

struct runner;

struct client {
	struct runner *runner;
	struct waiter waiter;
	struct task again;
	struct link *link;
	bool is_sent;
};

struct runner {
	struct loop loop;
	struct stats stats;
	struct blocks blocks;
	struct pool *pool;
	pthread_t thread;
	struct client clients[CLIENTS_A_LOOP];
	uint64_t quota, begun, done, seed;
	unsigned busy;
};

static struct runner runners[LOOPS];
static struct group *group;
static atomic_uint_least64_t answered, taken_over, queued, broken, faults;
static atomic_bool is_over;
static int listeners[SERVERS], server_set_fd;
static _Thread_local uint64_t random_state = 1;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state >> 8;
}

void stress_point(void)
{
	uint64_t r = next_random();
	if (r % 8 == 0)
		for (volatile uint64_t i = 0; i < r / 8 % 512; i++)
			;
	if (r % 256 == 1)
		sched_yield();
}

static void fault(const char *what)
{
	if (atomic_fetch_add(&faults, 1) < 10)
		fprintf(stderr, "FAULT: %s\n", what);
}

/* ---- servers: one thread, an answer for every blank line ------------------------------------------ */

static void answer(int fd)
{
	static const char bytes[] = "HTTP/1.1 204 No Content\r\n\r\n";
	char buffer[512];
	ssize_t n = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	/* Requests are small and come one at a time. */
	uint64_t mood = next_random() % 64;
	if (n > 0 && mood != 0)
		send(fd, bytes, sizeof bytes - 1, MSG_NOSIGNAL);
	if (n <= 0 || mood <= 1)
		close(fd); /* without an answer, or behind one */
}

static void *serve(void *unused)
{
	struct epoll_event events[64];
	(void)unused;
	random_state = 99;
	while (!atomic_load(&is_over)) {
		int count = epoll_wait(server_set_fd, events, 64, 100);
		for (int i = 0; i < count; i++) {
			int fd = events[i].data.fd;
			bool is_listener = fd == listeners[0] || fd == listeners[1] || fd == listeners[2];
			int made = is_listener ? accept4(fd, NULL, NULL, SOCK_CLOEXEC) : -1;
			struct epoll_event event = {.events = EPOLLIN, .data.fd = made};
			if (made >= 0)
				epoll_ctl(server_set_fd, EPOLL_CTL_ADD, made, &event);
			if (!is_listener)
				answer(fd);
		}
	}
	return NULL;
}

static unsigned open_server(int number)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof at;
	int fd = listeners[number] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	MUST(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 128) == 0);
	MUST(getsockname(fd, (struct sockaddr *)&at, &length) == 0);
	MUST(epoll_ctl(server_set_fd, EPOLL_CTL_ADD, fd, &event) == 0);
	return ntohs(at.sin_port);
}

/* ---- clients ---------------------------------------------------------------------------------------- */

static void go_on(struct client *);

static void end(struct client *c, bool is_answered)
{
	struct runner *r = c->runner;
	c->link = NULL;
	r->busy--;
	if (is_answered) {
		r->done++;
		atomic_fetch_add(&answered, 1);
	} else {
		r->begun--; /* it is asked again */
		atomic_fetch_add(&broken, 1);
	}
	if (r->done == r->quota)
		loop_stop(&r->loop);
	else
		loop_defer(&r->loop, &c->again);
}

static bool send_request(struct client *c)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
	c->is_sent = true;
	return stream_put(&c->link->stream, request, sizeof request - 1) == sizeof request - 1 &&
	       stream_flush(&c->link->stream) != STREAM_FAILED;
}

static void on_ready(struct link *l)
{
	struct client *c = l->owner;
	struct field fields[LINK_HEAD_FIELDS];
	struct response_head head = {.fields = {.items = fields, .capacity = LINK_HEAD_FIELDS}};
	size_t length;
	enum link_result result = link_connected(l);
	if (result == LINK_AGAIN)
		return;
	bool is_broken = result == LINK_FAILED || (!c->is_sent && !send_request(c));
	if (!is_broken)
		result = link_head(l, METHOD_GET, &head, &length);
	if (!is_broken && result == LINK_AGAIN)
		return;
	if (is_broken || result != LINK_DONE) {
		link_drop_failed(l, "stress");
		return end(c, false);
	}
	link_take_head(l, METHOD_GET, &head, length);
	link_release(l);
	end(c, true);
}

static void on_expired(struct link *l)
{
	(void)l;
	fault("a deadline that nobody set");
}

/* false: there is no connection to be had. */
static bool find_link(struct client *c)
{
	struct pool *p = c->runner->pool;
	struct pick pick = {.now_ns = c->runner->loop.now_ns};
	const struct set_entry *entry;
	int error = 0;
	if (group_pick(p, &pick, &entry) != PICK_DONE)
		return false;
	c->link = pool_take(p, entry->server, true);
	if (!c->link && (c->link = offer_take(p, entry->server))) {
		atomic_fetch_add(&taken_over, 1);
		if (!link_is_quiet(c->link)) {
			link_discard_open(c->link);
			c->link = NULL;
		}
	}
	if (!c->link)
		c->link = link_open(p, entry->server, &error);
	if (!c->link && error != -EUSERS)
		fault(strerror(-error));
	return c->link != NULL;
}

static void begin(struct client *c)
{
	c->is_sent = false;
	link_begin(c->link, on_ready, on_expired, c);
	if (c->link->phase != LINK_CONNECTING)
		on_ready(c->link);
}

static bool on_retry(struct waiter *w)
{
	struct client *c = CONTAINER_OF(w, struct client, waiter);
	if (!find_link(c))
		return false;
	begin(c);
	return true;
}

static void on_wait_over(struct waiter *w)
{
	(void)w;
	fault("an hour has passed");
}

static void go_on(struct client *c)
{
	struct runner *r = c->runner;
	if (r->begun == r->quota)
		return;
	r->begun++;
	r->busy++;
	if (atomic_load(&group->waiting) == 0 && find_link(c))
		return begin(c);
	atomic_fetch_add(&queued, 1);
	c->waiter = (struct waiter){.retry = on_retry, .expired = on_wait_over};
	if (!queue_add(r->pool, &c->waiter, 3600 * NS_PER_S))
		fault("the queue is full");
}

static void on_again(struct task *t)
{
	go_on(CONTAINER_OF(t, struct client, again));
}

static void *run(void *argument)
{
	struct runner *r = argument;
	random_state = r->seed;
	r->pool = pool_get(group, &r->loop, &r->blocks);
	for (int i = 0; i < CLIENTS_A_LOOP; i++) {
		struct client *c = &r->clients[i];
		c->runner = r;
		task_init(&c->again, on_again);
		loop_defer(&r->loop, &c->again);
	}
	loop_run(&r->loop);
	/* The others go on, and may take over what is idle here. */
	pool_close(r->pool);
	return NULL;
}

/* ---- control ------------------------------------------------------------------------------------------- */

/* One to all of the servers, in any order of tiers. */
static void change_servers(struct member *members[SERVERS])
{
	struct set_entry entries[SERVERS];
	size_t count = 0, first = next_random() % SERVERS, most = 1 + next_random() % SERVERS;
	for (size_t i = 0; i < most; i++)
		entries[count++] = (struct set_entry){members[(first + i) % SERVERS], 1, false, false};
	MUST(group_publish(group, entries, count, NULL, 0, false));
}

static void watch(uint64_t requests)
{
	struct member *members[SERVERS];
	uint64_t before = 0;
	time_t since = clock_wall_s();
	for (size_t i = 0; i < SERVERS; i++) {
		members[i] = group->set->entries[i].server;
		members[i]->probe = members[i]; /* kept, though no set may name it for a while */
	}
	while (atomic_load(&answered) < requests) {
		uint64_t now = atomic_load(&answered);
		if (now != before)
			since = clock_wall_s();
		before = now;
		if (clock_wall_s() - since > STANDSTILL_S) {
			fprintf(stderr, "FAULT: standstill after %" PRIu64 " answers, %d wait\n", now,
			        atomic_load(&group->waiting));
			_exit(1);
		}
		for (size_t i = 0; i < SERVERS; i++)
			if (atomic_load(&members[i]->connections) > members[i]->limit)
				fault("more connections than allowed");
		change_servers(members);
		usleep(500);
	}
	for (size_t i = 0; i < SERVERS; i++)
		members[i]->probe = NULL;
}

static void check_counts(void)
{
	if (atomic_load(&group->waiting))
		fault("somebody still counts as waiting");
	LIST_EACH (node, &group->servers) {
		struct member *m = CONTAINER_OF(node, struct member, node);
		if (atomic_load(&m->active) || atomic_load(&m->connections))
			fault("a server has exchanges or connections left");
		for (unsigned i = 0; i < m->share_count; i++)
			if (atomic_load(&m->shares[i].idle_count))
				fault("a share has idle connections left");
	}
}

static struct groups *make_groups(struct config **ret_config)
{
	char text[sizeof settings + 32];
	struct config_source source = {.path = "stress.ini"};
	struct faults config_faults;
	unsigned ports[SERVERS];
	for (int i = 0; i < SERVERS; i++)
		ports[i] = open_server(i);
	int length = snprintf(text, sizeof text, settings, ports[0], ports[1], ports[2]);
	FILE *file = fmemopen(text, (size_t)length, "r");
	faults_init(&config_faults);
	*ret_config = config_load_stream(&source, file, &config_faults);
	fclose(file);
	MUST(*ret_config);
	struct groups *groups = groups_create(*ret_config, LOOPS);
	MUST(groups);
	faults_fini(&config_faults);
	return groups;
}

int main(int argc, char **argv)
{
	uint64_t requests = argc > 1 ? strtoull(argv[1], NULL, 10) / 20 : 50000;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)clock_now_ns();
	struct config *config;
	pthread_t server;
	parser_setup();
	signal(SIGPIPE, SIG_IGN);
	server_set_fd = epoll_create1(EPOLL_CLOEXEC);
	struct groups *groups = make_groups(&config);
	group = groups_at(groups, 0);
	pthread_create(&server, NULL, serve, NULL);
	for (int i = 0; i < LOOPS; i++) {
		struct runner *r = &runners[i];
		stats_init(&r->stats);
		MUST(loop_init(&r->loop, (unsigned)i, &r->stats, 16) == 0);
		r->loop.now_ns = clock_now_ns();
		blocks_init(&r->blocks, BLOCK_BYTES);
		r->quota = requests / LOOPS;
		r->seed = seed * (uint64_t)(2 * i + 1) | 1;
		pthread_create(&r->thread, NULL, run, r);
	}
	random_state = seed | 1;
	watch(requests / LOOPS * LOOPS);
	for (int i = 0; i < LOOPS; i++)
		pthread_join(runners[i].thread, NULL);
	atomic_store(&is_over, true);
	pthread_join(server, NULL);
	for (int i = 0; i < LOOPS; i++)
		loop_fini(&runners[i].loop);
	check_counts();
	groups_free(&groups);
	for (int i = 0; i < LOOPS; i++)
		blocks_fini(&runners[i].blocks);
	config_free(&config);
	printf("%" PRIu64 " answers, %" PRIu64 " waits, %" PRIu64 " takeovers, %" PRIu64 " broken tries, %" PRIu64
	       " faults, seed %" PRIu64 "\n",
	        atomic_load(&answered), atomic_load(&queued), atomic_load(&taken_over), atomic_load(&broken),
	        atomic_load(&faults), seed);
	/* What was never tried proves nothing. */
	return atomic_load(&faults) == 0 && atomic_load(&taken_over) > 0 && atomic_load(&queued) > 0 ? 0 : 1;
}
