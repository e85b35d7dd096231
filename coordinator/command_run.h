/* command_run.h - `uzk run`: the batch that a configuration file describes. */
#ifndef COORDINATOR_COMMAND_RUN_H
#define COORDINATOR_COMMAND_RUN_H

/* The command's main function: argv[0] is "uzk run". Returns the exit code. */
int command_run(int argc, char **argv);

#endif
