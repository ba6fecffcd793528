/* The command line of mlserve. */
#ifndef APP_COMMAND_LINE_H
#define APP_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

enum { EXIT_DONE = 0, EXIT_FAULT = 1, EXIT_USAGE = 2, EXIT_REFUSED = 3 };

/* Read when -c names no other; it may be missing. */
#define DEFAULT_CONFIG_PATH MLSERVE_SYSCONFDIR "/mlserve/mlserve.ini"

enum command {
	COMMAND_SERVE,
	COMMAND_TEST,
	COMMAND_PRINT,
	COMMAND_STOP,
	COMMAND_VERSION,
	COMMAND_HELP,
	COMMAND_REFERENCE,
	COMMAND_SAMPLE
};

struct command_line {
	enum command command;
	const char *config_path; /* NULL: the default path, or the built-in configuration when that does not exist */
	const char *section;     /* of --help-config, or NULL */
	const char **overrides;  /* owned; the texts are argv's */
	size_t override_count;
	bool quiet;
};

/* false: usage was printed to stderr; exit with EXIT_USAGE. */
bool command_line_parse(struct command_line *, int argc, char **argv);
void command_line_fini(struct command_line *);
void command_line_help(void);

#endif
