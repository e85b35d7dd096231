#include "alloc/allocator.h"

#include <malloc.h>

static void glibc_trim(void)
{
    /* Walks every free chunk of every arena and advises whole pages away, again each time, under each arena's
     * lock. */
    ((int (*)(size_t))allocator_symbol("malloc_trim"))(0);
}

static void glibc_stats(struct allocator_stats *stats)
{
    struct mallinfo2 info = mallinfo2();
    stats->heap_bytes = (uint64_t)info.arena + (uint64_t)info.hblkhd;
    stats->in_use_bytes = (uint64_t)info.uordblks + (uint64_t)info.hblkhd;
    stats->free_bytes = (uint64_t)info.fordblks;
}

static const char *const glibc_libraries[] = {NULL};

const struct allocator allocator_glibc = {
    .name = "glibc",
    .libraries = glibc_libraries,
    .package = "libc6",
    .trim_does =
        "malloc_trim(0): every free chunk of every arena is walked and its whole pages are advised away, "
        "whether they were before or not",
    .trim_cannot =
        "parts of pages between two chunks in use; free_bytes still counts pages that were advised away",
    .trim = glibc_trim,
    .stats = glibc_stats,
};
