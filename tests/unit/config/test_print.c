/* -T, --help-config and conf/mlserve.ini: complete, in normal form, and loading to the same. */
#include "config/line.h"
#include "config/options.h"
#include "load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUTE "[route a]\npath = /\nhandler = respond\n"

static void expect_round_trip(struct config *config)
{
	char *text = config_text(config);
	struct config *again = load_good(text);
	char *again_text = config_text(again);
	assert_string_equal(again_text, text);
	free(text);
	free(again_text);
	config_free(&again);
	config_free(&config);
}

static void test_print_gives_every_option_in_normal_form(void **state)
{
	(void)state;
	struct config *config = load_good(
	        "[server]\nstall_threshold = 200000us\npin_loops = yes\n[listener a]\nbind = 1:1\nbind = 2:2\n"
	        "max_header_size = 65536\ntrusted_proxies = a  b\ntrusted_proxies =\tc\n");
	char *text = config_text(config);
	static const char *const wanted[] = {"[server]\nloops = auto\n", "\nstall_threshold = 200ms\n",
	        "\npin_loops = on\n", "\nuser =\n", "\n\n[listener a]\nbind = 1:1\nbind = 2:2\naccept = central\n",
	        "\nmax_header_size = 64k\n", "\ntrusted_proxies = a b c\n", "\nkeepalive_timeout = 1m\n",
	        "\n\n[log]\nlevel = info\n"};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (!strstr(text, wanted[i]))
			fail_msg("no '%s' in:\n%s", wanted[i], text);
	free(text);
	expect_round_trip(config);
}

static void test_print_loads_to_the_same(void **state)
{
	(void)state;
	expect_round_trip(load_good(""));
	expect_round_trip(load_good(
	        "[route a]\npath = ~ ^/(a|b)$\nhandler = static\nroot = /a b  c\nindex =\nhost = x *.y\n"
	        "[upstream u]\nserver = 1:1 weight=2\nserver = unix:/x\nbalance = round-robin\nkeepalive = 0\n"
	        "[route b]\npath = = /\nhandler = proxy\nupstream = u\nlistener = main\nmax_body_size = 1m\n"
	        "[route c]\npath = /c\nhandler = work\nwork = sqrt\nblock = 1500us\n"
	        "[route d]\npath = /d\nhandler = redirect\nto = /x\nstatus = 301\n"));
}

/* Values that are hard to write: long words, comment signs, what looks like a key or section, runs of blanks. */
static void test_print_breaks_long_values_so_that_they_read_back(void **state)
{
	(void)state;
	static const char *const pieces[] = {"x", "=y", "#z", "[route", "status = 1", "status", "a  b", "\tt", ";s",
	        "long",
	        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"};
	unsigned seed = 1;
	for (int round = 0; round < 2000; round++) {
		char text[4000] = ROUTE "body =";
		size_t length = strlen(text);
		for (int i = 0; i < 30; i++) {
			seed = seed * 1664525 + 1013904223;
			const char *piece = pieces[(seed >> 16) % (sizeof pieces / sizeof *pieces)];
			const char *before = (seed >> 8) % 4 == 0 ? "\n " : (seed >> 8) % 4 == 1 ? "" : " ";
			length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", before, piece);
		}
		struct faults faults;
		faults_init(&faults);
		struct config *config = load_bytes(text, length, NULL, &faults);
		if (config)
			expect_round_trip(config);
		faults_fini(&faults);
	}
}

static void test_print_writes_a_word_as_long_as_a_line_takes(void **state)
{
	(void)state;
	char *text = NULL;
	assert_true(asprintf(&text, ROUTE "body =\n %0197d\n %0197d\n", 0, 0) > 0);
	expect_round_trip(load_good(text));
	free(text);
	assert_true(asprintf(&text, ROUTE "body=;%0192d\n %0197d\n", 0, 0) > 0);
	expect_round_trip(load_good(text));
	free(text);
}

/* ---- the sample and the reference ---- */

static char *sample_text(void)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	assert_non_null(out);
	config_sample(out);
	fclose(out);
	return text;
}

static char *file_text(const char *name)
{
	const char *source = getenv("MLSERVE_SRC");
	char *path = NULL, *text = NULL;
	size_t room = 0;
	assert_true(asprintf(&path, "%s/%s", source ? source : ".", name) > 0);
	FILE *file = fopen(path, "r");
	if (!file)
		fail_msg("%s cannot be opened", path);
	assert_true(getdelim(&text, &room, 0, file) > 0);
	fclose(file);
	free(path);
	return text;
}

static void test_sample_in_the_tree_is_fresh(void **state)
{
	(void)state;
	char *fresh = sample_text(), *kept = file_text("conf/mlserve.ini");
	assert_string_equal(kept, fresh);
	free(fresh);
	free(kept);
}

