/* pressure.h - the system's word that memory is short.
 *
 * Opens a trigger of pressure stall information: a file descriptor that becomes readable with priority
 * (POLLPRI) when tasks on this machine have waited for memory for 100 ms within 2 s, at most once in each
 * such window. Who opens it polls it (the ring does) and closes it; nothing is ever read from it.
 *
 * Two seconds is the shortest window that the kernel grants without CAP_SYS_RESOURCE.
 *
 * Source: the kernel's Documentation/accounting/psi.rst. */
#ifndef COORDINATOR_PRESSURE_H
#define COORDINATOR_PRESSURE_H

#include "conf/error.h"

#define PRESSURE_PATH "/proc/pressure/memory"

/* path: PRESSURE_PATH, or a cgroup's memory.pressure. ERROR_SYSTEM says why there is no such trigger here and
 * what to change. */
enum error_code ERROR_MUST_USE pressure_open(int *file, const char *path, struct error *error);

#endif
