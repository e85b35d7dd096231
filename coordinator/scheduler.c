#include "coordinator/scheduler.h"

#include "coordinator/residency.h"
#include "coordinator/tracker.h"

/* ---- Queues: leftist heaps of jobs (C. Crane, 1972). Merging follows right spines, at most log2(n) jobs
 * long. ---- */

static bool job_before(const struct core *core, uint32_t a, uint32_t b)
{
    struct heap_key rank_a = core_rank(&core->jobs[a], a);
    struct heap_key rank_b = core_rank(&core->jobs[b], b);
    return heap_key_less(&rank_a, &rank_b);
}

/* As deep as the right spines are long, so log2 of the jobs. */
static uint32_t queue_merge(struct core *core, uint32_t a, uint32_t b) // NOLINT(misc-no-recursion)
{
    if (a == CORE_NONE) {
        return b;
    }
    if (b == CORE_NONE) {
        return a;
    }
    if (job_before(core, b, a)) {
        uint32_t other = a;
        a = b;
        b = other;
    }
    struct core_job *top = &core->jobs[a];
    uint32_t right = queue_merge(core, top->right, b);
    uint32_t left = top->left;
    if (left == CORE_NONE || core->jobs[left].spine < core->jobs[right].spine) {
        uint32_t other = left;
        left = right;
        right = other;
    }
    top->left = left;
    top->right = right;
    top->spine = right == CORE_NONE ? 1 : (uint8_t)(core->jobs[right].spine + 1);
    return a;
}

static void queue_pop(struct core *core, uint32_t *queue)
{
    struct core_job *top = &core->jobs[*queue];
    CHECK(top->in_queue);
    *queue = queue_merge(core, top->left, top->right);
    top->left = top->right = CORE_NONE;
    top->spine = 0;
    top->in_queue = 0;
}

void scheduler_queue(struct core *core, uint32_t index)
{
    struct core_job *job = &core->jobs[index];
    CHECK(job->queued > 0 && job->end_cause == CORE_CAUSE_NONE);
    if (!job->in_queue) {
        uint32_t *queue = &core->circuits[job->circuit].queues[job->generate];
        job->in_queue = 1;
        job->spine = 1;
        *queue = queue_merge(core, *queue, index);
    }
    scheduler_refresh(core, job->circuit);
}

void scheduler_refresh(struct core *core, uint32_t index)
{
    struct core_circuit *circuit = &core->circuits[index];
    for (unsigned kind = 0; kind < 2; kind++) {
        uint32_t *top = &circuit->queues[kind];
        while (*top != CORE_NONE &&
               (core->jobs[*top].queued == 0 || core->jobs[*top].end_cause != CORE_CAUSE_NONE)) {
            queue_pop(core, top);
        }
        bool queued = *top != CORE_NONE && circuit->doom == CORE_CAUSE_NONE;
        struct heap *in = circuit->state == CORE_CIRCUIT_RESIDENT ? &core->runnable[kind]
                          : circuit->state == CORE_CIRCUIT_ABSENT ? &core->absent[kind]
                                                                  : NULL;
        if (!queued || in != &core->runnable[kind]) {
            heap_remove(&core->runnable[kind], index);
        }
        if (!queued || in != &core->absent[kind]) {
            heap_remove(&core->absent[kind], index);
        }
        if (queued && in != NULL) {
            heap_set(in, index, core_rank(&core->jobs[*top], *top));
        }
    }
    residency_refresh(core, index);
}

void scheduler_doom(struct core *core, uint32_t index, enum core_cause cause)
{
    struct core_circuit *circuit = &core->circuits[index];
    CHECK(cause != CORE_CAUSE_NONE);
    if (circuit->doom != CORE_CAUSE_NONE) {
        return;
    }
    circuit->doom = (uint8_t)cause;
    if (core->doomed.head == CORE_NONE) {
        core->doomed.head = index;
    } else {
        core->circuits[core->doomed.tail].doomed_next = index;
    }
    core->doomed.tail = index;
    scheduler_refresh(core, index);
}

void scheduler_doom_all(struct core *core, enum core_cause cause)
{
    for (uint32_t i = 0; i < core->circuits_count; i++) {
        scheduler_doom(core, i, cause);
    }
}

