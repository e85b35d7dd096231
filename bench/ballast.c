#include "bench/ballast.h"

#include "alloc/memory.h"
#include "conf/check.h"
#include "conf/config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096 };
static const uint64_t spare_bytes = UINT64_C(2) << 30;

void ballast_defaults(struct ballast_settings *settings)
{
    *settings = (struct ballast_settings){
        .sizes = {8 << 10, 32 << 10, 100 << 10}, .sizes_count = 3, .free_percent = 50, .arenas = 4};
}

bool ballast_frees(unsigned free_percent, size_t chunk)
{
    return (chunk + 1) * free_percent / 100 != chunk * free_percent / 100;
}

/* ---- options ---- */

static unsigned number_at_most(const char *text, unsigned most, struct argp_state *state)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || number > most) {
        argp_error(state, "%s: expected a number up to %u", text, most);
    }
    return (unsigned)number;
}

static void parse_sizes(struct ballast_settings *settings, const char *text, struct argp_state *state)
{
    char *copy = strdup(text), *rest = NULL;
    CHECK(copy != NULL);
    settings->sizes_count = 0;
    for (char *word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
        uint64_t bytes = 0;
        if (settings->sizes_count == BALLAST_SIZES_MAX || !config_size_bytes(&bytes, word) || bytes < 16) {
            argp_error(state, "%s: expected up to %d sizes of at least 16b, such as 8kb,32kb", text,
                       BALLAST_SIZES_MAX);
        }
        settings->sizes[settings->sizes_count++] = bytes;
    }
    free(copy);
    if (settings->sizes_count == 0) {
        argp_error(state, "expected sizes such as 8kb,32kb");
    }
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct ballast_settings *settings = state->input;
    switch (key) {
    case 'b':
        if (!config_size_bytes(&settings->bytes, text)) {
            argp_error(state, "%s: expected a size with a unit, such as 12gb", text);
        }
        return 0;
    case 'c':
        parse_sizes(settings, text, state);
        return 0;
    case 'f':
        settings->free_percent = number_at_most(text, 100, state);
        return 0;
    case 'a':
        settings->arenas = number_at_most(text, BALLAST_ARENAS_MAX, state);
        if (settings->arenas == 0) {
            argp_error(state, "at least one arena");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option option_table[] = {
    {"ballast", 'b', "SIZE", 0, "Heap to make beforehand, such as 12gb (default: none)", 0},
    {"chunks", 'c', "SIZES", 0, "Sizes of its chunks, in turn (default: 8kb,32kb,100kb)", 0},
    {"free", 'f', "PERCENT", 0, "Share of its chunks to free again (default: 50)", 0},
    {"arenas", 'a', "N", 0, "Threads that allocate it (default: 4)", 0},
    {0},
};

const struct argp ballast_argp = {.options = option_table, .parser = parse_option};

/* ---- the heap ---- */

static uint64_t mean_chunk_bytes(const struct ballast_settings *settings)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < settings->sizes_count; i++) {
        sum += settings->sizes[i];
    }
    return sum / settings->sizes_count;
}

static void touch(char *chunk, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += PAGE_BYTES) {
        ((volatile char *)chunk)[at] = 1;
    }
    ((volatile char *)chunk)[bytes - 1] = 1;
}

static void fill(struct ballast_arena *arena)
{
    const struct ballast_settings *settings = &arena->ballast->settings;
    for (size_t i = 0; i < arena->count; i++) {
        uint64_t bytes = settings->sizes[i % settings->sizes_count];
        arena->chunks[i] = malloc(bytes);
        if (arena->chunks[i] == NULL) {
            arena->refused = true;
            return;
        }
        touch(arena->chunks[i], bytes);
    }
    for (size_t i = 0; i < arena->count; i++) {
        if (ballast_frees(settings->free_percent, i / settings->sizes_count + i % settings->sizes_count)) {
            free(arena->chunks[i]);
            arena->chunks[i] = NULL;
        }
    }
}

static void *arena_main(void *argument)
{
    struct ballast_arena *arena = argument;
    const size_t bytes = arena->count * sizeof *arena->chunks;
    arena->chunks = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    arena->refused = arena->chunks == MAP_FAILED;
    if (!arena->refused) {
        fill(arena);
    }
    pthread_barrier_wait(&arena->ballast->filled);
    pthread_barrier_wait(&arena->ballast->done);
    if (arena->chunks != MAP_FAILED) {
        for (size_t i = 0; i < arena->count; i++) {
            free(arena->chunks[i]);
        }
        munmap(arena->chunks, bytes);
    }
    return NULL;
}

enum error_code ballast_init(struct ballast *ballast, const struct ballast_settings *settings,
                             struct error *error)
{
    memset(ballast, 0, sizeof *ballast);
    ballast->settings = *settings;
    if (settings->bytes == 0) {
        return ERROR_NONE;
    }
    CHECK(settings->sizes_count > 0 && settings->arenas > 0 && settings->arenas <= BALLAST_ARENAS_MAX);
    const uint64_t available = memory_available_bytes();
    if (available < spare_bytes || settings->bytes > available - spare_bytes) {
        return error_set(error, ERROR_SYSTEM,
                         "a ballast of %" PRIu64 " MiB needs that and 2 GiB more, %" PRIu64
                         " MiB are available; choose a smaller one",
                         settings->bytes >> 20, available >> 20);
    }
    pthread_barrier_init(&ballast->filled, NULL, settings->arenas + 1);
    pthread_barrier_init(&ballast->done, NULL, settings->arenas + 1);
    const uint64_t count = settings->bytes / mean_chunk_bytes(settings) / settings->arenas + 1;
    for (unsigned i = 0; i < settings->arenas; i++) {
        struct ballast_arena *arena = &ballast->arenas[i];
        *arena = (struct ballast_arena){.ballast = ballast, .count = (size_t)count};
        CHECK(pthread_create(&arena->thread, NULL, arena_main, arena) == 0);
        ballast->arenas_count++;
    }
    pthread_barrier_wait(&ballast->filled);
    for (unsigned i = 0; i < ballast->arenas_count; i++) {
        if (ballast->arenas[i].refused) {
            ballast_deinit(ballast);
            return error_set_errno(error, ENOMEM, "allocating a ballast of %" PRIu64 " MiB",
                                   settings->bytes >> 20);
        }
    }
    return ERROR_NONE;
}

void ballast_deinit(struct ballast *ballast)
{
    if (ballast->arenas_count == 0) {
        return;
    }
    pthread_barrier_wait(&ballast->done);
    while (ballast->arenas_count > 0) {
        pthread_join(ballast->arenas[--ballast->arenas_count].thread, NULL);
    }
    pthread_barrier_destroy(&ballast->filled);
    pthread_barrier_destroy(&ballast->done);
}
