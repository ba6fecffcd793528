/* The tables themselves, and the numbers of choices that other rooms rely on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "config/option.h"
#include "config/options.h"
#include "config/suggest.h"
#include <cmocka.h>

static void expect_sound(const struct mlserve_option *table)
{
	const struct mlserve_option *option = NULL;
	const char *wrong = options_unsound(table, &option);
	if (wrong)
		fail_msg("%s %s", option->name, wrong);
	for (; table->name; table++) {
		char allowed[OPTION_TEXT_BYTES];
		assert_true(table->help && *table->help && table->help[strlen(table->help) - 1] != '.');
		assert_true(*option_allowed(table, allowed));
	}
}

static void test_options_tables_are_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < CONFIG_KIND_COUNT; i++)
		expect_sound(options_kinds[i].options);
	for (const struct options_handler *h = options_handlers; h->name; h++) {
		expect_sound(h->options);
		for (const struct mlserve_option *o = h->options; o->name; o++)
			assert_null(options_find(options_route, slice_of(o->name)));
	}
}

static void expect_choice(const struct mlserve_option *table, const char *name, int64_t number, const char *wanted)
{
	const struct mlserve_option *o = options_find(table, slice_of(name));
	assert_non_null(o);
	assert_true(slice_equal(option_choice(o, number), slice_of(wanted)));
}

static void test_options_choices_have_the_numbers_of_their_enums(void **state)
{
	(void)state;
	expect_choice(options_server, "dispatch", CONFIG_DISPATCH_LEAST_LOAD, "least-load");
	expect_choice(options_server, "dispatch", CONFIG_DISPATCH_LEAST_CONNECTIONS, "least-connections");
	expect_choice(options_server, "dispatch", CONFIG_DISPATCH_ROUND_ROBIN, "round-robin");
	expect_choice(options_server, "dispatch", CONFIG_DISPATCH_TWO_CHOICES, "two-choices");
	expect_choice(options_server, "dispatch", CONFIG_DISPATCH_RANDOM, "random");
	expect_choice(options_log, "level", CONFIG_LOG_ERROR, "error");
	expect_choice(options_log, "level", CONFIG_LOG_DEBUG, "debug");
	expect_choice(options_listener, "accept", CONFIG_ACCEPT_CENTRAL, "central");
	expect_choice(options_listener, "accept", CONFIG_ACCEPT_REUSEPORT, "reuseport");
	expect_choice(options_listener, "accept", CONFIG_ACCEPT_SHARDED_PORTS, "sharded-ports");
	expect_choice(options_listener, "served_by", CONFIG_SERVED_BY_CONTROL, "control");
	expect_choice(options_work, "work", CONFIG_WORK_SQRT, "sqrt");
	expect_choice(options_work, "run_on", CONFIG_RUN_ON_EXECUTOR, "executor");
	expect_choice(options_work, "format", CONFIG_FORMAT_JSON, "json");
	expect_choice(options_health, "show", CONFIG_SHOW_LIVE, "live");
	expect_choice(options_health, "show", CONFIG_SHOW_READY, "ready");
	assert_null(option_choice(options_find(options_health, SLICE("show")), CONFIG_SHOW_READY + 1).data);
}

static void expect_suggestion(const char *wanted, const char *names, const char *best)
{
	struct suggestion s;
	suggest_begin(&s, slice_of(wanted));
	suggest_offer_words(&s, names);
	struct slice found = suggest_best(&s);
	if (!slice_equal(found, slice_of(best)))
		fail_msg("for %s: %.*s, not %s", wanted, SLICE_ARGS(found), best ? best : "nothing");
}

static void test_suggest_finds_near_names_and_no_others(void **state)
{
	(void)state;
	static const char names[] = "server log listener route upstream";
	expect_suggestion("lisen", names, "listener");
	expect_suggestion("ROUTE", names, "route");
	expect_suggestion("rotue", names, "route");
	expect_suggestion("upstraem", names, "upstream");
	expect_suggestion("lgo", names, "log");
	expect_suggestion("x", names, NULL);
	expect_suggestion("", names, NULL);
	expect_suggestion("location", names, NULL);
	expect_suggestion(
	        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", names, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_options_tables_are_sound),
	        cmocka_unit_test(test_options_choices_have_the_numbers_of_their_enums),
	        cmocka_unit_test(test_suggest_finds_near_names_and_no_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