void scheduler_pump(struct core *core)
{
    uint32_t left = CORE_ENDS_PER_STEP;
    while (left > 0 && core->doomed.head != CORE_NONE) {
        struct core_circuit *circuit = &core->circuits[core->doomed.head];
        uint32_t job = circuit->queues[0] != CORE_NONE ? circuit->queues[0] : circuit->queues[1];
        if (job == CORE_NONE) {
            core->doomed.head = circuit->doomed_next;
            circuit->doomed_next = CORE_NONE;
        } else {
            tracker_end_job(core, job, circuit->doom); /* this takes it out of the queue */
        }
        left--;
    }
}

/* ---- Ready partitions and lanes ---- */

void scheduler_ready(struct core *core, uint32_t index)
{
    const struct core_slot *slot = &core->slots[index];
    const struct core_partition *partition = &core->partitions[slot->partition];
    CHECK(slot->state == CORE_SLOT_HELD && partition->state == CORE_READY);
    heap_set(&core->ready[partition->cpu_only], index,
             core_rank(&core->jobs[partition->job], slot->partition));
}

void scheduler_unready(struct core *core, uint32_t index)
{
    heap_remove(&core->ready[0], index);
    heap_remove(&core->ready[1], index);
}

static bool serves(const struct core_lane *lane, bool cpu_only)
{
    return cpu_only ? lane->cpu : !lane->fallback_only;
}

/* Adds change (1 or -1 as unsigned) to the counts of the kinds of work that the lane serves. */
static void count_lane(const struct core_lane *lane, uint32_t counts[2], uint32_t change)
{
    for (unsigned kind = 0; kind < 2; kind++) {
        if (serves(lane, kind)) {
            counts[kind] += change;
        }
    }
}

static void device_busy(struct core *core, uint32_t index)
{
    struct core_device *device = &core->devices[index];
    if (device->busy_lanes++ == 0) {
        device->busy_since_ns = core->now_ns;
    }
}

static void device_done(struct core *core, uint32_t index)
{
    struct core_device *device = &core->devices[index];
    CHECK(device->busy_lanes > 0);
    if (--device->busy_lanes == 0) {
        device->busy_ns += core->now_ns - device->busy_since_ns;
    }
}

void scheduler_lane_free(struct core *core, uint32_t index)
{
    struct core_lane *lane = &core->lanes[index];
    CHECK(lane->state == CORE_LANE_BUSY && lane->slot != CORE_NONE);
    timers_clear(&core->timers, core_timer_of_lane(core, index));
    lane->slot = CORE_NONE;
    lane->state = CORE_LANE_IDLE;
    count_lane(lane, core->lanes_idle, 1);
    device_done(core, lane->device);
}

/* Lanes that only take what others fail at become ordinary ones, for good, when no other is left. */
static void promote_fallback(struct core *core)
{
    for (uint32_t i = 0; i < core->lanes_count; i++) {
        struct core_lane *lane = &core->lanes[i];
        if (lane->fallback_only) {
            lane->fallback_only = 0;
            core->lanes_usable[0] += lane->state == CORE_LANE_IDLE || lane->state == CORE_LANE_BUSY;
            core->lanes_idle[0] += lane->state == CORE_LANE_IDLE;
        }
    }
}

void scheduler_lane_quarantine(struct core *core, uint32_t index, enum core_lane_state state)
{
    struct core_lane *lane = &core->lanes[index];
    CHECK(state == CORE_LANE_SILENT || state == CORE_LANE_LOST);
    enum core_lane_state before = lane->state;
    lane->state = (uint8_t)state;
    if (before == CORE_LANE_SILENT || before == CORE_LANE_LOST) {
        return; /* out of service already */
    }
    count_lane(lane, core->lanes_usable, UINT32_MAX);
    core->lanes_quarantined++;
    struct core_effect *effect = core_emit(core, CORE_EFFECT_QUARANTINE, index);
    effect->lane = index;
    if (before == CORE_LANE_IDLE) {
        count_lane(lane, core->lanes_idle, UINT32_MAX);
    } else {
        timers_clear(&core->timers, core_timer_of_lane(core, index));
        device_done(core, lane->device);
        effect->partition = core->slots[lane->slot].partition;
    }
    if (core->lanes_usable[0] == 0) {
        promote_fallback(core);
    }
}

