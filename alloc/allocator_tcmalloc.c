#include "alloc/allocator.h"

typedef int tcmalloc_get_property(const char *name, size_t *value);

static void tcmalloc_trim(void)
{
    /* The calling thread's cache first: what lies in it isn't in the page heap yet. */
    ((void (*)(void))allocator_symbol("MallocExtension_MarkThreadIdle"))();
    ((void (*)(void))allocator_symbol("MallocExtension_ReleaseFreeMemory"))();
}

static uint64_t tcmalloc_property(tcmalloc_get_property *get, const char *name)
{
    size_t value = 0;
    return get(name, &value) != 0 ? (uint64_t)value : 0;
}

static void tcmalloc_stats(struct allocator_stats *stats)
{
    tcmalloc_get_property *get =
        (tcmalloc_get_property *)allocator_symbol("MallocExtension_GetNumericProperty");
    uint64_t unmapped = tcmalloc_property(get, "tcmalloc.pageheap_unmapped_bytes");
    stats->heap_bytes = tcmalloc_property(get, "generic.heap_size") - unmapped;
    stats->in_use_bytes = tcmalloc_property(get, "generic.current_allocated_bytes");
    stats->free_bytes = stats->heap_bytes - stats->in_use_bytes;
}

static const char *const tcmalloc_libraries[] = {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4", NULL};

const struct allocator allocator_tcmalloc = {
    .name = "tcmalloc",
    .libraries = tcmalloc_libraries,
    .package = "libgoogle-perftools4 or libtcmalloc-minimal4",
    .trim_does = "MallocExtension_ReleaseFreeMemory: spans of whole free pages that were not released yet",
    .trim_cannot = "free objects in other threads' caches and spans with one object still in use",
    .trim = tcmalloc_trim,
    .stats = tcmalloc_stats,
};
