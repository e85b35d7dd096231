/* device.h - what can compute proofs, as one table of functions.
 *
 * A device has lanes. A lane computes one proof at a time: the witness goes in (H2D), constraint evaluation,
 * NTTs and MSMs run, five curve points come out (D2H). The coordinator submits work to an idle lane and finds
 * completions by polling; no call in between blocks, allocates or waits for the device.
 *
 * Threads: device_submit and device_poll belong to one thread, the coordinator. device_attach and
 * device_detach may block and allocate; a worker thread calls them, never for a circuit that has work in
 * flight. Inputs of a submitted work (circuit, witness) are immutable and stay in place until its completion
 * has been polled; `sums` is written by the device before the completion becomes visible.
 *
 * The doorbell is a file descriptor that becomes readable when a completion may be waiting. It is a hint: it
 * may ring twice or for nothing, and a faulty device may not ring at all; device_poll tells the truth.
 * device_poll also makes the doorbell unreadable again, before it looks, so that nothing is missed.
 *
 * Times are CLOCK_MONOTONIC nanoseconds. Cost of submit and poll: O(lanes) memory accesses and at most one
 * system call. */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H

#include "conf/error.h"
#include "groth16/circuit.h"
#include "groth16/prove.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum device_kind { DEVICE_CPU, DEVICE_CUDA, DEVICE_SIM };
enum device_stage {
    DEVICE_STAGE_H2D,
    DEVICE_STAGE_EVALUATE,
    DEVICE_STAGE_NTT,
    DEVICE_STAGE_MSM,
    DEVICE_STAGE_D2H,
    DEVICE_STAGES
};

enum { DEVICE_LANES_MAX = 64, DEVICE_NAME_BYTES = 64, DEVICE_REASON_BYTES = 96 };

struct device_work {
    const struct circuit *circuit; /* attached; NULL for a simulated device, which computes nothing */
    const uint8_t *witness;        /* wires x 32 bytes, little-endian, canonical, value 0 is 1 */
    struct prove_sums *sums;       /* result; untouched by a simulated device */
    uint64_t token;                /* comes back in the completion */
};

struct device_completion {
    uint64_t token;
    unsigned lane;
    enum error_code code; /* ERROR_NONE or ERROR_DEVICE */
    bool sticky;          /* the whole device is unusable from now on */
    uint64_t begin_ns;    /* when the device began with this work */
    uint64_t stage_end_ns[DEVICE_STAGES];
    char reason[DEVICE_REASON_BYTES]; /* one clause, if code is not ERROR_NONE */
};

struct device;

struct device_operations {
    enum error_code (*attach)(struct device *device, const struct circuit *circuit, struct error *error);
    void (*detach)(struct device *device, const struct circuit *circuit);
    void (*submit)(struct device *device, unsigned lane, const struct device_work *work);
    unsigned (*poll)(struct device *device, struct device_completion *completions, unsigned max);
    void (*close)(struct device *device);
};

/* The first member of every kind of device. Read-only for everybody else once open. */
struct device {
    const struct device_operations *operations;
    enum device_kind kind;
    unsigned lanes;
    int doorbell;                 /* poll it for input; owned by the device */
    char name[DEVICE_NAME_BYTES]; /* "cpu", "cuda:0", "sim" */
};

/* Makes a circuit's points available to the device's lanes. ERROR_DEVICE or ERROR_SYSTEM if there is no room;
 * detaching the circuit does nothing then. */
static inline enum error_code ERROR_MUST_USE device_attach(struct device *device,
                                                           const struct circuit *circuit, struct error *error)
{
    return device->operations->attach(device, circuit, error);
}

static inline void device_detach(struct device *device, const struct circuit *circuit)
{
    device->operations->detach(device, circuit);
}

/* Starts work on an idle lane; submitting to a busy lane is a bug and aborts. */
static inline void device_submit(struct device *device, unsigned lane, const struct device_work *work)
{
    device->operations->submit(device, lane, work);
}

/* Copies up to max finished works to completions and returns how many; their lanes are idle again. If it
 * returns max, more may be waiting without another ring: poll again. With max >= lanes one call is enough. */
static inline unsigned device_poll(struct device *device, struct device_completion *completions, unsigned max)
{
    return device->operations->poll(device, completions, max);
}

/* The clock of all times here. */
static inline uint64_t device_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Stops the device's threads (work in flight is finished or abandoned first) and frees all it holds. */
static inline void device_close(struct device *device)
{
    device->operations->close(device);
}

#endif
