/* trim.h - one trim, carried out and measured.
 *
 * trim_run calls what the allocator in place has for handing free memory back (alloc/allocator.h) and reads
 * the process's resident size before and after. It is a task for the crew's trimming thread, or, with the
 * policy inline, a call on the coordinator's. While it runs the struct is its thread's, otherwise the
 * coordinator's. It may take seconds and holds the allocator's locks meanwhile. */
#ifndef COORDINATOR_TRIM_H
#define COORDINATOR_TRIM_H

#include "alloc/allocator.h"
#include "alloc/memory.h"
#include "conf/config.h"
#include "coordinator/trim_policy.h"

#include <stdint.h>

struct trim {
    const struct allocator
        *allocator;    /* NULL: one that uzk doesn't know, so that only slabs are handed back */
    char library[256]; /* that malloc is in */
    struct memory_probe probe;
    uint32_t generation; /* of the core's request */
    uint64_t begin_ns, end_ns;
    uint64_t rss_before_bytes, rss_after_bytes;
};

/* ERROR_SYSTEM: the resident size cannot be read. */
enum error_code ERROR_MUST_USE trim_open(struct trim *trim, struct error *error);
void trim_close(struct trim *trim);

/* Task: argument is the struct trim. */
void trim_run(void *trim);

/* What the last trim handed back, as far as the resident size tells: others allocate and free meanwhile. */
uint64_t trim_bytes(const struct trim *trim);

/* Of the allocator in place, or of its library. */
const char *trim_allocator_name(const struct trim *trim);

/* The core's settings for a configuration. */
struct trim_policy_settings trim_settings(const struct config *config);

#endif
