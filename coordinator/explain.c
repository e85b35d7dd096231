#include "coordinator/explain.h"

#include "conf/check.h"
#include "coordinator/cli.h"
#include "coordinator/core.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static int compare_ns(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static bool durations_alloc(struct explain_durations *durations, size_t capacity)
{
    durations->sorted = calloc(capacity + 1, sizeof *durations->sorted);
    return durations->sorted != NULL;
}

static void durations_add(struct explain_durations *durations, uint64_t ns)
{
    durations->sorted[durations->count++] = ns;
    durations->total_ns += ns;
}

static void durations_sort(struct explain_durations *durations)
{
    qsort(durations->sorted, durations->count, sizeof *durations->sorted, compare_ns);
}

uint64_t explain_quantile(const struct explain_durations *durations, unsigned permille)
{
    CHECK(permille <= 1000);
    if (durations->count == 0) {
        return 0;
    }
    size_t rank = (durations->count / 1000) * permille + ((durations->count % 1000) * permille + 999) / 1000;
    return durations->sorted[rank > 0 ? rank - 1 : 0];
}

double explain_utilization(const struct explain *explain, enum gaps_suspect without)
{
    uint64_t span = timeline_span_ns(&explain->timeline), busy = timeline_busy_ns(&explain->timeline);
    span -= without < GAPS_SUSPECTS ? gaps_suspect_ns(&explain->gaps, without) : 0;
    return span > 0 ? (double)busy / (double)span : 0;
}

static bool collect_alloc(struct explain *explain)
{
    size_t counts[TRACE_KINDS] = {0};
    for (size_t i = 0; i < explain->read.count; i++) {
        counts[explain->read.events[i].kind]++;
    }
    return durations_alloc(&explain->trims, counts[TRACE_TRIM]) &&
           durations_alloc(&explain->waits, counts[TRACE_LOCK]) &&
           durations_alloc(&explain->holds, counts[TRACE_HOLD]) &&
           durations_alloc(&explain->latencies, counts[TRACE_STATE]) &&
           durations_alloc(&explain->gap_lengths, explain->gaps.count);
}

static void collect_event(struct explain *explain, const struct trace_event *event)
{
    uint64_t length_ns = trace_read_is_span(event) ? event->time_ns - event->value : 0;
    switch (event->kind) {
    case TRACE_TRIM:
        durations_add(&explain->trims, length_ns);
        explain->trimmed_bytes += event->value2;
        break;
    case TRACE_LOCK:
        durations_add(&explain->waits, length_ns);
        break;
    case TRACE_HOLD:
        durations_add(&explain->holds, length_ns);
        explain->holds_ns[event->detail] += length_ns;
        break;
    case TRACE_SPAN:
        explain->spans_ns[event->detail] += length_ns;
        break;
    case TRACE_RSS:
        explain->rss_first_bytes = explain->rss_peak_bytes == 0 ? event->value : explain->rss_first_bytes;
        explain->rss_peak_bytes =
            event->value > explain->rss_peak_bytes ? event->value : explain->rss_peak_bytes;
        explain->rss_last_bytes = event->value;
        break;
    default:
        break;
    }
}

struct begun {
    uint32_t partition;
    uint64_t time_ns;
    bool done;
};

static int compare_begun(const void *left_begun, const void *right_begun)
{
    const struct begun *left = left_begun, *right = right_begun;
    if (left->partition != right->partition) {
        return left->partition < right->partition ? -1 : 1;
    }
    return left->time_ns < right->time_ns ? -1 : left->time_ns > right->time_ns;
}

