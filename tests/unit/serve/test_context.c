/* What the connections of a loop share: the common fields, request ids, locals of handlers, error pages. */
#include "base/check.h"
#include "serve/error_page.h"
#include "serve/exchange.h"
#include "serving.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void test_context_common_fields_are_those_of_this_second(void **state)
{
	char date[DATE_BYTES + 1] = "";
	(void)state;
	for (int i = 0; i < 3; i++) {
		time_t before = clock_wall_s();
		struct slice fields = context_common_fields(&serving.context);
		time_t now = serving.context.date_s;
		assert_in_range(now, before, clock_wall_s());
		assert_int_equal(fields.length, sizeof "Server: mlserve\r\nDate: " - 1 + DATE_BYTES + 2);
		assert_memory_equal(fields.data, "Server: mlserve\r\nDate: ", 23);
		assert_memory_equal(fields.data + fields.length - 2, "\r\n", 2);
		date_format(now, date);
		assert_memory_equal(fields.data + 23, date, DATE_BYTES);
		serving.context.date_s -= 5; /* the next call is in another second */
	}
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, REQUEST_ID_BYTES);
}

static void test_context_request_ids_are_unique(void **state)
{
	enum { MANY = 20000 };
	static char ids[MANY][REQUEST_ID_BYTES];
	struct context other;
	(void)state;
	assert_true(context_init(&other, &serving.loop, serving.routes, &serving.view, &serving.loop_view, 10));
	for (int i = 0; i < MANY; i++)
		context_request_id(i % 2 ? &serving.context : &other, ids[i]);
	for (int i = 0; i < MANY; i++)
		for (int at = 0; at < REQUEST_ID_BYTES; at++)
			assert_non_null(memchr("0123456789abcdef", ids[i][at], 16));
	qsort(ids, MANY, REQUEST_ID_BYTES, compare);
	for (int i = 1; i < MANY; i++)
		assert_int_not_equal(compare(ids[i - 1], ids[i]), 0);
	context_fini(&other);
}

static void test_context_uses_exchanges_again(void **state)
{
	(void)state;
	client_open(SOCK_STREAM);
	for (int i = 0; i < 10; i++) {
		client_clear();
		client_send("GET /whole HTTP/1.1\r\nHost: a\r\n\r\n");
		client_until("hello");
		assert_int_equal(serving.context.free_exchange_count, 1);
	}
}

/* What sockets bring that come late in a turn is served in an epoch of its own. */
static void test_context_epoch_is_another_for_each_new_connection(void **state)
{
	(void)state;
	uint64_t before = serving.loop.epoch;
	client_open(SOCK_STREAM);
	serving_turns(1);
	assert_true(serving.loop.epoch > before);
	before = serving.loop.epoch;
	client_open(SOCK_STREAM);
	serving_turns(1);
	assert_true(serving.loop.epoch > before);
}

static void test_error_page_tells_status_reason_and_id(void **state)
{
	char page[ERROR_PAGE_BYTES + 1];
	(void)state;
	size_t length = error_page_write(page, 404, "Nothing here.", SLICE("0123456789abcdef01234567"), true);
	page[length] = 0;
	assert_string_equal(page, "{\"status\":404,\"error\":\"Not Found\",\"detail\":\"Nothing here.\","
	                          "\"request_id\":\"0123456789abcdef01234567\"}\n");
	length = error_page_write(page, 502, NULL, SLICE("0123456789abcdef01234567"), false);
	page[length] = 0;
	assert_non_null(strstr(page, "<title>502 Bad Gateway</title>"));
	assert_non_null(strstr(page, "Request id: 0123456789abcdef01234567"));
	assert_non_null(strstr(page, "</html>"));
	length = error_page_write(page, 499, "", SLICE("x"), false);
	assert_true(length > 0 && length < ERROR_PAGE_BYTES);
}

static void test_error_page_never_grows_beyond_its_bytes(void **state)
{
	char page[ERROR_PAGE_BYTES + 8], reason[3000];
	(void)state;
	memset(reason, 'r', sizeof reason - 1);
	reason[sizeof reason - 1] = 0;
	for (int json = 0; json < 2; json++) {
		memset(page, 'z', sizeof page);
		size_t length = error_page_write(page, 500, reason, SLICE("id"), json);
		assert_true(length <= ERROR_PAGE_BYTES);
		assert_int_equal(page[ERROR_PAGE_BYTES], 'z');
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, serving_setup, serving_teardown)

static int count_reads(struct context *c, int connections)
{
	int reads = 0;
	while (connections--)
		reads += context_reads_at_once(c);
	return reads;
}

static void test_context_reads_new_connections_at_once_while_that_pays(void **state)
{
	struct context *c = &serving.context;
	(void)state;
	assert_true(context_reads_at_once(c)); /* until it knows better */
	int probes = count_reads(c, 1600);
	assert_in_range(probes, 100, 110); /* it goes on asking now and then */
	context_saw_request(c);
	assert_true(context_reads_at_once(c));
	for (int i = 0; i < 100; i++) {
		context_saw_request(c);
		assert_true(context_reads_at_once(c));
	}
	count_reads(c, 100);
	c->draining = true; /* one with its request unread must not be taken for idle */
	assert_int_equal(count_reads(c, 100), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_context_common_fields_are_those_of_this_second),
	        TEST(test_context_request_ids_are_unique),
	        TEST(test_context_uses_exchanges_again),
	        TEST(test_context_epoch_is_another_for_each_new_connection),
	        TEST(test_context_reads_new_connections_at_once_while_that_pays),
	        TEST(test_error_page_tells_status_reason_and_id),
	        TEST(test_error_page_never_grows_beyond_its_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
