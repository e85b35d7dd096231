/* The table at the end of a batch, as text. */
#include "coordinator/summary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct run_result result_good(void)
{
    struct run_result result = {
        .status = {.elapsed_ns = 3020000000,
                   .partitions = 12,
                   .done = 12,
                   .rate = 3.974,
                   .eta_ns = UINT64_MAX,
                   .memory_budget_bytes = UINT64_C(20) << 30,
                   .devices_count = 2},
        .trim_policy = "timer",
        .allocator = "glibc",
        .heap = {UINT64_MAX, UINT64_MAX, UINT64_MAX},
        .latency_p50_ns = 231000000,
        .latency_p95_ns = 310000000,
        .latency_p99_ns = 312000000,
        .peak_rss_bytes = UINT64_C(312) << 20,
    };
    result.status.devices[0] = (struct run_device_status){.name = "cpu", .lanes = 3, .busy_ns = 2960000000};
    result.status.devices[1] = (struct run_device_status){.name = "cpu-retry", .lanes = 1, .fallback = true};
    result.counts.memory_peak_bytes = UINT64_C(120) << 20;
    return result;
}

/* The caller frees it. Not inlined: gcc 12 would take the stream's hold on &text for a use of it after its
 * life. */
static __attribute__((noinline)) char *printed(const struct run_result *result, unsigned width)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    summary_print(out, result, "a.conf", width);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void all_proven(void **state)
{
    (void)state;
    struct run_result result = result_good();
    char *text = printed(&result, 80);
    assert_string_equal(text, "Batch a.conf\n"
                              "  proofs       12 of 12\n"
                              "  failed       0\n"
                              "  wall time    3.02 s\n"
                              "  throughput   3.97 proofs/s\n"
                              "  latency      p50 231 ms, p95 310 ms, p99 312 ms\n"
                              "  cpu          98.0% busy, 3 lanes\n"
                              "  memory       peak RSS 312 MiB; reserved at most 120 MiB of 20.0 GiB\n"
                              "  trims        none (policy timer, glibc)\n");
    free(text);
}

static void trims_and_the_trace_are_counted(void **state)
{
    (void)state;
    struct run_result result = result_good();
    result.counts.trims = 3;
    result.counts.trim_ns = 12500000;
    result.counts.trim_bytes = UINT64_C(34) << 20;
    result.trace = "run.trace";
    result.trace_events = 1234;
    char *text = printed(&result, 80);
    assert_non_null(strstr(text, "  trims        3 (policy timer, glibc), 12.5 ms in all, 34.0 MiB returned\n"
                                 "  trace        run.trace, 1234 events, none dropped\n"));
    free(text);
    result.buffers_released = 2;
    result.buffers_released_bytes = UINT64_C(4) << 20;
    result.trace_dropped = 5;
    result.heap.heap_bytes = UINT64_C(9) << 20;
    text = printed(&result, 80);
    assert_non_null(strstr(text, "34.0 MiB returned; 2 idle buffers of 4.00 MiB\n"));
    assert_non_null(strstr(text, "1234 events, 5 more DROPPED"));
    assert_non_null(strstr(text, "  heap         9.00 MiB at the end (glibc)\n"));
    free(text);
    result.heap.in_use_bytes = UINT64_C(3) << 20;
    text = printed(&result, 80);
    assert_non_null(strstr(text, "  heap         9.00 MiB at the end, 3.00 MiB of it in use (glibc)\n"));
    free(text);
}