/* From the first time that a partition got a slot, by reading or generating, until it was done. */
static bool collect_latencies(struct explain *explain, size_t capacity)
{
    struct begun *list = calloc(capacity + 1, sizeof *list);
    size_t count = 0;
    if (list == NULL) {
        return false;
    }
    for (size_t i = 0; i < explain->read.count; i++) {
        const struct trace_event *event = &explain->read.events[i];
        bool begins = event->detail == CORE_READING || event->detail == CORE_GENERATING;
        if (event->kind == TRACE_STATE && (begins || event->detail == CORE_DONE) && count < capacity) {
            list[count++] = (struct begun){event->index, event->time_ns, !begins};
        }
    }
    qsort(list, count, sizeof *list, compare_begun);
    const struct begun *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (first == NULL || first->partition != list[i].partition) {
            first = list[i].done ? NULL : &list[i];
        } else if (list[i].done) {
            durations_add(&explain->latencies, list[i].time_ns - first->time_ns);
            first = NULL;
        }
    }
    free(list);
    return true;
}

static bool collect(struct explain *explain)
{
    size_t states = 0;
    if (!collect_alloc(explain)) {
        return false;
    }
    for (size_t i = 0; i < explain->read.count; i++) {
        collect_event(explain, &explain->read.events[i]);
        states += explain->read.events[i].kind == TRACE_STATE ? 1 : 0;
    }
    if (!collect_latencies(explain, states)) {
        return false;
    }
    for (size_t i = 0; i < explain->gaps.count; i++) {
        durations_add(&explain->gap_lengths, explain->gaps.gaps[i].end_ns - explain->gaps.gaps[i].begin_ns);
    }
    durations_sort(&explain->trims);
    durations_sort(&explain->waits);
    durations_sort(&explain->holds);
    durations_sort(&explain->latencies);
    durations_sort(&explain->gap_lengths);
    return true;
}

static void rank(struct explain *explain)
{
    for (unsigned i = 0; i < GAPS_SUSPECTS; i++) {
        uint64_t ns = gaps_suspect_ns(&explain->gaps, (enum gaps_suspect)i);
        unsigned at = i;
        for (; at > 0 && gaps_suspect_ns(&explain->gaps, explain->ranked[at - 1]) < ns; at--) {
            explain->ranked[at] = explain->ranked[at - 1];
        }
        explain->ranked[at] = (enum gaps_suspect)i;
    }
}

static uint64_t gap_ns(const struct explain *explain, size_t gap)
{
    return explain->gaps.gaps[gap].end_ns - explain->gaps.gaps[gap].begin_ns;
}

static void find_worst(struct explain *explain)
{
    for (size_t i = 0; i < explain->gaps.count; i++) {
        unsigned at = explain->worst_count;
        if (at == EXPLAIN_WORST_MAX) {
            if (gap_ns(explain, explain->worst[--at]) >= gap_ns(explain, i)) {
                continue;
            }
        } else {
            explain->worst_count++;
        }
        for (; at > 0 && gap_ns(explain, explain->worst[at - 1]) < gap_ns(explain, i); at--) {
            explain->worst[at] = explain->worst[at - 1];
        }
        explain->worst[at] = i;
    }
}

enum error_code explain_init(struct explain *explain, struct trace_read *read, struct error *error)
{
    memset(explain, 0, sizeof *explain);
    explain->read = *read;
    memset(read, 0, sizeof *read);
    enum error_code code = timeline_open(&explain->timeline, &explain->read, error);
    if (code == ERROR_NONE) {
        code = gaps_open(&explain->gaps, &explain->read, &explain->timeline, error);
    }
    if (code == ERROR_NONE && !collect(explain)) {
        code = error_set(error, ERROR_SYSTEM, "no memory to explain %zu events", explain->read.count);
    }
    if (code != ERROR_NONE) {
        explain_close(explain);
        return code;
    }
    rank(explain);
    find_worst(explain);
    return ERROR_NONE;
}

enum error_code explain_open(struct explain *explain, const char *path, struct error *error)
{
    struct trace_read read;
    if (trace_read_open(&read, path, error) != ERROR_NONE) {
        return error->code;
    }
    return explain_init(explain, &read, error);
}

void explain_close(struct explain *explain)
{
    free(explain->trims.sorted);
    free(explain->waits.sorted);
    free(explain->holds.sorted);
    free(explain->latencies.sorted);
    free(explain->gap_lengths.sorted);
    gaps_close(&explain->gaps);
    timeline_close(&explain->timeline);
    trace_read_close(&explain->read);
    memset(explain, 0, sizeof *explain);
}

