/* From the command line to what it asks for. */
#include "app/command_line.h"
#include "app/commands.h"
#include "app/shutdown.h"
#include "http/parser.h"

int main(int argc, char **argv)
{
	struct command_line command_line;
	shutdown_block_signals();
	parser_setup();
	bool parsed = command_line_parse(&command_line, argc, argv);
	if (command_line.command != COMMAND_SERVE)
		shutdown_unblock_signals();
	int code = parsed ? commands_run(&command_line) : EXIT_USAGE;
	command_line_fini(&command_line);
	return code;
}
