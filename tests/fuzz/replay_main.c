/* replay_main.c - runs a fuzz target without libFuzzer: over the seeds given as files or folders, over their
 * shortest and longest prefixes, and over mutations drawn from a fixed seed, so that a failure comes again.
 * Each input is an exact heap block, so that an address sanitizer sees the first byte read too far. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#ifndef FUZZ_MUTATIONS /* of each seed; fewer where an input takes milliseconds */
#define FUZZ_MUTATIONS 400
#endif

enum { MUTATIONS = FUZZ_MUTATIONS, PREFIXES = 64, SIZE_MAX_BYTES = 1 << 24 };

static uint64_t state = 0x6a09e667f3bcc909;
static unsigned long inputs;

static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void feed(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = calloc(1, size ? size : 1);
    if (!copy) {
        abort();
    }
    if (size) {
        memcpy(copy, bytes, size);
    }
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    inputs++;
}

/* Some bytes become boundary values, are flipped, or are replaced; half the time near the start, where
 * headers are. */
static void mutate(uint8_t *bytes, size_t size)
{
    static const uint8_t boundaries[] = {0, 1, 0x7f, 0x80, 0xff, '"', '[', '{', '-', '9'};
    unsigned edits = 1 + (unsigned)(draw() % 4);
    while (edits-- > 0 && size > 0) {
        size_t range = draw() % 2 && size > 128 ? 128 : size;
        size_t at = draw() % range;
        switch (draw() % 4) {
        case 0:
            bytes[at] = boundaries[draw() % sizeof boundaries];
            break;
        case 1:
            bytes[at] ^= (uint8_t)(1u << draw() % 8);
            break;
        case 2:
            bytes[at] = (uint8_t)draw();
            break;
        default:
            for (size_t i = at; i < size && i < at + 8; i++) {
                bytes[i] = boundaries[draw() % 5];
            }
        }
    }
}

static void replay_bytes(uint8_t *bytes, size_t size)
{
    feed(bytes, size);
    for (size_t i = 0; i < PREFIXES && i < size; i++) {
        feed(bytes, i);
        feed(bytes, size - i - 1);
    }
    uint8_t *copy = calloc(1, size ? size : 1);
    if (!copy) {
        abort();
    }
    for (int i = 0; i < MUTATIONS && size > 0; i++) {
        memcpy(copy, bytes, size);
        mutate(copy, size);
        feed(copy, draw() % 8 ? size : draw() % size);
    }
    free(copy);
}

static void replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(SIZE_MAX_BYTES);
    if (!file || !bytes) {
        perror(path);
        exit(1);
    }
    size_t size = fread(bytes, 1, SIZE_MAX_BYTES, file);
    fclose(file);
    replay_bytes(bytes, size);
    free(bytes);
}

static void replay_folder(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0) {
        perror(path);
        exit(1);
    }
    for (int i = 0; i < count; i++) {
        char name[4096];
        int length = snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && length > 0 && (size_t)length < sizeof name) {
            replay_file(name);
        }
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    feed((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        struct stat status;
        if (stat(argv[i], &status) == 0 && S_ISDIR(status.st_mode)) {
            replay_folder(argv[i]);
        } else {
            replay_file(argv[i]);
        }
    }
    uint8_t noise[512]; /* also without any seed */
    for (int i = 0; i < MUTATIONS; i++) {
        for (size_t j = 0; j < sizeof noise; j++) {
            noise[j] = (uint8_t)draw();
        }
        feed(noise, draw() % sizeof noise);
    }
    printf("%lu inputs\n", inputs);
    return 0;
}
