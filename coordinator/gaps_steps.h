/* gaps_steps.h - what was going on at a time: functions of time that change in steps, and the intervals of
 * keys (a thread, a partition) that don't overlap.
 *
 * A probe asks at one time and learns, beside the values, until when all that it asked stays as it is, so
 * that an interval can be cut exactly where something changes. Lists are built once and then only read;
 * asking costs O(log n). Memory is malloc's. */
#ifndef COORDINATOR_GAPS_STEPS_H
#define COORDINATOR_GAPS_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gaps_probe {
    uint64_t time_ns;
    uint64_t until_ns; /* lowered by every question; later than time_ns */
};

/* The next change, if it is later than the probe's time. */
static inline void gaps_probe_limit(struct gaps_probe *probe, uint64_t change_ns)
{
    if (change_ns > probe->time_ns && change_ns < probe->until_ns) {
        probe->until_ns = change_ns;
    }
}

enum { GAPS_STEPS_CATEGORIES = 8 };

struct gaps_edge {
    uint64_t time_ns;
    uint32_t owner;
    uint8_t category;
    int8_t change; /* +1 begins, -1 ends */
};

struct gaps_step {
    uint64_t time_ns;
    uint32_t counts[GAPS_STEPS_CATEGORIES]; /* how many of each category from here on */
    uint32_t owner;                         /* of what began last */
};

struct gaps_steps {
    struct gaps_edge *edges; /* while it is being built */
    size_t edges_count, edges_capacity;
    struct gaps_step *steps;
    size_t count;
};

/* False: no memory; the list then stays as it was. Empty intervals are left out. */
bool gaps_steps_add(struct gaps_steps *steps, unsigned category, uint32_t owner, uint64_t begin_ns,
                    uint64_t end_ns);

/* After the last interval, before the first question. False: no memory. */
bool gaps_steps_build(struct gaps_steps *steps);

void gaps_steps_free(struct gaps_steps *steps);

/* The step in force at the probe's time; one with all counts 0 before the first. */
const struct gaps_step *gaps_steps_at(const struct gaps_steps *steps, struct gaps_probe *probe);

struct gaps_interval {
    uint64_t begin_ns, end_ns;
    uint32_t key;
    uint32_t partition;
    uint8_t detail;
};

struct gaps_intervals {
    struct gaps_interval *list;
    size_t count, capacity;
};

bool gaps_intervals_add(struct gaps_intervals *intervals, const struct gaps_interval *interval);
/* Sorts. Intervals of one key that overlap, as no sound trace has them, are cut short at their beginning. */
void gaps_intervals_build(struct gaps_intervals *intervals);
void gaps_intervals_free(struct gaps_intervals *intervals);

/* The latest begun interval of the key that holds the probe's time, or NULL. */
const struct gaps_interval *gaps_intervals_at(const struct gaps_intervals *intervals, uint32_t key,
                                              struct gaps_probe *probe);

/* Index of the first interval of the key that begins at or after time_ns, or of what would stand behind it.
 */
size_t gaps_intervals_find(const struct gaps_intervals *intervals, uint32_t key, uint64_t time_ns);

#endif