static void failures_are_named_and_counted(void **state)
{
    (void)state;
    struct run_result result = result_good();
    result.status.done = 9;
    result.status.resumed = 4;
    result.status.failed = 2;
    result.status.canceled = 1;
    result.stopped = true;
    result.bundles_failed = 1;
    result.failures_count = 3;
    result.failures[0] =
        (struct run_failure){.job = "votes", .stem = "w-3", .reason = "w-3.wtns: it is short"};
    result.failures[1] = (struct run_failure){.job = "votes", .stem = "w\033[2J", .reason = "tricky\nname"};
    result.failures[2] = (struct run_failure){.job = "votes", .reason = "out/votes.bundle.json: no space"};
    char *text = printed(&result, 80);
    assert_non_null(strstr(text, "Batch a.conf, stopped before its end\n"));
    assert_non_null(strstr(text, "proofs       9 of 12, 4 of them by an earlier run\n"));
    assert_non_null(strstr(text, "failed       2\n"));
    assert_non_null(strstr(text, "bundles      1 failed\n"));
    assert_non_null(strstr(text, "canceled     1;"));
    assert_non_null(strstr(text, "\n  votes/w-3: w-3.wtns: it is short\n"));
    assert_non_null(strstr(text, "\n  votes/w?[2J: tricky?name\n"));
    assert_non_null(strstr(text, "\n  votes/(bundle): out/votes.bundle.json: no space\n"));
    assert_null(strstr(text, "more"));
    assert_null(strchr(text, '\033'));
    free(text);
}

static void at_most_twenty_failures_are_listed(void **state)
{
    (void)state;
    struct run_result result = result_good();
    result.status.failed = result.failures_count = 1234;
    for (unsigned index = 0; index < RUN_FAILURES_MAX; index++) {
        result.failures[index] = (struct run_failure){.job = "j", .stem = "s", .reason = "because"};
    }
    char *text = printed(&result, 0);
    unsigned lines = 0;
    for (const char *at = text; (at = strstr(at, "j/s: because\n")) != NULL; at++) {
        lines++;
    }
    assert_int_equal(lines, RUN_FAILURES_MAX);
    assert_non_null(strstr(text, "  and 1214 more\n"));
    free(text);
}

static void reasons_wrap_between_words(void **state)
{
    (void)state;
    struct run_result result = result_good();
    result.status.failed = result.failures_count = 1;
    struct run_failure *failure = &result.failures[0];
    *failure = (struct run_failure){.job = "votes", .stem = "witness-003"};
    for (unsigned word = 0; word < 40; word++) {
        strcat(failure->reason, word % 7 == 0 ? "considerably " : "word ");
    }
    char *text = printed(&result, 50);
    unsigned words = 0;
    const char *line = strstr(text, "Failed\n");
    assert_non_null(line);
    while (*line != '\0') {
        const size_t length = strcspn(line, "\n");
        assert_true(length <= 50);
        for (size_t at = 0; at + 4 <= length; at++) {
            words += strncmp(line + at, "word", 4) == 0;
        }
        line += length + (line[length] == '\n');
    }
    assert_int_equal(words, 34);
    free(text);
}

static void oddities_show_only_if_they_happened(void **state)
{
    (void)state;
    struct run_result result = result_good();
    char *text = printed(&result, 80);
    assert_null(strstr(text, "retried"));
    assert_null(strstr(text, "cpu-retry"));
    free(text);
    result.counts.retries = 2;
    result.counts.self_check_failures = 1;
    result.counts.lanes_quarantined = 1;
    result.status.devices[1].busy_ns = 302000000;
    text = printed(&result, 80);
    assert_non_null(strstr(text, "retried      2\n"));
    assert_non_null(strstr(text, "self-check   1 proof was computed wrongly at first"));
    assert_non_null(strstr(text, "quarantined  1 lane\n"));
    assert_non_null(strstr(text, "cpu-retry    10.0% busy, 1 lane, took"));
    free(text);
    result.counts.self_check_failures = 2; /* twice the same partition: no sign of bad hardware */
    result.counts.causes[CORE_CAUSE_SELF_CHECK] = 1;
    text = printed(&result, 80);
    assert_null(strstr(text, "self-check"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_proven),
        cmocka_unit_test(trims_and_the_trace_are_counted),
        cmocka_unit_test(failures_are_named_and_counted),
        cmocka_unit_test(at_most_twenty_failures_are_listed),
        cmocka_unit_test(reasons_wrap_between_words),
        cmocka_unit_test(oddities_show_only_if_they_happened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
