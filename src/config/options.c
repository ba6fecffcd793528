/* The tables made from options.def, and looking things up in them. */
#include "config/options.h"
#include "base/check.h"

#define MS(n) ((n)*INT64_C(1000))
#define HOURS(n) ((n)*INT64_C(3600000000))
#define KIB(n) ((n)*INT64_C(1024))
#define MIB(n) ((n)*INT64_C(1048576))
#define GIB(n) ((n)*INT64_C(1073741824))

#define TABLE(name) const struct mlserve_option options_##name[] = {
#define END                                                                                                            \
	{                                                                                                              \
		NULL, MLSERVE_BOOL, 0, NULL, NULL, 0, 0, NULL                                                          \
	}                                                                                                              \
	}                                                                                                              \
	;
#define BOOL(name, initial, help) {name, MLSERVE_BOOL, 0, initial, NULL, 0, 1, help},
#define CHOICE(name, initial, choices, help) {name, MLSERVE_CHOICE, 0, initial, choices, 0, 0, help},
#define COUNT(name, flags, initial, min, max, help) {name, MLSERVE_COUNT, flags, initial, NULL, min, max, help},
#define SIZE(name, flags, initial, min, max, help) {name, MLSERVE_SIZE, flags, initial, NULL, min, max, help},
#define DURATION(name, flags, initial, min, max, help) {name, MLSERVE_DURATION, flags, initial, NULL, min, max, help},
#define TEXT(name, flags, initial, help) {name, MLSERVE_TEXT, flags, initial, NULL, 0, 0, help},
#define WORDS(name, flags, initial, help) {name, MLSERVE_WORDS, flags, initial, NULL, 0, 0, help},

/* clang-format off */
#include "config/options.def"
/* clang-format on */

const struct options_kind options_kinds[CONFIG_KIND_COUNT] = {
        [CONFIG_SERVER] = {"server", options_server, false},
        [CONFIG_LOG] = {"log", options_log, false},
        [CONFIG_LISTENER] = {"listener", options_listener, true},
        [CONFIG_ROUTE] = {"route", options_route, true},
        [CONFIG_UPSTREAM] = {"upstream", options_upstream, true},
};

const struct options_handler options_handlers[] = {
        {"static", options_static},
        {"proxy", options_proxy},
        {"work", options_work},
        {"health", options_health},
        {"respond", options_respond},
        {"redirect", options_redirect},
        {NULL, NULL},
};

bool options_kind_find(struct slice name, enum config_kind *ret_kind)
{
	for (size_t i = 0; i < CONFIG_KIND_COUNT; i++) {
		if (slice_equal(slice_of(options_kinds[i].name), name)) {
			*ret_kind = (enum config_kind)i;
			return true;
		}
	}
	return false;
}

const struct mlserve_option *options_find(const struct mlserve_option *table, struct slice name)
{
	for (; table->name; table++)
		if (slice_equal(slice_of(table->name), name))
			return table;
	return NULL;
}

const struct mlserve_option *options_handler_find(const char *name)
{
	for (const struct options_handler *h = options_handlers; h->name; h++)
		if (strcmp(h->name, name) == 0)
			return h->options;
	return NULL;
}

size_t options_count(const struct mlserve_option *table)
{
	size_t count = 0;
	while (table[count].name)
		count++;
	return count;
}

bool options_kind_has(enum config_kind kind, struct slice name)
{
	if (options_find(options_kinds[kind].options, name))
		return true;
	if (kind == CONFIG_ROUTE)
		for (const struct options_handler *h = options_handlers; h->name; h++)
			if (options_find(h->options, name))
				return true;
	return false;
}
