#include "coordinator/core.h"

#include "coordinator/core_internal.h"
#include "coordinator/residency.h"
#include "coordinator/scheduler.h"
#include "coordinator/tracker.h"

#include <string.h>

/* ---- Memory ---- */

/* Carves count objects of size bytes from memory at *used; with memory NULL it only counts. */
static void *carve(uint8_t *memory, size_t *used, size_t count, size_t size)
{
    void *object = memory == NULL ? NULL : memory + *used;
    *used += (count * size + 63) & ~(size_t)63;
    return object;
}

static void carve_heap(struct heap *heap, uint8_t *memory, size_t *used, uint32_t capacity)
{
    void *object = carve(memory, used, 1, heap_bytes(capacity));
    if (object != NULL) {
        heap_init(heap, object, capacity);
    }
}

static uint32_t devices_of(const struct core_settings *settings)
{
    uint32_t devices = 0;
    for (uint32_t i = 0; i < settings->lanes_count; i++) {
        uint32_t device = settings->lanes[i].device;
        CHECK(device == devices || (devices > 0 && device == devices - 1));
        devices = device + 1;
    }
    return devices;
}

/* One step: a slot can be killed, end, be released, taken again, read and submitted; lanes and circuits see
 * two. */
static uint32_t effects_capacity_of(const struct core_settings *settings)
{
    return 8 * settings->slots + 2 * settings->lanes_count + 4 * settings->circuits_count +
           3 * CORE_ENDS_PER_STEP + 16;
}

/* Places every array; with memory NULL, only says how many bytes they take. Effects come last: core_hash
 * stops there. */
static size_t place(struct core *core, uint8_t *memory, const struct core_settings *settings)
{
    size_t used = 0;
    uint32_t circuits = settings->circuits_count;
    carve(memory, &used, 1, sizeof *core);
    core->partitions = carve(memory, &used, settings->partitions_max, sizeof *core->partitions);
    core->jobs = carve(memory, &used, settings->jobs_max, sizeof *core->jobs);
    core->slots = carve(memory, &used, settings->slots, sizeof *core->slots);
    core->lanes = carve(memory, &used, settings->lanes_count, sizeof *core->lanes);
    core->devices = carve(memory, &used, devices_of(settings), sizeof *core->devices);
    core->circuits = carve(memory, &used, circuits, sizeof *core->circuits);
    core->latency = carve(memory, &used, 1, sizeof *core->latency);
    core->deferred = carve(memory, &used, settings->slots, sizeof *core->deferred);
    carve_heap(&core->timers.heap, memory, &used,
               settings->jobs_max + settings->lanes_count + settings->slots);
    for (unsigned kind = 0; kind < 2; kind++) {
        carve_heap(&core->runnable[kind], memory, &used, circuits);
        carve_heap(&core->absent[kind], memory, &used, circuits);
        carve_heap(&core->ready[kind], memory, &used, settings->slots);
    }
    carve_heap(&core->idle, memory, &used, circuits);
    core->effects = carve(memory, &used, effects_capacity_of(settings), sizeof *core->effects);
    return used;
}

static void check_settings(const struct core_settings *settings)
{
    CHECK(settings->jobs_max < CORE_NONE && settings->partitions_max < CORE_NONE);
    CHECK(settings->slots > 0 && settings->slots < CORE_NONE && settings->lanes_count < CORE_NONE);
    CHECK(settings->circuits_count < CORE_NONE && settings->lookahead > 0);
    CHECK(settings->attempts_max > 0 && settings->attempts_max <= UINT8_MAX);
}

size_t core_size(const struct core_settings *settings)
{
    check_settings(settings);
    struct core sizes;
    return place(&sizes, NULL, settings);
}

static void init_lanes(struct core *core, const struct core_settings *settings)
{
    for (uint32_t i = 0; i < core->lanes_count; i++) {
        struct core_lane *lane = &core->lanes[i];
        lane->device = settings->lanes[i].device;
        lane->time_limit_ns = settings->lanes[i].time_limit_ns;
        lane->fallback_only = settings->lanes[i].fallback_only;
        lane->cpu = settings->lanes[i].cpu;
        lane->slot = CORE_NONE;
        core->lanes_usable[0] += !lane->fallback_only;
        core->lanes_usable[1] += lane->cpu;
    }
    core->lanes_idle[0] = core->lanes_usable[0];
    core->lanes_idle[1] = core->lanes_usable[1];
}

