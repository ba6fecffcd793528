/* Making one entry of the cache of static files: reading a small file whole, and its field lines. */
#ifndef HANDLERS_STATIC_ENTRY_H
#define HANDLERS_STATIC_ENTRY_H

#include "handlers/static_cache.h"

/* The entry has one reference, the caller's. NULL: *ret_status as static_cache_get has it, and *ret_root_error as
 * static_file_open has it. */
struct static_entry *static_entry_load(
        const struct static_site *, struct slice rest, unsigned *ret_status, int *ret_root_error);

#endif
