/* Values with their places, gathered one by one and then made an array. All in an arena. */
#ifndef CONFIG_VALUE_LIST_H
#define CONFIG_VALUE_LIST_H

#include "config/draft.h"

struct value;

struct value_list {
	struct arena *arena;
	struct value *first, **last;
	size_t count;
	bool exhausted;
};

void value_list_init(struct value_list *, struct arena *);
void value_list_add(struct value_list *, struct slice, struct place);
/* Each of the words between blanks and tabs. */
void value_list_add_words(struct value_list *, const char *words, struct place);
/* false: memory was short, now or before. ret_joined, when wanted: all, with blanks between; NULL for an empty list. */
bool value_list_finish(
        const struct value_list *, const char ***ret_items, struct place **ret_places, const char **ret_joined);

#endif
