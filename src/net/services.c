/* See services.h. */
#include "net/services.h"
#include "net/dns_message.h"
#include <stdlib.h>
#include <strings.h>

enum { FIRST_ROOM = 8 };

void services_init(struct services *s)
{
	*s = (struct services){0};
}

void services_fini(struct services *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->items[i].target);
	free(s->items);
	services_init(s);
}

bool services_add(struct services *s, const char *target, const struct terms *terms)
{
	if (s->count == RESOLVER_ADDRESSES)
		return true;
	if (s->count == s->room) {
		size_t room = s->room ? 2 * s->room : FIRST_ROOM;
		struct service *grown = realloc(s->items, room * sizeof *grown);
		if (!grown)
			return false;
		s->items = grown;
		s->room = room;
	}
	char *copy = slice_copy(slice_of(target));
	if (copy)
		s->items[s->count++] = (struct service){.target = copy, .terms = *terms};
	return copy != NULL;
}

static void drop_from(struct services *s, size_t count)
{
	while (s->count > count)
		free(s->items[--s->count].target);
}

/* ---- weights ------------------------------------------------------------------------------ */

static unsigned heaviest(const struct services *s, uint16_t priority)
{
	unsigned most = 0;
	for (size_t i = 0; i < s->count; i++)
		if (s->items[i].terms.priority == priority && s->items[i].terms.weight > most)
			most = s->items[i].terms.weight;
	return most;
}

/* Weights matter among records of one priority, so the proportion is kept there. */
static unsigned fitting_weight(unsigned weight, unsigned most)
{
	if (most > RESOLVER_MAX_WEIGHT)
		weight = weight * RESOLVER_MAX_WEIGHT / most;
	return weight > 0 ? weight : 1;
}

static int compare_priorities(const void *left, const void *right)
{
	const struct service *a = left, *b = right;
	return a->terms.priority - b->terms.priority;
}

static void fit_weights(struct services *s)
{
	unsigned most = 0;
	if (s->count == 0)
		return;
	qsort(s->items, s->count, sizeof *s->items, compare_priorities);
	for (size_t i = 0; i < s->count; i++) {
		struct terms *terms = &s->items[i].terms;
		if (i == 0 || terms->priority != s->items[i - 1].terms.priority)
			most = heaviest(s, terms->priority);
		terms->weight = fitting_weight(terms->weight, most);
	}
}

/* ---- messages ----------------------------------------------------------------------------- */

static enum services_result read_records(struct services *s, struct dns_message *m, struct findings *f)
{
	struct dns_record record;
	enum dns_result result;
	bool has_any = false;
	size_t before = s->count;
	while ((result = dns_message_next(m, &record)) == DNS_RECORD && !record.is_additional) {
		if (record.type != DNS_SRV && record.type != DNS_CNAME)
			continue;
		findings_note_ttl(f, record.ttl_s);
		if (record.type != DNS_SRV)
			continue;
		has_any = true;
		struct terms terms = {.weight = record.weight, .port = record.port, .priority = record.priority};
		/* Nothing can be reached at port 0. */
		if (strcmp(record.target, ".") != 0 && record.port != 0 && !services_add(s, record.target, &terms))
			return SERVICES_NO_MEMORY;
	}
	if (result == DNS_MALFORMED) {
		drop_from(s, before); /* nothing of it is believed */
		return SERVICES_MALFORMED;
	}
	return has_any ? SERVICES_FOUND : SERVICES_NO_DATA;
}

static bool add_to_its_targets(struct services *s, const struct dns_record *record, struct findings *f)
{
	for (size_t i = 0; i < s->count; i++) {
		struct service *service = &s->items[i];
		if (strcasecmp(service->target, record->owner) != 0)
			continue;
		if (!findings_add(f, &record->address, &service->terms))
			return false;
		service->has_addresses = true;
		findings_note_ttl(f, record->ttl_s);
	}
	return true;
}

/* What is malformed here is only left out: it can be asked for. */
static enum services_result read_addresses(struct services *s, struct dns_message *m, struct findings *f)
{
	struct dns_record record;
	while (dns_message_next(m, &record) == DNS_RECORD)
		if (record.is_additional && (record.type == DNS_A || record.type == DNS_AAAA) &&
		        !add_to_its_targets(s, &record, f))
			return SERVICES_NO_MEMORY;
	return SERVICES_FOUND;
}

enum services_result services_read(struct services *s, const uint8_t *message, size_t length, struct findings *f)
{
	struct dns_message m;
	if (!dns_message_open(&m, message, length))
		return SERVICES_MALFORMED;
	enum services_result result = read_records(s, &m, f);
	if (result != SERVICES_FOUND)
		return result;
	fit_weights(s);
	/* From the beginning: the records of the answer may be what was read last. */
	if (!dns_message_open(&m, message, length))
		return SERVICES_MALFORMED;
	return read_addresses(s, &m, f);
}
