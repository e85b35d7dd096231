#include "alloc/allocator.h"

#include <stdbool.h>

typedef void mimalloc_process_info(size_t *elapsed_ms, size_t *user_ms, size_t *system_ms, size_t *rss,
                                   size_t *peak_rss, size_t *commit, size_t *peak_commit,
                                   size_t *page_faults);

static void mimalloc_trim(void)
{
    ((void (*)(bool))allocator_symbol("mi_collect"))(true);
}

static void mimalloc_stats(struct allocator_stats *stats)
{
    size_t unused;
    size_t commit = 0;
    mimalloc_process_info *info = (mimalloc_process_info *)allocator_symbol("mi_process_info");
    info(&unused, &unused, &unused, &unused, &unused, &commit, &unused, &unused);
    stats->heap_bytes = commit;
    stats->in_use_bytes = UINT64_MAX;
    stats->free_bytes = UINT64_MAX;
}

static const char *const mimalloc_libraries[] = {"libmimalloc.so.2", "libmimalloc.so.2.0", NULL};

const struct allocator allocator_mimalloc = {
    .name = "mimalloc",
    .libraries = mimalloc_libraries,
    .package = "libmimalloc2.0",
    .trim_does = "mi_collect(true): the calling thread's heap and abandoned segments of ended threads",
    .trim_cannot =
        "segments that are still in use in part, and the heaps of other threads that still run, which only "
        "those can collect; mimalloc purges these by itself when more is freed there, after its delay "
        "(MIMALLOC_DECOMMIT_DELAY)",
    .trim = mimalloc_trim,
    .stats = mimalloc_stats,
};
