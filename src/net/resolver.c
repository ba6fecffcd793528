/*
 * A search is what the resolver holds for a lookup: it goes on alone to its end when the lookup was cancelled, since
 * c-ares cannot take back one query. Callbacks of c-ares only gather; a task of the turn's end goes on from there, so
 * that whoever gets an answer may do what c-ares forbids within its callbacks.
 */
#include "net/resolver.h"
#include "net/dns_channel.h"
#include "net/dns_question.h"
#include "net/findings.h"
#include "net/hosts.h"
#include "net/services.h"
#include <stdlib.h>
#include <string.h>

/* Targets of one service that are asked for at once: more would overflow the buffer of a socket. */
enum { AT_ONCE = 16 };

struct resolver {
	struct loop *loop;
	struct dns_channel channel;
	struct hosts hosts;
	struct list searches, lookups;
};

/* One name whose addresses are asked for. */
struct target {
	struct search *search;
	struct dns_question question;
	struct terms terms;
};

struct search {
	struct list node;
	struct resolver *resolver;
	struct lookup *lookup; /* NULL: cancelled */
	struct task step;
	struct findings findings;
	struct services services; /* of a host: the host alone */
	struct dns_question service_question;
	size_t next_service;
	unsigned running;
	enum resolver_error error;
	const char *reason;
	char name[];
};

/* ---- errors ------------------------------------------------------------------------------ */

static enum resolver_error error_of(int status)
{
	switch (status) {
	case ARES_SUCCESS:
		return RESOLVER_FINE;
	case ARES_ENOTFOUND:
	case ARES_EBADNAME:
		return RESOLVER_NO_NAME;
	case ARES_ENODATA:
		return RESOLVER_NO_ADDRESS;
	case ARES_ETIMEOUT:
		return RESOLVER_TIMEOUT;
	case ARES_ENOMEM:
		return RESOLVER_NO_MEMORY;
	default:
		return RESOLVER_FAILED;
	}
}

static const char *reason_of(int status)
{
	static const char *const reasons[] = {
	        [RESOLVER_FINE] = "found",
	        [RESOLVER_NO_NAME] = "there is no such name",
	        [RESOLVER_NO_ADDRESS] = "the name has no address",
	        [RESOLVER_TIMEOUT] = "no DNS server answers in time",
	        [RESOLVER_NO_MEMORY] = "no memory",
	};
	enum resolver_error error = error_of(status);
	if (status == ARES_EDESTRUCTION)
		return "the system's DNS servers changed meanwhile";
	/* c-ares 1.18 says so of servers that answer SERVFAIL or REFUSED, too. */
	if (status == ARES_ECONNREFUSED)
		return "the DNS servers fail or cannot be reached";
	return error == RESOLVER_FAILED ? ares_strerror(status) : reasons[error];
}

static void note_status(struct search *s, int status)
{
	enum resolver_error error = error_of(status);
	if (error <= s->error)
		return;
	s->error = error;
	s->reason = reason_of(status);
}

/* ---- addresses of hosts -------------------------------------------------------------------- */

/* Nothing is kept of a message that turns out to be malformed. */
static int read_addresses(struct dns_question *q, const uint8_t *message, size_t length)
{
	struct target *t = CONTAINER_OF(q, struct target, question);
	struct findings *f = &t->search->findings;
	size_t count_before = f->count;
	struct dns_message m;
	struct dns_record record;
	enum dns_result result;
	int64_t ttl_s = INT64_MAX;
	if (!dns_message_open(&m, message, length))
		return ARES_EBADRESP;
	while ((result = dns_message_next(&m, &record)) == DNS_RECORD && !record.is_additional) {
		if (record.ttl_s < ttl_s)
			ttl_s = record.ttl_s;
		if (record.type != DNS_A && record.type != DNS_AAAA)
			continue;
		if (!findings_add(f, &record.address, &t->terms))
			return ARES_ENOMEM;
	}
	if (result == DNS_MALFORMED)
		f->count = count_before;
	if (f->count > count_before)
		findings_note_ttl(f, ttl_s);
	if (result == DNS_MALFORMED)
		return ARES_EBADRESP;
	return f->count > count_before ? ARES_SUCCESS : ARES_ENODATA;
}

static void go_on(struct search *s)
{
	s->running--;
	loop_defer(s->resolver->loop, &s->step);
}

static void on_addresses(struct dns_question *q, int status)
{
	struct target *t = CONTAINER_OF(q, struct target, question);
	note_status(t->search, status);
	go_on(t->search);
	free(t);
}

static void ask_for_addresses(struct search *s, const struct service *service)
{
	int status = hosts_find(&s->resolver->hosts, service->target, &service->terms, &s->findings);
	if (status == ARES_SUCCESS)
		return;
	struct target *t = malloc(sizeof *t);
	if (!t) {
		note_status(s, ARES_ENOMEM);
		return;
	}
	*t = (struct target){.search = s,
	        .terms = service->terms,
	        .question = {.read = read_addresses,
	                .ended = on_addresses,
	                .name = service->target,
	                .types = {DNS_A, DNS_AAAA},
	                .type_count = 2}};
	s->running++;
	dns_question_ask(&t->question, &s->resolver->channel);
}

/* ---- services ------------------------------------------------------------------------------ */

static int read_services(struct dns_question *q, const uint8_t *message, size_t length)
{
	static const int statuses[] = {
	        [SERVICES_FOUND] = ARES_SUCCESS,
	        [SERVICES_NO_DATA] = ARES_ENODATA,
	        [SERVICES_MALFORMED] = ARES_EBADRESP,
	        [SERVICES_NO_MEMORY] = ARES_ENOMEM,
	};
	struct search *s = CONTAINER_OF(q, struct search, service_question);
	return statuses[services_read(&s->services, message, length, &s->findings)];
}

