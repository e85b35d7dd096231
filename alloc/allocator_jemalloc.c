#include "alloc/allocator.h"

#include "conf/check.h"

typedef int jemalloc_mallctl(const char *name, void *old, size_t *old_bytes, void *new_value,
                             size_t new_bytes);

static jemalloc_mallctl *jemalloc_control(void)
{
    return (jemalloc_mallctl *)allocator_symbol("mallctl");
}

static void jemalloc_trim(void)
{
    jemalloc_mallctl *control = jemalloc_control();
    control("thread.tcache.flush", NULL, NULL, NULL, 0);
    /* 4096 is MALLCTL_ARENAS_ALL: a name such as arena.0.purge would leave every other arena as it is. */
    int failed = control("arena.4096.purge", NULL, NULL, NULL, 0);
    CHECK(failed == 0);
}

static uint64_t jemalloc_read(jemalloc_mallctl *control, const char *name)
{
    size_t value = 0;
    size_t bytes = sizeof value;
    return control(name, &value, &bytes, NULL, 0) == 0 ? (uint64_t)value : UINT64_MAX;
}

static void jemalloc_stats(struct allocator_stats *stats)
{
    jemalloc_mallctl *control = jemalloc_control();
    /* Statistics are a snapshot that is taken anew when the epoch is written. */
    uint64_t epoch = 1;
    control("epoch", NULL, NULL, &epoch, sizeof epoch);
    stats->heap_bytes = jemalloc_read(control, "stats.resident");
    stats->in_use_bytes = jemalloc_read(control, "stats.allocated");
    stats->free_bytes = stats->heap_bytes >= stats->in_use_bytes && stats->heap_bytes != UINT64_MAX
                            ? stats->heap_bytes - stats->in_use_bytes
                            : UINT64_MAX;
}

static const char *const jemalloc_libraries[] = {"libjemalloc.so.2", NULL};

const struct allocator allocator_jemalloc = {
    .name = "jemalloc",
    .libraries = jemalloc_libraries,
    .package = "libjemalloc2",
    .trim_does = "mallctl arena.4096.purge: the dirty and muzzy pages of all arenas, not only the first",
    .trim_cannot = "free objects in other threads' caches and slabs with one object still in use",
    .trim = jemalloc_trim,
    .stats = jemalloc_stats,
};
