/* locked.h - the pipeline that uzk replaces, as the baseline to compare with (DESIGN section 1).
 *
 * Threads and a shared tracker behind one fair mutex. Synthesis threads take partitions in order, as many as
 * may be in flight, read and check their witnesses into buffers from malloc, and put them into a queue. Each
 * GPU worker thread takes one from there, takes the tracker's mutex to say that it is being proven, gives it
 * to its lane of the device and waits; then it takes the mutex again to say that it was. Finalizer threads
 * assemble the proof and write it, take the mutex to record it, free the partition's buffers and, with
 * LOCKED_TRIM_INSIDE, hand free memory back to the system before they let go: that is the fault. Whoever
 * wants the mutex meanwhile waits for that trim and, since the mutex is fair, for everybody who came before.
 *
 * Devices, circuits, synthesis and finalization are uzk's own code, the configuration is that of `uzk run`,
 * and the trace has uzk's format, so that what differs is the shape. locked_run blocks until all is done. It
 * is for one call at a time. */
#ifndef BENCH_LOCKED_H
#define BENCH_LOCKED_H

#include "conf/config.h"
#include "conf/error.h"

#include <stdint.h>

enum locked_trim {
    LOCKED_TRIM_OFF,
    LOCKED_TRIM_OUTSIDE, /* by the finalizer, once it has let the mutex go */
    LOCKED_TRIM_INSIDE
};

enum { LOCKED_IN_FLIGHT_MAX = 128, LOCKED_WORKERS_MAX = 16, LOCKED_SYNTHESIZERS_MAX = 32 };

struct locked_settings {
    const struct config *config; /* its trim, buffers and lanes settings don't apply */
    const char *trace;           /* file to write */
    uint32_t partitions;         /* 0: one for each input; otherwise inputs are taken in turn */
    unsigned in_flight;          /* from synthesis to the recorded proof */
    unsigned workers;            /* GPU worker threads a device, each with a lane of its own */
    unsigned synthesizers;
    unsigned finalizers;
    enum locked_trim trim;
    void (*trim_function)(void);
    const char *allocator; /* for the trace's header */
    uint64_t hold_ns;      /* a finalizer holds the mutex so much longer, whatever it does */
    uint64_t handover_ns;  /* a worker begins so long after it was given something */
};

struct locked_result {
    uint32_t done, failed;
    uint64_t wall_ns;
    struct error first_failure; /* of a partition, if failed is not 0 */
};

/* ERROR_NONE: it ran to its end, and the trace is written. */
enum error_code ERROR_MUST_USE locked_run(const struct locked_settings *settings,
                                          struct locked_result *result, struct error *error);

#endif
