/* device_cuda.h - an NVIDIA GPU as a device: streams, events and memory of the CUDA runtime around gpu.h.
 *
 * A device has one copy stream, on which the witnesses of all its lanes go in one after the other, and a
 * stream for each lane, on which evaluation, NTTs, MSMs and the way back run. Submitting enqueues all of it
 * and returns: a host function copies the witness into a pinned slab (and wipes that as soon as the device
 * has it), an event is recorded at the edge of each stage, and a last host function rings the doorbell.
 * Whether a work is done is what its last event says when device_poll asks; the doorbell is a timer that also
 * rings by itself now and then while something is in flight, so that a lost host function costs a moment
 * only.
 *
 * Memory is taken once. device_cuda_open carves one block a lane, large enough for the largest of the
 * circuits named to it that fits the device with all lanes, and pins what copies need; device_attach takes
 * one block for a circuit's points and uploads them through a pinned slab of its own, while proofs run. A
 * circuit that doesn't fit is refused (ERROR_DEVICE) with what it needs and what is free. Nothing is
 * allocated and nothing waits for the device between submit and poll. What held parts of a witness, on the
 * device and pinned, is wiped before it is given back.
 *
 * Errors. A call that CUDA refuses fails its work once what was enqueued before it has run. An error that
 * comes from the device itself stays with it for the life of the process (CUDA calls such errors sticky): all
 * works in flight fail with completion.sticky set and so does whatever is submitted afterwards. Reasons name
 * CUDA's code.
 *
 * Times are events of the device turned into CLOCK_MONOTONIC: from the newest finished work's begin on, and
 * never earlier than the submission or later than the doorbell, so that the clocks' drift does not add up.
 *
 * Threads as in device.h; device_attach and device_detach on one thread at a time. A build without CUDA has
 * these functions, too (device_cuda_absent.c), and they say so. Not run on a GPU yet: tests run it over a
 * stand-in for the CUDA runtime (tests/gpu). */
#ifndef CUDA_DEVICE_CUDA_H
#define CUDA_DEVICE_CUDA_H

#include "cuda/device.h"

#include <stddef.h>
#include <stdint.h>

struct device_cuda_state;

struct device_cuda {
    struct device device;            /* first */
    struct device_cuda_state *state; /* outlives the device if it was abandoned while something hung on it */
};

struct device_cuda_settings {
    unsigned index;                        /* as CUDA numbers the devices: N of cuda:N */
    unsigned lanes;                        /* 1 to DEVICE_LANES_MAX */
    const struct circuit *const *circuits; /* all that may be attached: key and ntt.log2 are looked at */
    size_t circuits_count;
    uint64_t close_limit_ns; /* how long device_close waits for work in flight; 0: 10 s */
};

struct device_cuda_info {
    char name[256];
    int major, minor; /* compute capability */
    unsigned processors;
    uint64_t memory_bytes, free_bytes;
};

/* How many GPUs there are. If none, *why says what CUDA says to that. */
unsigned device_cuda_count(struct error *why);

/* Makes a context on the device (some hundred ms the first time). ERROR_DEVICE. */
enum error_code device_cuda_info(struct device_cuda_info *info, unsigned index,
                                 struct error *error) ERROR_MUST_USE;

/* Memory of the device that a circuit takes: its points, and with that one proof on each of so many lanes. */
uint64_t device_cuda_bytes(const struct circuit *circuit, unsigned lanes);

/* ERROR_INPUT if there is no such device, ERROR_DEVICE if CUDA refuses it, ERROR_SYSTEM without memory or
 * file descriptors. The circuits are only looked at. */
enum error_code device_cuda_open(struct device_cuda *cuda, const struct device_cuda_settings *settings,
                                 struct error *error) ERROR_MUST_USE;

#endif
