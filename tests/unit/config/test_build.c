/* Checking: keys, values, what is required, names between sections, handlers; and asking for values. */
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUTE "[route a]\npath = /\nhandler = respond\n"

static void test_build_gives_server_log_and_a_listener_with_defaults(void **state)
{
	(void)state;
	struct config *config = load_good("");
	const struct mlserve_settings *server = config_only(config, CONFIG_SERVER),
	                              *log = config_only(config, CONFIG_LOG);
	const struct mlserve_settings *listener = config_find(config, CONFIG_LISTENER, "main");
	const char *const *items = NULL;
	assert_int_equal(mlserve_setting_number(server, "loops"), MLSERVE_AUTO_VALUE);
	assert_int_equal(mlserve_setting_number(server, "stall_threshold"), 100000);
	assert_int_equal(mlserve_setting_number(server, "dispatch"), 0);
	assert_string_equal(mlserve_setting_text(server, "dispatch"), "least-load");
	assert_null(mlserve_setting_text(server, "user"));
	assert_string_equal(mlserve_setting_text(log, "error"), "stderr");
	assert_non_null(listener);
	assert_string_equal(config_name(listener), "main");
	assert_int_equal(mlserve_setting_list(listener, "bind", &items), 1);
	assert_string_equal(items[0], "0.0.0.0:8080");
	assert_int_equal(mlserve_setting_number(listener, "max_body_size"), 8 << 20);
	assert_false(mlserve_setting_is_set(listener, "bind"));
	assert_int_equal(config_count(config, CONFIG_ROUTE), 0);
	assert_null(config_find(config, CONFIG_UPSTREAM, "app"));
	config_free(&config);
}

static void test_build_gives_values_by_name_in_the_order_of_the_file(void **state)
{
	(void)state;
	struct config *config =
	        load_good("[listener x]\nbind = 1:1\nbind = [::]:80\ntrusted_proxies = a\tb\ntrusted_proxies = c\n"
	                  "[route b]\npath = ~ ^/x$\nhandler = static\nroot = /r w\nindex =\nlistener = y x\n"
	                  "debug_headers = yes\n[listener y]\n" ROUTE "max_body_size =\n");
	const struct mlserve_settings *x = config_at(config, CONFIG_LISTENER, 0),
	                              *b = config_at(config, CONFIG_ROUTE, 0);
	const struct mlserve_settings *a = config_find(config, CONFIG_ROUTE, "a");
	const char *const *items = NULL;
	assert_int_equal(mlserve_setting_list(x, "bind", &items), 2);
	assert_string_equal(items[1], "[::]:80");
	assert_int_equal(mlserve_setting_list(x, "trusted_proxies", &items), 3);
	assert_string_equal(items[1], "b");
	assert_string_equal(items[2], "c");
	assert_string_equal(mlserve_setting_text(b, "path"), "~ ^/x$");
	assert_string_equal(mlserve_setting_text(b, "root"), "/r w");
	assert_int_equal(mlserve_setting_list(b, "index", &items), 0);
	assert_true(mlserve_setting_is_set(b, "index"));
	assert_int_equal(mlserve_setting_number(b, "debug_headers"), 1);
	assert_int_equal(config_index(config_at(config, CONFIG_LISTENER, 1)), 1);
	assert_int_equal(config_index(a), 1);
	assert_int_equal(mlserve_setting_number(a, "max_body_size"), MLSERVE_AUTO_VALUE);
	assert_false(mlserve_setting_is_set(a, "max_body_size"));
	config_free(&config);
}