struct core *core_init(void *memory, const struct core_settings *settings)
{
    CHECK((uintptr_t)memory % 64 == 0);
    check_settings(settings);
    struct core *core = memory;
    place(core, memory, settings);
    core->memory_bytes = settings->memory_bytes;
    core->jobs_max = settings->jobs_max;
    core->partitions_max = settings->partitions_max;
    core->slots_count = settings->slots;
    core->lanes_count = settings->lanes_count;
    core->devices_count = devices_of(settings);
    core->circuits_count = settings->circuits_count;
    core->lookahead = settings->lookahead;
    core->generators_max = settings->generators_max;
    core->attempts_max = settings->attempts_max;
    trim_policy_init(&core->trim, &settings->trim);
    core->effects_capacity = effects_capacity_of(settings);
    core->ending.head = core->closing.head = core->doomed.head = CORE_NONE;
    core->ending.tail = core->closing.tail = core->doomed.tail = CORE_NONE;
    init_lanes(core, settings);
    core->slots_free = 0;
    for (uint32_t i = 0; i < core->slots_count; i++) {
        struct core_slot *slot = &core->slots[i];
        slot->partition = slot->lane = CORE_NONE;
        slot->answer = CORE_EVENTS;
        slot->next = i + 1 < core->slots_count ? i + 1 : CORE_NONE;
    }
    for (uint32_t i = 0; i < core->circuits_count; i++) {
        struct core_circuit *circuit = &core->circuits[i];
        circuit->resident_bytes = settings->circuits[i].resident_bytes;
        circuit->slot_bytes = settings->circuits[i].slot_bytes;
        circuit->queues[0] = circuit->queues[1] = circuit->doomed_next = CORE_NONE;
    }
    return core;
}

/* ---- Effects ---- */

struct core_effect *core_emit(struct core *core, enum core_effect_kind kind, uint32_t index)
{
    CHECK(core->effects_count < core->effects_capacity);
    struct core_effect *effect = &core->effects[core->effects_count];
    effect->kind = kind;
    effect->index = index;
    effect->generation = 0;
    effect->partition = effect->lane = CORE_NONE;
    effect->state = CORE_QUEUED;
    effect->cause = CORE_CAUSE_NONE;
    core->effects_count += !core->drained; /* late answers may still release slots, but nobody listens */
    return effect;
}

bool core_effect_take(struct core *core, struct core_effect *effect)
{
    if (core->effects_head == core->effects_count) {
        return false;
    }
    *effect = core->effects[core->effects_head++];
    return true;
}

/* ---- Events ---- */

/* Whether this answers what was asked for last. An older answer, or a second one, is late. */
static bool is_expected(struct core *core, uint32_t asked, uint32_t answered, bool outstanding)
{
    CHECK(asked != 0 && asked - answered < UINT32_C(1) << 31); /* else never asked for */
    if (asked == answered && (outstanding || SIM_PLANTED_BUG == 4)) {
        return true;
    }
    core->late_answers++;
    return false;
}

static void on_admit(struct core *core, const struct core_event *event)
{
    const struct core_job_request *job = &event->job;
    CHECK(!core->started && job->circuit < core->circuits_count && job->priority < CORE_PRIORITIES);
    CHECK(!job->generate || core->generators_max > 0);
    tracker_admit(core, job);
}

static void on_resumed(struct core *core, const struct core_event *event)
{
    CHECK(!core->started && event->index < core->partitions_count);
    struct core_partition *partition = &core->partitions[event->index];
    tracker_resume(core, event->index);
    core->resumed++;
    scheduler_refresh(core, core->jobs[partition->job].circuit);
}

static void on_start(struct core *core)
{
    CHECK(!core->started);
    core->started = 1;
    trim_policy_start(&core->trim, core->now_ns);
    if (core->stopping) {
        scheduler_doom_all(core, CORE_CAUSE_STOPPED);
    }
    for (uint32_t i = 0; i < core->circuits_count; i++) {
        uint64_t bytes;
        const struct core_circuit *circuit = &core->circuits[i];
        if (__builtin_add_overflow(circuit->resident_bytes, circuit->slot_bytes, &bytes) ||
            bytes > core->memory_bytes) {
            scheduler_doom(core, i, CORE_CAUSE_MEMORY);
        }
    }
    scheduler_lanes_check(core);
}

