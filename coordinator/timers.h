/* timers.h - absolute deadlines of numbered things (jobs, lanes, slots), the next one always at hand.
 *
 * A timer is an id with a deadline in nanoseconds; setting it again moves it, CORE_NEVER clears it. Equal
 * deadlines come in the order of their ids. Nothing here reads a clock. One thread owns the timers. Cost: as
 * heap.h. */
#ifndef COORDINATOR_TIMERS_H
#define COORDINATOR_TIMERS_H

#include "coordinator/heap.h"

struct timers {
    struct heap heap;
};

/* deadline_ns UINT64_MAX (CORE_NEVER): as timers_clear. */
void timers_set(struct timers *timers, uint32_t id, uint64_t deadline_ns);
void timers_clear(struct timers *timers, uint32_t id);

/* The earliest deadline; UINT64_MAX if no timer is set. */
uint64_t timers_next_ns(const struct timers *timers);

/* Takes the earliest timer that is due at now_ns, and clears it; false if none is. */
bool timers_take(struct timers *timers, uint64_t now_ns, uint32_t *id);

#endif
