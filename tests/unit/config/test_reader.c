/* Lines: what is taken, and that every line which the INI library would bend is a fault (CFG-01). */
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUTE "[route a]\npath = /\nhandler = respond\n"

static void expect_body(const char *text, const char *wanted)
{
	struct config *config = load_good(text);
	assert_string_equal(mlserve_setting_text(config_find(config, CONFIG_ROUTE, "a"), "body"), wanted);
	config_free(&config);
}

static void test_reader_takes_comments_blank_lines_and_a_last_line_without_newline(void **state)
{
	(void)state;
	expect_body("; one\n  # two\n\n \t\n" ROUTE "body = x;y ; comment\n\n", "x;y");
	expect_body(ROUTE "body =x# y", "x# y");
	expect_body(ROUTE "body=;x", ";x");
	struct config *config = load_good(ROUTE "[log] ; comment\n[upstream b] \t\nserver = 1 ");
	assert_int_equal(config_count(config, CONFIG_UPSTREAM), 1);
	config_free(&config);
}

static void test_reader_joins_indented_lines_by_one_blank(void **state)
{
	(void)state;
	expect_body(ROUTE "body = one  ; first\n\t two;2 ; second\n\n ; a comment\n# another\n   three\n",
	        "one two;2 three");
	expect_body(ROUTE "body =\n one\n", "one");
	expect_body(ROUTE "body = a\n [::]:80 = b\n", "a [::]:80 = b");
}

static void test_reader_takes_a_byte_order_mark_and_both_line_ends(void **state)
{
	(void)state;
	expect_body("\xef\xbb\xbf" ROUTE "body = x", "x");
	expect_body("[route a]\r\npath = /\r\nhandler = respond\r\nbody = x\r\n\ty\r\n", "x y");
	expect_body(ROUTE "body = x\r", "x");
}

static void test_reader_reports_all_faults_of_a_file_in_order(void **state)
{
	(void)state;
	expect_faults("[lisen]\n"
	              "key = in a refused section\n"
	              "[server]\n"
	              "workerz = 4\n"
	              "level = info\n"
	              "no equals sign\n"
	              "\tcontinues what was refused\n"
	              "loops: 4\n"
	              "= 4\n"
	              "[log] level = info\n"
	              "[log\n"
	              "[log]\n"
	              "\tlevel = info\n"
	              "levle = info\n",
	        "t.ini:1: no such section: [lisen]; did you mean [listener]? allowed: server, log, listener NAME, "
	        "route NAME, "
	        "upstream NAME\n"
	        "t.ini:4: [server] workerz: is not known; allowed: see mlserve --help-config server\n"
	        "t.ini:5: [server] level: belongs to [log]; allowed: see mlserve --help-config server\n"
	        "t.ini:6: [server] a line without '='; allowed: key = value\n"
	        "t.ini:8: [server] ':' does not separate; allowed: key = value\n"
	        "t.ini:9: [server] no key before '='; allowed: key = value\n"
	        "t.ini:10: text after ']'; allowed: nothing, or a blank and a comment with ;\n"
	        "t.ini:11: the section's ']' is missing; allowed: [kind] or [kind name]\n"
	        "t.ini:13: [log] an indented line with no value before it to continue; allowed: keys begin in the "
	        "first column\n"
	        "t.ini:14: [log] levle: is not known; did you mean level? allowed: see mlserve --help-config log\n");
}

static void test_reader_refuses_keys_before_sections_and_indented_keys_and_sections(void **state)
{
	(void)state;
	expect_faults("loops = 2\n[server]\nloops = 2\n dispatch = random\n [log]\nlevel = x\n",
	        "t.ini:1: stands before the first section; allowed: comments\n"
	        "t.ini:4: [server] an indented key, which would continue the value of loops; allowed: keys begin in "
	        "the first "
	        "column\n"
	        "t.ini:5: [server] an indented section; allowed: sections begin in the first column\n"
	        "t.ini:6: [log] level: \"x\" is not known; allowed: error warn info debug\n");
}

static void test_reader_refuses_control_bytes_and_says_nothing_else_of_their_lines(void **state)
{
	(void)state;
	static const char text[] = "[route a]\npath = /\0\nhandler = resp\x01ond\nbody = a\rb\n[rou\0te]\npath = 1\n";
	char *found = load_faults(text, sizeof text - 1, NULL);
	assert_string_equal(found, "t.ini:2: [route a] byte 0x00 in the line; allowed: text, tabs and line ends\n"
	                           "t.ini:3: [route a] byte 0x01 in the line; allowed: text, tabs and line ends\n"
	                           "t.ini:4: [route a] byte 0x0d in the line; allowed: text, tabs and line ends\n"
	                           "t.ini:5: [route a] byte 0x00 in the line; allowed: text, tabs and line ends\n");
	free(found);
}

