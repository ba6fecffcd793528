/* The names under which short names are looked for: `domain`, `search` and `options ndots:` of resolv.conf(5). */
#ifndef NET_SEARCH_LIST_H
#define NET_SEARCH_LIST_H

#include "base/arena.h"

enum { SEARCH_DOMAINS = 32, SEARCH_MOST_NDOTS = 15 };

struct search_list {
	struct arena arena;
	const char *domains[SEARCH_DOMAINS];
	size_t count;
	size_t ndots;                /* names with so many dots are asked for as they are first */
	bool is_said, is_incomplete; /* while it is read */
};

/* An empty one: names are whole. */
void search_list_init(struct search_list *);
void search_list_fini(struct search_list *);
/* What the file says; without a file or a word in it the domain of this machine's name, as resolv.conf(5) has it.
 * false: no memory, or no descriptor; then the list is as it was. */
bool search_list_read(struct search_list *, const char *path);

#endif