static void on_stop(struct core *core)
{
    if (core->stopping) {
        return;
    }
    core->stopping = 1;
    if (core->started) {
        scheduler_doom_all(core, CORE_CAUSE_STOPPED);
        tracker_sweep(core, CORE_NONE, CORE_CAUSE_STOPPED);
    }
}

static void on_loaded(struct core *core, const struct core_event *event)
{
    CHECK(event->index < core->circuits_count);
    struct core_circuit *circuit = &core->circuits[event->index];
    if (is_expected(core, circuit->generation, event->generation, circuit->state == CORE_CIRCUIT_LOADING)) {
        circuit->cpu_only = event->cpu_only;
        residency_loaded(core, event->index, event->code == ERROR_NONE);
        if (event->code != ERROR_NONE) {
            scheduler_doom(core, event->index, CORE_CAUSE_CIRCUIT);
        }
    }
}

static void on_evicted(struct core *core, const struct core_event *event)
{
    CHECK(event->index < core->circuits_count);
    const struct core_circuit *circuit = &core->circuits[event->index];
    if (is_expected(core, circuit->generation, event->generation, circuit->state == CORE_CIRCUIT_EVICTING)) {
        residency_evicted(core, event->index);
    }
}

static void retry(struct core *core, uint32_t slot)
{
    uint32_t partition = core->slots[slot].partition;
    enum core_cause cause = tracker_bar(core, partition);
    if (cause != CORE_CAUSE_NONE) {
        tracker_end_held(core, slot, cause);
        return;
    }
    core->retries++;
    tracker_move(core, partition, TRACKER_RETRY);
    scheduler_ready(core, slot);
}

static void on_finalized(struct core *core, uint32_t slot, enum error_code code)
{
    struct core_partition *partition = &core->partitions[core->slots[slot].partition];
    if (code == ERROR_NONE) {
        tracker_move(core, core->slots[slot].partition, TRACKER_WRITE);
        tracker_begin(core, slot, CORE_EFFECT_WRITE, CORE_EVENT_WRITTEN);
        return;
    }
    if (code != ERROR_PROOF) {
        tracker_end_held(core, slot, CORE_CAUSE_WRITE);
        return;
    }
    core->self_check_failures++;
    if (partition->cpu_only || core->lanes_usable[1] == 0) {
        tracker_end_held(core, slot, CORE_CAUSE_SELF_CHECK);
        return;
    }
    partition->cpu_only = 1;
    partition->attempts = 0;
    retry(core, slot);
}

/* GENERATED, READ, SYNTHESIZED, FINALIZED, WRITTEN. */
static void on_slot_answer(struct core *core, const struct core_event *event)
{
    CHECK(event->index < core->slots_count);
    struct core_slot *slot = &core->slots[event->index];
    if (!is_expected(core, slot->generation, event->generation, slot->answer != CORE_EVENTS)) {
        return;
    }
    CHECK(slot->answer == event->kind);
    slot->answer = CORE_EVENTS;
    if (event->kind == CORE_EVENT_GENERATED) {
        core->generators--;
        timers_clear(&core->timers, core_timer_of_slot(core, event->index));
    }
    if (slot->state == CORE_SLOT_ABANDONED) {
        tracker_release_slot(core, event->index);
        return;
    }
    bool ok = event->code == ERROR_NONE;
    switch (event->kind) {
    case CORE_EVENT_GENERATED:
        if (!ok) {
            tracker_end_held(core, event->index, CORE_CAUSE_GENERATE);
            break;
        }
        tracker_move(core, slot->partition, TRACKER_READ);
        tracker_begin(core, event->index, CORE_EFFECT_READ, CORE_EVENT_READ);
        break;
    case CORE_EVENT_READ:
        if (!ok) {
            tracker_end_held(core, event->index, CORE_CAUSE_READ);
            break;
        }
        tracker_move(core, slot->partition, TRACKER_SYNTHESIZE);
        tracker_begin(core, event->index, CORE_EFFECT_SYNTHESIZE, CORE_EVENT_SYNTHESIZED);
        break;
    case CORE_EVENT_SYNTHESIZED:
        if (!ok) {
            tracker_end_held(core, event->index, CORE_CAUSE_WITNESS);
            break;
        }
        tracker_move(core, slot->partition, TRACKER_PREPARED);
        if (core->lanes_usable[core->partitions[slot->partition].cpu_only] == 0) {
            /* A retry on the CPU that went back to queued: the last CPU lane left service while it was there.
             */
            tracker_end_held(core, event->index, CORE_CAUSE_NO_DEVICE);
        } else {
            scheduler_ready(core, event->index);
        }
        break;
    case CORE_EVENT_FINALIZED:
        on_finalized(core, event->index, event->code);
        break;
    default:
        CHECK(event->kind == CORE_EVENT_WRITTEN);
        tracker_end_held(core, event->index, ok ? CORE_CAUSE_NONE : CORE_CAUSE_WRITE);
        break;
    }
}

