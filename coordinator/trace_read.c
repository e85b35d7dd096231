#include "coordinator/trace_read.h"

#include "conf/check.h"
#include "coordinator/cli.h"
#include "coordinator/cli_input.h"
#include "coordinator/core.h"
#include "cuda/device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* No run lasts longer than 100 days, and sums over all devices then still fit in 64 bits. */
#define DISTANCE_MAX_NS (UINT64_C(1) << 53)
#define TIMELINE_NS     UINT64_C(200000000)

static bool near(const struct trace_header *header, uint64_t time_ns)
{
    uint64_t start = header->start_ns;
    return time_ns >= start ? time_ns - start <= DISTANCE_MAX_NS : start - time_ns <= DISTANCE_MAX_NS;
}

bool trace_read_is_span(const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_STAGE:
    case TRACE_SPAN:
    case TRACE_TASK:
    case TRACE_TRIM:
    case TRACE_LOCK:
    case TRACE_HOLD:
    case TRACE_CIRCUIT:
    case TRACE_BLOCKED:
        return true;
    default:
        return false;
    }
}

static bool lane_known(const struct trace_header *header, uint16_t lane)
{
    for (uint32_t i = 0; i < header->devices_count; i++) {
        if (lane >= header->devices[i].first_lane &&
            lane - header->devices[i].first_lane < header->devices[i].lanes) {
            return true;
        }
    }
    return false;
}

/* What `detail` must stay below. */
static unsigned details(enum trace_kind kind)
{
    switch (kind) {
    case TRACE_STATE:
        return CORE_STATES;
    case TRACE_STAGE:
        return DEVICE_STAGES;
    case TRACE_SPAN:
    case TRACE_LOCK:
    case TRACE_HOLD:
        return TRACE_SPANS;
    case TRACE_TASK:
        return TRACE_TASKS;
    case TRACE_CIRCUIT:
        return 2;
    case TRACE_BLOCKED:
        return TRACE_BLOCKEDS;
    default:
        return UINT8_MAX + 1;
    }
}

static bool sound(const struct trace_header *header, const struct trace_event *event)
{
    bool on_lane = event->kind == TRACE_STAGE || event->kind == TRACE_SUBMIT;
    bool of_partition = event->kind == TRACE_STATE || on_lane;
    if (event->detail >= details(event->kind) || (on_lane && !lane_known(header, event->lane)) ||
        (of_partition && event->index == TRACE_READ_NONE) || !near(header, event->time_ns)) {
        return false;
    }
    return !trace_read_is_span(event) || (event->value <= event->time_ns && near(header, event->value));
}

uint32_t trace_read_partition(const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_STATE:
    case TRACE_STAGE:
    case TRACE_SUBMIT:
        return event->index;
    case TRACE_TASK:
        return event->detail == TRACE_TASK_LOAD || event->detail == TRACE_TASK_BUNDLE ? TRACE_READ_NONE
                                                                                      : event->index;
    case TRACE_LOCK:
        return event->value2 >= 1 && event->value2 <= UINT32_MAX ? (uint32_t)(event->value2 - 1)
                                                                 : TRACE_READ_NONE;
    default:
        return TRACE_READ_NONE;
    }
}

uint32_t trace_read_state_count(const struct trace_event *event)
{
    uint32_t most = TRACE_READ_NONE - event->index;
    uint64_t count = event->value2 > 1 ? event->value2 : 1;
    return count < most ? (uint32_t)count : most;
}

unsigned trace_read_device(const struct trace_read *read, uint16_t lane)
{
    for (uint32_t i = 0; i < read->header.devices_count; i++) {
        const struct trace_device *device = &read->header.devices[i];
        if (lane >= device->first_lane && lane - device->first_lane < device->lanes) {
            return i;
        }
    }
    CHECK(!"a lane of an event that was taken for sound");
    return 0;
}

/* ---- header ---- */

static void text_clean(char *text, size_t capacity)
{
    text[capacity - 1] = '\0';
    for (char *at = text; *at != '\0'; at++) {
        if (*at < ' ' || *at > '~') {
            *at = '?';
        }
    }
}

static enum error_code header_check(struct trace_header *header, const char *name, struct error *error)
{
    if (header->version != TRACE_VERSION || header->event_bytes != sizeof(struct trace_event)) {
        return error_set(error, ERROR_INPUT,
                         "%s: is a trace of version %" PRIu32 " with records of %" PRIu32
                         " bytes; this uzk reads version %d with records of %zu",
                         name, header->version, header->event_bytes, TRACE_VERSION,
                         sizeof(struct trace_event));
    }
    if (header->devices_count > TRACE_DEVICES_MAX) {
        return error_set(error, ERROR_INPUT,
                         "%s: the header claims %" PRIu32 " devices, a trace has %d at most", name,
                         header->devices_count, TRACE_DEVICES_MAX);
    }
    for (uint32_t i = 0; i < header->devices_count; i++) {
        struct trace_device *device = &header->devices[i];
        if (device->first_lane > UINT16_MAX || device->lanes > UINT16_MAX + 1u - device->first_lane) {
            return error_set(error, ERROR_INPUT,
                             "%s: the header gives device %" PRIu32 " %" PRIu32 " lanes from %" PRIu32
                             " on, lanes have numbers below 65536",
                             name, i, device->lanes, device->first_lane);
        }
        text_clean(device->name, sizeof device->name);
    }
    text_clean(header->program, sizeof header->program);
    text_clean(header->allocator, sizeof header->allocator);
    text_clean(header->policy, sizeof header->policy);
    header->timeline_ns = header->timeline_ns != 0 ? header->timeline_ns : TIMELINE_NS;
    return ERROR_NONE;
}

