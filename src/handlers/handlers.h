/*
 * Finds handlers by name: built-in ones (handlers.def) and modules, which are loaded
 * when a configuration first names them. Control thread only.
 */
#ifndef HANDLERS_HANDLERS_H
#define HANDLERS_HANDLERS_H

#include "base/arena.h"
#include "config/config.h"

#define HANDLER(name) extern const struct mlserve_handler handler_##name;
#include "handlers/handlers.def"
#undef HANDLER

struct module;

/* The modules in use; they stay loaded until handlers_fini. */
struct handlers {
	struct module *modules;
	struct arena texts; /* reasons why modules could not be loaded */
};

void handlers_init(struct handlers *);
/* After every configuration and all routes that came from these modules are gone. */
void handlers_fini(struct handlers *);

/* `handlers` is a struct handlers. NULL: not known; for a module *ret_reason says why and lives as long as `handlers`.
 * A route_handler_find. */
const struct mlserve_handler *handlers_find(void *handlers, const char *name, const char **ret_reason);
/* For config_load. */
struct config_handlers handlers_for_config(struct handlers *);

#endif
