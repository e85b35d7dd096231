#include "coordinator/summary.h"

#include "conf/check.h"
#include "coordinator/cli.h"

#include <string.h>

enum { WIDTH_MIN = 40 };

/* Prints text from `column` on, continued at `indent` wherever the next word would pass `width`. */
static void print_wrapped(FILE *out, const char *text, unsigned column, unsigned indent, unsigned width)
{
    bool first = true;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (!first) {
            if (width != 0 && column + 1 + length > width) {
                fprintf(out, "\n%*s", (int)indent, "");
                column = indent;
            } else {
                putc(' ', out);
                column++;
            }
        }
        cli_print_plain(out, text, length);
        column += (unsigned)length;
        text += length;
        text += *text == ' ' ? 1 : 0;
        first = false;
    }
    putc('\n', out);
}

static void print_devices(FILE *out, const struct run_status *status)
{
    CHECK(status->devices_count <= RUN_DEVICES_MAX);
    for (unsigned index = 0; index < status->devices_count; index++) {
        const struct run_device_status *device = &status->devices[index];
        if (device->fallback && device->busy_ns == 0) {
            continue;
        }
        double percent =
            status->elapsed_ns > 0 ? 100.0 * (double)device->busy_ns / (double)status->elapsed_ns : 0.0;
        cli_row(out, device->name, "%.1f%% busy, %u lane%s%s", percent, device->lanes,
                device->lanes == 1 ? "" : "s", device->fallback ? ", took what other devices failed at" : "");
    }
}

/* What was handed back to the system, by what, and what that took. */
static void print_trims(FILE *out, const struct run_result *result)
{
    const struct core_counts *counts = &result->counts;
    char text[3][CLI_TEXT_BYTES], released[96] = "";
    if (result->buffers_released > 0) {
        snprintf(released, sizeof released, "; %llu idle buffer%s of %s",
                 (unsigned long long)result->buffers_released, result->buffers_released == 1 ? "" : "s",
                 cli_text_bytes(text[2], result->buffers_released_bytes));
    }
    if (counts->trims == 0) {
        cli_row(out, "trims", "none (policy %s, %s)", result->trim_policy, result->allocator);
        return;
    }
    cli_row(out, "trims", "%llu (policy %s, %s), %s in all, %s returned%s", (unsigned long long)counts->trims,
            result->trim_policy, result->allocator, cli_text_duration(text[0], counts->trim_ns),
            cli_text_bytes(text[1], counts->trim_bytes), released);
}

/* What the allocator has at the end, as far as it tells. */
static void print_heap(FILE *out, const struct run_result *result)
{
    const struct allocator_stats *heap = &result->heap;
    char text[2][CLI_TEXT_BYTES], used[64] = "";
    if (heap->heap_bytes == UINT64_MAX) {
        return;
    }
    if (heap->in_use_bytes != UINT64_MAX) {
        snprintf(used, sizeof used, ", %s of it in use", cli_text_bytes(text[1], heap->in_use_bytes));
    }
    cli_row(out, "heap", "%s at the end%s (%s)", cli_text_bytes(text[0], heap->heap_bytes), used,
            result->allocator);
}

static void print_trace(FILE *out, const struct run_result *result)
{
    if (result->trace == NULL) {
        return;
    }
    char dropped[64] = "none dropped";
    if (result->trace_dropped > 0) {
        snprintf(dropped, sizeof dropped, "%llu more DROPPED: the disk was too slow",
                 (unsigned long long)result->trace_dropped);
    }
    cli_row(out, "trace", "%s, %llu events, %s", result->trace, (unsigned long long)result->trace_events,
            dropped);
}

