/* The texts of faults that look around for what may have been meant. */
#ifndef CONFIG_BUILD_FAULTS_H
#define CONFIG_BUILD_FAULTS_H

#include "config/settings.h"

/* A key that its section does not have. `more`: the options of the route's handler, NULL when that is not known. */
void build_fault_key(struct draft *, const struct draft_section *, const struct draft_entry *,
        const struct mlserve_option *more, const struct config_handlers *);
/* A handler that there is not; `reason` may be NULL. */
void build_fault_handler(struct draft *, const struct draft_section *, const struct draft_entry *handler,
        const struct config_handlers *, const char *reason);
/* Whether a handler's table is unsound or takes names of the common options; if so, reports it. */
bool build_fault_table(struct draft *, const struct draft_section *, const struct draft_entry *handler,
        const struct mlserve_option *table);
/* A value that names no section. */
void build_fault_name(const struct config *, const struct mlserve_settings *, const struct setting *, size_t item,
        enum config_kind, const char *name);

#endif
