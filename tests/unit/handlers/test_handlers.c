/* Finding handlers, and modules: the sample is built beside the talk tests, whose build directory MLSERVE_BUILD names.
 */
#include "handlers/harness.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *sample(const char *name)
{
	static char path[1024];
	const char *build = getenv("MLSERVE_BUILD");
	assert_non_null(build);
	snprintf(path, sizeof path, "%s/tests/talk/module/%s.so", build, name);
	return path;
}

static void test_handlers_finds_built_in_ones_by_name(void **state)
{
	struct handlers h;
	const char *reason = NULL;
	(void)state;
	handlers_init(&h);
	const char *const names[] = {"static", "proxy", "work", "health", "respond", "redirect"};
	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		const struct mlserve_handler *found = handlers_find(&h, names[i], &reason);
		assert_non_null(found);
		assert_string_equal(found->name, names[i]);
		assert_int_equal(found->abi, MLSERVE_HANDLER_ABI);
	}
	assert_null(handlers_find(&h, "statics", &reason));
	assert_null(reason);
	assert_string_equal(handlers_for_config(&h).names, "static proxy work health respond redirect");
	handlers_fini(&h);
}

static void assert_refused(const char *path, const char *wanted)
{
	struct handlers h;
	const char *reason = NULL;
	handlers_init(&h);
	assert_null(handlers_find(&h, path, &reason));
	assert_non_null(reason);
	if (!strstr(reason, wanted))
		fail_msg("\"%s\" is not in: %s", wanted, reason);
	assert_null(strstr(reason, path)); /* the fault names it already */
	handlers_fini(&h);
}

static void test_handlers_says_why_a_module_cannot_be_loaded(void **state)
{
	(void)state;
	assert_refused("sample.so", "absolute path");
	assert_refused("./sample.so", "absolute path");
	assert_refused("/no/such/module.so", "No such file or directory");
	assert_refused("/etc/hostname", "file too short");
	assert_refused(sample("sample_other_abi"), "was built for handler interface 99; this server has 1");
}

static void test_handlers_loads_a_module_once(void **state)
{
	struct handlers h;
	const char *reason = NULL;
	(void)state;
	handlers_init(&h);
	const struct mlserve_handler *first = handlers_find(&h, sample("sample"), &reason);
	assert_non_null(first);
	assert_string_equal(first->name, "sample");
	assert_ptr_equal(handlers_find(&h, sample("sample"), &reason), first);
	handlers_fini(&h);
}

static void assert_body(struct harness *h, const char *line, const char *body)
{
	struct answer a = harness_ask(h, line, "");
	assert_int_equal(a.status, 200);
	if (!slice_equal(a.body, slice_of(body)))
		fail_msg("%s: %.*s, not %s", line, SLICE_ARGS(a.body), body);
}

static void start(struct harness *h, const char *more)
{
	harness_start(h, "[route m]\npath = /m\nhandler = %s\n%s", sample("sample"), more);
}

static void test_module_answers_at_once_with_its_own_options(void **state)
{
	struct harness h;
	(void)state;
	start(&h, "greeting = hi \ntimes = 3\n");
	assert_body(&h, "GET /m", "hihihi");
	harness_stop(&h);
	start(&h, "");
	assert_body(&h, "GET /m/", "hello from a module");
	assert_int_equal(harness_ask(&h, "GET /m/none", "").status, 404);
	assert_int_equal(harness_ask(&h, "DELETE /m", "").status, 405);
	harness_stop(&h);
}

static void test_module_options_are_checked_like_others(void **state)
{
	(void)state;
	char *text = harness_faults("[route m]\npath = /\nhandler = %s\ntimes = 101\ngreting = x\n", sample("sample"));
	assert_non_null(strstr(text, ":4: [route m] times: "));
	assert_non_null(strstr(text, ":5: [route m] greting: "));
	assert_non_null(strstr(text, "did you mean greeting?"));
	free(text);
	text = harness_faults("[route m]\npath = /\nhandler = %s\ngreeting = forbidden\n", sample("sample"));
	assert_non_null(strstr(text, ":4: [route m] greeting: says what is forbidden"));
	free(text);
}

static void test_module_answers_later(void **state)
{
	struct harness h;
	(void)state;
	start(&h, "delay = 30ms\n");
	int64_t begin_ns = clock_now_ns();
	assert_body(&h, "GET /m/later", "later");
	assert_true(clock_now_ns() - begin_ns >= 30 * NS_PER_MS);
	assert_body(&h, "GET /m/executor", "1000000");
	harness_stop(&h);
}

static void test_module_is_pulled_for_a_large_body(void **state)
{
	struct harness h;
	(void)state;
	start(&h, "");
	struct answer a = harness_ask(&h, "GET /m/body/5000003", "");
	assert_int_equal(a.status, 200);
	assert_int_equal(a.body.length, 5000003);
	for (size_t i = 0; i < a.body.length; i++)
		if (a.body.data[i] != (char)('0' + i % 10))
			fail_msg("byte %zu is %c", i, a.body.data[i]);
	harness_stop(&h);
}

static void test_module_is_cancelled_when_the_client_leaves(void **state)
{
	struct harness h;
	(void)state;
	start(&h, "delay = 60s\n");
	const char *const hanging[] = {"GET /m/hang", "GET /m/later", "GET /m/body/100000000"};
	for (size_t i = 0; i < ARRAY_COUNT(hanging); i++) {
		harness_send(&h, hanging[i], "");
		harness_turn(&h);
		harness_connect(&h, "127.0.0.1");
		harness_turn(&h);
	}
	assert_body(&h, "GET /m/counts", "begun 4 cancelled 3");
	harness_stop(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_handlers_finds_built_in_ones_by_name),
	        cmocka_unit_test(test_handlers_says_why_a_module_cannot_be_loaded),
	        cmocka_unit_test(test_handlers_loads_a_module_once),
	        cmocka_unit_test(test_module_answers_at_once_with_its_own_options),
	        cmocka_unit_test(test_module_options_are_checked_like_others),
	        cmocka_unit_test(test_module_answers_later),
	        cmocka_unit_test(test_module_is_pulled_for_a_large_body),
	        cmocka_unit_test(test_module_is_cancelled_when_the_client_leaves),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
