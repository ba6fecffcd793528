/*
 * What a configuration consists of, for this room only: sections of settings, each setting one option with its value
 * and the places that it came from. All in the configuration's arena; nothing changes after it was built.
 */
#ifndef CONFIG_SETTINGS_H
#define CONFIG_SETTINGS_H

#include "base/arena.h"
#include "config/config.h"
#include "config/draft.h"

struct setting {
	const struct mlserve_option *option;
	const struct draft_entry *entry; /* the first that sets it; NULL: the default holds */
	bool is_set;                     /* to a value, by an entry */
	int64_t number;
	const char *text; /* NULL: unset. Of WORDS: all, joined by blanks */
	const char **items;
	struct place *places; /* of each item */
	size_t item_count;
};

struct mlserve_settings {
	struct config *config;
	enum config_kind kind;
	size_t index;
	const char *name, *title;
	struct place place;
	struct setting *settings; /* the kind's options, then the handler's */
	size_t count;
	bool faulty;
};

struct config {
	struct arena arena;
	struct faults *faults;
	struct mlserve_settings **sections[CONFIG_KIND_COUNT];
	size_t counts[CONFIG_KIND_COUNT];
};

/* NULL: no such option in this section. */
struct setting *settings_find(const struct mlserve_settings *, const char *name);
/* Where a value came from, or where its section begins. */
struct place settings_place(const struct mlserve_settings *, const struct setting *, size_t item);
/* The value as one line would have it; "" when unset. `buffer` has OPTION_TEXT_BYTES and may be what is returned. */
const char *settings_value(const struct setting *, char *buffer);

#endif
