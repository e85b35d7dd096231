#include "alloc/arena.h"

#include "conf/check.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { ARENA_ALIGN = 64 };

size_t arena_bytes_for(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)ARENA_ALIGN - 1, &bytes)) {
        return SIZE_MAX;
    }
    return bytes & ~(size_t)(ARENA_ALIGN - 1);
}

enum error_code arena_open(struct arena *arena, size_t bytes, struct error *error)
{
    CHECK(bytes > 0);
    memset(arena, 0, sizeof *arena);
    void *base =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        return error_set_errno(error, errno, "cannot map %zu bytes for the coordinator's state", bytes);
    }
    arena->base = base;
    arena->bytes = bytes;
    return ERROR_NONE;
}

void arena_close(struct arena *arena)
{
    if (arena->base != NULL) {
        CHECK(munmap(arena->base, arena->bytes) == 0);
    }
    memset(arena, 0, sizeof *arena);
}

void *arena_take(struct arena *arena, size_t count, size_t size)
{
    CHECK(!arena->frozen);
    size_t bytes = arena_bytes_for(count, size);
    CHECK(bytes <= arena->bytes - arena->used);
    void *object = arena->base + arena->used;
    arena->used += bytes;
    return object;
}

void arena_freeze(struct arena *arena)
{
    CHECK(!arena->frozen);
    arena->frozen = true;
}
