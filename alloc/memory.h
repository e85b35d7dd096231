/* memory.h - how much memory there is, and how much of it this process has.
 *
 * Reads /proc. memory_probe_open keeps /proc/self/statm open, so that reading the resident size later neither
 * opens a file nor allocates; the caller owns the probe, and one thread uses it. The other functions may be
 * called from any thread and allocate nothing. Bytes; 0 where the system doesn't tell. */
#ifndef ALLOC_MEMORY_H
#define ALLOC_MEMORY_H

#include "conf/error.h"

#include <stdint.h>

struct memory_probe {
    int statm;
    uint64_t page_bytes;
};

enum error_code memory_probe_open(struct memory_probe *probe, struct error *error) ERROR_MUST_USE;

void memory_probe_close(struct memory_probe *probe);

/* Resident bytes now; a system call of some 10 us on a large process. */
uint64_t memory_probe_rss_bytes(const struct memory_probe *probe);

/* The largest resident size so far, as getrusage says. */
uint64_t memory_peak_rss_bytes(void);

/* What can still be used without swapping: MemAvailable, or less where a cgroup v2 limit of this process
 * leaves less. */
uint64_t memory_available_bytes(void);

#endif
