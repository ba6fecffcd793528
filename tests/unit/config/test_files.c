/* Files: the main one, includes, and those that cannot be read. */
#include "load.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
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
	expect_file_faults("/dev/zero", "/dev/zero: is a device; allowed: a file\n");
	write_file("secret.ini", "");
	assert_int_equal(chmod("secret.ini", 0), 0);
	if (access("secret.ini", R_OK) < 0)
		expect_file_faults("secret.ini", "secret.ini: cannot be opened: Permission denied\n");
}

static void make_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	strcpy(address.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	close(fd);
}

static void test_files_refuse_to_include_what_is_no_regular_file(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("a.ini", 0600), 0);
	make_socket("b.ini");
	assert_int_equal(symlink("/dev/null", "c.ini"), 0);
	write_file("main.conf", "[server]\ninclude = *.ini\n");
	expect_file_faults("main.conf", "main.conf:2: [server] include: a.ini: is a pipe; allowed: a regular file\n"
	                                "main.conf:2: [server] include: b.ini: is a socket; allowed: a file\n"
	                                "main.conf:2: [server] include: c.ini: is a device; allowed: a file\n");
	expect_file_faults("b.ini", "b.ini: is a socket; allowed: a file\n");
}

/* Writes into the pipe from another process, after a while, in two parts. */
static pid_t write_later(const char *path, const char *text, unsigned wait_us)
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child)
		return child;
	usleep(wait_us);
	int fd = open(path, O_WRONLY);
	size_t half = strlen(text) / 2, rest = strlen(text) - half;
	bool fine = fd >= 0 && write(fd, text, half) == (ssize_t)half;
	usleep(wait_us);
	_exit(fine && write(fd, text + half, rest) == (ssize_t)rest ? 0 : 1);
}

static void test_files_read_a_main_one_from_a_pipe_to_its_end(void **state)
{
	static const unsigned waits_us[] = {0, 200000};
	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	for (size_t i = 0; i < 2; i++) {
		struct faults faults;
		int status = -1;
		pid_t writer = write_later("pipe", "[upstream a]\nserver = x\n[upstream b]\nserver = y\n", waits_us[i]);
		struct config *config = load_file("pipe", &faults);
		assert_non_null(config);
		assert_int_equal(config_count(config, CONFIG_UPSTREAM), 2);
		assert_int_equal(waitpid(writer, &status, 0), writer);
		assert_int_equal(status, 0);
		config_free(&config);
		faults_fini(&faults);
	}
}

static void test_files_do_not_wait_for_ever_for_a_pipes_writer(void **state)
{
	static const char fault[] =
	        "pipe: is a pipe into which nobody writes; allowed: a file, or a pipe with a writer\n";
	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	alarm(20);
	expect_file_faults("pipe", fault);
	pid_t writer = write_later("pipe", "", 1000); /* opens it and closes it again */
	expect_file_faults("pipe", fault);
	assert_int_equal(waitpid(writer, NULL, 0), writer);
	alarm(0);
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
	        cmocka_unit_test_setup_teardown(
	                test_files_refuse_to_include_what_is_no_regular_file, enter_directory, leave_directory),
	        cmocka_unit_test_setup_teardown(
	                test_files_read_a_main_one_from_a_pipe_to_its_end, enter_directory, leave_directory),
	        cmocka_unit_test_setup_teardown(
	                test_files_do_not_wait_for_ever_for_a_pipes_writer, enter_directory, leave_directory),
	        cmocka_unit_test(test_files_refuse_includes_where_there_is_no_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
