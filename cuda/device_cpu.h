/* device_cpu.h - the processor as a device: its lanes' proofs run on a worker team.
 *
 * A submission is posted to the team, and the oldest is proven first. A proof that is alone has all workers;
 * as many proofs as the team runs at once have a worker each. Stage times come from the prover's own stages;
 * the copies to and from the device take no time here.
 *
 * Share or one each? The team's mains_max says how many proofs run at once. Measured with two workers on two
 * cores of a busy machine, processor time a proof: sha256-512 (62,000 wires) 362 ms with both workers on one
 * proof at a time, 362 ms with one proof each; semaphore-20 (6,500 wires) 253 ms and 201 ms. So sharing is
 * free for large circuits and costs up to a quarter for small ones, whose regions end before they pay for the
 * help. It halves the time from a proof's begin to its end, and one scratch does instead of two. mains_max =
 * workers is the choice for throughput, and still shares by itself when there are fewer proofs than workers;
 * 1 is the choice for latency or memory.
 *
 * Each worker that runs proofs owns one scratch, mapped when it is first needed, grown to the largest circuit
 * seen and kept until device_close: what a proof leaves in it is as secret as its witness, so it stays out of
 * core dumps and is wiped before it is given back. If the system refuses the memory, the proof fails with
 * ERROR_DEVICE, and another device or a later attempt may do it; nothing aborts. Circuits need no attaching:
 * workers read them where they are.
 *
 * The team is the caller's, outlives the device and serves no other one: lane i uses slot i. */
#ifndef CUDA_DEVICE_CPU_H
#define CUDA_DEVICE_CPU_H

#include "cuda/device.h"
#include "cuda/team.h"

#include <stdalign.h>
#include <stdatomic.h>

struct device_cpu_lane { /* idle or done: the coordinator's; busy: the worker's */
    alignas(64) _Atomic uint32_t state;
    struct device_cpu *device;
    struct device_work work;
    struct device_completion completion;
};

struct device_cpu_scratch {
    alignas(64) void *memory;
    size_t bytes;
};

struct device_cpu {
    struct device device; /* first */
    struct team *team;
    uint64_t submitted; /* works given to the team and not taken back */
    struct device_cpu_lane lanes[DEVICE_LANES_MAX];
    struct device_cpu_scratch scratch[TEAM_WORKERS_MAX]; /* by worker */
    alignas(64) _Atomic uint64_t left;                   /* works that no worker touches any more */
};

/* lanes: 1 to DEVICE_LANES_MAX, and not more than the team has slots. device_close(&cpu->device) ends it.
 * ERROR_SYSTEM if there is no file descriptor left. */
enum error_code device_cpu_open(struct device_cpu *cpu, struct team *team, unsigned lanes,
                                struct error *error) ERROR_MUST_USE;

/* The most scratch that a device over this team maps for proofs of this circuit; SIZE_MAX if that overflows.
 */
size_t device_cpu_scratch_bytes(const struct circuit *circuit, const struct team *team);

#endif
