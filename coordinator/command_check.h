/* command_check.h - `uzk check`: what would go wrong with a configuration, all of it, before anything is
 * proven. */
#ifndef COORDINATOR_COMMAND_CHECK_H
#define COORDINATOR_COMMAND_CHECK_H

/* The command's main function: argv[0] is "uzk check". Returns the exit code. */
int command_check(int argc, char **argv);

#endif