/* All lanes of the device leave service for good; what was on them begins again elsewhere. */
static void lose_device(struct core *core, uint32_t device)
{
    for (uint32_t i = 0; i < core->lanes_count; i++) {
        if (core->lanes[i].device == device) {
            scheduler_lane_quarantine(core, i, CORE_LANE_LOST);
        }
    }
    for (uint32_t i = 0; i < core->lanes_count; i++) {
        const struct core_lane *lane = &core->lanes[i];
        if (lane->device == device && lane->slot != CORE_NONE &&
            core->slots[lane->slot].state == CORE_SLOT_HELD) {
            tracker_strand(core, lane->slot);
        }
    }
}

/* The answer of a lane that was given up: its slot comes back, and so does a silent lane. */
static void on_proved_late(struct core *core, uint32_t index, bool sticky)
{
    struct core_lane *lane = &core->lanes[index];
    uint32_t slot = lane->slot;
    core->late_answers++;
    lane->slot = CORE_NONE;
    if (sticky) {
        lose_device(core, lane->device);
        scheduler_lanes_check(core);
    } else if (lane->state == CORE_LANE_SILENT) {
        scheduler_lane_restore(core, index);
    }
    if (SIM_PLANTED_BUG != 2) {
        tracker_release_slot(core, slot);
    }
}

static void on_proved(struct core *core, const struct core_event *event)
{
    CHECK(event->index < core->lanes_count);
    struct core_lane *lane = &core->lanes[event->index];
    if (!is_expected(core, lane->generation, event->generation, lane->slot != CORE_NONE)) {
        return;
    }
    if (lane->state != CORE_LANE_BUSY) {
        on_proved_late(core, event->index, event->sticky);
        return;
    }
    uint32_t slot = lane->slot;
    scheduler_lane_free(core, event->index);
    if (event->sticky) {
        lose_device(core, lane->device);
    }
    if (event->code == ERROR_NONE) {
        tracker_move(core, core->slots[slot].partition, TRACKER_FINALIZE);
        tracker_begin(core, slot, CORE_EFFECT_FINALIZE, CORE_EVENT_FINALIZED);
    } else {
        retry(core, slot);
    }
    if (event->sticky) {
        scheduler_lanes_check(core);
    }
}

static void on_bundled(struct core *core, const struct core_event *event)
{
    CHECK(event->index < core->jobs_count);
    const struct core_job *job = &core->jobs[event->index];
    if (is_expected(core, job->generation, event->generation, job->bundling)) {
        tracker_bundled(core, event->index, event->code);
    }
}

static void on_trimmed(struct core *core, const struct core_event *event)
{
    if (is_expected(core, core->trim_generation, event->generation, core->trim.running)) {
        core->trims++;
        core->trim_ns += event->ns;
        core->trim_bytes += event->bytes;
        trim_policy_done(&core->trim, core->now_ns);
    }
}

static void serve_timer(struct core *core, uint32_t id)
{
    if (id < core->jobs_max) {
        tracker_end_job(core, id, CORE_CAUSE_DEADLINE);
        tracker_sweep(core, id, CORE_CAUSE_DEADLINE);
        return;
    }
    id -= core->jobs_max;
    if (id < core->lanes_count) {
        scheduler_lane_quarantine(core, id, CORE_LANE_SILENT);
        tracker_strand(core, core->lanes[id].slot);
        scheduler_lanes_check(core);
        return;
    }
    tracker_end_held(core, id - core->lanes_count, CORE_CAUSE_TIMEOUT);
}

static void on_timer(struct core *core)
{
    uint32_t id;
    for (unsigned served = 0; core->started && served < CORE_TIMERS_PER_STEP; served++) {
        if (!timers_take(&core->timers, core->now_ns, &id)) {
            break;
        }
        serve_timer(core, id);
    }
}

