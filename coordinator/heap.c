#include "coordinator/heap.h"

#include "conf/check.h"

size_t heap_bytes(uint32_t capacity)
{
    size_t bytes = (size_t)capacity *
                   (sizeof(struct heap_key) + sizeof(uint32_t) /* place */ + sizeof(uint32_t) /* item */);
    return (bytes + 7) & ~(size_t)7;
}

void heap_init(struct heap *heap, void *memory, uint32_t capacity)
{
    CHECK((uintptr_t)memory % sizeof(uint64_t) == 0);
    heap->keys = memory;
    heap->places = (uint32_t *)(void *)(heap->keys + capacity);
    heap->items = heap->places + capacity;
    heap->capacity = capacity;
    heap->count = 0;
}

bool heap_key_less(const struct heap_key *a, const struct heap_key *b)
{
    return a->high < b->high || (a->high == b->high && a->low < b->low);
}

static void put(struct heap *heap, uint32_t place, uint32_t id)
{
    heap->items[place] = id;
    heap->places[id] = place + 1;
}

static void sift_up(struct heap *heap, uint32_t place, uint32_t id)
{
    while (place > 0) {
        uint32_t parent = (place - 1) / 2;
        if (!heap_key_less(&heap->keys[id], &heap->keys[heap->items[parent]])) {
            break;
        }
        put(heap, place, heap->items[parent]);
        place = parent;
    }
    put(heap, place, id);
}

static void sift_down(struct heap *heap, uint32_t place, uint32_t id)
{
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= heap->count) {
            break;
        }
        if (child + 1 < heap->count &&
            heap_key_less(&heap->keys[heap->items[child + 1]], &heap->keys[heap->items[child]])) {
            child++;
        }
        if (!heap_key_less(&heap->keys[heap->items[child]], &heap->keys[id])) {
            break;
        }
        put(heap, place, heap->items[child]);
        place = child;
    }
    put(heap, place, id);
}

/* id's key has changed, or id has just been put at this place. */
static void settle(struct heap *heap, uint32_t place, uint32_t id)
{
    sift_up(heap, place, id);
    sift_down(heap, heap->places[id] - 1, id);
}

void heap_set(struct heap *heap, uint32_t id, struct heap_key key)
{
    CHECK(id < heap->capacity);
    heap->keys[id].high = key.high;
    heap->keys[id].low = key.low;
    if (heap->places[id] == 0) {
        CHECK(heap->count < heap->capacity);
        sift_up(heap, heap->count++, id);
    } else {
        settle(heap, heap->places[id] - 1, id);
    }
}

void heap_remove(struct heap *heap, uint32_t id)
{
    CHECK(id < heap->capacity);
    if (heap->places[id] == 0) {
        return;
    }
    uint32_t place = heap->places[id] - 1;
    uint32_t last = heap->items[--heap->count];
    heap->places[id] = 0;
    heap->items[heap->count] = 0;
    if (last != id) {
        settle(heap, place, last);
    }
}

bool heap_contains(const struct heap *heap, uint32_t id)
{
    CHECK(id < heap->capacity);
    return heap->places[id] != 0;
}

uint32_t heap_top(const struct heap *heap)
{
    return heap->count > 0 ? heap->items[0] : UINT32_MAX;
}

bool heap_valid(const struct heap *heap)
{
    uint32_t inside = 0;
    for (uint32_t id = 0; id < heap->capacity; id++) {
        if (heap->places[id] != 0) {
            inside++;
            if (heap->places[id] > heap->count || heap->items[heap->places[id] - 1] != id) {
                return false;
            }
        }
    }
    for (uint32_t place = 1; place < heap->count; place++) {
        if (heap_key_less(&heap->keys[heap->items[place]], &heap->keys[heap->items[(place - 1) / 2]])) {
            return false;
        }
    }
    return inside == heap->count;
}
