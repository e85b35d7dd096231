/* command_explain.h - `uzk explain`: why the devices of a traced run were idle. */
#ifndef COORDINATOR_COMMAND_EXPLAIN_H
#define COORDINATOR_COMMAND_EXPLAIN_H

int command_explain(int argc, char **argv);

#endif
