/* One function for each thing that the command line asks for. */
#include "app/commands.h"
#include "app/command_line.h"
#include "app/server.h"
#include "app/service.h"
#include "app/shutdown.h"
#include "handlers/handlers.h"
#include <errno.h>
#include <signal.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct config *load(const struct command_line *c, struct handlers *handlers, struct faults *faults)
{
	struct config_source source = {
	        .path = c->config_path,
	        .overrides = c->overrides,
	        .override_count = c->override_count,
	        .handlers = handlers_for_config(handlers),
	};
	if (!source.path && access(DEFAULT_CONFIG_PATH, F_OK) == 0)
		source.path = DEFAULT_CONFIG_PATH;
	return config_read(&source, faults);
}

/* -s stop: the lock on the pid file says who runs. */
static int stop_instance(const struct config *config)
{
	const char *path = mlserve_setting_text(config_only(config, CONFIG_SERVER), "pid_file");
	int pid = path && *path ? pid_file_owner(path) : 0;
	if (!path || !*path)
		fprintf(stderr, "mlserve: -s stop: the configuration sets no pid_file\n");
	else if (pid < 0)
		fprintf(stderr, "mlserve: pid file %s: %s\n", path, strerror(-pid));
	else if (pid == 0)
		fprintf(stderr, "mlserve: pid file %s: no instance is running\n", path);
	else if (kill(pid, SIGTERM))
		fprintf(stderr, "mlserve: cannot signal process %d: %s\n", pid, strerror(errno));
	else
		return EXIT_DONE;
	return EXIT_FAULT;
}

static int act_on(
        const struct command_line *c, const struct config *config, struct handlers *handlers, struct faults *faults)
{
	/* Not on the stack, where address sanitizers do not keep such an alignment. */
	struct server *server = aligned_alloc(alignof(struct server), sizeof *server);
	int code = EXIT_FAULT;
	if (!server) {
		faults_add(faults, NULL, 0, NULL, NULL, "no memory");
		return code;
	}
	bool prepared = server_prepare(server, config, handlers_find, handlers, faults) && faults->count == 0;
	if (prepared && c->command == COMMAND_PRINT)
		config_print(config, stdout);
	server->is_quiet = c->quiet;
	if (prepared)
		code = c->command == COMMAND_SERVE ? server_run(server) : EXIT_DONE;
	server_fini(server);
	free(server);
	return code;
}

static int run_with_config(const struct command_line *c)
{
	struct handlers handlers;
	struct faults faults;
	int code = EXIT_FAULT;
	handlers_init(&handlers);
	faults_init(&faults);
	struct config *config = load(c, &handlers, &faults);
	if (config && c->command == COMMAND_STOP && faults.count == 0)
		code = stop_instance(config);
	else if (config)
		code = act_on(c, config, &handlers, &faults);
	faults_print(&faults, stderr);
	config_free(&config);
	faults_fini(&faults);
	handlers_fini(&handlers);
	return code;
}

static int print_reference(const char *section)
{
	if (config_reference(stdout, section))
		return EXIT_DONE;
	fprintf(stderr, "mlserve: --help-config: no section or handler is called %s\n", section);
	return EXIT_USAGE;
}

int commands_run(const struct command_line *c)
{
	switch (c->command) {
	case COMMAND_VERSION:
		puts("mlserve " MLSERVE_VERSION);
		return EXIT_DONE;
	case COMMAND_HELP:
		command_line_help();
		return EXIT_DONE;
	case COMMAND_REFERENCE:
		return print_reference(c->section);
	case COMMAND_SAMPLE:
		config_sample(stdout);
		return EXIT_DONE;
	default:
		return run_with_config(c);
	}
}
