/* The addresses that a configuration means to listen on, so that one that two of its lines want is found by reading. */
#ifndef APP_CLAIMS_H
#define APP_CLAIMS_H

#include "config/config.h"
#include "net/address.h"

/* One value of `bind`. */
struct claim {
	const struct mlserve_settings *settings;
	size_t item;
	const char *passed_name;  /* of systemd's, or NULL: then the endpoint */
	struct endpoint endpoint; /* with the first port */
	unsigned port_count;      /* in a row; 1 but for sharded-ports */
};

struct claims { /* all zero: none */
	struct claim *items;
	size_t count;
};

/* false: an earlier one has the address, which is reported as a fault of the later one, or there is no memory. */
bool claims_add(struct claims *, const struct claim *);
void claims_fini(struct claims *);

#endif
