/* command_verify.h - `uzk verify`: does a proof hold? Exit code 0: valid, 1: not valid, 2: cannot tell. */
#ifndef COORDINATOR_COMMAND_VERIFY_H
#define COORDINATOR_COMMAND_VERIFY_H

/* The command's main function: argv[0] is "uzk verify". Returns the exit code. */
int command_verify(int argc, char **argv);

#endif