static void on_services(struct dns_question *q, int status)
{
	struct search *s = CONTAINER_OF(q, struct search, service_question);
	note_status(s, status);
	go_on(s);
}

static void ask_for_services(struct search *s)
{
	s->service_question = (struct dns_question){
	        .read = read_services, .ended = on_services, .name = s->name, .types = {DNS_SRV}, .type_count = 1};
	s->running++;
	dns_question_ask(&s->service_question, &s->resolver->channel);
}

/* ---- searches ------------------------------------------------------------------------------- */

static void free_search(struct search *s)
{
	list_remove(&s->node);
	task_cancel(&s->step);
	findings_fini(&s->findings);
	services_fini(&s->services);
	free(s);
}

static void end_lookup(struct lookup *l)
{
	list_remove(&l->node);
	task_cancel(&l->refused);
	l->search = NULL;
}

static struct resolver_answer answer_of(struct search *s)
{
	/* What memory was too short for is missing: a part would look like the whole. */
	if (s->findings.count > 0 && s->error != RESOLVER_NO_MEMORY)
		return (struct resolver_answer){.reason = reason_of(ARES_SUCCESS),
		        .addresses = s->findings.addresses,
		        .count = s->findings.count,
		        .ttl_s = s->findings.ttl_s};
	if (s->error == RESOLVER_FINE)
		note_status(s, ARES_ENODATA);
	return (struct resolver_answer){.error = s->error, .reason = s->reason, .ttl_s = -1};
}

static void finish(struct search *s)
{
	struct lookup *l = s->lookup;
	list_remove(&s->node); /* or done(), which may free the resolver, would free it, too */
	if (l) {
		findings_settle(&s->findings);
		struct resolver_answer answer = answer_of(s);
		end_lookup(l);
		l->done(l, &answer);
	}
	free_search(s);
}

static void on_step(struct task *task)
{
	struct search *s = CONTAINER_OF(task, struct search, step);
	while (s->lookup && s->running < AT_ONCE && s->next_service < s->services.count) {
		const struct service *service = &s->services.items[s->next_service++];
		if (!service->has_addresses)
			ask_for_addresses(s, service);
	}
	if (s->running == 0)
		finish(s);
}

/* NULL: no memory. */
static struct search *make_search(struct resolver *r, const char *name)
{
	size_t length = strlen(name);
	struct search *s = malloc(sizeof *s + length + 1);
	if (!s)
		return NULL;
	*s = (struct search){.resolver = r};
	list_init(&s->node);
	list_append(&r->searches, &s->node);
	task_init(&s->step, on_step);
	findings_init(&s->findings);
	services_init(&s->services);
	memcpy(s->name, name, length + 1);
	return s;
}

/* ---- what callers see ------------------------------------------------------------------------- */

static void on_refused(struct task *task)
{
	static const struct resolver_answer no_memory = {
	        .error = RESOLVER_NO_MEMORY, .reason = "no memory", .ttl_s = -1};
	struct lookup *l = CONTAINER_OF(task, struct lookup, refused);
	end_lookup(l);
	l->done(l, &no_memory);
}

void lookup_init(struct lookup *l, void (*done)(struct lookup *, const struct resolver_answer *))
{
	*l = (struct lookup){.done = done};
	list_init(&l->node);
	task_init(&l->refused, on_refused);
}

void resolver_start(struct resolver *r, struct lookup *l, const char *name, uint16_t port, enum resolver_kind kind)
{
	const struct terms terms = {.weight = 1, .port = port};
	MUST(!lookup_is_running(l));
	dns_channel_follow_system(&r->channel);
	list_append(&r->lookups, &l->node);
	struct search *s = l->search = make_search(r, name);
	if (!s) {
		loop_defer(r->loop, &l->refused);
		return;
	}
	s->lookup = l;
	loop_defer(r->loop, &s->step);
	if (kind == RESOLVER_SRV)
		ask_for_services(s);
	else if (!services_add(&s->services, name, &terms))
		note_status(s, ARES_ENOMEM);
}

void resolver_cancel(struct lookup *l)
{
	if (l->search)
		l->search->lookup = NULL;
	end_lookup(l);
}

struct resolver *resolver_create(
        struct loop *loop, const char *const *servers, size_t server_count, const char **ret_reason)
{
	struct resolver *r = calloc(1, sizeof *r);
	*ret_reason = "no memory";
	if (!r)
		return NULL;
	r->loop = loop;
	list_init(&r->searches);
	list_init(&r->lookups);
	if (!dns_channel_open(&r->channel, loop, servers, server_count, DNS_SYSTEM_FILE, ret_reason)) {
		free(r);
		return NULL;
	}
	int status = hosts_open(&r->hosts);
	if (status != ARES_SUCCESS) {
		*ret_reason = ares_strerror(status);
		resolver_free(&r);
	}
	return r;
}

void resolver_free(struct resolver **resolver)
{
	struct resolver *r = *resolver;
	if (!r)
		return;
	*resolver = NULL;
	LIST_EACH_SAFE (node, &r->lookups)
		resolver_cancel(CONTAINER_OF(node, struct lookup, node));
	hosts_close(&r->hosts);
	dns_channel_close(&r->channel);
	LIST_EACH_SAFE (node, &r->searches)
		free_search(CONTAINER_OF(node, struct search, node));
	free(r);
}
