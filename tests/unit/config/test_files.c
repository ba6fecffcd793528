/* Files: the main one, includes, and those that cannot be read. */
#include "load.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory of its own for each test, and the working directory meanwhile. */
static int enter_directory(void **state)
{
	char *name = strdup("/tmp/test_files.[x]-XXXXXX");
	*state = name;
	return name && mkdtemp(name) && chdir(name) == 0 ? 0 : -1;
}

static int leave_directory(void **state)
{
	char *command = NULL;
	int result = -1;
	if (asprintf(&command, "rm -rf -- '%s'", (char *)*state) > 0)
		result = system(command);
	free(command);
	free(*state);
	return chdir("/") == 0 ? result : -1;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static struct config *load_file(const char *path, struct faults *faults)
{
	const struct config_source source = {.path = path};
	faults_init(faults);
	return config_load(&source, faults);
}

static void expect_file_faults(const char *path, const char *wanted)
{
	struct faults faults;
	assert_null(load_file(path, &faults));
	char *text = faults_text(&faults);
	assert_string_equal(text, wanted);
	free(text);
	faults_fini(&faults);
}

static void test_files_are_included_sorted_after_the_main_one(void **state)
{
	struct faults faults;
	char *path = NULL;
	assert_int_equal(mkdir("conf.d", 0700), 0);
	write_file("main.ini",
	        "[server]\ninclude = conf.d/*.ini\ninclude = none.d/*.ini\nloops = 2\n[upstream m]\nserver = x\n");
	write_file("conf.d/b.ini", "[upstream b]\nserver = x\n");
	write_file("conf.d/a.ini", "\xef\xbb\xbf[upstream a]\nserver = x");
	write_file("conf.d/c.txt", "nonsense\n");
	assert_true(asprintf(&path, "%s/main.ini", (char *)*state) > 0);
	assert_int_equal(chdir("/"), 0);
	struct config *config = load_file(path, &faults);
	assert_non_null(config);
	assert_int_equal(config_count(config, CONFIG_UPSTREAM), 3);
	assert_string_equal(config_name(config_at(config, CONFIG_UPSTREAM, 0)), "m");
	assert_string_equal(config_name(config_at(config, CONFIG_UPSTREAM, 1)), "a");
	assert_string_equal(config_name(config_at(config, CONFIG_UPSTREAM, 2)), "b");
	char *text = config_text(config);
	assert_non_null(strstr(text, "\ninclude =\n"));
	free(text);
	free(path);
	config_free(&config);
	faults_fini(&faults);
}

static void test_files_report_faults_of_included_ones_with_their_names(void **state)
{
	(void)state;
	write_file("main.ini", "[server]\ninclude = [xy].ini\nlops = 2\n[upstream a]\nserver = x\n");
	write_file("x.ini", "[upstream b]\nsever = x\n[upstream a]\nserver = y\nserver\n");
	write_file("y.ini", "[server]\ninclude = x.ini\n[lgo]\n");
	expect_file_faults("main.ini",
	        "main.ini:3: [server] lops: is not known; did you mean loops? allowed: see mlserve --help-config "
	        "server\n"
	        "x.ini:1: [upstream b] server: is missing; allowed: one or more values\n"
	        "x.ini:2: [upstream b] sever: is not known; did you mean server? allowed: see mlserve --help-config "
	        "upstream\n"
	        "x.ini:3: [upstream a] such a section was already begun in main.ini:4; allowed: one\n"
	        "x.ini:5: [upstream a] a line without '='; allowed: key = value\n"
	        "y.ini:1: [server] such a section was already begun in main.ini:1; allowed: one\n"
	        "y.ini:2: [server] include: stands in an included file; allowed: in the main file\n"
	        "y.ini:3: no such section: [lgo]; did you mean [log]? allowed: server, log, listener NAME, route NAME, "
	        "upstream "
	        "NAME\n");
}

static void test_files_refuse_reading_one_twice_or_a_directory_or_none(void **state)
{
	(void)state;
	assert_int_equal(mkdir("d.ini", 0700), 0);
	write_file("x.txt", "");
	write_file("main.ini", "[server]\ninclude = *.ini\ninclude = x.txt\ninclude = ./x.txt\ninclude = none.ini\n");
	expect_file_faults("./main.ini",
	        "./main.ini:2: [server] include: ./d.ini: is a directory; allowed: a file\n"
	        "./main.ini:2: [server] include: ./main.ini: was read already; allowed: each file once\n"
	        "./main.ini:4: [server] include: ././x.txt: was read already; allowed: each file once\n"
	        "./main.ini:5: [server] include: none.ini: there is no such file; allowed: a file, or a pattern such "
	        "as conf.d/*.ini\n");
}

static void test_files_refuse_a_main_one_that_cannot_be_read(void **state)
{
	(void)state;
	expect_file_faults("none.ini", "none.ini: cannot be opened: No such file or directory\n");
	expect_file_faults("/", "/: is a directory; allowed: a file\n");
	expect_file_faults("/dev/zero", "/dev/zero:1: the file is too large; allowed: up to 16m\n");
	write_file("secret.ini", "");
	assert_int_equal(chmod("secret.ini", 0), 0);
	if (access("secret.ini", R_OK) < 0)
		expect_file_faults("secret.ini", "secret.ini: cannot be opened: Permission denied\n");
}

static void test_files_refuse_includes_where_there_is_no_file(void **state)
{
	(void)state;
	expect_faults("[server]\ninclude = *.ini\n",
	        "t.ini:2: [server] include: there is no directory to begin from; allowed: in a file\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(
	                test_files_are_included_sorted_after_the_main_one, enter_directory, leave_directory),
	        cmocka_unit_test_setup_teardown(
	                test_files_report_faults_of_included_ones_with_their_names, enter_directory, leave_directory),
	        cmocka_unit_test_setup_teardown(
	                test_files_refuse_reading_one_twice_or_a_directory_or_none, enter_directory, leave_directory),
	        cmocka_unit_test_setup_teardown(
	                test_files_refuse_a_main_one_that_cannot_be_read, enter_directory, leave_directory),
	        cmocka_unit_test(test_files_refuse_includes_where_there_is_no_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
