/* allocator.h - one table of functions per allocator that uzk can run on.
 *
 * glibc, tcmalloc, jemalloc and mimalloc are each described by a `struct allocator`: its name, the library
 * that is preloaded to put it in place, how it hands free memory back to the system, and what it says about
 * itself. Nothing here links to any of them: functions are found by name in the running process, so that one
 * program compares them all.
 *
 * The tables are immutable and may be read from any thread. trim and stats may be called from any thread at
 * any time; trim can take seconds on a large heap with some allocators (that is what uzk measures), so the
 * coordinator never calls it: a helper thread does.
 *
 * Sources: malloc_trim(3); gperftools' malloc_extension_c.h; jemalloc(3), section MALLCTL NAMESPACE;
 * mimalloc.h. */
#ifndef ALLOC_ALLOCATOR_H
#define ALLOC_ALLOCATOR_H

#include "conf/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes; UINT64_MAX where the allocator doesn't tell. */
struct allocator_stats {
    uint64_t heap_bytes;   /* taken from the system and not handed back, whether used or free */
    uint64_t in_use_bytes; /* handed out to the program */
    uint64_t free_bytes;   /* held, not in use, and still backed by memory as far as the allocator knows */
};

struct allocator {
    const char *name;             /* as in the configuration */
    const char *const *libraries; /* names to preload, the best first; NULL-terminated; empty for glibc */
    const char *package;          /* the Debian package that has them */
    const char *trim_does;        /* one sentence for reports: what trim calls */
    const char *trim_cannot;      /* one sentence: what stays behind */
    void (*trim)(void);
    void (*stats)(struct allocator_stats *stats);
};

extern const struct allocator allocator_glibc;
extern const struct allocator allocator_tcmalloc;
extern const struct allocator allocator_jemalloc;
extern const struct allocator allocator_mimalloc;

/* NULL for an unknown name. */
const struct allocator *allocator_by_name(const char *name);

/* The allocator whose malloc this process runs on, found by the library that malloc lives in; NULL if it is
 * none of the four (a sanitizer's, for one), with the library's name in library_path, which is cut to
 * capacity. */
const struct allocator *allocator_in_place(char *library_path, size_t capacity);

/* ERROR_SYSTEM if the allocator's library cannot be found; the package is named. */
enum error_code allocator_available(const struct allocator *wanted, struct error *error) ERROR_MUST_USE;

/* Makes wanted the allocator in place: returns at once if it is, otherwise executes this program again, with
 * argv and the library preloaded, and does not return. Programs that this one starts later find LD_PRELOAD as
 * it was before. ERROR_SYSTEM: the library cannot be found (the package is named), or the program has been
 * executed again already and still another allocator is in place. Call it first thing in main, before threads
 * and files exist. */
enum error_code allocator_ensure(const struct allocator *wanted, char **argv,
                                 struct error *error) ERROR_MUST_USE;

/* Looks up a function of the allocator in place by name; aborts if it is missing, since it was verified
 * before. */
void *allocator_symbol(const char *name);

#endif