/* `body = ` and then 'x' up to that many bytes in all. */
static char *long_line(size_t length, const char *after)
{
	char *text = NULL;
	assert_true(asprintf(&text, ROUTE "body = %0*d%s", (int)length - 7, 0, after) > 0);
	return text;
}

static void test_reader_takes_lines_up_to_the_limit_whole(void **state)
{
	(void)state;
	char *text = long_line(198, "\n tail");
	struct config *config = load_good(text);
	assert_int_equal(strlen(mlserve_setting_text(config_find(config, CONFIG_ROUTE, "a"), "body")), 191 + 5);
	config_free(&config);
	free(text);
}

static void test_reader_refuses_longer_lines_but_not_longer_comments(void **state)
{
	(void)state;
	static const size_t lengths[] = {199, 200, 201, 500, 512, 513, 5000, 100000};
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		char wanted[200], *text = long_line(lengths[i], "\n tail\nstatus = 1000\n");
		snprintf(wanted, sizeof wanted,
		        "t.ini:4: [route a] a line of %zu bytes; allowed: up to 198, and long values continue on "
		        "indented lines\n"
		        "t.ini:6: [route a] status: \"1000\" is too large; allowed: 200 to 599\n",
		        lengths[i]);
		expect_faults(text, wanted);
		free(text);
		assert_true(asprintf(&text, "; %0*d\n" ROUTE "# %0*d\nbody = x", (int)lengths[i], 0, (int)lengths[i],
		                    0) > 0);
		expect_body(text, "x");
		free(text);
	}
}

static void test_reader_refuses_section_names_over_the_limit(void **state)
{
	(void)state;
	char *text = NULL;
	assert_true(asprintf(&text, "[listener %041d]\n[listener %040d]\n", 0, 0) > 0);
	expect_faults(text, "t.ini:1: a section's name of 50 bytes; allowed: up to 49\n");
	free(text);
}

static void test_reader_refuses_bad_names_and_second_sections(void **state)
{
	(void)state;
	expect_faults("[listener]\n[server x]\n[upstream a b]\n[log]\n[listener a]\n[log]\n[listener a]\nbakclog = "
	              "1\n[Log]\n[]\n",
	        "t.ini:1: [listener]: such a section needs a name: letters, digits, - _ .\n"
	        "t.ini:2: [server x]: such a section has no name\n"
	        "t.ini:3: [upstream a b]: a byte that is not allowed in a name; allowed: letters, digits, - _ .\n"
	        "t.ini:6: [log] such a section was already begun in t.ini:4; allowed: one\n"
	        "t.ini:7: [listener a] such a section was already begun in t.ini:5; allowed: one\n"
	        "t.ini:8: [listener a] bakclog: is not known; did you mean backlog? allowed: see mlserve --help-config "
	        "listener\n"
	        "t.ini:9: no such section: [Log]; did you mean [log]? allowed: server, log, listener NAME, route NAME, "
	        "upstream NAME\n"
	        "t.ini:10: no such section: []; allowed: server, log, listener NAME, route NAME, upstream NAME\n");
}

/* Cut anywhere, a file is loaded or refused, and never read past its end. */
static void test_reader_copes_with_every_cut_of_a_file(void **state)
{
	(void)state;
	static const char text[] =
	        "\xef\xbb\xbf[server]\r\nloops = 2 ; c\n[route a]\npath = /\nhandler = respond\nbody = x\n\ty\n";
	for (size_t length = 0; length < sizeof text; length++) {
		struct faults faults;
		faults_init(&faults);
		char *exact = malloc(length + 1);
		memcpy(exact, text, length);
		struct config *config = load_bytes(exact, length, NULL, &faults);
		assert_int_equal(config == NULL, faults.count > 0);
		config_free(&config);
		faults_fini(&faults);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_reader_takes_comments_blank_lines_and_a_last_line_without_newline),
	        cmocka_unit_test(test_reader_joins_indented_lines_by_one_blank),
	        cmocka_unit_test(test_reader_takes_a_byte_order_mark_and_both_line_ends),
	        cmocka_unit_test(test_reader_reports_all_faults_of_a_file_in_order),
	        cmocka_unit_test(test_reader_refuses_keys_before_sections_and_indented_keys_and_sections),
	        cmocka_unit_test(test_reader_refuses_control_bytes_and_says_nothing_else_of_their_lines),
	        cmocka_unit_test(test_reader_takes_lines_up_to_the_limit_whole),
	        cmocka_unit_test(test_reader_refuses_longer_lines_but_not_longer_comments),
	        cmocka_unit_test(test_reader_refuses_section_names_over_the_limit),
	        cmocka_unit_test(test_reader_refuses_bad_names_and_second_sections),
	        cmocka_unit_test(test_reader_copes_with_every_cut_of_a_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