/* ---- sentences ---- */

/* Appends, cut at the capacity. */
static size_t append(char *text, size_t capacity, size_t used, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static size_t append(char *text, size_t capacity, size_t used, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text + used, capacity - used, format, arguments);
    va_end(arguments);
    CHECK(length >= 0);
    return (size_t)length < capacity - used ? used + (size_t)length : capacity - 1;
}

enum { CHAIN_LINKS = 3 };

/* Who held the lock during a gap's longest piece of a reason: " (thread 12 and 2 others)", the longest first.
 */
static size_t append_holders(char *text, size_t capacity, size_t used, const struct explain *explain,
                             const struct gaps_gap *gap, unsigned reason)
{
    const struct gaps_piece *piece = NULL;
    for (size_t i = gap->first; i < gap->first + gap->pieces; i++) {
        const struct gaps_piece *other = &explain->gaps.pieces[i];
        bool longer = piece == NULL || other->end_ns - other->begin_ns > piece->end_ns - piece->begin_ns;
        piece = other->reason == reason && longer ? other : piece;
    }
    uint64_t longest_ns = 0;
    unsigned holders = 0, thread = 0;
    for (size_t i = 0; piece != NULL && i < explain->read.count; i++) {
        const struct trace_event *event = &explain->read.events[i];
        if (event->kind != TRACE_HOLD || event->value >= piece->end_ns || event->time_ns <= piece->begin_ns) {
            continue;
        }
        uint64_t from = event->value > piece->begin_ns ? event->value : piece->begin_ns;
        uint64_t to = event->time_ns < piece->end_ns ? event->time_ns : piece->end_ns;
        holders++;
        if (to - from > longest_ns) {
            longest_ns = to - from;
            thread = event->lane;
        }
    }
    if (holders == 0) {
        return used;
    }
    used = append(text, capacity, used, " (thread %u", thread);
    if (holders > 1) {
        used = append(text, capacity, used, " and %u other%s", holders - 1, holders > 2 ? "s" : "");
    }
    return append(text, capacity, used, ")");
}

void explain_chain(char text[EXPLAIN_CHAIN_BYTES], const struct explain *explain, const struct gaps_gap *gap)
{
    uint64_t ns[GAPS_REASONS] = {0};
    uint32_t others = 0;
    unsigned order[GAPS_REASONS], kinds = 0;
    for (size_t i = gap->first; i < gap->first + gap->pieces; i++) {
        const struct gaps_piece *piece = &explain->gaps.pieces[i];
        if (ns[piece->reason] == 0) {
            order[kinds++] = piece->reason;
        }
        ns[piece->reason] += piece->end_ns - piece->begin_ns;
        others = piece->reason == GAPS_SYNTHESIS && piece->others > others ? piece->others : others;
    }
    size_t used = 0;
    unsigned shown = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < kinds; i++) {
        unsigned longer = 0;
        for (unsigned k = 0; k < kinds; k++) {
            longer += ns[order[k]] > ns[order[i]] || (ns[order[k]] == ns[order[i]] && k < i) ? 1 : 0;
        }
        if (longer >= CHAIN_LINKS) {
            continue;
        }
        char duration[CLI_TEXT_BYTES];
        used = append(text, EXPLAIN_CHAIN_BYTES, used, "%s%s", shown++ > 0 ? " > " : "",
                      gaps_reason_text((enum gaps_reason)order[i]));
        if (order[i] == GAPS_SYNTHESIS && others > 0) {
            used = append(text, EXPLAIN_CHAIN_BYTES, used, " beside %" PRIu32 " others", others);
        }
        if (order[i] >= GAPS_LOCK && order[i] < GAPS_LOCK + TRACE_SPANS) {
            used = append_holders(text, EXPLAIN_CHAIN_BYTES, used, explain, gap, order[i]);
        }
        used = append(text, EXPLAIN_CHAIN_BYTES, used, " %s", cli_text_duration(duration, ns[order[i]]));
    }
    if (kinds > CHAIN_LINKS) {
        append(text, EXPLAIN_CHAIN_BYTES, used, " and %u more", kinds - CHAIN_LINKS);
    }
}

