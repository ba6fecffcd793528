/* -o: what it replaces, adds and creates, and its faults. */
#include "load.h"
#include <stdlib.h>
#include <string.h>

static const char file[] = "[listener main]\nbind = 1:1\nbind = 2:2\n[server]\nloops = 3\n[upstream a.b]\nserver = x\n";

static void test_override_replaces_the_values_of_the_file_and_adds_its_own(void **state)
{
	(void)state;
	struct faults faults;
	const char *const *items = NULL;
	const char *const overrides[] = {"server.loops=5", "listener.main.bind=3:3", "listener.main.bind= [::]:4 ",
	        "upstream.a.b.server=http://x.y/=z", "server.pid_file=", "log.level=debug", NULL};
	faults_init(&faults);
	struct config *config = load_bytes(file, sizeof file - 1, overrides, &faults);
	assert_non_null(config);
	assert_int_equal(mlserve_setting_number(config_only(config, CONFIG_SERVER), "loops"), 5);
	assert_int_equal(mlserve_setting_list(config_at(config, CONFIG_LISTENER, 0), "bind", &items), 2);
	assert_string_equal(items[0], "3:3");
	assert_string_equal(items[1], "[::]:4");
	assert_int_equal(mlserve_setting_list(config_find(config, CONFIG_UPSTREAM, "a.b"), "server", &items), 1);
	assert_string_equal(items[0], "http://x.y/=z");
	assert_string_equal(mlserve_setting_text(config_only(config, CONFIG_LOG), "level"), "debug");
	config_free(&config);
	faults_fini(&faults);
}

static void test_override_mends_what_is_wrong_in_the_file(void **state)
{
	(void)state;
	struct faults faults;
	static const char bad[] = "[server]\nloops = x\nloops = y\n";
	faults_init(&faults);
	struct config *config = load_bytes(bad, sizeof bad - 1, (const char *const[]){"server.loops=5", NULL}, &faults);
	assert_non_null(config);
	config_free(&config);
	faults_fini(&faults);
}

static void test_override_makes_sections_and_may_change_a_handler(void **state)
{
	(void)state;
	struct faults faults;
	static const char route[] = "[route a]\npath = /\nhandler = redirect\n";
	const char *const overrides[] = {"route.a.handler=respond", "route.a.body=x", "route.b.path=/b",
	        "route.b.handler=health", "listener.new.bind=1:1", NULL};
	faults_init(&faults);
	struct config *config = load_bytes(route, sizeof route - 1, overrides, &faults);
	assert_non_null(config);
	assert_string_equal(mlserve_setting_text(config_find(config, CONFIG_ROUTE, "a"), "body"), "x");
	assert_int_equal(mlserve_setting_number(config_find(config, CONFIG_ROUTE, "b"), "show"), 0);
	assert_int_equal(config_count(config, CONFIG_LISTENER), 1);
	assert_string_equal(config_name(config_at(config, CONFIG_LISTENER, 0)), "new");
	config_free(&config);
	faults_fini(&faults);
}

static void test_override_faults_are_named_so_and_come_after_those_of_files(void **state)
{
	(void)state;
	const char *const overrides[] = {"server.loop=1", "server", "server=1", ".x=1", "server.=1", "srver.loops=1",
	        "listener.bind=1:1", "server.x.loops=1", "server.dispatch=rand", "server.pin_loops=on",
	        "server.pin_loops=on", "server.include=x", "route.q.path=/", "server.user=a ;b", "server.pid_file=a\nb",
	        NULL};
	char *found = load_faults("[log]\nlevel = x\n", 16, overrides);
	assert_string_equal(found,
	        "t.ini:2: [log] level: \"x\" is not known; allowed: error warn info debug\n"
	        "-o: server: not understood; allowed: kind.key=value or kind.name.key=value\n"
	        "-o: server=1: not understood; allowed: kind.key=value or kind.name.key=value\n"
	        "-o: .x=1: not understood; allowed: kind.key=value or kind.name.key=value\n"
	        "-o: server.=1: not understood; allowed: kind.key=value or kind.name.key=value\n"
	        "-o: no such section: [srver]; did you mean [server]? allowed: server, log, listener NAME, route NAME, "
	        "upstream NAME\n"
	        "-o: listener.bind=1:1: such a section needs a name: letters, digits, - _ .\n"
	        "-o: server.x.loops=1: such a section has no name\n"
	        "-o: server.include=x: includes are read before this; allowed: in the file\n"
	        "-o: [server] dispatch: \"rand\" is not known; did you mean random? allowed: least-load "
	        "least-connections round-robin "
	        "two-choices random\n"
	        "-o: [server] pin_loops: is given twice; allowed: once\n"
	        "-o: [server] user: no lines of a file could hold this value; allowed: no blank before ';', no control "
	        "bytes, words "
	        "of up to 197 bytes\n"
	        "-o: [server] pid_file: no lines of a file could hold this value; allowed: no blank before ';', no "
	        "control bytes, "
	        "words of up to 197 bytes\n"
	        "-o: [server] loop: is not known; did you mean loops? allowed: see mlserve --help-config server\n"
	        "-o: [route q] handler: is missing; allowed: one value\n");
	free(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_override_replaces_the_values_of_the_file_and_adds_its_own),
	        cmocka_unit_test(test_override_mends_what_is_wrong_in_the_file),
	        cmocka_unit_test(test_override_makes_sections_and_may_change_a_handler),
	        cmocka_unit_test(test_override_faults_are_named_so_and_come_after_those_of_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