/* What should not happen often, and says something about the machine if it does. */
static void print_oddities(FILE *out, const struct core_counts *counts)
{
    if (counts->retries > 0) {
        cli_row(out, "retried", "%llu", (unsigned long long)counts->retries);
    }
    /* A partition that fails for its self-check has failed it twice: its witness is to blame. */
    uint64_t blamed = 2 * (uint64_t)counts->causes[CORE_CAUSE_SELF_CHECK];
    if (counts->self_check_failures > blamed) {
        uint64_t recovered = counts->self_check_failures - blamed;
        cli_row(out, "self-check",
                "%llu proof%s computed wrongly at first, right when repeated; suspect the hardware",
                (unsigned long long)recovered, recovered == 1 ? " was" : "s were");
    }
    if (counts->lanes_quarantined > 0) {
        cli_row(out, "quarantined", "%u lane%s", counts->lanes_quarantined,
                counts->lanes_quarantined == 1 ? "" : "s");
    }
    if (counts->evictions > counts->loads / 2 && counts->loads > 2) {
        cli_row(out, "circuits", "%llu loads, %llu evictions", (unsigned long long)counts->loads,
                (unsigned long long)counts->evictions);
    }
}

static void print_failures(FILE *out, const struct run_result *result, unsigned width)
{
    uint32_t shown = result->failures_count < RUN_FAILURES_MAX ? result->failures_count : RUN_FAILURES_MAX;
    if (shown == 0) {
        return;
    }
    fprintf(out, "Failed\n");
    for (uint32_t index = 0; index < shown; index++) {
        const struct run_failure *failure = &result->failures[index];
        char name[160];
        snprintf(name, sizeof name, "%s/%s", failure->job,
                 failure->stem != NULL ? failure->stem : "(bundle)");
        fprintf(out, "%*s", CLI_MARGIN, "");
        cli_print_plain(out, name, strlen(name));
        fprintf(out, ": ");
        print_wrapped(out, failure->reason, CLI_MARGIN + (unsigned)strlen(name) + 2, 2 * CLI_MARGIN, width);
    }
    if (result->failures_count > shown) {
        fprintf(out, "%*sand %u more\n", CLI_MARGIN, "", result->failures_count - shown);
    }
}

void summary_print(FILE *out, const struct run_result *result, const char *name, unsigned width)
{
    const struct run_status *status = &result->status;
    char text[3][CLI_TEXT_BYTES];
    unsigned wrap = width == 0 || width >= WIDTH_MIN ? width : WIDTH_MIN;
    fprintf(out, "Batch ");
    cli_print_plain(out, name, strlen(name));
    fprintf(out, "%s\n", result->stopped ? ", stopped before its end" : "");
    if (status->resumed > 0) {
        cli_row(out, "proofs", "%u of %u, %u of them by an earlier run", status->done, status->partitions,
                status->resumed);
    } else {
        cli_row(out, "proofs", "%u of %u", status->done, status->partitions);
    }
    if (status->failed > 0 || result->bundles_failed == 0) {
        cli_row(out, "failed", "%u", status->failed);
    }
    if (result->bundles_failed > 0) {
        cli_row(out, "bundles", "%u failed", result->bundles_failed);
    }
    if (status->canceled > 0) {
        cli_row(out, "canceled", "%u; the same command continues with them", status->canceled);
    }
    cli_row(out, "wall time", "%s", cli_text_duration(text[0], status->elapsed_ns));
    if (status->done > status->resumed) {
        cli_row(out, "throughput", "%.2f proofs/s", status->rate);
        cli_row(out, "latency", "p50 %s, p95 %s, p99 %s", cli_text_duration(text[0], result->latency_p50_ns),
                cli_text_duration(text[1], result->latency_p95_ns),
                cli_text_duration(text[2], result->latency_p99_ns));
    }
    print_devices(out, status);
    cli_row(out, "memory", "peak RSS %s; reserved at most %s of %s",
            cli_text_bytes(text[0], result->peak_rss_bytes),
            cli_text_bytes(text[1], result->counts.memory_peak_bytes),
            cli_text_bytes(text[2], status->memory_budget_bytes));
    print_heap(out, result);
    print_trims(out, result);
    print_trace(out, result);
    print_oddities(out, &result->counts);
    print_failures(out, result, wrap);
}
