#include "coordinator/explain.h"

#include <jansson.h>

/* Numbers of a trace are below 2^63: trace_read.c leaves out what is not. */
static json_t *number(uint64_t value)
{
    return json_integer(value <= INT64_MAX ? (json_int_t)value : INT64_MAX);
}

static json_t *durations(const struct explain_durations *list)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "count", number(list->count), "total_ns",
                     number(list->total_ns), "p50_ns", number(explain_quantile(list, 500)), "p99_ns",
                     number(explain_quantile(list, 990)), "max_ns", number(explain_quantile(list, 1000)));
}

static json_t *devices(const struct explain *explain)
{
    json_t *list = json_array();
    uint64_t span = explain->timeline.end_ns - explain->timeline.begin_ns;
    for (unsigned i = 0; i < explain->timeline.devices_count; i++) {
        uint64_t busy = explain->timeline.devices[i].busy_ns;
        json_array_append_new(list,
                              json_pack("{s:s, s:o, s:o, s:f}", "name", explain->read.header.devices[i].name,
                                        "busy_ns", number(busy), "idle_ns", number(span - busy),
                                        "utilization", span > 0 ? (double)busy / (double)span : 0.0));
    }
    return list;
}

static json_t *reasons(const struct explain *explain, enum gaps_suspect suspect)
{
    json_t *list = json_array();
    for (int reason = 0; reason < GAPS_REASONS; reason++) {
        uint64_t ns = gaps_reason_ns(&explain->gaps, (enum gaps_reason)reason);
        if (gaps_suspect_of((enum gaps_reason)reason) == suspect && ns > 0) {
            json_array_append_new(list,
                                  json_pack("{s:s, s:o}", "reason",
                                            gaps_reason_text((enum gaps_reason)reason), "ns", number(ns)));
        }
    }
    return list;
}

static json_t *suspects(const struct explain *explain)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < GAPS_SUSPECTS; i++) {
        enum gaps_suspect suspect = explain->ranked[i];
        uint64_t ns = gaps_suspect_ns(&explain->gaps, suspect);
        if (ns > 0) {
            json_array_append_new(
                list, json_pack("{s:s, s:s, s:o, s:f, s:f, s:o}", "suspect", gaps_suspect_word(suspect),
                                "text", gaps_suspect_text(suspect), "ns", number(ns), "share",
                                (double)ns / (double)explain->gaps.idle_ns, "utilization_without",
                                explain_utilization(explain, suspect), "reasons", reasons(explain, suspect)));
        }
    }
    return list;
}

static json_t *worst(const struct explain *explain)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < explain->worst_count; i++) {
        const struct gaps_gap *gap = &explain->gaps.gaps[explain->worst[i]];
        json_t *partition = gap->partition != TRACE_READ_NONE ? number(gap->partition) : json_null();
        json_t *chain = json_array();
        /* A gap may be cut thousands of times; its beginning tells enough here. */
        for (size_t k = gap->first; k < gap->first + gap->pieces && k < gap->first + 64; k++) {
            const struct gaps_piece *piece = &explain->gaps.pieces[k];
            json_array_append_new(chain, json_pack("{s:s, s:o, s:o}", "reason",
                                                   gaps_reason_text((enum gaps_reason)piece->reason), "ns",
                                                   number(piece->end_ns - piece->begin_ns), "beside",
                                                   number(piece->others)));
        }
        json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o, s:o}", "device",
                                              explain->read.header.devices[gap->device].name, "at_ns",
                                              number(gap->begin_ns - explain->timeline.begin_ns), "ns",
                                              number(gap->end_ns - gap->begin_ns), "partition", partition,
                                              "chain", chain));
    }
    return list;
}

enum error_code explain_print_json(FILE *out, const struct explain *explain, struct error *error)
{
    const struct trace_header *header = &explain->read.header;
    json_t *root = json_pack(
        "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:b}",
        "program", header->program, "allocator", header->allocator, "policy", header->policy, "partitions",
        number(header->partitions), "span_ns", number(explain->timeline.end_ns - explain->timeline.begin_ns),
        "busy_ns", number(timeline_busy_ns(&explain->timeline)), "idle_ns", number(explain->gaps.idle_ns),
        "utilization", explain_utilization(explain, GAPS_SUSPECTS), "devices", devices(explain), "suspects",
        suspects(explain), "gaps", durations(&explain->gap_lengths), "worst", worst(explain), "trims",
        durations(&explain->trims), "trimmed_bytes", number(explain->trimmed_bytes), "lock_waits",
        durations(&explain->waits), "lock_holds", durations(&explain->holds), "latency",
        durations(&explain->latencies), "rss_peak_bytes", number(explain->rss_peak_bytes), "dropped",
        number(explain->read.dropped), "ended", explain->read.ended);
    if (root == NULL) {
        return error_set(error, ERROR_SYSTEM, "no memory for the JSON text");
    }
    int failed = json_dumpf(root, out, JSON_INDENT(2));
    json_decref(root);
    if (failed != 0) {
        return error_set(error, ERROR_SYSTEM, "cannot write the JSON text");
    }
    putc('\n', out);
    return ERROR_NONE;
}
