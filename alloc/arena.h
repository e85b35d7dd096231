/* arena.h - all the memory the coordinator will ever use, taken once at start.
 *
 * An arena owns one anonymous mapping. Start-up code carves objects out of it; arena_freeze then forbids
 * further carving, and from that moment on the coordinator's thread allocates nothing (a test counts). Pages
 * are touched on first use, so a generous size costs address space only. One thread uses an arena: the one
 * that opened it. Memory comes zeroed and is given back as a whole by arena_close. */
#ifndef ALLOC_ARENA_H
#define ALLOC_ARENA_H

#include "conf/error.h"

#include <stdbool.h>
#include <stddef.h>

struct arena {
    unsigned char *base;
    size_t bytes;
    size_t used;
    bool frozen;
};

/* Maps bytes (rounded up to pages). ERROR_SYSTEM names the size where the system refuses. */
enum error_code arena_open(struct arena *arena, size_t bytes, struct error *error) ERROR_MUST_USE;

void arena_close(struct arena *arena);

/* Carves count objects of size bytes each, aligned to 64 bytes and zeroed; O(1). The caller has sized the
 * arena with arena_bytes_for, so running out is a bug and aborts, as does carving from a frozen arena. */
void *arena_take(struct arena *arena, size_t count, size_t size);

/* What arena_take(count, size) uses, alignment included; SIZE_MAX if that overflows. */
size_t arena_bytes_for(size_t count, size_t size);

void arena_freeze(struct arena *arena);

#endif