/* CFG-03: the value, and the fault's text or NULL. */
static const struct {
	const char *key, *value, *fault;
} numbers[] = {
        {"shutdown_timeout", "0", NULL},
        {"shutdown_timeout", "0s", NULL},
        {"shutdown_timeout", "24h", NULL},
        {"shutdown_timeout", "25h", "\"25h\" is too large; allowed: 0 to 24h, with us ms s m h"},
        {"shutdown_timeout", "25d", "\"25d\" has an unknown unit; allowed: 0 to 24h, with us ms s m h"},
        {"shutdown_timeout", "2147483648ms", "\"2147483648ms\" is too large; allowed: 0 to 24h, with us ms s m h"},
        {"shutdown_timeout", "9223372036854775807s",
                "\"9223372036854775807s\" is too large; allowed: 0 to 24h, with us ms s m h"},
        {"shutdown_timeout", "-1", "\"-1\" is not a plain decimal number; allowed: 0 to 24h, with us ms s m h"},
        {"shutdown_timeout", "0.5s", "\"0.5s\" is not a plain decimal number; allowed: 0 to 24h, with us ms s m h"},
        {"shutdown_timeout", "10", "\"10\" lacks its unit; allowed: 0 to 24h, with us ms s m h"},
        {"shutdown_timeout", "10 s", "\"10 s\" is not a plain decimal number; allowed: 0 to 24h, with us ms s m h"},
        {"shutdown_timeout", "1e3", "\"1e3\" is not a plain decimal number; allowed: 0 to 24h, with us ms s m h"},
        {"shutdown_timeout", "010s", "\"010s\" is not a plain decimal number; allowed: 0 to 24h, with us ms s m h"},
        {"shutdown_timeout", "auto", "\"auto\" is not a plain decimal number; allowed: 0 to 24h, with us ms s m h"},
        {"shutdown_timeout", "", "\"\" is empty; allowed: 0 to 24h, with us ms s m h"},
        {"stall_threshold", "0", "\"0\" is too small; allowed: 1ms to 1h, with us ms s m h"},
        {"stall_threshold", "999us", "\"999us\" is too small; allowed: 1ms to 1h, with us ms s m h"},
        {"loops", "auto", NULL},
        {"loops", "1024", NULL},
        {"loops", "0", "\"0\" is too small; allowed: auto or 1 to 1024"},
        {"loops", "1025", "\"1025\" is too large; allowed: auto or 1 to 1024"},
        {"loops", "010", "\"010\" is not a plain decimal number; allowed: auto or 1 to 1024"},
        {"loops", "0x10", "\"0x10\" is not a plain decimal number; allowed: auto or 1 to 1024"},
        {"loops", "+1", "\"+1\" is not a plain decimal number; allowed: auto or 1 to 1024"},
        {"loops", "99999999999999999999", "\"99999999999999999999\" is too large; allowed: auto or 1 to 1024"},
        {"loops", "Auto", "\"Auto\" is not a plain decimal number; allowed: auto or 1 to 1024"},
        {"pin_loops", "false", NULL},
        {"pin_loops", "1", "\"1\" is not known; allowed: on off yes no true false"},
        {"dispatch", "round-robin", NULL},
        {"dispatch", "roundrobin",
                "\"roundrobin\" is not known; did you mean round-robin? allowed: least-load least-connections "
                "round-robin "
                "two-choices random"},
};

static const struct {
	const char *value, *fault;
} sizes[] = {
        {"1k", NULL},
        {"1024", NULL},
        {"1m", NULL},
        {"10KB", "\"10KB\" has an unknown unit"},
        {"10kib", "\"10kib\" has an unknown unit"},
        {"10k m", "\"10k m\" is not a plain decimal number"},
        {"0x1000", "\"0x1000\" is not a plain decimal number"},
        {"99999999999999999999g", "\"99999999999999999999g\" is too large"},
        {"2m", "\"2m\" is too large"},
        {"0", "\"0\" is too small"},
        {"-1", "\"-1\" is not a plain decimal number"},
        {"", "\"\" is empty"},
};

static void expect_one(const char *text, const char *wanted)
{
	if (wanted) {
		expect_faults(text, wanted);
		return;
	}
	struct config *config = load_good(text);
	config_free(&config);
}

static void test_build_refuses_numbers_outside_of_the_grammar_and_the_range(void **state)
{
	(void)state;
	char text[200], wanted[400];
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		snprintf(text, sizeof text, "[server]\n%s = %s\n", numbers[i].key, numbers[i].value);
		snprintf(wanted, sizeof wanted, "t.ini:2: [server] %s: %s\n", numbers[i].key,
		        numbers[i].fault ? numbers[i].fault : "");
		expect_one(text, numbers[i].fault ? wanted : NULL);
	}
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		snprintf(text, sizeof text, "[listener a]\nmax_header_size = %s\n", sizes[i].value);
		snprintf(wanted, sizeof wanted,
		        "t.ini:2: [listener a] max_header_size: %s; allowed: 1k to 1m, in bytes or with k m g\n",
		        sizes[i].fault ? sizes[i].fault : "");
		expect_one(text, sizes[i].fault ? wanted : NULL);
	}
}