/* After everything that a dispatch can come from. At the end of the run memory goes back anyway; only inline
 * trims after the last partition as well, as the fault does that it stands for. */
static void run_trim(struct core *core)
{
    bool ending = core->stopping || core->jobs_closed == core->jobs_count;
    if (ending && core->trim.kind != TRIM_POLICY_INLINE) {
        trim_policy_forget(&core->trim);
    }
    if (trim_policy_begin(&core->trim, core->now_ns)) {
        core_next(&core->trim_generation);
        core_emit(core, CORE_EFFECT_TRIM, 0)->generation = core->trim_generation;
    }
}

/* When every job is closed and every operation has answered, but for silent lanes, the circuits go, and it is
 * done. */
static void finish(struct core *core)
{
    if (core->jobs_closed < core->jobs_count || core->slots_held > core->slots_stranded) {
        return;
    }
    residency_evict_idle(core);
    if (core->loading == 0 && core->evicting == 0 && !core->trim.running) {
        core_emit(core, CORE_EFFECT_DRAINED, 0);
        core->drained = 1;
    }
}

static void dispatch(struct core *core, const struct core_event *event)
{
    switch (event->kind) {
    case CORE_EVENT_ADMIT:
        on_admit(core, event);
        break;
    case CORE_EVENT_RESUMED:
        on_resumed(core, event);
        break;
    case CORE_EVENT_START:
        on_start(core);
        break;
    case CORE_EVENT_LOADED:
        on_loaded(core, event);
        break;
    case CORE_EVENT_EVICTED:
        on_evicted(core, event);
        break;
    case CORE_EVENT_GENERATED:
    case CORE_EVENT_READ:
    case CORE_EVENT_SYNTHESIZED:
    case CORE_EVENT_FINALIZED:
    case CORE_EVENT_WRITTEN:
        on_slot_answer(core, event);
        break;
    case CORE_EVENT_PROVED:
        on_proved(core, event);
        break;
    case CORE_EVENT_BUNDLED:
        on_bundled(core, event);
        break;
    case CORE_EVENT_TIMER:
        on_timer(core);
        break;
    case CORE_EVENT_FREED:
        trim_policy_freed(&core->trim, core->now_ns, event->bytes);
        break;
    case CORE_EVENT_PRESSURE:
        trim_policy_pressure(&core->trim, core->now_ns);
        break;
    case CORE_EVENT_TRIMMED:
        on_trimmed(core, event);
        break;
    case CORE_EVENT_STOP:
        on_stop(core);
        break;
    case CORE_EVENTS:
        CHECK(event->kind != CORE_EVENTS);
        break;
    }
}

void core_step(struct core *core, uint64_t now_ns, const struct core_event *event)
{
    CHECK(now_ns >= core->now_ns);
    CHECK(core->effects_head == core->effects_count); /* all taken */
    core->now_ns = now_ns;
    core->effects_head = core->effects_count = 0;
    dispatch(core, event);
    if (core->started && !core->drained) {
        if (SIM_PLANTED_BUG == 5) {
            run_trim(core);
        }
        scheduler_pump(core);
        tracker_pump(core);
        scheduler_run(core);
        run_trim(core);
        finish(core);
    }
}

uint64_t core_deadline_ns(const struct core *core)
{
    if (!core->started || core->drained) {
        return CORE_NEVER;
    }
    if (core->doomed.head != CORE_NONE || tracker_pending(core)) {
        return core->now_ns;
    }
    uint64_t timer_ns = timers_next_ns(&core->timers), trim_ns = trim_policy_due_ns(&core->trim);
    return timer_ns < trim_ns ? timer_ns : trim_ns;
}

/* ---- Questions ---- */

void core_counts(const struct core *core, struct core_counts *counts)
{
    memset(counts, 0, sizeof *counts);
    memcpy(counts->partitions, core->states, sizeof counts->partitions);
    memcpy(counts->causes, core->causes, sizeof counts->causes);
    counts->resumed = core->resumed;
    counts->slots_held = core->slots_held;
    counts->memory_reserved_bytes = core->reserved_bytes;
    counts->memory_peak_bytes = core->peak_bytes;
    counts->late_answers = core->late_answers;
    counts->retries = core->retries;
    counts->self_check_failures = core->self_check_failures;
    counts->loads = core->loads;
    counts->evictions = core->evictions;
    counts->trims = core->trims;
    counts->trim_ns = core->trim_ns;
    counts->trim_bytes = core->trim_bytes;
    counts->lanes_quarantined = core->lanes_quarantined;
}

