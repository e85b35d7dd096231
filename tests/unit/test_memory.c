/* The numbers that come from /proc, against what this process does and what the kernel says elsewhere. */
#include "alloc/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

enum { MIB = 1 << 20, BYTES = 64 * MIB };

static void the_resident_size_follows_touching(void **state)
{
    (void)state;
    struct memory_probe probe;
    struct error error;
    assert_int_equal(memory_probe_open(&probe, &error), ERROR_NONE);
    uint64_t before = memory_probe_rss_bytes(&probe);
    char *bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(bytes != MAP_FAILED);
    uint64_t mapped = memory_probe_rss_bytes(&probe);
    memset(bytes, 1, BYTES);
    uint64_t touched = memory_probe_rss_bytes(&probe);
    assert_int_equal(munmap(bytes, BYTES), 0);
    uint64_t after = memory_probe_rss_bytes(&probe);
    /* The kernel counts per thread and adds up now and then: a few hundred KiB are in the air. */
    assert_true(before > 0 && mapped < before + 4 * MIB);
    assert_true(touched + 4 * MIB > mapped + BYTES);
    assert_true(after + BYTES < touched + 4 * MIB);
    assert_true(memory_peak_rss_bytes() + 4 * MIB > touched);
    memory_probe_close(&probe);
}

static void another_file_of_proc_agrees(void **state)
{
    (void)state;
    struct memory_probe probe;
    struct error error;
    unsigned long long kib = 0;
    char line[256];
    assert_int_equal(memory_probe_open(&probe, &error), ERROR_NONE);
    FILE *status = fopen("/proc/self/status", "re");
    assert_non_null(status);
    uint64_t rss = memory_probe_rss_bytes(&probe);
    while (fgets(line, sizeof line, status) != NULL) {
        if (sscanf(line, "VmRSS: %llu kB", &kib) == 1) {
            break;
        }
    }
    fclose(status);
    assert_true(kib > 0);
    assert_true(rss + 4 * MIB > kib * 1024 && rss < kib * 1024 + 4 * MIB);
    memory_probe_close(&probe);
}

static void what_is_available_is_less_than_all(void **state)
{
    (void)state;
    uint64_t available = memory_available_bytes();
    uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    assert_true(available > 0 && available < all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_resident_size_follows_touching),
        cmocka_unit_test(another_file_of_proc_agrees),
        cmocka_unit_test(what_is_available_is_less_than_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
