/* See hosts.h. c-ares reads the file: all lines of a name, within its call. */
#include "net/hosts.h"
#include <arpa/inet.h>

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

/* ---- names that say their addresses ------------------------------------------------------- */

static int add_text(struct findings *findings, const char *text, const struct terms *terms)
{
	struct address a = {.family = strchr(text, ':') ? AF_INET6 : AF_INET};
	if (inet_pton(a.family, text, a.bytes) != 1)
		return ARES_ENOTFOUND;
	return findings_add(findings, &a, terms) ? ARES_SUCCESS : ARES_ENOMEM;
}

static bool is_below_localhost(const char *name)
{
	static const struct slice suffix = {".localhost", sizeof ".localhost" - 1};
	struct slice whole = slice_of(name);
	if (whole.length > 0 && name[whole.length - 1] == '.')
		whole.length--;
	if (whole.length < suffix.length)
		return slice_equal_nocase(whole, slice_from(suffix, 1));
	return slice_equal_nocase(slice_from(whole, whole.length - suffix.length), suffix);
}

static int add_loopback(struct findings *findings, const struct terms *terms)
{
	int status = add_text(findings, "127.0.0.1", terms);
	return status == ARES_SUCCESS ? add_text(findings, "::1", terms) : status;
}

int hosts_find(const struct hosts *h, const char *name, const struct terms *terms, struct findings *findings)
{
	static const struct ares_addrinfo_hints hints = {
	        .ai_flags = ARES_AI_NOSORT, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct finding f = {.findings = findings, .terms = terms};
	/* c-ares 1.18 does not know a written IPv4 address when both families will do. */
	f.status = add_text(findings, name, terms);
	if (f.status == ARES_ENOTFOUND)
		ares_getaddrinfo(h->ares, name, NULL, &hints, on_found, &f);
	if (f.status != ARES_SUCCESS && f.status != ARES_ENOMEM && is_below_localhost(name))
		f.status = add_loopback(findings, terms);
	return f.status;
}
