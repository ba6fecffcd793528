#include "upstream/source.h"
#include "base/check.h"
#include "base/log.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t MOST_AFTER_FAILURE_NS = 30 * NS_PER_S;
static const int64_t WITHOUT_TTL_NS = 10 * NS_PER_S; /* of the hosts file, which may be written at any time */

static const struct server_line *line_of(const struct source *s)
{
	return &s->group->lines[s->line];
}

/* ---- when ------------------------------------------------------------------------------------ */

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

static int64_t after_failure_ns(const struct source *s)
{
	unsigned doublings = s->failures > 6 ? 6 : s->failures - 1;
	int64_t wait_ns = s->group->ttl_min_ns << doublings;
	return wait_ns < MOST_AFTER_FAILURE_NS ? wait_ns : MOST_AFTER_FAILURE_NS;
}

static int64_t next_ns(const struct source *s, const struct resolver_answer *a)
{
	const struct group *g = s->group;
	if (g->resolve_ns)
		return g->resolve_ns;
	if (a->error)
		return after_failure_ns(s);
	int64_t ttl_ns = a->ttl_s < 0 ? WITHOUT_TTL_NS : a->ttl_s * NS_PER_S;
	return clamp(ttl_ns, g->ttl_min_ns, g->ttl_max_ns);
}

/* ---- answers ----------------------------------------------------------------------------------- */

static bool is_same(const struct source *s, const struct resolver_answer *a)
{
	if (s->found_count != a->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct resolver_address *x = &s->found[i], *y = &a->addresses[i];
		if (x->weight != y->weight || x->priority != y->priority || !endpoint_equal(&x->endpoint, &y->endpoint))
			return false;
	}
	return true;
}

static void log_addresses(const struct source *s)
{
	char text[512], address[ENDPOINT_TEXT_BYTES];
	size_t length = 0, i = 0;
	for (; i < s->found_count && length + ENDPOINT_TEXT_BYTES + 2 < sizeof text; i++) {
		endpoint_format(&s->found[i].endpoint, address);
		length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", i ? ", " : "", address);
	}
	log_info("upstream %s: %s is %s%s (%zu in all)", s->group->name, line_of(s)->text, text,
	        i < s->found_count ? ", ..." : "", s->found_count);
}

/* true: they are others than before. */
static bool take_addresses(struct source *s, const struct resolver_answer *a)
{
	s->failures = 0;
	s->reason = NULL;
	if (is_same(s, a))
		return false;
	struct resolver_address *found = malloc(a->count * sizeof *found);
	if (!found)
		return false;
	memcpy(found, a->addresses, a->count * sizeof *found);
	free(s->found);
	s->found = found;
	s->found_count = a->count;
	log_addresses(s);
	return true;
}

/* Said once as long as it is the same. */
static void note_failure(struct source *s, const struct resolver_answer *a)
{
	s->failures++;
	if (s->reason == a->reason)
		return;
	s->reason = a->reason;
	if (s->found_count)
		log_warn("upstream %s: %s: %s; the %zu address%s found before stay%s", s->group->name, line_of(s)->text,
		        a->reason, s->found_count, s->found_count == 1 ? "" : "es", s->found_count == 1 ? "s" : "");
	else
		log_warn("upstream %s: %s: %s; it has no server until it resolves", s->group->name, line_of(s)->text,
		        a->reason);
}

static void on_answer(struct lookup *l, const struct resolver_answer *a)
{
	struct source *s = CONTAINER_OF(l, struct source, lookup);
	bool was_known = s->is_known, has_changed = false;
	s->is_known = true;
	if (a->error)
		note_failure(s, a);
	else
		has_changed = take_addresses(s, a);
	timer_start(s->loop, &s->timer, next_ns(s, a) / NS_PER_US);
	if (has_changed || !was_known)
		s->changed(s);
}

