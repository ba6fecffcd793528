/* The intrusive list: order, removal while walking, nodes in no list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include <cmocka.h>

struct item {
	int number;
	struct list link;
};

static void make_three(struct list *head, struct item items[3])
{
	list_init(head);
	for (int i = 0; i < 3; i++) {
		items[i].number = i;
		list_append(head, &items[i].link);
	}
}

static void test_list_gives_first_what_came_first(void **state)
{
	(void)state;
	struct list head;
	struct item items[3];
	make_three(&head, items);
	for (int i = 0; i < 3; i++)
		assert_int_equal(CONTAINER_OF(list_take_first(&head), struct item, link)->number, i);
	assert_null(list_take_first(&head));
	assert_true(list_is_empty(&head));
}

static void test_list_node_may_be_removed_twice_and_put_back(void **state)
{
	(void)state;
	struct list head;
	struct item items[3];
	make_three(&head, items);
	list_remove(&items[1].link);
	list_remove(&items[1].link);
	assert_true(list_is_empty(&items[1].link));
	list_append(&head, &items[1].link);
	assert_ptr_equal(head.previous, &items[1].link);
	assert_ptr_equal(head.next->next, &items[2].link);
}

static void test_list_body_may_remove_each_node(void **state)
{
	(void)state;
	struct list head;
	struct item items[3];
	int sum = 0;
	make_three(&head, items);
	LIST_EACH (node, &head)
		sum += CONTAINER_OF(node, struct item, link)->number;
	assert_int_equal(sum, 3);
	LIST_EACH_SAFE (node, &head)
		list_remove(node);
	assert_true(list_is_empty(&head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_list_gives_first_what_came_first),
	        cmocka_unit_test(test_list_node_may_be_removed_twice_and_put_back),
	        cmocka_unit_test(test_list_body_may_remove_each_node),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
