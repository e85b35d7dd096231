/* run_trace.h - a batch's trace: what the coordinator puts into it, and how it gets to its file.
 *
 * Events go to the buffers of trace.h and from there through the ring, one write at a time. When the file
 * cannot be written any more (a full disk) the trace ends there, which is told, and the batch goes on.
 * Without `trace =` in the configuration every function here does nothing.
 *
 * The coordinator's thread only. From run_trace_begin to run_trace_close nothing is allocated and nothing
 * blocks. Cost: some tens of nanoseconds an event, some 15 events a partition. */
#ifndef COORDINATOR_RUN_TRACE_H
#define COORDINATOR_RUN_TRACE_H

#include "alloc/memory.h"
#include "conf/error.h"
#include "coordinator/core.h"
#include "coordinator/loop.h"
#include "coordinator/trace.h"
#include "coordinator/worker.h"
#include "cuda/device.h"

#include <stdbool.h>
#include <stdint.h>

struct run;

struct run_trace {
    bool on;
    bool writing; /* a write is in flight */
    int file;
    struct trace trace;
    unsigned char *memory;
    uint64_t offset;           /* of the file's end, behind what has been written */
    const unsigned char *data; /* of the write in flight */
    size_t bytes;
    struct memory_probe probe;
    uint64_t tick_ns; /* when the next sample is taken; LOOP_NEVER: never */

    enum trace_span doing; /* TRACE_SPANS: the coordinator waits */
    uint64_t doing_ns;
    enum core_blocked blocked;
    uint64_t blocked_ns;
    uint32_t told_partition; /* whose states at told_ns are in the trace */
    uint64_t told_ns;
};

/* What run_trace_open takes from the arena. */
size_t run_trace_arena_bytes(const struct run *run);

/* Creates the file, which is emptied if it exists. ERROR_INPUT or ERROR_SYSTEM names it. */
enum error_code ERROR_MUST_USE run_trace_open(struct run *run, struct error *error);

/* Devices are known: writes the header. Before the jobs are admitted. */
void run_trace_begin(struct run *run);

/* The batch is over: what is still in the buffers goes to the ring. The writes have
 * ended when nothing of the loop's is in flight. */
void run_trace_end(struct run *run, uint64_t now_ns);
void run_trace_close(struct run *run);

void run_trace_complete(struct run *run, const struct loop_completion *completion);

/* Samples memory and writes what there is, every timeline_ns. */
uint64_t run_trace_tick_ns(const struct run *run);
void run_trace_tick(struct run *run, uint64_t now_ns);

/* `count` partitions from first on are in a state since now_ns, by admission. */
void run_trace_admitted(struct run *run, uint64_t now_ns, uint32_t first, uint32_t count,
                        enum core_state state);

/* The states that a partition entered at now_ns, the time of the core's last step. */
void run_trace_states(struct run *run, uint64_t now_ns, uint32_t partition);

/* After a step: whether queued partitions are held back. */
void run_trace_blocked(struct run *run, uint64_t now_ns);

void run_trace_submit(struct run *run, uint32_t partition, uint32_t lane, uint64_t now_ns);

/* lane: among all lanes. */
void run_trace_proved(struct run *run, uint32_t partition, uint32_t lane,
                      const struct device_completion *completion);

void run_trace_task(struct run *run, enum trace_task kind, uint32_t index, const struct worker_task *task);

/* Work that no thread of ours did, from begin_ns until now: reading, writing, a witness command. */
void run_trace_io(struct run *run, enum trace_task kind, uint32_t partition, uint64_t posted_ns,
                  uint64_t begin_ns);

/* A circuit was loaded, or evicted. */
void run_trace_circuit(struct run *run, uint32_t circuit, bool loaded, uint64_t bytes,
                       const struct worker_task *task);

void run_trace_trimmed(struct run *run, uint32_t thread);

/* What the coordinator does from now on; TRACE_SPANS: it waits. Returns what it did until now. Spans of less
 * than 20 us are left out. */
enum trace_span run_trace_doing(struct run *run, enum trace_span what);

#endif