static void test_build_refuses_repeated_missing_and_empty_values(void **state)
{
	(void)state;
	expect_faults(
	        "[server]\nloops = 1\nloops = 1\n[route a]\nhandler = static\n[route b]\npath =\nhandler = proxy\n"
	        "upstream = u\n[upstream u]\nretries = 11\n[log]\nerror =\n",
	        "t.ini:3: [server] loops: stands already in t.ini:2; allowed: once\n"
	        "t.ini:4: [route a] root: is missing; allowed: one value\n"
	        "t.ini:7: [route b] path: is empty; allowed: a text\n"
	        "t.ini:10: [upstream u] server: is missing; allowed: one or more values\n"
	        "t.ini:11: [upstream u] retries: \"11\" is too large; allowed: 0 to 10\n"
	        "t.ini:13: [log] error: is empty; allowed: a text\n");
}

static void test_build_says_where_an_option_belongs(void **state)
{
	(void)state;
	expect_faults("[server]\nbind = 1:1\nroot = /x\n" ROUTE "root = /x\nbalance = x\nbodyy = x\n",
	        "t.ini:2: [server] bind: belongs to [listener NAME]; allowed: see mlserve --help-config server\n"
	        "t.ini:3: [server] root: belongs to a [route NAME] whose handler is static; allowed: see mlserve "
	        "--help-config "
	        "server\n"
	        "t.ini:7: [route a] root: belongs to handler static, this route's handler is respond; allowed: see "
	        "mlserve "
	        "--help-config\n"
	        "t.ini:8: [route a] balance: belongs to [upstream NAME]; allowed: see mlserve --help-config route\n"
	        "t.ini:9: [route a] bodyy: is not known; did you mean body? allowed: see mlserve --help-config "
	        "route\n");
}

static void test_build_refuses_names_of_sections_that_there_are_not(void **state)
{
	(void)state;
	expect_faults("[route a]\npath = /\nhandler = proxy\nupstream = ap\nlistener = main\n  mian other\n[upstream "
	              "app]\nserver = x\n",
	        "t.ini:4: [route a] upstream: no [upstream ap]; did you mean [upstream app]?\n"
	        "t.ini:5: [route a] listener: no [listener mian]; did you mean [listener main]?\n"
	        "t.ini:5: [route a] listener: no [listener other]; allowed: the name of one that there is\n");
	expect_faults("[route a]\npath = /\nhandler = proxy\nupstream = app\n",
	        "t.ini:4: [route a] upstream: no [upstream app]; allowed: the name of one; there is none yet\n");
}

static void test_build_refuses_unknown_handlers_and_judges_their_options_no_further(void **state)
{
	(void)state;
	expect_faults("[route a]\npath = /\nhandler = statik\nroot = /x\nfoo = 1\n[route b]\npath = /b\nhandler = "
	              "/m.so\nfoo = 1\n",
	        "t.ini:3: [route a] handler: \"statik\" is not known; did you mean static? allowed: static proxy work "
	        "health respond "
	        "redirect or the path of a .so module\n"
	        "t.ini:5: [route a] foo: is not known; allowed: see mlserve --help-config route\n"
	        "t.ini:8: [route b] handler: \"/m.so\" is not known; allowed: static proxy work health respond "
	        "redirect or the path "
	        "of a .so module\n");
}

/* ---- modules ---- */

static const struct mlserve_option module_options[] = {
        {"greeting", MLSERVE_TEXT, MLSERVE_REQUIRED, NULL, NULL, 0, 0, "What to say"},
        {"times", MLSERVE_COUNT, 0, "3", NULL, 1, 9, "How often"},
        {"to", MLSERVE_TEXT, MLSERVE_REPEATS | MLSERVE_NAMES_UPSTREAM, NULL, NULL, 0, 0, "Whom to ask"},
        {NULL, MLSERVE_BOOL, 0, NULL, NULL, 0, 0, NULL},
};
static const struct mlserve_option clashing_options[] = {
        {"path", MLSERVE_TEXT, 0, NULL, NULL, 0, 0, "Taken by every route"},
        {NULL, MLSERVE_BOOL, 0, NULL, NULL, 0, 0, NULL}};
static const struct mlserve_option unsound_options[] = {
        {"times", MLSERVE_COUNT, 0, "10", NULL, 1, 9, "How often"}, {NULL, MLSERVE_BOOL, 0, NULL, NULL, 0, 0, NULL}};

static const struct mlserve_option *find_module(void *context, const char *name, const char **ret_reason)
{
	assert_string_equal(context, "context");
	if (strcmp(name, "/m.so") == 0)
		return module_options;
	if (strcmp(name, "/clash.so") == 0)
		return clashing_options;
	if (strcmp(name, "/unsound.so") == 0)
		return unsound_options;
	*ret_reason = "cannot be loaded: no such file; allowed: a module";
	return NULL;
}

