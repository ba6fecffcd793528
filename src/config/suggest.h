/* "Did you mean": the offered name that is nearest to a mistyped one, when near enough. */
#ifndef CONFIG_SUGGEST_H
#define CONFIG_SUGGEST_H

#include "base/slice.h"

struct suggestion {
	struct slice wanted, best;
	size_t distance;
};

void suggest_begin(struct suggestion *, struct slice wanted);
void suggest_offer(struct suggestion *, struct slice name);
/* Offers each of the blank-separated words. */
void suggest_offer_words(struct suggestion *, const char *words);
/* The nearest name; its data is NULL when none is near. */
struct slice suggest_best(const struct suggestion *);

#endif
