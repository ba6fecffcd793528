/* What the command line asks for: serving, checking, printing. Control thread. */
#ifndef APP_COMMANDS_H
#define APP_COMMANDS_H

#include "app/command_line.h"

/* Returns the exit code. */
int commands_run(const struct command_line *);

#endif