static void look_up(struct timer *t)
{
	struct source *s = CONTAINER_OF(t, struct source, timer);
	const struct server_line *l = line_of(s);
	resolver_start(s->resolver, &s->lookup, l->name, l->port, l->kind == SERVER_SRV ? RESOLVER_SRV : RESOLVER_HOST);
}

void source_init(struct source *s, struct group *group, size_t line, void (*changed)(struct source *), void *owner)
{
	*s = (struct source){.group = group, .line = line, .changed = changed, .owner = owner};
	lookup_init(&s->lookup, on_answer);
	timer_init(&s->timer, look_up);
}

void source_start(struct source *s, struct loop *loop, struct resolver *resolver)
{
	s->loop = loop;
	s->resolver = resolver;
	look_up(&s->timer);
}

void source_stop(struct source *s)
{
	resolver_cancel(&s->lookup);
	timer_stop(s->loop, &s->timer);
	free(s->found);
	s->found = NULL;
	s->found_count = 0;
}

/* ---- sets ---------------------------------------------------------------------------------------- */

struct draft {
	struct set_entry entries[SET_MEMBERS];
	const char *unresolved[SET_MEMBERS];
	size_t count, unresolved_count;
	bool is_pending;
};

/* An address that comes back finds its server again, as long as that is still in use. */
static struct member *find_member(struct group *g, size_t line, const struct endpoint *endpoint)
{
	LIST_EACH (node, &g->servers) {
		struct member *m = CONTAINER_OF(node, struct member, node);
		if (m->line == line && endpoint_equal(&m->endpoint, endpoint))
			return m;
	}
	return NULL;
}

static bool add(struct draft *d, struct group *g, size_t line, const struct resolver_address *a, bool is_backup,
        int64_t up_since_ns)
{
	const struct server_line *l = &g->lines[line];
	struct member *m = find_member(g, line, &a->endpoint);
	if (d->count == SET_MEMBERS)
		return true;
	if (!m) {
		m = group_add_member(g, line, &a->endpoint);
		if (!m)
			return false;
	}
	if (atomic_load_explicit(&m->is_retired, memory_order_relaxed))
		atomic_store_explicit(&m->up_since_ns, up_since_ns, memory_order_relaxed);
	d->entries[d->count++] =
	        (struct set_entry){m, l->weight * a->weight, l->is_backup || is_backup, l->is_draining};
	return true;
}

static bool add_source(struct draft *d, const struct source *s, int64_t now_ns)
{
	uint16_t first = UINT16_MAX;
	bool fine = true;
	d->is_pending |= !s->is_known;
	if (s->found_count == 0)
		d->unresolved[d->unresolved_count++] = line_of(s)->text;
	for (size_t i = 0; i < s->found_count; i++)
		if (s->found[i].priority < first)
			first = s->found[i].priority;
	/* Those of the first lookup are no newcomers. */
	for (size_t i = 0; fine && i < s->found_count; i++)
		fine = add(d, s->group, s->line, &s->found[i], s->found[i].priority > first,
		        s->was_published ? now_ns : 0);
	return fine;
}

bool source_publish(struct group *g, struct sources_of sources, int64_t now_ns)
{
	struct draft *d = calloc(1, sizeof *d);
	bool fine = d != NULL;
	struct source *s = sources.first, *end = sources.first + sources.count;
	for (size_t line = 0; fine && line < g->line_count; line++) {
		const struct resolver_address fixed = {.endpoint = g->lines[line].endpoint, .weight = 1};
		if (g->lines[line].kind == SERVER_FIXED)
			fine = add(d, g, line, &fixed, false, 0);
		else if (s < end)
			fine = add_source(d, s++, now_ns);
	}
	fine = fine && group_publish(g, d->entries, d->count, d->unresolved, d->unresolved_count, d->is_pending);
	for (s = sources.first; fine && s < end; s++)
		s->was_published |= s->found_count > 0;
	free(d);
	return fine;
}
