/* Edit distance: insert, delete, replace, and swap of neighbours (optimal string alignment). */
#include "config/suggest.h"
#include <ctype.h>
#include <stdint.h>

enum { NAME_LIMIT = 63 };

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static bool is_swapped(struct slice a, struct slice b, size_t i, size_t j)
{
	return i > 1 && j > 1 && same_letter(a.data[i - 1], b.data[j - 2]) && same_letter(a.data[i - 2], b.data[j - 1]);
}

static size_t distance(struct slice a, struct slice b)
{
	size_t rows[3][NAME_LIMIT + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];
	for (size_t j = 0; j <= b.length; j++)
		last[j] = j;
	for (size_t i = 1; i <= a.length; i++) {
		now[0] = i;
		for (size_t j = 1; j <= b.length; j++) {
			size_t replaced = last[j - 1] + !same_letter(a.data[i - 1], b.data[j - 1]);
			now[j] = least(replaced, least(last[j], now[j - 1]) + 1);
			if (is_swapped(a, b, i, j))
				now[j] = least(now[j], before[j - 2] + 1);
		}
		size_t *reused = before;
		before = last, last = now, now = reused;
	}
	return last[b.length];
}

void suggest_begin(struct suggestion *s, struct slice wanted)
{
	*s = (struct suggestion){wanted, SLICE_NONE, SIZE_MAX};
}

void suggest_offer(struct suggestion *s, struct slice name)
{
	if (name.length > NAME_LIMIT || s->wanted.length > NAME_LIMIT)
		return;
	size_t d = distance(s->wanted, name);
	size_t longer = name.length > s->wanted.length ? name.length : s->wanted.length;
	if (d <= 1 + longer / 4 && d < longer && d < s->distance) {
		s->distance = d;
		s->best = name;
	}
}

void suggest_offer_words(struct suggestion *s, const char *words)
{
	while (words && *words) {
		size_t length = strcspn(words, " ");
		if (length)
			suggest_offer(s, (struct slice){words, length});
		words += length;
		words += strspn(words, " ");
	}
}

struct slice suggest_best(const struct suggestion *s)
{
	return s->best;
}