void explain_headline(char text[EXPLAIN_HEADLINE_BYTES], const struct explain *explain)
{
    char span[CLI_TEXT_BYTES];
    unsigned devices = explain->timeline.devices_count;
    uint64_t busy = timeline_busy_ns(&explain->timeline);
    enum gaps_suspect top = explain->ranked[0];
    uint64_t top_ns = gaps_suspect_ns(&explain->gaps, top);
    cli_text_duration(span, explain->timeline.end_ns - explain->timeline.begin_ns);
    if (devices == 0 || explain->timeline.begin_ns == explain->timeline.end_ns) {
        snprintf(text, EXPLAIN_HEADLINE_BYTES, "The trace shows no work for a device.");
    } else if (top_ns == 0) {
        snprintf(text, EXPLAIN_HEADLINE_BYTES, "%s busy all of the %s that there was work.",
                 devices == 1 ? "The device was" : "The devices were", span);
    } else {
        snprintf(text, EXPLAIN_HEADLINE_BYTES,
                 "%s busy %.2f%% of the %s that there was work; %.1f%% of the idle time was %s.",
                 devices == 1 ? "The device was" : "The devices were",
                 100 * (double)busy / (double)timeline_span_ns(&explain->timeline), span,
                 100 * (double)top_ns / (double)explain->gaps.idle_ns, gaps_suspect_text(top));
    }
}

/* ---- a page of text ---- */

static void print_devices(FILE *out, const struct explain *explain)
{
    uint64_t span = explain->timeline.end_ns - explain->timeline.begin_ns;
    for (unsigned i = 0; i < explain->timeline.devices_count && span > 0; i++) {
        const struct timeline_device *device = &explain->timeline.devices[i];
        char idle[CLI_TEXT_BYTES];
        cli_row(out, "device", "%s: busy %.2f%%, idle %s", explain->read.header.devices[i].name,
                100 * (double)device->busy_ns / (double)span,
                cli_text_duration(idle, span - device->busy_ns));
    }
    if (explain->gap_lengths.count > 0) {
        char median[CLI_TEXT_BYTES], late[CLI_TEXT_BYTES], longest[CLI_TEXT_BYTES];
        cli_row(out, "gaps", "%zu: median %s, p99 %s, longest %s", explain->gap_lengths.count,
                cli_text_duration(median, explain_quantile(&explain->gap_lengths, 500)),
                cli_text_duration(late, explain_quantile(&explain->gap_lengths, 990)),
                cli_text_duration(longest, explain_quantile(&explain->gap_lengths, 1000)));
    }
}

static void print_suspects(FILE *out, const struct explain *explain)
{
    if (explain->gaps.idle_ns == 0) {
        return;
    }
    fprintf(out, "\nWhy idle                        time   of idle   busy without it\n");
    for (unsigned i = 0; i < GAPS_SUSPECTS; i++) {
        enum gaps_suspect suspect = explain->ranked[i];
        uint64_t ns = gaps_suspect_ns(&explain->gaps, suspect);
        char text[CLI_TEXT_BYTES];
        if (ns > 0) {
            fprintf(out, "  %-24s %10s %8.2f%% %16.2f%%\n", gaps_suspect_text(suspect),
                    cli_text_duration(text, ns), 100 * (double)ns / (double)explain->gaps.idle_ns,
                    100 * explain_utilization(explain, suspect));
        }
    }
}

