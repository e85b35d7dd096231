/* Buffers of a trace: order, bounds, what is dropped. What is in them is read back by test_trace_read. */
#include "coordinator/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PER_BUFFER = TRACE_BUFFER_BYTES / sizeof(struct trace_event) };

struct sheet { /* a trace and the file that its buffers make */
    struct trace trace;
    unsigned char *memory;
    unsigned char *file;
    size_t bytes;
};

static const struct trace_header header = {.magic = TRACE_MAGIC, .version = TRACE_VERSION, .partitions = 7};

static void sheet_open(struct sheet *sheet)
{
    sheet->memory = aligned_alloc(64, (size_t)TRACE_BUFFERS * TRACE_BUFFER_BYTES);
    sheet->file = calloc(64, TRACE_BUFFER_BYTES);
    sheet->bytes = 0;
    assert_non_null(sheet->memory);
    assert_non_null(sheet->file);
    memset(sheet->memory, 0xee, (size_t)TRACE_BUFFERS * TRACE_BUFFER_BYTES);
    trace_init(&sheet->trace, sheet->memory, &header);
}

static void sheet_close(struct sheet *sheet)
{
    free(sheet->memory);
    free(sheet->file);
}

static void emit(struct sheet *sheet, uint64_t number)
{
    const struct trace_event event = {.time_ns = number, .kind = TRACE_STATE, .index = (uint32_t)number};
    trace_emit(&sheet->trace, &event);
}

/* Writes what waits, as the coordinator's ring would. */
static unsigned write_out(struct sheet *sheet, bool partial)
{
    const unsigned char *data;
    size_t bytes;
    unsigned count = 0;
    while (trace_full_take(&sheet->trace, partial, &data, &bytes)) {
        memcpy(sheet->file + sheet->bytes, data, bytes);
        sheet->bytes += bytes;
        trace_full_done(&sheet->trace);
        ++count;
    }
    return count;
}

static size_t events_of(const struct sheet *sheet)
{
    return (sheet->bytes - sizeof header) / sizeof(struct trace_event);
}

static struct trace_event event_at(const struct sheet *sheet, size_t index)
{
    struct trace_event event;
    memcpy(&event, sheet->file + sizeof header + index * sizeof event, sizeof event);
    return event;
}

static void events_come_out_in_order_behind_the_header(void **state)
{
    (void)state;
    struct sheet sheet;
    uint64_t number = 0;
    sheet_open(&sheet);
    for (unsigned round = 0; round < 40; ++round) { /* sizes that end within buffers and at their edges */
        unsigned count = round % 3 == 0 ? PER_BUFFER : round * 53 % (PER_BUFFER / 2) + 1;
        for (unsigned i = 0; i < count; ++i) {
            emit(&sheet, number++);
        }
        write_out(&sheet, round % 2 == 1);
    }
    write_out(&sheet, true);
    assert_int_equal(write_out(&sheet, true), 0);
    assert_memory_equal(sheet.file, &header, sizeof header);
    assert_int_equal(events_of(&sheet), number);
    for (uint64_t i = 0; i < number; ++i) {
        assert_int_equal(event_at(&sheet, i).time_ns, i);
    }
    assert_int_equal(sheet.trace.dropped, 0);
    assert_int_equal(sheet.trace.emitted, number);
    sheet_close(&sheet);
}

static void a_buffer_in_flight_is_not_touched(void **state)
{
    (void)state;
    struct sheet sheet;
    const unsigned char *data;
    unsigned char copy[TRACE_BUFFER_BYTES];
    size_t bytes;
    sheet_open(&sheet);
    emit(&sheet, 1);
    assert_false(trace_full_take(&sheet.trace, false, &data, &bytes)); /* it isn't full */
    assert_true(trace_full_take(&sheet.trace, true, &data, &bytes));
    assert_int_equal(bytes, sizeof header + sizeof(struct trace_event));
    memcpy(copy, data, bytes);
    for (uint64_t i = 0; i < (uint64_t)TRACE_BUFFERS * PER_BUFFER + 100; ++i) {
        emit(&sheet, i);
    }
    assert_memory_equal(copy, data, bytes);
    assert_int_equal(sheet.trace.emitted, 1 + (uint64_t)(TRACE_BUFFERS - 1) * PER_BUFFER);
    assert_int_equal(sheet.trace.dropped, PER_BUFFER + 100);
    sheet_close(&sheet);
}

static void dropped_events_are_counted_in_the_file(void **state)
{
    (void)state;
    struct sheet sheet;
    uint64_t dropped = 0, last = 0;
    sheet_open(&sheet);
    for (unsigned round = 0; round < 3; ++round) {
        for (uint64_t i = 0; i < (uint64_t)TRACE_BUFFERS * PER_BUFFER + round; ++i) {
            emit(&sheet, i);
        }
        write_out(&sheet, true);
    }
    emit(&sheet, 99); /* there is room again, so the last count gets in */
    write_out(&sheet, true);
    size_t count = events_of(&sheet), told = 0;
    for (size_t i = 0; i < count; ++i) {
        struct trace_event event = event_at(&sheet, i);
        if (event.kind == TRACE_DROPPED) {
            assert_true(event.value > last);
            last = event.value;
            ++told;
        }
    }
    dropped = sheet.trace.dropped;
    assert_true(dropped > 0);
    assert_int_equal(last, dropped);
    assert_int_equal(count - told, sheet.trace.emitted);
    assert_int_equal(sheet.trace.emitted + dropped, 3 * (uint64_t)TRACE_BUFFERS * PER_BUFFER + 3 + 1);
    sheet_close(&sheet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_out_in_order_behind_the_header),
        cmocka_unit_test(a_buffer_in_flight_is_not_touched),
        cmocka_unit_test(dropped_events_are_counted_in_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
