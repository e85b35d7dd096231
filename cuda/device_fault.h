/* device_fault.h - a device that wraps another and lets it down, repeatably.
 *
 * For tests and drills: whatever can go wrong with a device goes wrong here on purpose, by chance or at a
 * chosen submission, and equal seeds and equal orders of submission give equal faults. The wrapper has the
 * inner device's kind and lanes; its doorbell is an epoll file descriptor, which is polled like any other. It
 * takes the inner device over: device_close(&fault->device) closes both. Threads as in device.h. Costs a few
 * system calls more than the inner device. */
#ifndef CUDA_DEVICE_FAULT_H
#define CUDA_DEVICE_FAULT_H

#include "cuda/device.h"

#include <stdatomic.h>

enum device_fault_kind {
    DEVICE_FAULT_FAIL,       /* the completion says ERROR_DEVICE, and its sums are rubbish */
    DEVICE_FAULT_DELAY,      /* the completion comes delay_ns later */
    DEVICE_FAULT_SILENCE,    /* the completion never comes; the lane stays busy for good */
    DEVICE_FAULT_STICKY,     /* this completion and all later ones fail and say that the device is lost */
    DEVICE_FAULT_CORRUPT,    /* the completion says success, but a point of its sums is another one */
    DEVICE_FAULT_LOSE_RING,  /* the inner doorbell isn't heard until the next submission or poll */
    DEVICE_FAULT_RING_TWICE, /* the doorbell rings again after the poll that took the completion */
    DEVICE_FAULT_ATTACH,     /* attaching a circuit fails; counts attaches instead of submissions */
    DEVICE_FAULTS
};

struct device_fault_rule {
    uint32_t permille; /* chance of each submission */
    uint64_t nth;      /* and this one for sure, counted from 1; 0: none */
};

struct device_fault_settings { /* all zero: no faults */
    uint64_t seed;
    uint64_t delay_ns;
    struct device_fault_rule rules[DEVICE_FAULTS];
};

struct device_fault_lane {
    bool busy, silent;
    bool held;       /* the completion is here, to be delivered from due_ns on */
    uint64_t number; /* of the submission */
    uint64_t due_ns;
    struct prove_sums *sums;
    struct device_completion completion;
};

struct device_fault {
    struct device device; /* first */
    struct device *inner;
    struct device_fault_settings settings;
    int timer;
    bool deaf; /* the inner doorbell isn't in the epoll set */
    bool lost; /* a sticky fault has struck */
    uint64_t submissions;
    uint64_t struck[DEVICE_FAULTS - 1]; /* faults so far, by kind; all but attaches */
    _Atomic uint64_t attaches;
    struct device_fault_lane lanes[DEVICE_LANES_MAX];
};

/* Takes over an open and idle device. On ERROR_SYSTEM (no file descriptor left) the inner device is still the
 * caller's. */
enum error_code device_fault_open(struct device_fault *fault, struct device *inner,
                                  const struct device_fault_settings *settings,
                                  struct error *error) ERROR_MUST_USE;

/* Whether a fault of this kind strikes submission (or attach) number. Pure. */
bool device_fault_strikes(const struct device_fault_settings *settings, enum device_fault_kind kind,
                          uint64_t number);

#endif