static void print_worst(FILE *out, const struct explain *explain)
{
    if (explain->worst_count == 0) {
        return;
    }
    fprintf(out, "\nWorst gaps\n");
    for (unsigned i = 0; i < explain->worst_count; i++) {
        const struct gaps_gap *gap = &explain->gaps.gaps[explain->worst[i]];
        char length[CLI_TEXT_BYTES], at[CLI_TEXT_BYTES], chain[EXPLAIN_CHAIN_BYTES],
            before[32] = "at the end";
        if (gap->partition != TRACE_READ_NONE) {
            snprintf(before, sizeof before, "before partition %" PRIu32, gap->partition);
        }
        explain_chain(chain, explain, gap);
        fprintf(out, "  %9s after %s on %s, %s\n             %s\n",
                cli_text_duration(length, gap->end_ns - gap->begin_ns),
                cli_text_duration(at, gap->begin_ns - explain->timeline.begin_ns),
                explain->read.header.devices[gap->device].name, before, chain);
    }
}

static void print_durations(FILE *out, const char *label, const struct explain_durations *durations,
                            const char *behind)
{
    char total[CLI_TEXT_BYTES], late[CLI_TEXT_BYTES], longest[CLI_TEXT_BYTES];
    cli_row(out, label, "%zu, %s together, p99 %s, longest %s%s", durations->count,
            cli_text_duration(total, durations->total_ns),
            cli_text_duration(late, explain_quantile(durations, 990)),
            cli_text_duration(longest, explain_quantile(durations, 1000)), behind);
}

static void print_holds(FILE *out, const struct explain *explain)
{
    static const char *const names[TRACE_SPANS] = {"other", "trim", "finalize", "dispatch", "I/O"};
    char text[160] = "";
    size_t used = 0;
    for (int span = 0; span < TRACE_SPANS; span++) {
        char duration[CLI_TEXT_BYTES];
        if (explain->holds_ns[span] > 0) {
            used = append(text, sizeof text, used, "; %s %s", names[span],
                          cli_text_duration(duration, explain->holds_ns[span]));
        }
    }
    print_durations(out, "lock held", &explain->holds, text);
}

static void print_rest(FILE *out, const struct explain *explain)
{
    char text[CLI_TEXT_BYTES], more[80] = "";
    fprintf(out, "\nBeside\n");
    if (explain->trims.count > 0) {
        snprintf(more, sizeof more, "; %s handed back", cli_text_bytes(text, explain->trimmed_bytes));
        print_durations(out, "trims", &explain->trims, more);
    } else {
        cli_row(out, "trims", "none");
    }
    if (explain->waits.count > 0) {
        print_durations(out, "lock waits", &explain->waits, "");
    }
    if (explain->holds.count > 0) {
        print_holds(out, explain);
    }
    if (explain->latencies.count > 0) {
        char median[CLI_TEXT_BYTES], late[CLI_TEXT_BYTES];
        cli_row(out, "latency", "%zu proofs, p50 %s, p99 %s, longest %s", explain->latencies.count,
                cli_text_duration(median, explain_quantile(&explain->latencies, 500)),
                cli_text_duration(late, explain_quantile(&explain->latencies, 990)),
                cli_text_duration(text, explain_quantile(&explain->latencies, 1000)));
    }
    if (explain->rss_peak_bytes > 0) {
        char last[CLI_TEXT_BYTES];
        cli_row(out, "memory", "peak %s, at the end %s resident",
                cli_text_bytes(text, explain->rss_peak_bytes), cli_text_bytes(last, explain->rss_last_bytes));
    }
    if (explain->read.dropped > 0 || explain->read.odd > 0 || !explain->read.ended) {
        cli_row(out, "mind", "%" PRIu64 " events were dropped, %" PRIu64 " can't be true%s",
                explain->read.dropped, explain->read.odd,
                explain->read.ended ? "" : ", the run did not end in order");
    }
}

void explain_print(FILE *out, const struct explain *explain, const char *name)
{
    char headline[EXPLAIN_HEADLINE_BYTES];
    const struct trace_header *header = &explain->read.header;
    explain_headline(headline, explain);
    cli_print_plain(out, name, strlen(name));
    fprintf(out, ": %s\n", headline);
    cli_row(out, "run", "%s, allocator %s, trim policy %s, %" PRIu32 " partitions", header->program,
            header->allocator, header->policy, header->partitions);
    print_devices(out, explain);
    print_suspects(out, explain);
    print_worst(out, explain);
    print_rest(out, explain);
}
