/* Comparing addresses as the kernel does when they are bound. */
#include "app/claims.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_any(const struct endpoint *e)
{
	if (e->to.any.sa_family == AF_INET)
		return e->to.v4.sin_addr.s_addr == htonl(INADDR_ANY);
	return IN6_IS_ADDR_UNSPECIFIED(&e->to.v6.sin6_addr);
}

/* Of one family, ports aside. An address is also taken by all addresses together, 0.0.0.0 or [::]; those of IPv4 and
 * of IPv6 are apart, as IPV6_V6ONLY is set. */
static bool share_address(const struct endpoint *a, const struct endpoint *b)
{
	if (is_any(a) || is_any(b))
		return true;
	if (a->to.any.sa_family == AF_INET)
		return a->to.v4.sin_addr.s_addr == b->to.v4.sin_addr.s_addr;
	return memcmp(&a->to.v6.sin6_addr, &b->to.v6.sin6_addr, sizeof a->to.v6.sin6_addr) == 0;
}

/* Zero: none. Port 0 is a free one, another each time. */
static unsigned first_common_port(const struct claim *a, const struct claim *b)
{
	unsigned from_a = endpoint_port(&a->endpoint), from_b = endpoint_port(&b->endpoint);
	unsigned first = from_a > from_b ? from_a : from_b;
	if (!from_a || !from_b || first >= from_a + a->port_count || first >= from_b + b->port_count)
		return 0;
	return first;
}

/* Writes what of the earlier one the later one wants too. */
static bool collide(const struct claim *earlier, const struct claim *later, char to[ENDPOINT_TEXT_BYTES])
{
	struct endpoint common = earlier->endpoint;
	if (earlier->passed_name || later->passed_name) {
		if (!earlier->passed_name || !later->passed_name ||
		        strcmp(earlier->passed_name, later->passed_name) != 0)
			return false;
		snprintf(to, ENDPOINT_TEXT_BYTES, "systemd:%s", earlier->passed_name);
		return true;
	}
	if (common.to.any.sa_family != later->endpoint.to.any.sa_family)
		return false;
	if (common.to.any.sa_family == AF_UNIX) {
		endpoint_format(&common, to);
		return strcmp(common.to.un.sun_path, later->endpoint.to.un.sun_path) == 0;
	}
	unsigned port = first_common_port(earlier, later);
	if (!port || !share_address(&common, &later->endpoint))
		return false;
	endpoint_set_port(&common, (uint16_t)port);
	endpoint_format(&common, to);
	return true;
}

static void report(const struct claim *earlier, const struct claim *later, const char *address)
{
	const char *const *binds;
	char place[CONFIG_PLACE_BYTES];
	mlserve_setting_list(later->settings, "bind", &binds);
	config_place(earlier->settings, "bind", earlier->item, place);
	mlserve_setting_fault(later->settings, "bind", later->item,
	        "%s: [listener %s] (%s) listens on %s already; allowed: each address once", binds[later->item],
	        config_name(earlier->settings), place, address);
}

bool claims_add(struct claims *c, const struct claim *claim)
{
	char address[ENDPOINT_TEXT_BYTES];
	for (size_t i = 0; i < c->count; i++) {
		if (!collide(&c->items[i], claim, address))
			continue;
		report(&c->items[i], claim, address);
		return false;
	}
	struct claim *grown = realloc(c->items, (c->count + 1) * sizeof *grown);
	if (!grown)
		return false;
	c->items = grown;
	c->items[c->count++] = *claim;
	return true;
}

void claims_fini(struct claims *c)
{
	free(c->items);
	*c = (struct claims){0};
}
