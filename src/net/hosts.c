/* See hosts.h. c-ares reads the file: all lines of a name, within its call. */
#include "net/hosts.h"

int hosts_open(struct hosts *h)
{
	char files_only[] = "f";
	struct ares_options options = {.lookups = files_only};
	return ares_init_options(&h->ares, &options, ARES_OPT_LOOKUPS);
}

void hosts_close(struct hosts *h)
{
	if (h->ares)
		ares_destroy(h->ares);
	h->ares = NULL;
}

struct finding {
	struct findings *findings;
	const struct terms *terms;
	int status;
};

static void on_found(void *argument, int status, int timeouts, struct ares_addrinfo *found)
{
	struct finding *f = argument;
	(void)timeouts;
	f->status = status;
	if (status != ARES_SUCCESS)
		return;
	for (const struct ares_addrinfo_node *node = found->nodes; node; node = node->ai_next) {
		struct address address = address_of(node->ai_addr, (socklen_t)node->ai_addrlen);
		if (!findings_add(f->findings, &address, f->terms))
			f->status = ARES_ENOMEM;
	}
	ares_freeaddrinfo(found);
}

int hosts_find(const struct hosts *h, const char *name, const struct terms *terms, struct findings *findings)
{
	static const struct ares_addrinfo_hints hints = {
	        .ai_flags = ARES_AI_NOSORT, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct finding f = {.findings = findings, .terms = terms, .status = ARES_ENOTFOUND};
	ares_getaddrinfo(h->ares, name, NULL, &hints, on_found, &f);
	return f.status;
}