enum core_blocked core_blocked(const struct core *core)
{
    return core->blocked;
}

uint64_t core_device_busy_ns(const struct core *core, uint32_t device, uint64_t now_ns)
{
    CHECK(device < core->devices_count && now_ns >= core->now_ns);
    const struct core_device *d = &core->devices[device];
    return d->busy_ns + (d->busy_lanes > 0 ? now_ns - d->busy_since_ns : 0);
}

static const struct core_partition *partition_at(const struct core *core, uint32_t partition)
{
    CHECK(partition < core->partitions_count);
    return &core->partitions[partition];
}

enum core_state core_partition_state(const struct core *core, uint32_t partition)
{
    return partition_at(core, partition)->state;
}

enum core_cause core_partition_cause(const struct core *core, uint32_t partition)
{
    return partition_at(core, partition)->cause;
}

uint32_t core_partition_job(const struct core *core, uint32_t partition)
{
    return partition_at(core, partition)->job;
}

uint32_t core_job_first_partition(const struct core *core, uint32_t job)
{
    CHECK(job < core->jobs_count);
    return core->jobs[job].first;
}

uint64_t core_latency_ns(const struct core *core, unsigned permille)
{
    return histogram_value(core->latency, permille);
}

uint64_t core_partition_entered_ns(const struct core *core, uint32_t partition, enum core_state state)
{
    const struct core_partition *p = partition_at(core, partition);
    CHECK(state < CORE_STATES);
    if (state < CORE_DONE) {
        return p->entered_ns[state];
    }
    return p->state == state ? p->entered_ns[CORE_ENTERED_END] : 0;
}

const char *core_state_name(enum core_state state)
{
    static const char *const names[CORE_STATES] = {"queued", "generating", "reading",    "synthesizing",
                                                   "ready",  "proving",    "finalizing", "writing",
                                                   "done",   "failed",     "canceled"};
    CHECK(state < CORE_STATES);
    return names[state];
}

const char *core_cause_name(enum core_cause cause)
{
    static const char *const names[CORE_CAUSES] = {
        [CORE_CAUSE_NONE] = "none",
        [CORE_CAUSE_CIRCUIT] = "circuit not loaded",
        [CORE_CAUSE_GENERATE] = "witness command failed",
        [CORE_CAUSE_TIMEOUT] = "witness command timed out",
        [CORE_CAUSE_READ] = "witness not read",
        [CORE_CAUSE_WITNESS] = "witness rejected",
        [CORE_CAUSE_DEVICE] = "device failed",
        [CORE_CAUSE_NO_DEVICE] = "no usable device",
        [CORE_CAUSE_SELF_CHECK] = "self-check failed",
        [CORE_CAUSE_WRITE] = "output not written",
        [CORE_CAUSE_DEADLINE] = "deadline passed",
        [CORE_CAUSE_MEMORY] = "memory budget too small",
        [CORE_CAUSE_STOPPED] = "stopped",
    };
    CHECK(cause < CORE_CAUSES);
    return names[cause];
}

/* ---- For tests ---- */

/* Words mixed by multiplication with an odd constant and a rotation; not against adversaries. */
static uint64_t hash_words(uint64_t hash, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; size - at >= sizeof(uint64_t); at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash;
}

uint64_t core_hash(const struct core *core)
{
    const uint8_t *memory = (const uint8_t *)core;
    const uint8_t *arrays = (const uint8_t *)core->partitions;
    uint64_t hash = hash_words(UINT64_C(0xcbf29ce484222325), memory + offsetof(struct core, now_ns),
                               sizeof *core - offsetof(struct core, now_ns));
    return hash_words(hash, arrays, (size_t)((const uint8_t *)core->effects - arrays));
}

struct recount { /* what the tables say, to be compared with the running counts */
    uint32_t states[CORE_STATES], causes[CORE_CAUSES];
    uint32_t ahead, held, stranded, generators, ended, closed, queued;
    uint32_t usable[2], idle[2], quarantined, loading, evicting;
    uint64_t bytes, idle_bytes, evicting_bytes;
};

