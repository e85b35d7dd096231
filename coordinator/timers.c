#include "coordinator/timers.h"

void timers_set(struct timers *timers, uint32_t id, uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX) {
        timers_clear(timers, id);
        return;
    }
    heap_set(&timers->heap, id, (struct heap_key){.high = deadline_ns, .low = id});
}

void timers_clear(struct timers *timers, uint32_t id)
{
    heap_remove(&timers->heap, id);
}

uint64_t timers_next_ns(const struct timers *timers)
{
    uint32_t id = heap_top(&timers->heap);
    return id == UINT32_MAX ? UINT64_MAX : timers->heap.keys[id].high;
}

bool timers_take(struct timers *timers, uint64_t now_ns, uint32_t *id)
{
    if (timers->heap.count == 0 || timers_next_ns(timers) > now_ns) {
        return false;
    }
    *id = heap_top(&timers->heap);
    heap_remove(&timers->heap, *id);
    return true;
}
