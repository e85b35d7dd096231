/* spsc.h - a ring of fixed-size records from one thread to another.
 *
 * Exactly one thread pushes and exactly one pops; which two is the caller's business and may change only
 * where the caller itself orders the old thread before the new one. Neither call blocks, allocates or calls
 * the system: a full ring refuses a push, an empty one refuses a pop, and waking the other side is the
 * caller's part (an eventfd, a futex). What the pusher wrote before spsc_push, anywhere in memory, is visible
 * to the popper after it has popped that record.
 *
 * The caller gives the memory: capacity (a power of two) x record_bytes, any alignment. Records are copied in
 * and out. O(1); in the common case each side touches only its own cache line and the record, since it looks
 * at the other side's counter only when the copy it remembers says full or empty. */
#ifndef CUDA_SPSC_H
#define CUDA_SPSC_H

#include "conf/check.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Counters run on and never wrap in practice (2^64 records); the place of a record is its number modulo
 * capacity. */
struct spsc {
    alignas(64) _Atomic uint64_t pushed; /* written by the pusher */
    uint64_t popped_seen;                /* the pusher's copy of popped */
    alignas(64) _Atomic uint64_t popped; /* written by the popper */
    uint64_t pushed_seen;                /* the popper's copy of pushed */
    alignas(64) unsigned char *records;
    size_t record_bytes;
    uint64_t capacity;
};

static inline void spsc_init(struct spsc *spsc, void *memory, uint64_t capacity, size_t record_bytes)
{
    CHECK(capacity > 0 && (capacity & (capacity - 1)) == 0);
    CHECK(record_bytes > 0 && capacity <= SIZE_MAX / record_bytes);
    memset(spsc, 0, sizeof *spsc);
    spsc->records = memory;
    spsc->record_bytes = record_bytes;
    spsc->capacity = capacity;
}

static inline unsigned char *spsc_place(const struct spsc *spsc, uint64_t number)
{
    return spsc->records + (size_t)(number & (spsc->capacity - 1)) * spsc->record_bytes;
}

/* Copies one record in; false, and nothing happens, if the ring is full. The pushing thread only. */
static inline bool spsc_push(struct spsc *spsc, const void *record)
{
    uint64_t number = atomic_load_explicit(&spsc->pushed, memory_order_relaxed);
    if (number - spsc->popped_seen == spsc->capacity) {
        spsc->popped_seen = atomic_load_explicit(&spsc->popped, memory_order_acquire);
        if (number - spsc->popped_seen == spsc->capacity) {
            return false;
        }
    }
    memcpy(spsc_place(spsc, number), record, spsc->record_bytes);
    atomic_store_explicit(&spsc->pushed, number + 1, memory_order_release);
    return true;
}

/* Copies the oldest record out; false, and nothing happens, if the ring is empty. The popping thread only. */
static inline bool spsc_pop(struct spsc *spsc, void *record)
{
    uint64_t number = atomic_load_explicit(&spsc->popped, memory_order_relaxed);
    if (number == spsc->pushed_seen) {
        spsc->pushed_seen = atomic_load_explicit(&spsc->pushed, memory_order_acquire);
        if (number == spsc->pushed_seen) {
            return false;
        }
    }
    memcpy(record, spsc_place(spsc, number), spsc->record_bytes);
    atomic_store_explicit(&spsc->popped, number + 1, memory_order_release);
    return true;
}

/* Records in the ring at some moment during the call; exact when the other side stands still. Either thread.
 */
static inline uint64_t spsc_count(const struct spsc *spsc)
{
    uint64_t popped = atomic_load_explicit(&spsc->popped, memory_order_acquire);
    uint64_t pushed = atomic_load_explicit(&spsc->pushed, memory_order_acquire);
    return pushed - popped;
}

#endif
