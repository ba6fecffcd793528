/*
 * The configuration: sections of checked values, in the order of the file. Made whole
 * or not at all; immutable afterwards, so any thread may read it.
 *
 * Values are asked for by name through the mlserve_setting_ functions of
 * include/mlserve/handler.h; `struct mlserve_settings` is one section.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "config/faults.h"
#include "mlserve/handler.h"
#include <stdio.h>

struct config; /* opaque */

enum { CONFIG_PLACE_BYTES = 4096 + 16 };

enum config_kind { CONFIG_SERVER, CONFIG_LOG, CONFIG_LISTENER, CONFIG_ROUTE, CONFIG_UPSTREAM, CONFIG_KIND_COUNT };

/* How routes learn of handlers, which live in a room above: the option table of the handler of that name (or .so
 * path), or NULL. For a NULL it may have set *ret_reason to a static or arena text; otherwise the fault lists `names`.
 */
struct config_handlers {
	const struct mlserve_option *(*find)(void *context, const char *name, const char **ret_reason);
	const char *names; /* blank-separated, for "did you mean" */
	void *context;
}; /* all zero: the built-in handlers */

struct config_source {
	const char *path;             /* NULL: the built-in configuration */
	const char *const *overrides; /* -o SECTION.KEY=VALUE */
	size_t override_count;
	struct config_handlers handlers;
};

/* Reads, checks and returns a configuration, also a faulty one, so that the rooms above can look for more faults in it:
 * one with faults must not be served. A bad value counts as unset there. All faults are in `faults`; NULL: memory is
 * short, which is among them. */
struct config *config_read(const struct config_source *, struct faults *);
/* The same, but NULL when there were faults. */
struct config *config_load(const struct config_source *, struct faults *);
/* The same from an open stream; source->path names it in faults. `include` is a fault. The caller closes the stream. */
struct config *config_load_stream(const struct config_source *, FILE *, struct faults *);
void config_free(struct config **);

/* [server] and [log] exist always, with defaults. */
const struct mlserve_settings *config_only(const struct config *, enum config_kind);
size_t config_count(const struct config *, enum config_kind);
const struct mlserve_settings *config_at(const struct config *, enum config_kind, size_t index);
/* By name; NULL: none. */
const struct mlserve_settings *config_find(const struct config *, enum config_kind, const char *name);
/* No fault was found in this section; in others a required value may be unset. */
bool config_is_sound(const struct mlserve_settings *);
const char *config_name(const struct mlserve_settings *); /* "" for sections without a name */
size_t config_index(const struct mlserve_settings *);     /* among those of its kind */
/* Where a value of a list comes from, or its section when it is the default or `name` is NULL: FILE:LINE, or FILE
 * alone. For faults that name another place than their own. */
void config_place(const struct mlserve_settings *, const char *name, size_t item, char to[CONFIG_PLACE_BYTES]);

/* -T: the effective configuration as an INI that loads to the same. */
void config_print(const struct config *, FILE *);
/* --help-config: all sections, or one (a kind or a built-in handler); false: there is none of that name. */
bool config_reference(FILE *, const char *section);
/* conf/mlserve.ini: the built-in configuration with every option, its default and its help. */
void config_sample(FILE *);

#endif
