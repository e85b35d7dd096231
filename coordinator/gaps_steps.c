#include "coordinator/gaps_steps.h"

#include "conf/check.h"

#include <stdlib.h>
#include <string.h>

/* Doubles a list's room; false if there is no memory. */
static bool grow(void **list, size_t *capacity, size_t element_bytes)
{
    size_t wanted = *capacity > 0 ? *capacity * 2 : 64;
    void *grown = reallocarray(*list, wanted, element_bytes);
    if (grown == NULL) {
        return false;
    }
    *list = grown;
    *capacity = wanted;
    return true;
}

/* ---- steps ---- */

bool gaps_steps_add(struct gaps_steps *steps, unsigned category, uint32_t owner, uint64_t begin_ns,
                    uint64_t end_ns)
{
    CHECK(category < GAPS_STEPS_CATEGORIES);
    if (begin_ns >= end_ns) {
        return true;
    }
    if (steps->edges_capacity - steps->edges_count < 2) {
        void *list = steps->edges;
        if (!grow(&list, &steps->edges_capacity, sizeof *steps->edges)) {
            return false;
        }
        steps->edges = list;
    }
    steps->edges[steps->edges_count++] = (struct gaps_edge){begin_ns, owner, (uint8_t)category, 1};
    steps->edges[steps->edges_count++] = (struct gaps_edge){end_ns, owner, (uint8_t)category, -1};
    return true;
}

/* Ends before begins of the same time, so that the owner is whose interval begins. */
static int compare_edges(const void *left_edge, const void *right_edge)
{
    const struct gaps_edge *left = left_edge, *right = right_edge;
    if (left->time_ns != right->time_ns) {
        return left->time_ns < right->time_ns ? -1 : 1;
    }
    if (left->change != right->change) {
        return left->change < right->change ? -1 : 1;
    }
    return left->owner < right->owner ? -1 : left->owner > right->owner;
}

bool gaps_steps_build(struct gaps_steps *steps)
{
    steps->steps = calloc(steps->edges_count + 1, sizeof *steps->steps);
    if (steps->steps == NULL) {
        return false;
    }
    if (steps->edges_count > 0) {
        qsort(steps->edges, steps->edges_count, sizeof *steps->edges, compare_edges);
    }
    struct gaps_step now = {.time_ns = 0};
    steps->steps[steps->count++] = now; /* before the first edge */
    for (size_t i = 0; i < steps->edges_count; i++) {
        const struct gaps_edge *edge = &steps->edges[i];
        if (edge->time_ns != now.time_ns) {
            now.time_ns = edge->time_ns;
            steps->count++;
        }
        now.counts[edge->category] += edge->change > 0 ? 1u : UINT32_MAX;
        now.owner = edge->change > 0 ? edge->owner : now.owner;
        steps->steps[steps->count - 1] = now;
    }
    free(steps->edges);
    steps->edges = NULL;
    steps->edges_count = steps->edges_capacity = 0;
    return true;
}

void gaps_steps_free(struct gaps_steps *steps)
{
    free(steps->edges);
    free(steps->steps);
    memset(steps, 0, sizeof *steps);
}

const struct gaps_step *gaps_steps_at(const struct gaps_steps *steps, struct gaps_probe *probe)
{
    CHECK(steps->count > 0);
    size_t low = 0, high = steps->count; /* steps[low] is at or before the time */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (steps->steps[middle].time_ns <= probe->time_ns) {
            low = middle;
        } else {
            high = middle;
        }
    }
    if (high < steps->count) {
        gaps_probe_limit(probe, steps->steps[high].time_ns);
    }
    return &steps->steps[low];
}

/* ---- intervals ---- */

bool gaps_intervals_add(struct gaps_intervals *intervals, const struct gaps_interval *interval)
{
    if (interval->begin_ns >= interval->end_ns) {
        return true;
    }
    if (intervals->count == intervals->capacity) {
        void *list = intervals->list;
        if (!grow(&list, &intervals->capacity, sizeof *intervals->list)) {
            return false;
        }
        intervals->list = list;
    }
    intervals->list[intervals->count++] = *interval;
    return true;
}

static int compare_intervals(const void *left_interval, const void *right_interval)
{
    const struct gaps_interval *left = left_interval, *right = right_interval;
    if (left->key != right->key) {
        return left->key < right->key ? -1 : 1;
    }
    if (left->begin_ns != right->begin_ns) {
        return left->begin_ns < right->begin_ns ? -1 : 1;
    }
    return left->end_ns < right->end_ns ? -1 : left->end_ns > right->end_ns;
}

void gaps_intervals_build(struct gaps_intervals *intervals)
{
    if (intervals->count == 0) {
        return;
    }
    qsort(intervals->list, intervals->count, sizeof *intervals->list, compare_intervals);
    size_t kept = 0;
    for (size_t i = 0; i < intervals->count; i++) {
        struct gaps_interval interval = intervals->list[i];
        const struct gaps_interval *last = kept > 0 ? &intervals->list[kept - 1] : NULL;
        if (last != NULL && last->key == interval.key && last->end_ns > interval.begin_ns) {
            interval.begin_ns = last->end_ns;
        }
        if (interval.begin_ns < interval.end_ns) {
            intervals->list[kept++] = interval;
        }
    }
    intervals->count = kept;
}

void gaps_intervals_free(struct gaps_intervals *intervals)
{
    free(intervals->list);
    memset(intervals, 0, sizeof *intervals);
}

size_t gaps_intervals_find(const struct gaps_intervals *intervals, uint32_t key, uint64_t time_ns)
{
    size_t low = 0, high = intervals->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct gaps_interval *interval = &intervals->list[middle];
        if (interval->key < key || (interval->key == key && interval->begin_ns < time_ns)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

const struct gaps_interval *gaps_intervals_at(const struct gaps_intervals *intervals, uint32_t key,
                                              struct gaps_probe *probe)
{
    size_t next = gaps_intervals_find(intervals, key, probe->time_ns + 1);
    if (next < intervals->count && intervals->list[next].key == key) {
        gaps_probe_limit(probe, intervals->list[next].begin_ns);
    }
    if (next == 0) {
        return NULL;
    }
    const struct gaps_interval *interval = &intervals->list[next - 1];
    if (interval->key != key || interval->end_ns <= probe->time_ns) {
        return NULL;
    }
    gaps_probe_limit(probe, interval->end_ns);
    return interval;
}
