/* getopt, and the help text. */
#include "app/command_line.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "usage: mlserve [-c FILE] [-t | -T | -s stop] [-o SECTION.KEY=VALUE]... [-q] [-v] [-h]\n"
                            "       mlserve --help-config [SECTION]\n";

static const char help[] = "\n"
                           "  -c FILE   configuration (default: " DEFAULT_CONFIG_PATH "; when that\n"
                           "            does not exist, a built-in one that serves a welcome page on port 8080)\n"
                           "  -t        check the configuration and exit\n"
                           "  -T        print the effective configuration\n"
                           "  -s stop   end the running instance gracefully (found by its pid file)\n"
                           "  -o        override for this run: kind[.name].key=value, e.g. -o server.loops=4\n"
                           "  -q        log errors only\n"
                           "  -v        print the version\n"
                           "  --help-config [SECTION]   all options, or those of one section or handler\n";

void command_line_help(void)
{
	printf("%s%s", usage, help);
}

static bool refuse(const char *format, const char *what)
{
	fputs("mlserve: ", stderr);
	fprintf(stderr, format, what);
	fprintf(stderr, "\n%s", usage);
	return false;
}

static bool set_command(struct command_line *c, enum command command)
{
	if (c->command != COMMAND_SERVE && c->command != command)
		return refuse("%s", "only one of -t, -T, -s, -v, -h and --help-config at a time");
	c->command = command;
	return true;
}

static bool set_signal(struct command_line *c, const char *name)
{
	if (strcmp(name, "stop") == 0)
		return set_command(c, COMMAND_STOP);
	if (strcmp(name, "reload") == 0 || strcmp(name, "reopen") == 0 || strcmp(name, "upgrade") == 0)
		return refuse("-s %s is not part of this version yet; only stop is", name);
	return refuse("-s %s: unknown command; it takes stop", name);
}

static bool add_override(struct command_line *c, const char *text)
{
	const char *equals = strchr(text, '='), *dot = strchr(text, '.');
	if (!equals || !dot || dot > equals)
		return refuse("-o %s: not SECTION.KEY=VALUE", text);
	const char **grown = realloc(c->overrides, (c->override_count + 1) * sizeof *grown);
	if (!grown)
		return refuse("%s", "no memory");
	c->overrides = grown;
	c->overrides[c->override_count++] = text;
	return true;
}

enum { OPTION_REFERENCE = 256, OPTION_SAMPLE };

static const struct option long_options[] = {
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {"help-config", no_argument, NULL, OPTION_REFERENCE},
        {"sample-config", no_argument, NULL, OPTION_SAMPLE}, /* how conf/mlserve.ini is made */
        {0},
};

static bool take(struct command_line *c, int option, const char *argument)
{
	switch (option) {
	case 'c':
		c->config_path = argument;
		return true;
	case 't':
		return set_command(c, COMMAND_TEST);
	case 'T':
		return set_command(c, COMMAND_PRINT);
	case 's':
		return set_signal(c, argument);
	case 'o':
		return add_override(c, argument);
	case 'q':
		c->quiet = true;
		return true;
	case 'v':
		return set_command(c, COMMAND_VERSION);
	case 'h':
		return set_command(c, COMMAND_HELP);
	case OPTION_REFERENCE:
		return set_command(c, COMMAND_REFERENCE);
	case OPTION_SAMPLE:
		return set_command(c, COMMAND_SAMPLE);
	default:
		fputs(usage, stderr); /* getopt has said what is wrong */
		return false;
	}
}

bool command_line_parse(struct command_line *c, int argc, char **argv)
{
	int option;
	*c = (struct command_line){.command = COMMAND_SERVE};
	while ((option = getopt_long(argc, argv, "c:tTs:o:qvh", long_options, NULL)) != -1)
		if (!take(c, option, optarg))
			return false;
	if (optind < argc && c->command == COMMAND_REFERENCE)
		c->section = argv[optind++];
	if (optind < argc)
		return refuse("%s: mlserve takes no such argument", argv[optind]);
	return true;
}

void command_line_fini(struct command_line *c)
{
	free(c->overrides);
	c->overrides = NULL;
	c->override_count = 0;
}