static struct config *load_module(const char *text, struct faults *faults)
{
	struct config_source source = {.path = "t.ini", .handlers = {find_module, "hello", (char[]){"context"}}};
	FILE *stream = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	assert_non_null(stream);
	struct config *config = config_load_stream(&source, stream, faults);
	fclose(stream);
	return config;
}

static void test_build_takes_the_options_that_a_module_brings(void **state)
{
	(void)state;
	struct faults faults;
	const char *const *items = NULL;
	faults_init(&faults);
	struct config *config = load_module("[route a]\npath = /\nhandler = /m.so\ngreeting = hi\nto = u\nto = v\n"
	                                    "[upstream u]\nserver = x\n[upstream v]\nserver = y\n",
	        &faults);
	assert_non_null(config);
	const struct mlserve_settings *a = config_find(config, CONFIG_ROUTE, "a");
	assert_string_equal(mlserve_setting_text(a, "greeting"), "hi");
	assert_int_equal(mlserve_setting_number(a, "times"), 3);
	assert_int_equal(mlserve_setting_list(a, "to", &items), 2);
	config_free(&config);
	faults_fini(&faults);
}

static void test_build_refuses_what_a_module_does_wrong(void **state)
{
	(void)state;
	struct faults faults;
	faults_init(&faults);
	assert_null(
	        load_module("[route a]\npath = /\nhandler = /clash.so\n[route b]\npath = /b\nhandler = /unsound.so\n"
	                    "[route c]\npath = /c\nhandler = /none.so\nx = 1\n[route d]\npath = /d\nhandler = /m.so\n"
	                    "greeting = x\ntimes = 10\ntoo = 1\n",
	                &faults));
	char *text = faults_text(&faults);
	assert_string_equal(text,
	        "t.ini:3: [route a] handler: /clash.so: its option path has the name of an option that every route "
	        "has\n"
	        "t.ini:6: [route b] handler: /unsound.so: its option times has a default that it refuses\n"
	        "t.ini:9: [route c] handler: /none.so: cannot be loaded: no such file; allowed: a module\n"
	        "t.ini:15: [route d] times: \"10\" is too large; allowed: 1 to 9\n"
	        "t.ini:16: [route d] too: is not known; did you mean to? allowed: see mlserve --help-config route\n");
	free(text);
	faults_fini(&faults);
}

static void test_setting_fault_names_the_place_of_the_value(void **state)
{
	(void)state;
	struct faults faults;
	faults_init(&faults);
	static const char text[] = "[listener x]\nbind = 1\nbind = 2\nbacklog = 7\n";
	struct config *config =
	        load_bytes(text, sizeof text - 1, (const char *const[]){"listener.x.min_rate=9", NULL}, &faults);
	assert_non_null(config);
	const struct mlserve_settings *x = config_at(config, CONFIG_LISTENER, 0);
	mlserve_setting_fault(x, "min_rate", 0, "too %s", "low");
	mlserve_setting_fault(x, "backlog", 0, "is odd");
	mlserve_setting_fault(x, "bind", 1, "bad port %d", 2);
	mlserve_setting_fault(x, "accept", 0, "bad default");
	mlserve_setting_fault(x, NULL, 0, "bad\nsection");
	char *found = faults_text(&faults);
	assert_string_equal(found, "t.ini:1: [listener x] accept: bad default\n"
	                           "t.ini:1: [listener x] bad?section\n"
	                           "t.ini:3: [listener x] bind: bad port 2\n"
	                           "t.ini:4: [listener x] backlog: is odd\n"
	                           "-o: [listener x] min_rate: too low\n");
	free(found);
	config_free(&config);
	faults_fini(&faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_build_gives_server_log_and_a_listener_with_defaults),
	        cmocka_unit_test(test_build_gives_values_by_name_in_the_order_of_the_file),
	        cmocka_unit_test(test_build_refuses_numbers_outside_of_the_grammar_and_the_range),
	        cmocka_unit_test(test_build_refuses_repeated_missing_and_empty_values),
	        cmocka_unit_test(test_build_says_where_an_option_belongs),
	        cmocka_unit_test(test_build_refuses_names_of_sections_that_there_are_not),
	        cmocka_unit_test(test_build_refuses_unknown_handlers_and_judges_their_options_no_further),
	        cmocka_unit_test(test_build_takes_the_options_that_a_module_brings),
	        cmocka_unit_test(test_build_refuses_what_a_module_does_wrong),
	        cmocka_unit_test(test_setting_fault_names_the_place_of_the_value),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
