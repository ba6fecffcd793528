/* What users may type, and what is refused with a line on stderr. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/command_line.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WORDS = 16 };

static char typed[256], said[4096];
static struct command_line c;

/* Parses "mlserve" and these blank-separated words; what is written to stderr goes to `said`. */
static bool parse(const char *words)
{
	char *argv[MOST_WORDS + 1] = {"mlserve"};
	int argc = 1, before = dup(STDERR_FILENO);
	FILE *caught = tmpfile();
	snprintf(typed, sizeof typed, "%s", words);
	for (char *at = strtok(typed, " "); at; at = strtok(NULL, " "))
		argv[argc++] = at;
	fflush(stderr);
	dup2(fileno(caught), STDERR_FILENO);
	optind = 0; /* glibc: begin anew */
	bool fine = command_line_parse(&c, argc, argv);
	fflush(stderr);
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(caught);
	said[fread(said, 1, sizeof said - 1, caught)] = 0;
	fclose(caught);
	assert_int_equal(fine, said[0] == 0); /* refused with words, or taken without */
	return fine;
}

static void expect_command(const char *words, enum command command)
{
	assert_true(parse(words));
	assert_int_equal(c.command, command);
	command_line_fini(&c);
}

static void expect_refused(const char *words, const char *because)
{
	assert_false(parse(words));
	assert_non_null(strstr(said, because));
	assert_non_null(strstr(said, "usage: mlserve"));
	command_line_fini(&c);
}

static void test_command_line_without_words_serves_the_default(void **state)
{
	(void)state;
	assert_true(parse(""));
	assert_int_equal(c.command, COMMAND_SERVE);
	assert_null(c.config_path);
	assert_null(c.section);
	assert_int_equal(c.override_count, 0);
	assert_false(c.quiet);
	command_line_fini(&c);
}

static void test_command_line_knows_each_command(void **state)
{
	(void)state;
	expect_command("-t", COMMAND_TEST);
	expect_command("-T", COMMAND_PRINT);
	expect_command("-s stop", COMMAND_STOP);
	expect_command("-sstop", COMMAND_STOP);
	expect_command("-v", COMMAND_VERSION);
	expect_command("--version", COMMAND_VERSION);
	expect_command("-h", COMMAND_HELP);
	expect_command("--help", COMMAND_HELP);
	expect_command("--help-config", COMMAND_REFERENCE);
	expect_command("--sample-config", COMMAND_SAMPLE);
	expect_command("-t -t", COMMAND_TEST);
}

static void test_command_line_keeps_values_and_their_order(void **state)
{
	(void)state;
	assert_true(parse("-q -c /etc/x.ini -o server.loops=4 -t -o listener.main.bind=a=b"));
	assert_string_equal(c.config_path, "/etc/x.ini");
	assert_true(c.quiet);
	assert_int_equal(c.override_count, 2);
	assert_string_equal(c.overrides[0], "server.loops=4");
	assert_string_equal(c.overrides[1], "listener.main.bind=a=b");
	command_line_fini(&c);
	assert_int_equal(c.override_count, 0);
	command_line_fini(&c);
}

static void test_command_line_takes_a_section_only_for_the_reference(void **state)
{
	(void)state;
	assert_true(parse("--help-config listener"));
	assert_string_equal(c.section, "listener");
	command_line_fini(&c);
	expect_refused("--help-config listener route", "route");
	expect_refused("listener", "listener");
	expect_refused("-t x.ini", "x.ini");
}

static void test_command_line_refuses_what_it_does_not_know(void **state)
{
	(void)state;
	expect_refused("-x", "x");
	expect_refused("--nonsense", "nonsense");
	expect_refused("-c", "requires an argument");
	expect_refused("-s", "requires an argument");
	expect_refused("-s quit", "quit");
	expect_refused("-o loops", "SECTION.KEY=VALUE");
	expect_refused("-o loops=4.5", "SECTION.KEY=VALUE");
}

/* Signals of later versions are named as such, and not taken for something else. */
static void test_command_line_says_which_signals_are_not_there_yet(void **state)
{
	(void)state;
	expect_refused("-s reload", "not part of this version");
	expect_refused("-s reopen", "not part of this version");
	expect_refused("-s upgrade", "not part of this version");
}

static void test_command_line_refuses_two_commands_at_once(void **state)
{
	(void)state;
	expect_refused("-t -T", "only one");
	expect_refused("-s stop -t", "only one");
	expect_refused("-v -h", "only one");
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(test_command_line_without_words_serves_the_default),
	        TEST(test_command_line_knows_each_command),
	        TEST(test_command_line_keeps_values_and_their_order),
	        TEST(test_command_line_takes_a_section_only_for_the_reference),
	        TEST(test_command_line_refuses_what_it_does_not_know),
	        TEST(test_command_line_says_which_signals_are_not_there_yet),
	        TEST(test_command_line_refuses_two_commands_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
