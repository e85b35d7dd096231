/* pool.h - a fixed number of equal buffers ("slabs"), taken once at start.
 *
 * A pool owns one anonymous mapping and hands out its slabs by index. It never grows and never calls the
 * system between pool_open and pool_close, so taking and giving are O(1) and cannot fail half-way: an empty
 * pool says POOL_NONE, and the caller waits for a slab to come back. One thread, the one that opened the
 * pool, takes and gives; the bytes of a slab may be used by any thread that its holder hands them to.
 *
 * Slabs hold witnesses, so the mapping is left out of core dumps. Slabs of 2 MiB and more start on a 2 MiB
 * boundary and ask for huge pages, others of a page and more on a page's, and smaller ones on a 64 byte
 * boundary. Contents are zero at first;
 * afterwards a slab comes back as it was given, and whoever gives one decides whether to wipe it first
 * (pool_wipe). The slab given last is taken first, since its pages are the likeliest to be in the caches, and
 * one whose pages are gone only when no other is in.
 *
 * Slabs that lie idle keep their memory until the owner hands it back: it names periods (pool_age), takes
 * each slab that was idle through a whole one (pool_release_take), advises its pages away in its own way, and
 * returns it (pool_release_done). Such a slab cannot be taken meanwhile, so a pool whose owner releases up to
 * N at once needs N slabs to spare. Pages belong to one slab only if slabs are at least a page; smaller ones
 * are never released. Memory that a device has registered must
 * not be released either: the device would go on with the old pages.
 *
 * Closing a pool with a slab out is a leak in the caller and aborts. */
#ifndef ALLOC_POOL_H
#define ALLOC_POOL_H

#include "conf/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_NONE UINT32_MAX

struct pool {
    unsigned char *mapping; /* as mmap gave it */
    size_t mapping_bytes;
    unsigned char *slabs_base;
    size_t slab_bytes; /* as asked for */
    size_t slab_step;  /* from one slab to the next: slab_bytes rounded up */
    uint32_t *idle;    /* a ring of those given back and not released since, by time */
    uint32_t *clean;   /* a stack of those without memory */
    uint32_t *marks;   /* of each slab: out, in, or being released */
    uint32_t *given;   /* of each slab: the period in which it came back */
    uint32_t slabs;
    uint32_t idle_first, idle_count, clean_count;
    uint32_t out;       /* slabs taken and not yet given back */
    uint32_t out_max;   /* the most that were out at once */
    uint32_t releasing; /* taken by pool_release_take */
    uint32_t period;
};

/* Maps slabs x slab_bytes, both at least 1. ERROR_SYSTEM names the sizes where the system refuses or they
 * overflow. */
enum error_code pool_open(struct pool *pool, uint32_t slabs, size_t slab_bytes,
                          struct error *error) ERROR_MUST_USE;

/* Every slab must be in. */
void pool_close(struct pool *pool);

/* The index of a slab that now belongs to the caller; POOL_NONE if all are out. */
uint32_t pool_take(struct pool *pool);

/* Gives a slab back; one that isn't out aborts. */
void pool_give(struct pool *pool, uint32_t index);

/* The slab's first byte; it must be out. */
unsigned char *pool_slab(const struct pool *pool, uint32_t index);

/* Overwrites the first `bytes` bytes of a slab that is out with zeros, in a way the compiler keeps. */
void pool_wipe(const struct pool *pool, uint32_t index, size_t bytes);

/* A period ends and another begins. */
void pool_age(struct pool *pool);

/* A slab that came back before the last period began and was not taken since; with any_age, one that is in.
 * Its bytes are lost from here on. POOL_NONE if there is none whose memory is its own. O(1). */
uint32_t pool_release_take(struct pool *pool, bool any_age);

/* The whole pages of a slab that is being released. */
unsigned char *pool_release_pages(const struct pool *pool, uint32_t index, size_t *bytes);

/* The slab is in again. */
void pool_release_done(struct pool *pool, uint32_t index);

/* What pool_open(slabs, slab_bytes) maps, for the memory budget; SIZE_MAX if that overflows. */
size_t pool_bytes_for(uint32_t slabs, size_t slab_bytes);

#endif
