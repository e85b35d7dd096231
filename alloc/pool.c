#include "alloc/pool.h"

#include "conf/check.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { POOL_ALIGN = 64, POOL_IN = 0, POOL_OUT = 1 };
static const size_t pool_huge_page = (size_t)2 << 20;

static size_t pool_align_for(size_t slab_bytes)
{
    return slab_bytes >= pool_huge_page ? pool_huge_page : (size_t)POOL_ALIGN;
}

/* Rounds up to a power of two; SIZE_MAX if that overflows. */
static size_t pool_round_up(size_t bytes, size_t align)
{
    size_t padded;
    if (__builtin_add_overflow(bytes, align - 1, &padded)) {
        return SIZE_MAX;
    }
    return padded & ~(align - 1);
}

size_t pool_bytes_for(uint32_t slabs, size_t slab_bytes)
{
    size_t align = pool_align_for(slab_bytes);
    size_t step = pool_round_up(slab_bytes, align);
    size_t bytes;
    if (step == SIZE_MAX || __builtin_mul_overflow(step, (size_t)slabs, &bytes)) {
        return SIZE_MAX;
    }
    /* mmap aligns to a page only: up to one alignment is lost in front. Two numbers a slab follow behind. */
    if (__builtin_add_overflow(bytes, align, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)slabs * 2 * sizeof(uint32_t), &bytes)) {
        return SIZE_MAX;
    }
    return bytes;
}

static void pool_advise(const struct pool *pool)
{
    /* Advice only: a kernel built without huge pages refuses it, and works as well. */
    (void)madvise(pool->mapping, pool->mapping_bytes, MADV_DONTDUMP);
    if (pool->slab_bytes >= pool_huge_page) {
        (void)madvise(pool->slabs_base, pool->slab_step * pool->slabs, MADV_HUGEPAGE);
    }
}

enum error_code pool_open(struct pool *pool, uint32_t slabs, size_t slab_bytes, struct error *error)
{
    CHECK(slabs > 0 && slabs < POOL_NONE);
    CHECK(slab_bytes > 0);
    memset(pool, 0, sizeof *pool);
    size_t bytes = pool_bytes_for(slabs, slab_bytes);
    if (bytes == SIZE_MAX) {
        return error_set(error, ERROR_SYSTEM,
                         "a pool of %u buffers of %zu bytes is more than can be addressed", slabs,
                         slab_bytes);
    }
    void *mapping =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
        return error_set_errno(error, errno, "cannot map a pool of %u buffers of %zu bytes", slabs,
                               slab_bytes);
    }
    size_t align = pool_align_for(slab_bytes);
    size_t lead = (align - (uintptr_t)mapping % align) % align;
    pool->mapping = mapping;
    pool->mapping_bytes = bytes;
    pool->slabs_base = pool->mapping + lead;
    pool->slab_bytes = slab_bytes;
    pool->slab_step = pool_round_up(slab_bytes, align);
    pool->slabs = slabs;
    pool->free = (uint32_t *)(void *)(pool->slabs_base + pool->slab_step * slabs);
    for (uint32_t place = 0; place < slabs; place++) {
        pool->free[place] = slabs - 1 - place; /* slab 0 is taken first */
    }
    pool_advise(pool);
    return ERROR_NONE;
}

void pool_close(struct pool *pool)
{
    CHECK(pool->out == 0);
    if (pool->mapping != NULL) {
        CHECK(munmap(pool->mapping, pool->mapping_bytes) == 0);
    }
    memset(pool, 0, sizeof *pool);
}

static uint32_t *pool_mark(const struct pool *pool, uint32_t index)
{
    CHECK(index < pool->slabs);
    return &pool->free[pool->slabs + index];
}

uint32_t pool_take(struct pool *pool)
{
    if (pool->out == pool->slabs) {
        return POOL_NONE;
    }
    uint32_t index = pool->free[pool->slabs - pool->out - 1];
    uint32_t *mark = pool_mark(pool, index);
    CHECK(*mark == POOL_IN);
    *mark = POOL_OUT;
    pool->out++;
    if (pool->out > pool->out_max) {
        pool->out_max = pool->out;
    }
    return index;
}

void pool_give(struct pool *pool, uint32_t index)
{
    uint32_t *mark = pool_mark(pool, index);
    CHECK(*mark == POOL_OUT);
    CHECK(pool->out > 0);
    *mark = POOL_IN;
    pool->free[pool->slabs - pool->out] = index;
    pool->out--;
}

unsigned char *pool_slab(const struct pool *pool, uint32_t index)
{
    CHECK(*pool_mark(pool, index) == POOL_OUT);
    return pool->slabs_base + pool->slab_step * index;
}

void pool_wipe(const struct pool *pool, uint32_t index, size_t bytes)
{
    CHECK(bytes <= pool->slab_bytes);
    explicit_bzero(pool_slab(pool, index), bytes);
}
