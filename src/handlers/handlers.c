/* The list of built-in handlers, and the way from a name to a vtable. */
#include "handlers/handlers.h"
#include "base/check.h"
#include "handlers/module.h"
#include <stdlib.h>

static const struct mlserve_handler *const built_in[] = {
#define HANDLER(name) &handler_##name,
#include "handlers/handlers.def"
#undef HANDLER
};

#define HANDLER(name) " " #name
static const char all_names[] =
#include "handlers/handlers.def"
        ;
#undef HANDLER

void handlers_init(struct handlers *h)
{
	h->modules = NULL;
	arena_init(&h->texts);
}

void handlers_fini(struct handlers *h)
{
	while (h->modules)
		module_close(&h->modules);
	arena_fini(&h->texts);
}

static bool is_module(const char *name)
{
	size_t length = strlen(name);
	return strchr(name, '/') || (length > 3 && strcmp(name + length - 3, ".so") == 0);
}

static const struct mlserve_handler *find_module(struct handlers *h, const char *path, const char **ret_reason)
{
	for (struct module *m = h->modules; m; m = m->next)
		if (strcmp(m->path, path) == 0)
			return m->handler;
	struct module *m = module_open(path, &h->texts, ret_reason);
	if (!m)
		return NULL;
	m->next = h->modules;
	h->modules = m;
	return m->handler;
}

const struct mlserve_handler *handlers_find(void *handlers, const char *name, const char **ret_reason)
{
	for (size_t i = 0; i < ARRAY_COUNT(built_in); i++)
		if (strcmp(built_in[i]->name, name) == 0)
			return built_in[i];
	return is_module(name) ? find_module(handlers, name, ret_reason) : NULL;
}

static const struct mlserve_option *find_options(void *handlers, const char *name, const char **ret_reason)
{
	const struct mlserve_handler *handler = handlers_find(handlers, name, ret_reason);
	return handler ? handler->options : NULL;
}

struct config_handlers handlers_for_config(struct handlers *h)
{
	return (struct config_handlers){find_options, all_names + 1, h};
}
