/* heap.h - a binary heap over small numbered things, whose keys can change: the one priority queue of the
 * core.
 *
 * Holds ids below a fixed capacity, each at most once, the smallest key on top; equal keys cannot be told
 * apart, so callers put the id or a sequence number into the key. The caller gives the memory; one thread
 * owns a heap. Cost: set and remove O(log n), top and contains O(1). */
#ifndef COORDINATOR_HEAP_H
#define COORDINATOR_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_key { /* compared as one 128-bit number */
    uint64_t high, low;
};

struct heap {
    struct heap_key *keys; /* by id */
    uint32_t *places;      /* by id: place in items plus 1; 0: not in the heap */
    uint32_t *items;       /* ids in heap order */
    uint32_t capacity;
    uint32_t count;
};

/* Bytes that heap_init takes for ids below capacity; a multiple of 8. */
size_t heap_bytes(uint32_t capacity);

/* memory: heap_bytes(capacity), 8-byte aligned, zeroed. */
void heap_init(struct heap *heap, void *memory, uint32_t capacity);

bool heap_key_less(const struct heap_key *a, const struct heap_key *b);

/* Puts id in with this key, or moves it to where the key belongs. */
void heap_set(struct heap *heap, uint32_t id, struct heap_key key);

/* Takes id out; nothing happens if it isn't in. */
void heap_remove(struct heap *heap, uint32_t id);

bool heap_contains(const struct heap *heap, uint32_t id);

/* The id with the smallest key; UINT32_MAX if the heap is empty. */
uint32_t heap_top(const struct heap *heap);

/* Whether every id's place, and the heap order, are right; O(n), for tests. */
bool heap_valid(const struct heap *heap);

#endif