static void check_partitions(const struct core *core, struct recount *count)
{
    for (uint32_t i = 0; i < core->partitions_count; i++) {
        const struct core_partition *partition = &core->partitions[i];
        CHECK(partition->state < CORE_STATES && partition->cause < CORE_CAUSES);
        count->states[partition->state]++;
        bool done = partition->state == CORE_DONE;
        bool ended = partition->state >= CORE_DONE;
        count->causes[partition->cause] += ended;
        count->ahead += core_is_ahead(core, partition);
        bool holds = partition->state > CORE_QUEUED && !ended;
        CHECK(holds == (partition->slot != CORE_NONE));
        CHECK(!holds || core->slots[partition->slot].partition == i);
        CHECK((ended && !done) == (partition->cause != CORE_CAUSE_NONE));
        CHECK((partition->state == CORE_CANCELED) == (partition->cause == CORE_CAUSE_STOPPED));
        CHECK(partition->attempts <= core->attempts_max);
        const struct core_job *job = &core->jobs[partition->job];
        CHECK(i >= job->first && i - job->first < job->count);
        CHECK(i < job->cursor || !holds);
    }
    CHECK(memcmp(count->states, core->states, sizeof count->states) == 0);
    count->causes[CORE_CAUSE_NONE] -= core->resumed;
    CHECK(memcmp(count->causes, core->causes, sizeof count->causes) == 0);
    CHECK(count->ahead == core->ahead);
}

static void check_jobs(const struct core *core, struct recount *count)
{
    for (uint32_t i = 0; i < core->jobs_count; i++) {
        const struct core_job *job = &core->jobs[i];
        uint32_t queued = 0, returned = 0;
        for (uint32_t p = job->first; p < job->first + job->count; p++) {
            queued += core->partitions[p].state == CORE_QUEUED;
        }
        for (uint32_t p = job->returned; p != CORE_NONE; p = core->partitions[p].returned_next) {
            CHECK(core->partitions[p].state == CORE_QUEUED && p < job->cursor);
            returned++;
        }
        CHECK(queued == job->queued && returned <= queued && job->ended <= job->count);
        CHECK(queued == 0 || job->end_cause != CORE_CAUSE_NONE || job->in_queue);
        CHECK(!job->closed || job->ended == job->count);
        count->queued += queued;
        count->ended += job->ended;
        count->closed += job->closed;
    }
    CHECK(count->queued == core->states[CORE_QUEUED] && count->closed == core->jobs_closed);
    CHECK(count->ended == core->states[CORE_DONE] + core->states[CORE_FAILED] + core->states[CORE_CANCELED]);
}

static void check_slots(const struct core *core, struct recount *count)
{
    for (uint32_t i = 0; i < core->slots_count; i++) {
        const struct core_slot *slot = &core->slots[i];
        bool runs = slot->answer != CORE_EVENTS;
        CHECK((slot->state == CORE_SLOT_HELD) == (slot->partition != CORE_NONE));
        CHECK(slot->state != CORE_SLOT_ABANDONED || runs);
        CHECK((slot->state != CORE_SLOT_FREE && slot->state != CORE_SLOT_STRANDED) || !runs);
        count->held += slot->state != CORE_SLOT_FREE;
        count->stranded += slot->state == CORE_SLOT_STRANDED;
        count->generators += slot->answer == CORE_EVENT_GENERATED;
        if (slot->state != CORE_SLOT_FREE) {
            count->bytes += core->circuits[slot->circuit].slot_bytes;
        }
        bool waits[2] = {false, false};
        if (slot->state == CORE_SLOT_HELD) {
            const struct core_partition *partition = &core->partitions[slot->partition];
            CHECK(partition->slot == i);
            CHECK(runs == (partition->state != CORE_READY && partition->state != CORE_PROVING));
            CHECK(partition->state != CORE_PROVING || core->lanes[slot->lane].slot == i);
            waits[partition->cpu_only] = partition->state == CORE_READY;
        }
        CHECK(heap_contains(&core->ready[0], i) == waits[0] && heap_contains(&core->ready[1], i) == waits[1]);
    }
    uint32_t unheld = 0;
    for (uint32_t i = core->slots_free; i != CORE_NONE; i = core->slots[i].next) {
        CHECK(core->slots[i].state == CORE_SLOT_FREE && unheld < core->slots_count);
        unheld++;
    }
    CHECK(count->held == core->slots_held && unheld == core->slots_count - count->held);
    CHECK(count->stranded == core->slots_stranded && count->generators == core->generators);
    CHECK(core->generators <= core->generators_max);
}