static void test_sample_begins_with_loops_and_serves_what_is_built_in(void **state)
{
	(void)state;
	char *text = sample_text();
	struct config *config = load_good(text);
	assert_non_null(strstr(text,
	        "lines.\n\n[server]\n# Worker loops, each a thread of its own; auto: as many as CPUs this process "
	        "may use\nloops = auto\n"));
	assert_string_equal(
	        mlserve_setting_text(config_only(config, CONFIG_SERVER), "pid_file"), "/run/mlserve/mlserve.pid");
	assert_string_equal(
	        mlserve_setting_text(config_find(config, CONFIG_LISTENER, "control"), "served_by"), "control");
	static const char *const routes[] = {"welcome", "health", "livez", "readyz", "work"};
	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
		assert_non_null(config_find(config, CONFIG_ROUTE, routes[i]));
	free(text);
	expect_round_trip(config);
}

/* Every line that is commented out with ';' is right once the ';' is gone. */
static void test_sample_loads_with_every_option_uncommented(void **state)
{
	(void)state;
	char *text = sample_text();
	for (char *at = text; (at = strstr(at, "\n;"));)
		memmove(at + 1, at + 2, strlen(at + 2) + 1);
	struct config *config = load_good(text);
	assert_int_equal(config_count(config, CONFIG_UPSTREAM), 1);
	assert_non_null(config_find(config, CONFIG_ROUTE, "site"));
	free(text);
	expect_round_trip(config);
}

static void expect_option_once(const char *text, const char *name)
{
	char line[100];
	snprintf(line, sizeof line, "\n%s =", name);
	bool active = strstr(text, line) != NULL;
	snprintf(line, sizeof line, "\n;%s =", name);
	if (!active && !strstr(text, line))
		fail_msg("%s is not in the sample", name);
}

static void test_sample_and_reference_have_every_option(void **state)
{
	(void)state;
	char *text = sample_text(), *reference = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&reference, &length);
	assert_true(config_reference(out, NULL));
	fclose(out);
	for (size_t kind = 0; kind < CONFIG_KIND_COUNT; kind++)
		for (const struct mlserve_option *o = options_kinds[kind].options; o->name; o++) {
			expect_option_once(text, o->name);
			assert_non_null(strstr(reference, o->help));
		}
	for (const struct options_handler *h = options_handlers; h->name; h++)
		for (const struct mlserve_option *o = h->options; o->name; o++) {
			expect_option_once(text, o->name);
			assert_non_null(strstr(reference, o->help));
		}
	free(text);
	free(reference);
}

static void test_reference_shows_one_section_and_knows_no_others(void **state)
{
	(void)state;
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	assert_true(config_reference(out, "proxy"));
	assert_false(config_reference(out, "prox"));
	assert_false(config_reference(out, ""));
	fclose(out);
	assert_memory_equal(text, "[route NAME] with handler = proxy\n  upstream =\n", 47);
	assert_null(strstr(text, "loops"));
	free(text);
}

static void test_builtin_configuration_loads_and_takes_overrides(void **state)
{
	(void)state;
	struct faults faults;
	const char *const overrides[] = {"listener.main.bind=127.0.0.1:0"};
	const struct config_source source = {.overrides = overrides, .override_count = 1};
	const char *const *items = NULL;
	faults_init(&faults);
	struct config *config = config_load(&source, &faults);
	assert_non_null(config);
	assert_int_equal(mlserve_setting_list(config_find(config, CONFIG_LISTENER, "main"), "bind", &items), 1);
	assert_string_equal(items[0], "127.0.0.1:0");
	assert_string_equal(mlserve_setting_text(config_find(config, CONFIG_ROUTE, "readyz"), "show"), "ready");
	assert_int_equal(mlserve_setting_number(config_find(config, CONFIG_ROUTE, "work"), "allow_override"), 1);
	expect_round_trip(config);
	faults_fini(&faults);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_print_gives_every_option_in_normal_form),
	        cmocka_unit_test(test_print_loads_to_the_same),
	        cmocka_unit_test(test_print_breaks_long_values_so_that_they_read_back),
	        cmocka_unit_test(test_print_writes_a_word_as_long_as_a_line_takes),
	        cmocka_unit_test(test_sample_in_the_tree_is_fresh),
	        cmocka_unit_test(test_sample_begins_with_loops_and_serves_what_is_built_in),
	        cmocka_unit_test(test_sample_loads_with_every_option_uncommented),
	        cmocka_unit_test(test_sample_and_reference_have_every_option),
	        cmocka_unit_test(test_reference_shows_one_section_and_knows_no_others),
	        cmocka_unit_test(test_builtin_configuration_loads_and_takes_overrides),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
