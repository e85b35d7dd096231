#include "bench/outcome.h"

#include "alloc/memory.h"
#include "conf/check.h"
#include "coordinator/explain.h"

#include <stdlib.h>
#include <string.h>

static const double mib = 1 << 20;
static const char mark[] = "outcome";

static const char *const labels[OUTCOME_NUMBERS] = {
    [OUTCOME_DONE] = "partitions done",
    [OUTCOME_FAILED] = "failed",
    [OUTCOME_SPAN_S] = "backlog's time, s",
    [OUTCOME_RATE] = "throughput, 1/s",
    [OUTCOME_BUSY_PERCENT] = "device busy, %",
    [OUTCOME_GAP_P99_MS] = "gap p99, ms",
    [OUTCOME_GAP_MAX_MS] = "longest gap, ms",
    [OUTCOME_LATENCY_P50_S] = "latency p50, s",
    [OUTCOME_LATENCY_P99_S] = "latency p99, s",
    [OUTCOME_TRIMS] = "trims",
    [OUTCOME_TRIM_TOTAL_MS] = "trims together, ms",
    [OUTCOME_TRIM_P50_MS] = "trim p50, ms",
    [OUTCOME_TRIM_MAX_MS] = "longest trim, ms",
    [OUTCOME_TRIMMED_MIB] = "handed back, MiB",
    [OUTCOME_LOCK_TRIM_PERCENT] = "trim under lock, % of idle",
    [OUTCOME_NOT_LOCK_TRIM_BUSY_PERCENT] = "busy without that, %",
    [OUTCOME_RSS_PEAK_MIB] = "peak RSS, MiB",
    [OUTCOME_RSS_SETTLED_MIB] = "settled RSS, MiB",
};

const char *outcome_label(enum outcome_number number)
{
    CHECK(number < OUTCOME_NUMBERS);
    return labels[number];
}

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

static void take(double *numbers, const struct explain *explain)
{
    const struct timeline *timeline = &explain->timeline;
    const double span_s = (double)(timeline->end_ns - timeline->begin_ns) / 1e9;
    const double idle_ns = (double)explain->gaps.idle_ns;
    numbers[OUTCOME_SPAN_S] = span_s;
    numbers[OUTCOME_RATE] = span_s > 0 ? numbers[OUTCOME_DONE] / span_s : 0;
    numbers[OUTCOME_BUSY_PERCENT] = 100 * explain_utilization(explain, GAPS_SUSPECTS);
    numbers[OUTCOME_GAP_P99_MS] = ms(explain_quantile(&explain->gap_lengths, 990));
    numbers[OUTCOME_GAP_MAX_MS] = ms(explain_quantile(&explain->gap_lengths, 1000));
    numbers[OUTCOME_LATENCY_P50_S] = ms(explain_quantile(&explain->latencies, 500)) / 1e3;
    numbers[OUTCOME_LATENCY_P99_S] = ms(explain_quantile(&explain->latencies, 990)) / 1e3;
    numbers[OUTCOME_TRIMS] = (double)explain->trims.count;
    numbers[OUTCOME_TRIM_TOTAL_MS] = ms(explain->trims.total_ns);
    numbers[OUTCOME_TRIM_P50_MS] = ms(explain_quantile(&explain->trims, 500));
    numbers[OUTCOME_TRIM_MAX_MS] = ms(explain_quantile(&explain->trims, 1000));
    numbers[OUTCOME_TRIMMED_MIB] = (double)explain->trimmed_bytes / mib;
    const double lock_trim_ns = (double)gaps_suspect_ns(&explain->gaps, GAPS_SUSPECT_LOCK_TRIM);
    numbers[OUTCOME_LOCK_TRIM_PERCENT] = idle_ns > 0 ? 100 * lock_trim_ns / idle_ns : 0;
    numbers[OUTCOME_NOT_LOCK_TRIM_BUSY_PERCENT] = 100 * explain_utilization(explain, GAPS_SUSPECT_LOCK_TRIM);
    numbers[OUTCOME_RSS_PEAK_MIB] = (double)explain->rss_peak_bytes / mib;
}

enum error_code outcome_measure(struct outcome *outcome, const char *trace, uint32_t done, uint32_t failed,
                                struct error *error)
{
    struct memory_probe probe;
    struct explain explain;
    *outcome = (struct outcome){.numbers = {[OUTCOME_DONE] = done, [OUTCOME_FAILED] = failed}};
    enum error_code code = memory_probe_open(&probe, error);
    if (code == ERROR_NONE) {
        outcome->numbers[OUTCOME_RSS_SETTLED_MIB] = (double)memory_probe_rss_bytes(&probe) / mib;
        memory_probe_close(&probe);
        code = explain_open(&explain, trace, error);
    }
    if (code == ERROR_NONE) {
        take(outcome->numbers, &explain);
        explain_close(&explain);
    }
    return code;
}

void outcome_print(FILE *out, const struct outcome *outcome)
{
    for (unsigned i = 0; i < OUTCOME_NUMBERS; i++) {
        fprintf(out, "  %-28s %12.3f\n", labels[i], outcome->numbers[i]);
    }
}

void outcome_write(FILE *out, const struct outcome *outcome)
{
    fputs(mark, out);
    for (unsigned i = 0; i < OUTCOME_NUMBERS; i++) {
        fprintf(out, " %.6f", outcome->numbers[i]);
    }
    fputc('\n', out);
}

static bool read_numbers(const char *text, struct outcome *outcome)
{
    for (unsigned i = 0; i < OUTCOME_NUMBERS; i++) {
        char *end;
        outcome->numbers[i] = strtod(text, &end);
        if (end == text) {
            return false;
        }
        text = end;
    }
    return strspn(text, " \n") == strlen(text);
}

bool outcome_read(FILE *in, struct outcome *outcome)
{
    char line[1024];
    while (fgets(line, sizeof line, in) != NULL) {
        if (strncmp(line, mark, sizeof mark - 1) == 0 && line[sizeof mark - 1] == ' ') {
            return read_numbers(line + sizeof mark, outcome);
        }
    }
    return false;
}
