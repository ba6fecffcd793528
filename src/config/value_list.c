/* Gathering of values. */
#include "config/value_list.h"

struct value {
	struct value *next;
	const char *text;
	struct place place;
};

void value_list_init(struct value_list *l, struct arena *arena)
{
	*l = (struct value_list){.arena = arena, .last = &l->first};
}

void value_list_add(struct value_list *l, struct slice text, struct place place)
{
	struct value *v = arena_alloc(l->arena, sizeof *v);
	char *copy = arena_text(l->arena, text);
	if (!v || !copy) {
		l->exhausted = true;
		return;
	}
	*v = (struct value){NULL, copy, place};
	*l->last = v;
	l->last = &v->next;
	l->count++;
}

void value_list_add_words(struct value_list *l, const char *words, struct place place)
{
	for (;;) {
		words += strspn(words, " \t");
		size_t length = strcspn(words, " \t");
		if (!length)
			return;
		value_list_add(l, (struct slice){words, length}, place);
		words += length;
	}
}

static char *join(const struct value_list *l)
{
	size_t length = 0;
	for (const struct value *v = l->first; v; v = v->next)
		length += strlen(v->text) + 1;
	char *joined = arena_alloc(l->arena, length + 1), *end = joined;
	for (const struct value *v = l->first; joined && v; v = v->next)
		end = stpcpy(stpcpy(end, v->text), v->next ? " " : "");
	return joined;
}

bool value_list_finish(
        const struct value_list *l, const char ***ret_items, struct place **ret_places, const char **ret_joined)
{
	const char **items = arena_alloc(l->arena, (l->count + 1) * sizeof *items);
	struct place *places = arena_alloc(l->arena, (l->count + 1) * sizeof *places);
	char *joined = ret_joined && l->count ? join(l) : NULL;
	if (l->exhausted || !items || !places || (ret_joined && l->count && !joined))
		return false;
	size_t i = 0;
	for (const struct value *v = l->first; v; v = v->next, i++) {
		items[i] = v->text;
		places[i] = v->place;
	}
	*ret_items = items;
	*ret_places = places;
	if (ret_joined)
		*ret_joined = joined;
	return true;
}
