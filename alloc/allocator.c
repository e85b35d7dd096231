#include "alloc/allocator.h"

#include "conf/check.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Set to the allocator's name for the second execution, so that a preload that doesn't work ends in a message
 * and not in a loop. */
#define ALLOCATOR_MARK "UZK_ALLOCATOR_PRELOADED"

/* What LD_PRELOAD was before, so that programs that this one starts get theirs. */
#define ALLOCATOR_BEFORE "UZK_ALLOCATOR_BEFORE"

static const struct allocator *const allocator_all[] = {
    &allocator_glibc,
    &allocator_tcmalloc,
    &allocator_jemalloc,
    &allocator_mimalloc,
};
enum { ALLOCATOR_COUNT = sizeof allocator_all / sizeof allocator_all[0] };

const struct allocator *allocator_by_name(const char *name)
{
    for (size_t i = 0; i < ALLOCATOR_COUNT; i++) {
        if (strcmp(allocator_all[i]->name, name) == 0) {
            return allocator_all[i];
        }
    }
    return NULL;
}

void *allocator_symbol(const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    CHECK(symbol != NULL);
    return symbol;
}

static const char *allocator_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

const struct allocator *allocator_in_place(char *library_path, size_t capacity)
{
    CHECK(capacity > 0);
    Dl_info info;
    void *symbol = allocator_symbol("malloc");
    const char *path = dladdr(symbol, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : "unknown";
    snprintf(library_path, capacity, "%s", path);
    const char *base = allocator_base_name(path);
    if (strncmp(base, "libc.so", 7) == 0 || strncmp(base, "libc-", 5) == 0) {
        return &allocator_glibc;
    }
    for (size_t i = 0; i < ALLOCATOR_COUNT; i++) {
        for (const char *const *library = allocator_all[i]->libraries; *library != NULL; library++) {
            /* Up to ".so": the version behind it may be any the distribution has. */
            size_t stem = strcspn(*library, ".");
            if (strncmp(base, *library, stem) == 0 && base[stem] == '.') {
                return allocator_all[i];
            }
        }
    }
    return NULL;
}

/* The first of the allocator's libraries that the dynamic linker finds; NULL if it finds none. */
static const char *allocator_find_library(const struct allocator *allocator)
{
    for (const char *const *library = allocator->libraries; *library != NULL; library++) {
        void *handle = dlopen(*library, RTLD_LAZY | RTLD_LOCAL);
        if (handle != NULL) {
            /* Left open: an allocator's library isn't made to be unloaded, and the program is about to be
             * replaced. */
            return *library;
        }
        /* jemalloc wants more thread-local storage than a library gets that comes late; preloaded, it is in
         * time. */
        const char *reason = dlerror();
        if (reason != NULL && strstr(reason, "static TLS") != NULL) {
            return *library;
        }
    }
    return NULL;
}

enum error_code allocator_available(const struct allocator *wanted, struct error *error)
{
    if (wanted->libraries[0] != NULL && allocator_find_library(wanted) == NULL) {
        return error_set(
            error, ERROR_SYSTEM,
            "allocator \"%s\" needs %s, which the dynamic linker does not find; install the package %s",
            wanted->name, wanted->libraries[0], wanted->package);
    }
    return ERROR_NONE;
}

/* The environment as it was before the first execution. */
static void allocator_tidy(void)
{
    const char *before = getenv(ALLOCATOR_BEFORE);
    if (getenv(ALLOCATOR_MARK) == NULL) {
        return;
    }
    if (before != NULL) {
        setenv("LD_PRELOAD", before, 1);
    } else {
        unsetenv("LD_PRELOAD");
    }
    unsetenv(ALLOCATOR_BEFORE);
    unsetenv(ALLOCATOR_MARK);
}

/* Puts library ("" for none) before whatever else is preloaded. Without one, nothing is: what was might be an
 * allocator. */
static bool allocator_set_environment(const struct allocator *wanted, const char *library)
{
    char preload[4096];
    const char *before = getenv("LD_PRELOAD");
    bool set = before == NULL || setenv(ALLOCATOR_BEFORE, before, 1) == 0;
    set = set && setenv(ALLOCATOR_MARK, wanted->name, 1) == 0;
    if (library[0] == '\0') {
        return set && unsetenv("LD_PRELOAD") == 0;
    }
    int length = snprintf(preload, sizeof preload, "%s%s%s", library, before != NULL ? ":" : "",
                          before != NULL ? before : "");
    if (length < 0 || (size_t)length >= sizeof preload) {
        errno = E2BIG;
        return false;
    }
    return set && setenv("LD_PRELOAD", preload, 1) == 0;
}

enum error_code allocator_ensure(const struct allocator *wanted, char **argv, struct error *error)
{
    CHECK(wanted != NULL && argv != NULL);
    char library_path[256];
    const struct allocator *present = allocator_in_place(library_path, sizeof library_path);
    if (present == wanted) {
        allocator_tidy();
        return ERROR_NONE;
    }
    const char *mark = getenv(ALLOCATOR_MARK);
    if (mark != NULL && strcmp(mark, wanted->name) == 0) {
        return error_set(error, ERROR_SYSTEM,
                         "allocator \"%s\" was preloaded but malloc is still the one of %s; a set-user-ID "
                         "program, a static "
                         "build or one with a sanitizer ignores LD_PRELOAD",
                         wanted->name, library_path);
    }
    enum error_code code = allocator_available(wanted, error);
    if (code != ERROR_NONE) {
        return code;
    }
    const char *library = wanted->libraries[0] != NULL ? allocator_find_library(wanted) : "";
    if (!allocator_set_environment(wanted, library)) {
        return error_set_errno(error, errno, "cannot set the environment to preload allocator \"%s\"",
                               wanted->name);
    }
    execv("/proc/self/exe", argv);
    return error_set(error, ERROR_SYSTEM,
                     "cannot execute this program again with allocator \"%s\" preloaded: %s", wanted->name,
                     strerror(errno));
}
