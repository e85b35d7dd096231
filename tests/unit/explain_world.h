/* explain_world.h - a made-up world's trace, read back and explained: for tests of explain and of the report.
 */
#ifndef TESTS_UNIT_EXPLAIN_WORLD_H
#define TESTS_UNIT_EXPLAIN_WORLD_H

#include "coordinator/explain.h"
#include "tests/unit/trace_world.h"

/* explain_close ends it. The world's events are left in another order. */
static inline void open_world(struct explain *explain, struct world *world)
{
    struct trace_read read;
    struct error error;
    size_t size;
    uint8_t *bytes = world_bytes(world, &size);
    assert_int_equal(trace_read_parse(&read, bytes, size, "t", &error), ERROR_NONE);
    assert_int_equal(explain_init(explain, &read, &error), ERROR_NONE);
    free(bytes);
}

#endif
