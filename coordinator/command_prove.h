/* command_prove.h - `uzk prove`: one proof of one witness, as fast as this machine can from a cold start. */
#ifndef COORDINATOR_COMMAND_PROVE_H
#define COORDINATOR_COMMAND_PROVE_H

/* The command's main function: argv[0] is "uzk prove". Returns the exit code. */
int command_prove(int argc, char **argv);

#endif