void scheduler_lane_restore(struct core *core, uint32_t index)
{
    struct core_lane *lane = &core->lanes[index];
    CHECK(lane->state == CORE_LANE_SILENT && lane->slot == CORE_NONE);
    lane->state = CORE_LANE_IDLE;
    count_lane(lane, core->lanes_usable, 1);
    count_lane(lane, core->lanes_idle, 1);
    core->lanes_quarantined--;
}

void scheduler_lanes_check(struct core *core)
{
    if (core->lanes_usable[0] == 0 && core->started && !core->no_device) {
        core->no_device = 1; /* for good: a lane that comes back later finds nothing queued */
        scheduler_doom_all(core, CORE_CAUSE_NO_DEVICE);
    }
    for (uint32_t i = 0; i < core->slots_count; i++) {
        const struct core_slot *slot = &core->slots[i];
        if (slot->state != CORE_SLOT_HELD) {
            continue;
        }
        const struct core_partition *partition = &core->partitions[slot->partition];
        if (partition->state >= CORE_GENERATING && partition->state <= CORE_READY &&
            (partition->cpu_only ? core->lanes_usable[1] == 0 : core->no_device)) {
            tracker_end_held(core, i, CORE_CAUSE_NO_DEVICE);
        }
    }
}

/* An idle lane for the slot: of the device with the fewest busy lanes; never the one it failed on while
 * another could still take it. CORE_NONE if it must wait. */
static uint32_t choose_lane(const struct core *core, uint32_t slot)
{
    bool cpu_only = core->partitions[core->slots[slot].partition].cpu_only;
    uint32_t avoided = core->lanes_usable[cpu_only] > 1 ? core->slots[slot].lane : CORE_NONE;
    uint32_t best = CORE_NONE;
    for (uint32_t i = 0; i < core->lanes_count; i++) {
        const struct core_lane *lane = &core->lanes[i];
        if (lane->state == CORE_LANE_IDLE && i != avoided && serves(lane, cpu_only) &&
            (best == CORE_NONE ||
             core->devices[lane->device].busy_lanes < core->devices[core->lanes[best].device].busy_lanes)) {
            best = i;
        }
    }
    return best;
}

static void submit(struct core *core, uint32_t index, uint32_t lane_index)
{
    struct core_slot *slot = &core->slots[index];
    struct core_lane *lane = &core->lanes[lane_index];
    CHECK(lane->state == CORE_LANE_IDLE && lane->slot == CORE_NONE);
    scheduler_unready(core, index);
    tracker_move(core, slot->partition, TRACKER_SUBMIT);
    core->partitions[slot->partition].attempts++;
    slot->lane = lane_index;
    lane->state = CORE_LANE_BUSY;
    lane->slot = index;
    core_next(&lane->generation);
    count_lane(lane, core->lanes_idle, UINT32_MAX);
    device_busy(core, lane->device);
    uint64_t end_ns;
    if (!__builtin_add_overflow(core->now_ns, lane->time_limit_ns, &end_ns)) {
        timers_set(&core->timers, core_timer_of_lane(core, lane_index), end_ns);
    }
    struct core_effect *effect = core_emit(core, CORE_EFFECT_SUBMIT, index);
    effect->generation = lane->generation;
    effect->partition = slot->partition;
    effect->lane = lane_index;
}

/* The most urgent ready slot of those kinds that have an idle lane; CORE_NONE. */
static uint32_t best_ready(const struct core *core)
{
    uint32_t best = CORE_NONE;
    const struct heap_key *best_key = NULL;
    for (unsigned kind = 0; kind < 2; kind++) {
        const struct heap *ready = &core->ready[kind];
        if (ready->count > 0 && core->lanes_idle[kind] > 0) {
            uint32_t top = heap_top(ready);
            if (best == CORE_NONE || heap_key_less(&ready->keys[top], best_key)) {
                best = top;
                best_key = &ready->keys[top];
            }
        }
    }
    return best;
}

