/* The input as a DNS message: reading ends, and what comes out is within what the program may rely on. */
#include "net/services.h"
#include "pieces.h"

static void expect_usable(const struct services *s, const struct findings *f)
{
	MUST(s->count <= RESOLVER_ADDRESSES);
	for (size_t i = 0; i < s->count; i++) {
		MUST(*s->items[i].target && strcmp(s->items[i].target, ".") != 0);
		MUST(s->items[i].terms.weight >= 1 && s->items[i].terms.weight <= RESOLVER_MAX_WEIGHT);
		MUST(i == 0 || s->items[i].terms.priority >= s->items[i - 1].terms.priority);
	}
	MUST(f->ttl_s >= -1 && f->ttl_s <= INT32_MAX);
	for (size_t i = 0; i < f->count; i++)
		MUST(f->addresses[i].weight >= 1 && f->addresses[i].weight <= RESOLVER_MAX_WEIGHT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct services services;
	struct findings findings;
	char *copy = piece_copy((const char *)data, size);
	services_init(&services);
	findings_init(&findings);
	if (services_read(&services, (const uint8_t *)copy, size, &findings) == SERVICES_FOUND)
		expect_usable(&services, &findings);
	services_fini(&services);
	findings_fini(&findings);
	free(copy);
	return 0;
}
