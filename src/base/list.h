/* An intrusive, circular, doubly linked list. A node that is in no list points at itself. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/check.h"
#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *previous;
};

#define LIST_EACH(node, head) for (struct list *node = (head)->next; node != (head); node = node->next)
/* The body may remove `node`. */
#define LIST_EACH_SAFE(node, head)                                                                                     \
	for (struct list *node = (head)->next, *node##_next = node->next; node != (head);                              \
	        node = node##_next, node##_next = node->next)

static inline void list_init(struct list *l)
{
	l->next = l->previous = l;
}

static inline bool list_is_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_remove(struct list *node)
{
	node->previous->next = node->next;
	node->next->previous = node->previous;
	list_init(node);
}

static inline void list_append(struct list *head, struct list *node)
{
	node->previous = head->previous;
	node->next = head;
	head->previous->next = node;
	head->previous = node;
}

static inline struct list *list_take_first(struct list *head)
{
	struct list *first = head->next;
	if (first == head)
		return NULL;
	list_remove(first);
	return first;
}

#endif
