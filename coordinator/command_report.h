/* command_report.h - `uzk report`: a traced run as a page with pictures, and for Perfetto. */
#ifndef COORDINATOR_COMMAND_REPORT_H
#define COORDINATOR_COMMAND_REPORT_H

int command_report(int argc, char **argv);

#endif