static void check_lanes(const struct core *core, struct recount *count)
{
    uint32_t busy = 0, devices_busy = 0;
    for (uint32_t i = 0; i < core->lanes_count; i++) {
        const struct core_lane *lane = &core->lanes[i];
        bool serves = lane->state == CORE_LANE_IDLE || lane->state == CORE_LANE_BUSY;
        count->usable[0] += serves && !lane->fallback_only;
        count->usable[1] += serves && lane->cpu;
        count->idle[0] += lane->state == CORE_LANE_IDLE && !lane->fallback_only;
        count->idle[1] += lane->state == CORE_LANE_IDLE && lane->cpu;
        count->quarantined += !serves;
        busy += lane->state == CORE_LANE_BUSY;
        CHECK(lane->state != CORE_LANE_IDLE || lane->slot == CORE_NONE);
        CHECK((lane->state != CORE_LANE_BUSY && lane->state != CORE_LANE_SILENT) || lane->slot != CORE_NONE);
        if (lane->slot != CORE_NONE) {
            const struct core_slot *slot = &core->slots[lane->slot];
            CHECK(slot->lane == i && slot->state == (serves ? CORE_SLOT_HELD : CORE_SLOT_STRANDED));
        }
    }
    for (uint32_t i = 0; i < core->devices_count; i++) {
        devices_busy += core->devices[i].busy_lanes;
    }
    CHECK(busy == devices_busy && count->quarantined == core->lanes_quarantined);
    CHECK(memcmp(count->usable, core->lanes_usable, sizeof count->usable) == 0);
    CHECK(memcmp(count->idle, core->lanes_idle, sizeof count->idle) == 0);
}

static void check_circuits(const struct core *core, struct recount *count)
{
    for (uint32_t i = 0; i < core->circuits_count; i++) {
        const struct core_circuit *circuit = &core->circuits[i];
        bool resident = circuit->state == CORE_CIRCUIT_RESIDENT;
        bool idle = resident && circuit->uses == 0;
        CHECK(resident || circuit->uses == 0);
        CHECK(heap_contains(&core->idle, i) == idle);
        count->idle_bytes += idle ? circuit->resident_bytes : 0;
        count->loading += circuit->state == CORE_CIRCUIT_LOADING;
        count->evicting += circuit->state == CORE_CIRCUIT_EVICTING;
        count->evicting_bytes += circuit->state == CORE_CIRCUIT_EVICTING ? circuit->resident_bytes : 0;
        if (circuit->state != CORE_CIRCUIT_ABSENT && circuit->state != CORE_CIRCUIT_UNUSABLE) {
            count->bytes += circuit->resident_bytes;
        }
        count->bytes += circuit->state == CORE_CIRCUIT_LOADING ? circuit->slot_bytes : 0;
        for (unsigned kind = 0; kind < 2; kind++) {
            bool queued = circuit->queues[kind] != CORE_NONE && circuit->doom == CORE_CAUSE_NONE;
            CHECK(heap_contains(&core->runnable[kind], i) == (queued && resident));
            CHECK(heap_contains(&core->absent[kind], i) == (queued && circuit->state == CORE_CIRCUIT_ABSENT));
        }
    }
    CHECK(count->bytes == core->reserved_bytes && core->reserved_bytes <= core->memory_bytes);
    CHECK(core->peak_bytes >= core->reserved_bytes && core->peak_bytes <= core->memory_bytes);
    CHECK(count->idle_bytes == core->idle_bytes && count->evicting_bytes == core->evicting_bytes);
    CHECK(count->loading == core->loading && count->evicting == core->evicting);
}

void core_check(const struct core *core)
{
    struct recount count;
    memset(&count, 0, sizeof count);
    check_partitions(core, &count);
    check_jobs(core, &count);
    check_slots(core, &count);
    check_lanes(core, &count);
    check_circuits(core, &count);
    CHECK(heap_valid(&core->timers.heap) && heap_valid(&core->idle));
    for (unsigned kind = 0; kind < 2; kind++) {
        CHECK(heap_valid(&core->runnable[kind]) && heap_valid(&core->absent[kind]));
        CHECK(heap_valid(&core->ready[kind]));
    }
}