static void submit_ready(struct core *core)
{
    uint32_t deferred = 0; /* those that only the lane they failed on could take now */
    for (uint32_t slot = best_ready(core); slot != CORE_NONE; slot = best_ready(core)) {
        uint32_t lane = choose_lane(core, slot);
        if (lane != CORE_NONE) {
            submit(core, slot, lane);
        } else {
            scheduler_unready(core, slot);
            core->deferred[deferred++] = slot;
        }
    }
    while (deferred > 0) {
        uint32_t slot = core->deferred[--deferred];
        core->deferred[deferred] = 0;
        scheduler_ready(core, slot);
    }
}

/* ---- Starting queued partitions ---- */

struct candidate {
    uint32_t circuit; /* CORE_NONE: nothing can start */
    unsigned kind;    /* with a witness command */
    bool absent;      /* to be loaded first */
};

/* The circuit with the most urgent queued partition that may start now. */
static struct candidate best_candidate(const struct core *core, uint64_t ahead_max)
{
    struct candidate best = {.circuit = CORE_NONE};
    const struct heap_key *best_key = NULL;
    unsigned kinds = core->generators < core->generators_max ? 2 : 1;
    bool may_load = (uint64_t)core->ahead + core->loading < ahead_max;
    for (unsigned kind = 0; kind < kinds; kind++) {
        for (unsigned absent = 0; absent <= may_load; absent++) {
            const struct heap *heap = absent ? &core->absent[kind] : &core->runnable[kind];
            if (heap->count > 0 &&
                (best_key == NULL || heap_key_less(&heap->keys[heap_top(heap)], best_key))) {
                best = (struct candidate){.circuit = heap_top(heap), .kind = kind, .absent = absent};
                best_key = &heap->keys[best.circuit];
            }
        }
    }
    return best;
}

static void start(struct core *core, uint32_t index, unsigned kind)
{
    uint32_t job_index = core->circuits[index].queues[kind];
    const struct core_job *job = &core->jobs[job_index];
    uint32_t partition = tracker_take_queued(core, job_index);
    uint32_t slot = tracker_take_slot(core, partition);
    core->partitions[partition].cpu_only |= core->circuits[index].cpu_only;
    if (kind == 0) {
        tracker_move(core, partition, TRACKER_READ);
        tracker_begin(core, slot, CORE_EFFECT_READ, CORE_EVENT_READ);
    } else {
        core->generators++;
        tracker_move(core, partition, TRACKER_GENERATE);
        uint64_t end_ns;
        if (!__builtin_add_overflow(core->now_ns, job->generate_limit_ns, &end_ns)) {
            timers_set(&core->timers, core_timer_of_slot(core, slot), end_ns);
        }
        tracker_begin(core, slot, CORE_EFFECT_GENERATE, CORE_EVENT_GENERATED);
    }
    scheduler_refresh(core, index);
}

/* The best candidate goes first, always: when memory is short for it, others are held back until slots and
 * circuits that are in use have left, or it could wait forever. Only while its circuit loads do others
 * overtake. */
static void start_queued(struct core *core)
{
    uint64_t ahead_max = (uint64_t)core->lookahead * core->lanes_usable[0];
    core->blocked = CORE_BLOCKED_NOT;
    while (core->ahead < ahead_max) {
        struct candidate best = best_candidate(core, ahead_max);
        if (best.circuit == CORE_NONE) {
            return;
        }
        bool fits = false;
        if (core->slots_free != CORE_NONE) {
            fits = best.absent
                       ? residency_load(core, best.circuit)
                       : residency_make_room(core, core->circuits[best.circuit].slot_bytes, best.circuit);
        }
        if (fits && !best.absent) {
            start(core, best.circuit, best.kind);
        } else if (!fits) {
            if (core->slots_held > core->slots_stranded || core->loading + core->evicting > 0) {
                core->blocked = CORE_BLOCKED_MEMORY;
                return; /* whatever is in use will leave */
            }
            CHECK(core->slots_stranded > 0);
            scheduler_doom(core, best.circuit, CORE_CAUSE_DEVICE); /* a silent lane holds what it needs */
        }
    }
    if (best_candidate(core, UINT64_MAX).circuit != CORE_NONE) {
        core->blocked = CORE_BLOCKED_LOOKAHEAD;
    }
}

void scheduler_run(struct core *core)
{
    submit_ready(core);
    start_queued(core);
}
