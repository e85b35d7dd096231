/* command_devices.h - `uzk devices`: what this machine can prove with. */
#ifndef COORDINATOR_COMMAND_DEVICES_H
#define COORDINATOR_COMMAND_DEVICES_H

/* The command's main function: argv[0] is "uzk devices". Returns the exit code. */
int command_devices(int argc, char **argv);

#endif
