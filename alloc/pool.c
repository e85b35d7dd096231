#include "alloc/pool.h"

#include "conf/check.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { POOL_ALIGN = 64, POOL_IN = 0, POOL_OUT = 1, POOL_RELEASING = 2, POOL_TABLES = 4 };
static const size_t pool_huge_page = (size_t)2 << 20;

static size_t pool_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t pool_align_for(size_t slab_bytes)
{
    size_t page = pool_page();
    if (slab_bytes >= pool_huge_page) {
        return pool_huge_page;
    }
    return slab_bytes >= page ? page : (size_t)POOL_ALIGN;
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
    /* mmap aligns to a page only: up to one alignment is lost in front. The tables follow behind. */
    if (__builtin_add_overflow(bytes, align, &bytes) ||
        __builtin_add_overflow(bytes, (size_t)slabs * POOL_TABLES * sizeof(uint32_t), &bytes)) {
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
    pool->idle = (uint32_t *)(void *)(pool->slabs_base + pool->slab_step * slabs);
    pool->clean = pool->idle + slabs;
    pool->marks = pool->clean + slabs;
    pool->given = pool->marks + slabs;
    pool->clean_count = slabs;
    for (uint32_t place = 0; place < slabs; place++) {
        pool->clean[place] = slabs - 1 - place; /* slab 0 is taken first */
    }
    pool_advise(pool);
    return ERROR_NONE;
}

void pool_close(struct pool *pool)
{
    CHECK(pool->out == 0 && pool->releasing == 0);
    if (pool->mapping != NULL) {
        CHECK(munmap(pool->mapping, pool->mapping_bytes) == 0);
    }
    memset(pool, 0, sizeof *pool);
}

static uint32_t *pool_mark(const struct pool *pool, uint32_t index)
{
    CHECK(index < pool->slabs);
    return &pool->marks[index];
}

static void pool_move(const struct pool *pool, uint32_t index, uint32_t from, uint32_t to)
{
    uint32_t *mark = pool_mark(pool, index);
    CHECK(*mark == from);
    *mark = to;
}

uint32_t pool_take(struct pool *pool)
{
    uint32_t index;
    if (pool->idle_count > 0) {
        index = pool->idle[(pool->idle_first + --pool->idle_count) % pool->slabs];
    } else if (pool->clean_count > 0) {
        index = pool->clean[--pool->clean_count];
    } else {
        return POOL_NONE;
    }
    pool_move(pool, index, POOL_IN, POOL_OUT);
    pool->out++;
    if (pool->out > pool->out_max) {
        pool->out_max = pool->out;
    }
    return index;
}

void pool_give(struct pool *pool, uint32_t index)
{
    pool_move(pool, index, POOL_OUT, POOL_IN);
    CHECK(pool->out > 0 && pool->idle_count < pool->slabs);
    pool->given[index] = pool->period;
    pool->idle[(pool->idle_first + pool->idle_count++) % pool->slabs] = index;
    pool->out--;
}

void pool_age(struct pool *pool)
{
    pool->period++;
}

uint32_t pool_release_take(struct pool *pool, bool any_age)
{
    if (pool->idle_count == 0 || pool->slab_step < pool_page()) {
        return POOL_NONE;
    }
    uint32_t index = pool->idle[pool->idle_first];
    if (!any_age && pool->period - pool->given[index] < 2) { /* not idle through a whole period yet */
        return POOL_NONE;
    }
    pool_move(pool, index, POOL_IN, POOL_RELEASING);
    pool->idle_first = (pool->idle_first + 1) % pool->slabs;
    pool->idle_count--;
    pool->releasing++;
    return index;
}

unsigned char *pool_release_pages(const struct pool *pool, uint32_t index, size_t *bytes)
{
    CHECK(*pool_mark(pool, index) == POOL_RELEASING);
    *bytes = pool->slab_step; /* a multiple of the page, as is where it begins */
    return pool->slabs_base + pool->slab_step * index;
}

void pool_release_done(struct pool *pool, uint32_t index)
{
    pool_move(pool, index, POOL_RELEASING, POOL_IN);
    CHECK(pool->releasing > 0 && pool->clean_count < pool->slabs);
    pool->clean[pool->clean_count++] = index;
    pool->releasing--;
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
