/* Handlers from shared objects: loading, and the checks that a vtable from outside needs. */
#ifndef HANDLERS_MODULE_H
#define HANDLERS_MODULE_H

#include "base/arena.h"

struct module {
	struct module *next;
	void *object; /* of dlopen */
	char *path;
	const struct mlserve_handler *handler;
};

/* `path` is absolute. NULL: *ret_reason says why; it lives in `texts`. */
struct module *module_open(const char *path, struct arena *texts, const char **ret_reason);
/* Unlinks the first of a list, unloads and frees it. */
void module_close(struct module **first);

#endif
