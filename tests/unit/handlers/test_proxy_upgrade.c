/* Which heads ask for another protocol, and which answers give it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "handlers/proxy_fields.h"
#include "http/parser.h"
#include <stdio.h>
#include <string.h>

enum { FIELDS = 20 };

static struct field fields[FIELDS];
static char text[1024];

/* The protocol asked for by a request with this line and these fields; "": none. */
static struct slice asked(const char *line, const char *more)
{
	struct request_head head = {.fields = {.items = fields, .capacity = FIELDS}};
	struct slice protocol = SLICE("");
	unsigned status;
	const char *reason = "";
	int length = snprintf(text, sizeof text, "%s\r\nHost: a\r\n%s\r\n", line, more);
	if (!request_parse(&head, text, (size_t)length, &status, &reason))
		fail_msg("%s", reason);
	return proxy_request_upgrades(&head, &protocol) ? protocol : SLICE("");
}

#define assert_asked(more, protocol) assert_true(slice_equal(asked("GET / HTTP/1.1", more), slice_of(protocol)))

static void test_request_asks_for_one_protocol(void **state)
{
	(void)state;
	assert_asked("Connection: upgrade\r\nUpgrade: websocket\r\n", "websocket");
	assert_asked("Upgrade: WebSocket \r\nconnection: close\r\nConnection: x, UPGRADE\r\n", "WebSocket");
	assert_asked("Connection: upgrade\r\nUpgrade: irc/6.9\r\n", "irc/6.9");
	assert_asked("Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n", "websocket");
}

static void test_request_asks_for_nothing_that_is_not_clear(void **state)
{
	(void)state;
	assert_asked("Upgrade: websocket\r\n", "");
	assert_asked("Connection: upgrade\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade:\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: websocket, irc\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: websocket,\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: websocket\r\nUpgrade: websocket\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade:\r\nUpgrade: websocket\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: web socket\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: a/b/c\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: /1\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: a/\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: \"websocket\"\r\n", "");
}

static void test_request_asks_for_nothing_that_carries_http(void **state)
{
	(void)state;
	assert_asked("Connection: upgrade\r\nUpgrade: h2c\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: H2C\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: h2c/1\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: h2\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: HTTP/2.0\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: TLS/1.3\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: websocket\r\nHTTP2-Settings: AAMA\r\n", "");
}

static void test_request_of_another_kind_asks_for_nothing(void **state)
{
	static const char upgrade[] = "Connection: upgrade\r\nUpgrade: websocket\r\n";
	(void)state;
	assert_int_equal(asked("GET / HTTP/1.1", upgrade).length, 9);
	assert_int_equal(asked("GET / HTTP/1.0", upgrade).length, 0);
	assert_int_equal(asked("POST / HTTP/1.1", upgrade).length, 0);
	assert_int_equal(asked("HEAD / HTTP/1.1", upgrade).length, 0);
	assert_asked("Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n", "");
	assert_asked("Connection: upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n", "");
}

static bool gives(const char *more, const char *protocol)
{
	struct response_head head = {.fields = {.items = fields, .capacity = FIELDS}};
	const char *reason = "";
	int length = snprintf(text, sizeof text, "HTTP/1.1 101 X\r\n%s\r\n", more);
	if (!response_parse(&head, text, (size_t)length, METHOD_GET, &reason))
		fail_msg("%s", reason);
	return proxy_answer_upgrades(&head, slice_of(protocol));
}

static void test_answer_must_name_what_was_asked_for(void **state)
{
	(void)state;
	assert_true(gives("Upgrade: websocket\r\n", "websocket"));
	assert_true(gives("Connection: upgrade\r\nUpgrade:  WebSocket\r\n", "websocket"));
	assert_false(gives("Upgrade: h2c\r\n", "websocket"));
	assert_false(gives("Upgrade: websocket, h2c\r\n", "websocket"));
	assert_false(gives("Upgrade: websocket\r\nUpgrade: websocket\r\n", "websocket"));
	assert_false(gives("Upgrade: websocket/13\r\n", "websocket"));
	assert_false(gives("", "websocket"));
	assert_false(gives("Upgrade:\r\n", ""));
	assert_false(gives("", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_request_asks_for_one_protocol),
	        cmocka_unit_test(test_request_asks_for_nothing_that_is_not_clear),
	        cmocka_unit_test(test_request_asks_for_nothing_that_carries_http),
	        cmocka_unit_test(test_request_of_another_kind_asks_for_nothing),
	        cmocka_unit_test(test_answer_must_name_what_was_asked_for),
	};
	parser_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
