/*
 * A configuration as it was read, before anything but its form was checked: sections and keys with their places.
 * Files and -o fill it; settings.c turns it into checked values.
 */
#ifndef CONFIG_DRAFT_H
#define CONFIG_DRAFT_H

#include "base/arena.h"
#include "config/config.h"
#include "config/faults.h"

struct place {
	const char *file; /* "-o" for overrides */
	int line;         /* 0: none */
};

struct draft_entry {
	struct draft_entry *next;
	const char *key;
	const char *value; /* NULL: its fault was reported already */
	struct place place;
};

struct draft_section {
	struct draft_section *next;
	enum config_kind kind;
	const char *name;  /* "" for kinds without names */
	const char *title; /* "route api" */
	struct place place;
	struct draft_entry *first, **last;
};

struct draft {
	struct arena *arena; /* owns all of it */
	struct faults *faults;
	struct draft_section *first, **last;
	bool exhausted; /* memory was short: something is missing */
};

void draft_init(struct draft *, struct arena *, struct faults *);
/* NULL: the name is fine; else what is wrong with it, and what is allowed. */
const char *draft_name_fault(enum config_kind, struct slice name);
/* Both return NULL only when memory is short. */
struct draft_section *draft_add_section(struct draft *, enum config_kind, struct slice name, struct place);
struct draft_entry *draft_add_entry(
        struct draft *, struct draft_section *, struct slice key, const struct slice *value, struct place);
/* The first of that kind and name; NULL: none. */
struct draft_section *draft_find_section(const struct draft *, enum config_kind, struct slice name);
const struct draft_entry *draft_find_entry(const struct draft_section *, const char *key);
/* Removes all entries of that key that come from files. */
void draft_drop_file_entries(struct draft_section *, struct slice key);
/* Reports that there is no section kind of that name. */
void draft_fault_kind(struct draft *, struct place, struct slice kind);

#endif
