/*
 * The option tables: every option of every section, declared once in options.def. Parser, range check,
 * fault texts, -T, --help-config and conf/mlserve.ini all come from these lines. The tables of the
 * built-in handlers stand here too; their vtables, rooms above, point at them.
 */
#ifndef CONFIG_OPTIONS_H
#define CONFIG_OPTIONS_H

#include "base/slice.h"
#include "config/config.h"
#include "mlserve/handler.h"

extern const struct mlserve_option options_server[], options_log[], options_listener[], options_route[],
        options_upstream[];
extern const struct mlserve_option options_static[], options_proxy[], options_work[], options_health[],
        options_respond[], options_redirect[];

/* The numbers of MLSERVE_CHOICE values, in the order of `choices` in options.def. */
enum config_dispatch {
	CONFIG_DISPATCH_LEAST_LOAD,
	CONFIG_DISPATCH_LEAST_CONNECTIONS,
	CONFIG_DISPATCH_ROUND_ROBIN,
	CONFIG_DISPATCH_TWO_CHOICES,
	CONFIG_DISPATCH_RANDOM,
};
enum config_log_level { CONFIG_LOG_ERROR, CONFIG_LOG_WARN, CONFIG_LOG_INFO, CONFIG_LOG_DEBUG };
enum config_accept { CONFIG_ACCEPT_CENTRAL, CONFIG_ACCEPT_REUSEPORT, CONFIG_ACCEPT_SHARDED_PORTS };
enum config_served_by { CONFIG_SERVED_BY_LOOPS, CONFIG_SERVED_BY_CONTROL };
enum config_work { CONFIG_WORK_LCG, CONFIG_WORK_SQRT };
enum config_run_on { CONFIG_RUN_ON_LOOP, CONFIG_RUN_ON_EXECUTOR };
enum config_format { CONFIG_FORMAT_LOOP_RESULT, CONFIG_FORMAT_JSON };
enum config_show { CONFIG_SHOW_DOCUMENT, CONFIG_SHOW_LIVE, CONFIG_SHOW_READY };

/* What the options of one kind of section are, and whether such sections have names. */
struct options_kind {
	const char *name;
	const struct mlserve_option *options;
	bool named;
};

extern const struct options_kind options_kinds[CONFIG_KIND_COUNT];

/* The built-in handlers with their tables, in the order of --help-config; ends with a NULL name. */
struct options_handler {
	const char *name;
	const struct mlserve_option *options;
};

extern const struct options_handler options_handlers[];

/* false: no kind of that name. */
bool options_kind_find(struct slice name, enum config_kind *ret_kind);
/* NULL: none. */
const struct mlserve_option *options_find(const struct mlserve_option *table, struct slice name);
const struct mlserve_option *options_handler_find(const char *name);
size_t options_count(const struct mlserve_option *table);
/* Whether sections of that kind may have such a key, for routes with any built-in handler. */
bool options_kind_has(enum config_kind, struct slice name);

#endif