/* ---- events ---- */

#define COMPARE(field)                              \
    if (left->field != right->field) {              \
        return left->field < right->field ? -1 : 1; \
    }

/* By time; equal times by everything else, so that equal sets of records give equal orders. */
static int compare(const void *left_event, const void *right_event)
{
    const struct trace_event *left = left_event, *right = right_event;
    COMPARE(time_ns)
    COMPARE(kind)
    COMPARE(detail)
    COMPARE(index)
    COMPARE(lane)
    COMPARE(value)
    COMPARE(value2)
    return 0;
}

static void events_take(struct trace_read *read, const uint8_t *records, size_t records_count)
{
    for (size_t i = 0; i < records_count; i++) {
        struct trace_event *event = &read->events[read->count];
        memcpy(event, records + i * sizeof *event, sizeof *event);
        if (event->kind >= TRACE_KINDS) {
            read->unknown++;
        } else if (!sound(&read->header, event)) {
            read->odd++;
        } else if (event->kind == TRACE_DROPPED) {
            read->dropped = event->value > read->dropped ? event->value : read->dropped;
        } else {
            read->ended |= event->kind == TRACE_END;
            /* The post of a task is told for its own sake only; one that can't be is as if it began at once.
             */
            if (event->kind == TRACE_TASK &&
                (event->value2 > event->value || !near(&read->header, event->value2))) {
                event->value2 = event->value;
            }
            read->count++;
        }
    }
}

enum error_code trace_read_parse(struct trace_read *read, const uint8_t *bytes, size_t size, const char *name,
                                 struct error *error)
{
    memset(read, 0, sizeof *read);
    size_t magic_bytes = sizeof read->header.magic;
    if (size < magic_bytes || memcmp(bytes, TRACE_MAGIC, magic_bytes) != 0) {
        return error_set(error, ERROR_INPUT, "%s: is not a trace: it does not begin with \"%s\"", name,
                         TRACE_MAGIC);
    }
    if (size < sizeof read->header) {
        return error_set(error, ERROR_INPUT,
                         "%s: ends at offset %zu, within the %zu bytes of a trace's header", name, size,
                         sizeof read->header);
    }
    memcpy(&read->header, bytes, sizeof read->header);
    if (header_check(&read->header, name, error) != ERROR_NONE) {
        return error->code;
    }
    size_t records = (size - sizeof read->header) / sizeof(struct trace_event);
    read->partial = (size - sizeof read->header) % sizeof(struct trace_event);
    read->events = calloc(records > 0 ? records : 1, sizeof *read->events);
    if (read->events == NULL) {
        return error_set(error, ERROR_SYSTEM, "%s: no memory for its %zu events", name, records);
    }
    events_take(read, bytes + sizeof read->header, records);
    qsort(read->events, read->count, sizeof *read->events, compare);
    return ERROR_NONE;
}

enum error_code trace_read_open(struct trace_read *read, const char *path, struct error *error)
{
    struct cli_input input = {.bytes = NULL};
    if (cli_input_open(&input, path, SIZE_MAX / 4, error) != ERROR_NONE) {
        return error->code;
    }
    enum error_code code = trace_read_parse(read, input.bytes, input.size, path, error);
    cli_input_close(&input);
    return code;
}

void trace_read_close(struct trace_read *read)
{
    free(read->events);
    read->events = NULL;
    read->count = 0;
}

/* ---- inspect ---- */

void trace_read_print(const struct trace_read *read)
{
    static const char *const kinds[TRACE_KINDS] = {"states",  "stages", "submits", "spans", "tasks",
                                                   "trims",   "rss",    "waits",   "holds", "circuits",
                                                   "dropped", "end",    "blocked"};
    uint64_t counts[TRACE_KINDS] = {0};
    uint64_t last_ns = read->header.start_ns;
    for (size_t i = 0; i < read->count; i++) {
        counts[read->events[i].kind]++;
        last_ns = read->events[i].time_ns > last_ns ? read->events[i].time_ns : last_ns;
    }
    char when[64] = "at an unknown time", text[CLI_TEXT_BYTES];
    time_t seconds = (time_t)(read->header.start_utc_ns / 1000000000);
    struct tm utc;
    if (read->header.start_utc_ns != 0 && gmtime_r(&seconds, &utc) != NULL) {
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &utc);
    }
    cli_row(stdout, "written by", "%s, allocator %s, trim policy %s", read->header.program,
            read->header.allocator, read->header.policy);
    cli_row(stdout, "run", "began %s, last event after %s, %s", when,
            cli_text_duration(text, last_ns - read->header.start_ns),
            read->ended ? "ended in order" : "did not end in order");
    cli_row(stdout, "partitions", "%" PRIu32, read->header.partitions);
    for (uint32_t i = 0; i < read->header.devices_count; i++) {
        cli_row(stdout, "device", "%s, %" PRIu32 " lanes", read->header.devices[i].name,
                read->header.devices[i].lanes);
    }
    cli_row(stdout, "events", "%zu, %" PRIu64 " dropped by the run", read->count, read->dropped);
    for (int kind = 0; kind < TRACE_KINDS; kind++) {
        if (counts[kind] > 0 && kind != TRACE_END) {
            printf("    %-10s %12" PRIu64 "\n", kinds[kind], counts[kind]);
        }
    }
    if (read->unknown > 0 || read->odd > 0 || read->partial > 0) {
        cli_row(stdout, "left out",
                "%" PRIu64 " of unknown kinds, %" PRIu64 " that can't be true, %zu bytes of a partial record",
                read->unknown, read->odd, read->partial);
    }
}
