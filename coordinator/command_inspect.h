/* command_inspect.h - `uzk inspect`: what a file holds, recognised by its content. */
#ifndef COORDINATOR_COMMAND_INSPECT_H
#define COORDINATOR_COMMAND_INSPECT_H

/* The command's main function: argv[0] is "uzk inspect". Returns the exit code. */
int command_inspect(int argc, char **argv);

#endif
