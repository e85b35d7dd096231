#include "tests/sim/sim_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum stage {
    WAITING,
    GENERATING,
    READING,
    SYNTHESIZING,
    READY,
    PROVING,
    FINALIZING,
    WRITING,
    WRITTEN,
    ENDED
};
static const char *const stage_names[] = {"waiting", "generating", "reading", "synthesizing", "ready",
                                          "proving", "finalizing", "writing", "written",      "ended"};

struct partition {
    enum stage stage;
    enum core_state end;
    uint32_t job, slot, submissions, last_lane, self_check_failures;
    enum core_event_kind failed; /* the kind of the last answer that failed; CORE_EVENTS: none did */
    bool cpu_only, resumed, timed_out;
};

struct job {
    struct core_job_request request;
    uint32_t first, waiting, ended, done, generation;
    bool bundling, bundled, closed;
};

struct slot {
    uint32_t partition; /* CORE_NONE: free, or its partition has gone */
    uint32_t circuit, generation;
    enum core_event_kind answer; /* CORE_EVENTS: none expected */
    uint64_t limit_ns;
    bool used, stranded, killed;
};

struct lane {
    struct core_lane_settings settings;
    uint32_t slot, generation; /* slot CORE_NONE: nothing unanswered */
    uint64_t limit_ns;
    bool out, lost;
};

struct circuit {
    struct core_circuit_settings settings;
    enum { ABSENT, LOADING, RESIDENT, EVICTING, UNUSABLE } state;
    uint32_t generation, slots;
    bool doomed; /* nothing is started for it any more */
    bool cpu_only;
};

struct sim_model {
    struct core_settings settings;
    struct partition *partitions;
    struct job *jobs;
    struct slot *slots;
    struct lane *lanes;
    struct circuit *circuits;
    uint32_t jobs_count, partitions_count, jobs_closed, ended, generators;
    uint64_t late;
    uint64_t busy_ns[64]; /* by device: with an unanswered submission on a lane in service */
    uint64_t now_ns;
    struct { /* the trims, by their own books */
        uint64_t start_ns, began_ns, ended_ns;
        uint64_t freed_bytes; /* since the last one began */
        uint64_t enough_ns; /* when that came to be enough; for inline and pressure, when it was asked for */
        uint64_t count, owed; /* owed: inline, partitions that ended without theirs */
        uint64_t bytes, ns;
        uint32_t generation;
        bool running, began, wanted;
    } trim;
    bool in_step_trimmed; /* this step has asked for a trim */
    enum core_event_kind last_event;
    bool started, stopped, drained, no_device;
    bool was_silent; /* a lane has held a slot without answering */
};

#define RULE(condition, ...)         \
    do {                             \
        if (!(condition)) {          \
            sim_failed(__VA_ARGS__); \
        }                            \
    } while (0)

static void *take(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    RULE(memory != NULL, "no memory for the model");
    return memory;
}

struct sim_model *sim_model_open(const struct core_settings *settings)
{
    struct sim_model *model = take(1, sizeof *model);
    model->settings = *settings;
    model->partitions = take(settings->partitions_max, sizeof *model->partitions);
    model->jobs = take(settings->jobs_max, sizeof *model->jobs);
    model->slots = take(settings->slots, sizeof *model->slots);
    model->lanes = take(settings->lanes_count, sizeof *model->lanes);
    model->circuits = take(settings->circuits_count, sizeof *model->circuits);
    for (uint32_t i = 0; i < settings->slots; i++) {
        model->slots[i].partition = CORE_NONE;
        model->slots[i].answer = CORE_EVENTS;
    }
    for (uint32_t i = 0; i < settings->lanes_count; i++) {
        model->lanes[i].settings = settings->lanes[i];
        model->lanes[i].slot = CORE_NONE;
    }
    for (uint32_t i = 0; i < settings->circuits_count; i++) {
        struct circuit *circuit = &model->circuits[i];
        circuit->settings = settings->circuits[i];
        circuit->doomed =
            circuit->settings.resident_bytes + circuit->settings.slot_bytes > settings->memory_bytes;
    }
    return model;
}

void sim_model_close(struct sim_model *model)
{
    free(model->partitions);
    free(model->jobs);
    free(model->slots);
    free(model->lanes);
    free(model->circuits);
    free(model);
}

bool sim_model_drained(const struct sim_model *model)
{
    return model->drained;
}

/* ---- Sums over everything: slow and simple ---- */

static uint64_t memory_used(const struct sim_model *model)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < model->settings.circuits_count; i++) {
        const struct circuit *circuit = &model->circuits[i];
        bytes +=
            circuit->state == ABSENT || circuit->state == UNUSABLE ? 0 : circuit->settings.resident_bytes;
        bytes += circuit->state == LOADING ? circuit->settings.slot_bytes : 0;
        bytes += circuit->slots * circuit->settings.slot_bytes;
    }
    return bytes;
}

static uint32_t ahead_of(const struct sim_model *model)
{
    uint32_t ahead = 0;
    for (uint32_t i = 0; i < model->settings.slots; i++) {
        if (model->slots[i].partition != CORE_NONE) {
            const struct partition *partition = &model->partitions[model->slots[i].partition];
            ahead += partition->stage >= READING && partition->stage <= READY &&
                     (!partition->cpu_only || model->circuits[model->slots[i].circuit].cpu_only);
        }
    }
    return ahead;
}

static bool serves(const struct lane *lane, bool cpu_only)
{
    return cpu_only ? lane->settings.cpu : !lane->settings.fallback_only;
}

static uint32_t lanes_in_service(const struct sim_model *model, bool cpu_only)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->settings.lanes_count; i++) {
        count += !model->lanes[i].out && serves(&model->lanes[i], cpu_only);
    }
    return count;
}

static uint64_t ahead_max(const struct sim_model *model)
{
    return (uint64_t)model->settings.lookahead * lanes_in_service(model, false);
}

static uint32_t circuits_in(const struct sim_model *model, unsigned state)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->settings.circuits_count; i++) {
        count += model->circuits[i].state == state;
    }
    return count;
}

static uint32_t slots_used(const struct sim_model *model, bool stranded_only)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->settings.slots; i++) {
        count += model->slots[i].used && (model->slots[i].stranded || !stranded_only);
    }
    return count;
}

/* Is partition a more urgent than b? */
static bool before(const struct sim_model *model, uint32_t a, uint32_t b)
{
    const struct core_job_request *x = &model->jobs[model->partitions[a].job].request;
    const struct core_job_request *y = &model->jobs[model->partitions[b].job].request;
    if (x->priority != y->priority) {
        return x->priority < y->priority;
    }
    if (x->deadline_ns != y->deadline_ns) {
        return x->deadline_ns < y->deadline_ns;
    }
    return a < b;
}

/* The job's first waiting partition if it may still be started; CORE_NONE. */
static uint32_t next_of_job(const struct sim_model *model, uint64_t now_ns, uint32_t index)
{
    const struct job *job = &model->jobs[index];
    const struct circuit *circuit = &model->circuits[job->request.circuit];
    if (job->waiting == 0 || model->stopped || model->no_device || job->request.deadline_ns <= now_ns ||
        circuit->doomed || circuit->state == UNUSABLE) {
        return CORE_NONE;
    }
    for (uint32_t p = job->first;; p++) {
        if (model->partitions[p].stage == WAITING) {
            return p;
        }
    }
}

/* ---- Events ---- */

static void note_failure(struct sim_model *model, uint32_t index, const struct core_event *event)
{
    if (event->code != ERROR_NONE) {
        model->partitions[index].failed = event->kind;
    }
}

static void event_slot(struct sim_model *model, const struct core_event *event)
{
    struct slot *slot = &model->slots[event->index];
    if (slot->answer == CORE_EVENTS || slot->generation != event->generation) {
        model->late++;
        return;
    }
    RULE(slot->answer == event->kind, "the simulator answers slot %u with the wrong kind", event->index);
    slot->answer = CORE_EVENTS;
    model->generators -= event->kind == CORE_EVENT_GENERATED;
    if (slot->partition == CORE_NONE) {
        return;
    }
    struct partition *partition = &model->partitions[slot->partition];
    note_failure(model, slot->partition, event);
    if (event->code == ERROR_NONE && event->kind == CORE_EVENT_SYNTHESIZED) {
        partition->stage = READY;
    } else if (event->code == ERROR_NONE && event->kind == CORE_EVENT_WRITTEN) {
        partition->stage = WRITTEN;
    } else if (event->kind == CORE_EVENT_FINALIZED && event->code == ERROR_PROOF) {
        partition->self_check_failures++;
        if (!partition->cpu_only && lanes_in_service(model, true) > 0) {
            partition->cpu_only = true;
            partition->submissions = 0;
            partition->stage = READY;
        }
    }
}

static void event_proved(struct sim_model *model, const struct core_event *event)
{
    struct lane *lane = &model->lanes[event->index];
    if (lane->slot == CORE_NONE || lane->generation != event->generation) {
        model->late++;
        return;
    }
    struct slot *slot = &model->slots[lane->slot];
    lane->slot = CORE_NONE;
    for (uint32_t i = 0; event->sticky && i < model->settings.lanes_count; i++) {
        model->lanes[i].lost |= model->lanes[i].settings.device == lane->settings.device;
    }
    if (lane->out) {
        model->late++;
        lane->out = lane->lost;
        return;
    }
    struct partition *partition = &model->partitions[slot->partition];
    note_failure(model, slot->partition, event);
    if (event->code != ERROR_NONE) {
        partition->stage = READY; /* or it ends in this step */
    }
}

/* From the last event until this one nothing has changed. */
static void pass_time(struct sim_model *model, uint64_t now_ns)
{
    bool busy[64] = {false};
    for (uint32_t i = 0; i < model->settings.lanes_count; i++) {
        const struct lane *lane = &model->lanes[i];
        busy[lane->settings.device] |= lane->slot != CORE_NONE && !lane->out;
    }
    for (unsigned device = 0; device < 64; device++) {
        model->busy_ns[device] += busy[device] ? now_ns - model->now_ns : 0;
    }
    model->now_ns = now_ns;
}

static void want_trim(struct sim_model *model, bool wanted)
{
    if (wanted && !model->trim.wanted) {
        model->trim.wanted = true;
        model->trim.enough_ns = model->now_ns;
    }
}

static void event_trim(struct sim_model *model, const struct core_event *event)
{
    const struct trim_policy_settings *settings = &model->settings.trim;
    switch (event->kind) {
    case CORE_EVENT_FREED:
        model->trim.freed_bytes += event->bytes;
        want_trim(model, settings->kind == TRIM_POLICY_TIMER && model->trim.freed_bytes > 0 &&
                             model->trim.freed_bytes >= settings->min_freed_bytes);
        break;
    case CORE_EVENT_PRESSURE:
        want_trim(model, settings->kind == TRIM_POLICY_PRESSURE && model->trim.freed_bytes > 0);
        break;
    default:
        if (!model->trim.running || model->trim.generation != event->generation) {
            model->late++;
            break;
        }
        model->trim.running = false;
        model->trim.ended_ns = model->now_ns;
        model->trim.count++;
        model->trim.bytes += event->bytes;
        model->trim.ns += event->ns;
        break;
    }
}

void sim_model_event(struct sim_model *model, uint64_t now_ns, const struct core_event *event)
{
    pass_time(model, now_ns);
    model->last_event = event->kind;
    model->in_step_trimmed = false;
    switch (event->kind) {
    case CORE_EVENT_ADMIT: {
        struct job *job = &model->jobs[model->jobs_count++];
        job->request = event->job;
        job->first = model->partitions_count;
        job->waiting = event->job.partitions;
        for (uint32_t i = 0; i < event->job.partitions; i++) {
            struct partition *partition = &model->partitions[model->partitions_count++];
            partition->job = model->jobs_count - 1;
            partition->slot = partition->last_lane = CORE_NONE;
            partition->failed = CORE_EVENTS;
        }
        break;
    }
    case CORE_EVENT_RESUMED: {
        struct partition *partition = &model->partitions[event->index];
        struct job *job = &model->jobs[partition->job];
        partition->stage = ENDED;
        partition->end = CORE_DONE;
        partition->resumed = true;
        job->waiting--;
        job->ended++;
        job->done++;
        model->ended++;
        break;
    }
    case CORE_EVENT_START:
        model->started = true;
        model->trim.start_ns = now_ns;
        break;
    case CORE_EVENT_LOADED: {
        struct circuit *circuit = &model->circuits[event->index];
        if (circuit->state == LOADING && circuit->generation == event->generation) {
            circuit->state = event->code == ERROR_NONE ? RESIDENT : UNUSABLE;
            circuit->cpu_only = event->cpu_only;
        } else {
            model->late++;
        }
        break;
    }
    case CORE_EVENT_EVICTED: {
        struct circuit *circuit = &model->circuits[event->index];
        if (circuit->state == EVICTING && circuit->generation == event->generation) {
            circuit->state = ABSENT;
        } else {
            model->late++;
        }
        break;
    }
    case CORE_EVENT_GENERATED:
    case CORE_EVENT_READ:
    case CORE_EVENT_SYNTHESIZED:
    case CORE_EVENT_FINALIZED:
    case CORE_EVENT_WRITTEN:
        event_slot(model, event);
        break;
    case CORE_EVENT_PROVED:
        event_proved(model, event);
        break;
    case CORE_EVENT_BUNDLED: {
        struct job *job = &model->jobs[event->index];
        if (job->bundling && job->generation == event->generation) {
            job->bundling = false;
            job->bundled = true;
        } else {
            model->late++;
        }
        break;
    }
    case CORE_EVENT_FREED:
    case CORE_EVENT_PRESSURE:
    case CORE_EVENT_TRIMMED:
        event_trim(model, event);
        break;
    case CORE_EVENT_STOP:
        model->stopped = true;
        break;
    case CORE_EVENT_TIMER:
    case CORE_EVENTS:
        break;
    }
}

/* ---- Effects ---- */

/* Nothing more urgent was passed over when p is given a slot. */
static void rule_most_urgent(const struct sim_model *model, uint64_t now_ns, uint32_t p)
{
    bool may_load = ahead_of(model) + circuits_in(model, LOADING) < ahead_max(model);
    for (uint32_t i = 0; i < model->jobs_count; i++) {
        uint32_t q = next_of_job(model, now_ns, i);
        const struct job *job = &model->jobs[i];
        if (q == CORE_NONE || !before(model, q, p) ||
            (job->request.generate && model->generators >= model->settings.generators_max)) {
            continue;
        }
        unsigned state = model->circuits[job->request.circuit].state;
        RULE(state != RESIDENT, "partition %u starts before %u of job %u, which is more urgent", p, q, i);
        RULE(state != ABSENT || !may_load, "partition %u starts although %u (job %u) needs a load first", p,
             q, i);
    }
}

static void start_partition(struct sim_model *model, uint64_t now_ns, const struct core_effect *effect)
{
    struct slot *slot = &model->slots[effect->index];
    struct partition *partition = &model->partitions[effect->partition];
    struct job *job = &model->jobs[partition->job];
    struct circuit *circuit = &model->circuits[job->request.circuit];
    RULE(!slot->used, "slot %u is given to partition %u but is in use", effect->index, effect->partition);
    RULE(circuit->state == RESIDENT, "partition %u starts, its circuit is not resident", effect->partition);
    RULE(!model->stopped, "partition %u starts after the stop", effect->partition);
    RULE(ahead_of(model) < ahead_max(model), "partition %u exceeds the look-ahead", effect->partition);
    RULE((effect->kind == CORE_EFFECT_GENERATE) == job->request.generate,
         "partition %u starts with the wrong operation", effect->partition);
    if (slots_used(model, true) ==
        0) { /* else circuits may be given up by rules that the model does not repeat */
        rule_most_urgent(model, now_ns, effect->partition);
    }
    job->waiting--;
    slot->used = true;
    slot->stranded = slot->killed = false;
    slot->partition = effect->partition;
    slot->circuit = job->request.circuit;
    slot->limit_ns = job->request.generate_limit_ns > UINT64_MAX - now_ns
                         ? UINT64_MAX
                         : now_ns + job->request.generate_limit_ns;
    circuit->slots++;
    partition->slot = effect->index;
    partition->last_lane = CORE_NONE;
    partition->cpu_only |= circuit->cpu_only;
}

static void begin(struct sim_model *model, const struct core_effect *effect, enum core_event_kind answer,
                  enum stage stage)
{
    RULE(effect->index < model->settings.slots && effect->partition < model->partitions_count,
         "effect %u names slot %u, partition %u", effect->kind, effect->index, effect->partition);
    struct slot *slot = &model->slots[effect->index];
    struct partition *partition = &model->partitions[effect->partition];
    RULE(partition->stage != ENDED, "partition %u has ended but an operation starts", effect->partition);
    RULE(slot->partition == effect->partition && partition->slot == effect->index,
         "slot %u does not hold partition %u", effect->index, effect->partition);
    RULE(slot->answer == CORE_EVENTS, "slot %u has an operation already", effect->index);
    slot->answer = answer;
    slot->generation = effect->generation;
    partition->stage = stage;
}

static bool avoids(const struct sim_model *model, const struct partition *partition, uint32_t lane)
{
    return partition->last_lane == lane && lanes_in_service(model, partition->cpu_only) > 1;
}

static uint32_t busy_lanes(const struct sim_model *model, uint32_t device)
{
    uint32_t busy = 0;
    for (uint32_t i = 0; i < model->settings.lanes_count; i++) {
        const struct lane *lane = &model->lanes[i];
        busy += lane->settings.device == device && lane->slot != CORE_NONE && !lane->out;
    }
    return busy;
}

static void effect_submit(struct sim_model *model, uint64_t now_ns, const struct core_effect *effect)
{
    struct slot *slot = &model->slots[effect->index];
    struct lane *lane = &model->lanes[effect->lane];
    struct partition *partition = &model->partitions[effect->partition];
    RULE(slot->partition == effect->partition && partition->stage == READY,
         "partition %u is submitted but is %s", effect->partition, stage_names[partition->stage]);
    RULE(lane->slot == CORE_NONE && !lane->out, "lane %u is busy or out of service", effect->lane);
    RULE(serves(lane, partition->cpu_only), "lane %u does not serve partition %u", effect->lane,
         effect->partition);
    RULE(!avoids(model, partition, effect->lane), "partition %u goes to the lane it failed on",
         effect->partition);
    RULE(!model->stopped, "partition %u is submitted after the stop", effect->partition);
    for (uint32_t i = 0; i < model->settings.lanes_count; i++) {
        const struct lane *other = &model->lanes[i];
        RULE(other->out || other->slot != CORE_NONE || !serves(other, partition->cpu_only) ||
                 avoids(model, partition, i) ||
                 busy_lanes(model, other->settings.device) >= busy_lanes(model, lane->settings.device),
             "partition %u goes to lane %u, but the device of lane %u is less busy", effect->partition,
             effect->lane, i);
    }
    for (uint32_t i = 0; i < model->settings.slots; i++) {
        uint32_t q = model->slots[i].partition;
        RULE(q == CORE_NONE || model->partitions[q].stage != READY || !before(model, q, effect->partition) ||
                 !serves(lane, model->partitions[q].cpu_only) ||
                 avoids(model, &model->partitions[q], effect->lane),
             "lane %u takes partition %u before %u", effect->lane, effect->partition, q);
    }
    partition->stage = PROVING;
    partition->submissions++;
    partition->last_lane = effect->lane;
    RULE(partition->submissions <= model->settings.attempts_max, "partition %u has too many attempts",
         effect->partition);
    lane->slot = effect->index;
    lane->generation = effect->generation;
    lane->limit_ns = lane->settings.time_limit_ns > UINT64_MAX - now_ns
                         ? UINT64_MAX
                         : now_ns + lane->settings.time_limit_ns;
}

static void effect_quarantine(struct sim_model *model, uint64_t now_ns, const struct core_effect *effect)
{
    struct lane *lane = &model->lanes[effect->index];
    RULE(!lane->out, "lane %u is quarantined twice", effect->index);
    RULE(lane->lost || (lane->slot != CORE_NONE && lane->limit_ns <= now_ns),
         "lane %u is quarantined without need", effect->index);
    lane->out = true;
    bool promoted = lanes_in_service(model, false) == 0;
    for (uint32_t i = 0; promoted && i < model->settings.lanes_count; i++) {
        model->lanes[i].settings.fallback_only = false;
    }
    model->no_device |= lanes_in_service(model, false) == 0;
    if (lane->slot == CORE_NONE) {
        return;
    }
    struct slot *slot = &model->slots[lane->slot];
    struct partition *partition = &model->partitions[slot->partition];
    RULE(effect->partition == slot->partition, "quarantine of lane %u names partition %u", effect->index,
         effect->partition);
    slot->stranded = model->was_silent = true;
    slot->partition = CORE_NONE;
    partition->slot = CORE_NONE;
    partition->stage = WAITING; /* or it ends in this step */
    model->jobs[partition->job].waiting++;
}

/* Each cause needs a reason that the model has seen. */
static void rule_cause(const struct sim_model *model, uint64_t now_ns, const struct core_effect *effect)
{
    const struct partition *partition = &model->partitions[effect->partition];
    const struct job *job = &model->jobs[partition->job];
    const struct circuit *circuit = &model->circuits[job->request.circuit];
    bool right = false;
    switch (effect->cause) {
    case CORE_CAUSE_NONE:
        right = partition->stage == WRITTEN;
        break;
    case CORE_CAUSE_CIRCUIT:
        right = circuit->state == UNUSABLE && partition->stage == WAITING;
        break;
    case CORE_CAUSE_GENERATE:
        right = partition->failed == CORE_EVENT_GENERATED && partition->stage == GENERATING;
        break;
    case CORE_CAUSE_TIMEOUT:
        right = partition->stage == GENERATING && partition->timed_out;
        break;
    case CORE_CAUSE_READ:
        right = partition->failed == CORE_EVENT_READ && partition->stage == READING;
        break;
    case CORE_CAUSE_WITNESS:
        right = partition->failed == CORE_EVENT_SYNTHESIZED && partition->stage == SYNTHESIZING;
        break;
    case CORE_CAUSE_DEVICE:
        right = partition->submissions >= model->settings.attempts_max ||
                (partition->stage == WAITING && model->was_silent);
        break;
    case CORE_CAUSE_NO_DEVICE:
        right = model->no_device || lanes_in_service(model, partition->cpu_only) == 0;
        break;
    case CORE_CAUSE_SELF_CHECK:
        right = partition->failed == CORE_EVENT_FINALIZED && partition->stage == FINALIZING;
        break;
    case CORE_CAUSE_WRITE:
        right = partition->failed == CORE_EVENT_WRITTEN || partition->failed == CORE_EVENT_FINALIZED;
        break;
    case CORE_CAUSE_DEADLINE:
        right = job->request.deadline_ns <= now_ns && partition->stage <= READY;
        break;
    case CORE_CAUSE_MEMORY:
        right =
            circuit->settings.resident_bytes + circuit->settings.slot_bytes > model->settings.memory_bytes;
        break;
    case CORE_CAUSE_STOPPED:
        right = model->stopped && partition->stage <= READY;
        break;
    case CORE_CAUSES:
        break;
    }
    RULE(right, "partition %u ends with cause '%s' while %s", effect->partition,
         core_cause_name(effect->cause), stage_names[partition->stage]);
    enum core_state expected = effect->cause == CORE_CAUSE_NONE      ? CORE_DONE
                               : effect->cause == CORE_CAUSE_STOPPED ? CORE_CANCELED
                                                                     : CORE_FAILED;
    RULE(effect->state == expected, "partition %u ends in state %s", effect->partition,
         core_state_name(effect->state));
}

static void effect_ended(struct sim_model *model, uint64_t now_ns, const struct core_effect *effect)
{
    struct partition *partition = &model->partitions[effect->partition];
    struct job *job = &model->jobs[partition->job];
    RULE(partition->stage != ENDED, "partition %u ends twice", effect->partition);
    rule_cause(model, now_ns, effect);
    if (effect->cause == CORE_CAUSE_DEVICE && partition->stage == WAITING &&
        partition->submissions < model->settings.attempts_max) {
        model->circuits[job->request.circuit].doomed = true;
    }
    job->waiting -= partition->stage == WAITING;
    if (partition->slot != CORE_NONE) {
        model->slots[partition->slot].partition = CORE_NONE;
        partition->slot = CORE_NONE;
        model->trim.owed += model->settings.trim.kind == TRIM_POLICY_INLINE;
    }
    partition->stage = ENDED;
    partition->end = effect->state;
    job->ended++;
    job->done += effect->state == CORE_DONE;
    model->ended++;
}

static void effect_job_ended(struct sim_model *model, const struct core_effect *effect)
{
    struct job *job = &model->jobs[effect->index];
    bool all_done = job->done == job->request.partitions;
    RULE(!job->closed && job->ended == job->request.partitions, "job %u ends too early or twice",
         effect->index);
    RULE(!job->bundling && job->bundled == (job->request.bundle && all_done),
         "job %u ends without its bundle or with one it must not have", effect->index);
    RULE((effect->state == CORE_DONE) == (all_done && effect->cause == CORE_CAUSE_NONE), "job %u ends as %s",
         effect->index, core_state_name(effect->state));
    job->closed = true;
    model->jobs_closed++;
}

static void effect_slot_release(struct sim_model *model, const struct core_effect *effect)
{
    struct slot *slot = &model->slots[effect->index];
    RULE(slot->used && slot->partition == CORE_NONE && slot->answer == CORE_EVENTS,
         "slot %u is released while in use", effect->index);
    for (uint32_t i = 0; i < model->settings.lanes_count; i++) {
        RULE(model->lanes[i].slot != effect->index, "slot %u is released, lane %u uses it", effect->index, i);
    }
    slot->used = slot->stranded = false;
    model->circuits[slot->circuit].slots--;
}

/* One at a time; timer: one in each interval, and only if enough was freed; pressure: an interval apart;
 * inline: one for each partition that gave up a slot. */
static void effect_trim(struct sim_model *model, uint64_t now_ns, const struct core_effect *effect)
{
    const struct trim_policy_settings *settings = &model->settings.trim;
    uint64_t start_ns = model->trim.start_ns, interval_ns = settings->interval_ns;
    RULE(!model->trim.running, "two trims at once");
    switch (settings->kind) {
    case TRIM_POLICY_TIMER:
        RULE(model->trim.wanted, "a trim although only %llu bytes were freed",
             (unsigned long long)model->trim.freed_bytes);
        RULE((now_ns - start_ns) / interval_ns > (model->trim.enough_ns - start_ns) / interval_ns,
             "a trim before the end of its interval");
        RULE(!model->trim.began ||
                 (now_ns - start_ns) / interval_ns > (model->trim.began_ns - start_ns) / interval_ns,
             "two trims in one interval");
        break;
    case TRIM_POLICY_PRESSURE:
        RULE(model->trim.wanted, "a trim although nobody asked for one");
        RULE(!model->trim.began || now_ns - model->trim.began_ns >= interval_ns, "trims too close together");
        break;
    case TRIM_POLICY_INLINE:
        RULE(model->trim.owed > 0, "a trim although no partition has ended");
        model->trim.owed--;
        break;
    default:
        sim_failed("a trim although they are off");
    }
    RULE(settings->kind == TRIM_POLICY_INLINE || (!model->stopped && model->jobs_closed < model->jobs_count),
         "a trim begins although the run ends");
    model->trim.running = model->trim.began = model->in_step_trimmed = true;
    model->trim.wanted = false;
    model->trim.freed_bytes = 0;
    model->trim.began_ns = now_ns;
    model->trim.generation = effect->generation;
}

static void effect_drained(struct sim_model *model)
{
    RULE(!model->trim.running && model->trim.owed == 0, "drained while a trim runs, or with %llu to come",
         (unsigned long long)model->trim.owed);
    RULE(model->ended == model->partitions_count && model->jobs_closed == model->jobs_count,
         "drained with %u of %u partitions and %u of %u jobs ended", model->ended, model->partitions_count,
         model->jobs_closed, model->jobs_count);
    RULE(slots_used(model, false) == slots_used(model, true), "drained while slots are in use");
    for (uint32_t i = 0; i < model->settings.circuits_count; i++) {
        const struct circuit *circuit = &model->circuits[i];
        RULE(circuit->state == ABSENT || circuit->state == UNUSABLE ||
                 (circuit->state == RESIDENT && circuit->slots > 0),
             "drained, circuit %u is not gone", i);
    }
    model->drained = true;
}

void sim_model_effect(struct sim_model *model, uint64_t now_ns, const struct core_effect *effect)
{
    RULE(!model->drained, "effect %u after DRAINED", effect->kind);
    RULE(!model->in_step_trimmed || effect->kind == CORE_EFFECT_EVICT || effect->kind == CORE_EFFECT_DRAINED,
         "effect %u waits behind a trim", effect->kind);
    switch (effect->kind) {
    case CORE_EFFECT_LOAD: {
        struct circuit *circuit = &model->circuits[effect->index];
        RULE(circuit->state == ABSENT && !model->stopped, "circuit %u is loaded twice or too late",
             effect->index);
        RULE(ahead_of(model) + circuits_in(model, LOADING) < ahead_max(model),
             "circuit %u is loaded too early", effect->index);
        circuit->state = LOADING;
        circuit->generation = effect->generation;
        break;
    }
    case CORE_EFFECT_EVICT: {
        struct circuit *circuit = &model->circuits[effect->index];
        RULE(circuit->state == RESIDENT && circuit->slots == 0, "circuit %u is evicted while in use",
             effect->index);
        circuit->state = EVICTING;
        circuit->generation = effect->generation;
        break;
    }
    case CORE_EFFECT_GENERATE:
        start_partition(model, now_ns, effect);
        begin(model, effect, CORE_EVENT_GENERATED, GENERATING);
        model->generators++;
        RULE(model->generators <= model->settings.generators_max, "too many witness commands");
        break;
    case CORE_EFFECT_KILL: {
        struct slot *slot = &model->slots[effect->index];
        RULE(slot->answer == CORE_EVENT_GENERATED && !slot->killed && slot->generation == effect->generation,
             "slot %u has no witness command to kill", effect->index);
        slot->killed = true;
        model->partitions[slot->partition].timed_out = slot->limit_ns <= now_ns;
        break;
    }
    case CORE_EFFECT_READ:
        if (model->partitions[effect->partition].stage == WAITING) {
            start_partition(model, now_ns, effect);
        } else {
            RULE(model->partitions[effect->partition].stage == GENERATING, "partition %u is read while %s",
                 effect->partition, stage_names[model->partitions[effect->partition].stage]);
        }
        begin(model, effect, CORE_EVENT_READ, READING);
        break;
    case CORE_EFFECT_SYNTHESIZE:
        begin(model, effect, CORE_EVENT_SYNTHESIZED, SYNTHESIZING);
        break;
    case CORE_EFFECT_SUBMIT:
        effect_submit(model, now_ns, effect);
        break;
    case CORE_EFFECT_FINALIZE:
        RULE(model->partitions[effect->partition].stage == PROVING, "partition %u was not proved",
             effect->partition);
        begin(model, effect, CORE_EVENT_FINALIZED, FINALIZING);
        break;
    case CORE_EFFECT_WRITE:
        RULE(model->partitions[effect->partition].stage == FINALIZING, "partition %u was not finalized",
             effect->partition);
        begin(model, effect, CORE_EVENT_WRITTEN, WRITING);
        break;
    case CORE_EFFECT_BUNDLE: {
        struct job *job = &model->jobs[effect->index];
        RULE(job->request.bundle && job->done == job->request.partitions && !job->bundling && !job->bundled,
             "job %u must not be bundled", effect->index);
        job->bundling = true;
        job->generation = effect->generation;
        break;
    }
    case CORE_EFFECT_RELEASE:
        effect_slot_release(model, effect);
        break;
    case CORE_EFFECT_ENDED:
        effect_ended(model, now_ns, effect);
        break;
    case CORE_EFFECT_JOB_ENDED:
        effect_job_ended(model, effect);
        break;
    case CORE_EFFECT_QUARANTINE:
        effect_quarantine(model, now_ns, effect);
        break;
    case CORE_EFFECT_TRIM:
        effect_trim(model, now_ns, effect);
        break;
    case CORE_EFFECT_DRAINED:
        effect_drained(model);
        break;
    case CORE_EFFECTS:
        sim_failed("effect without a kind");
    }
    RULE(memory_used(model) <= model->settings.memory_bytes, "memory exceeds the budget after effect %u",
         effect->kind);
}

/* ---- After a step ---- */

/* A slot is stranded only as long as its lane owes an answer. */
static void rule_stranded(const struct sim_model *model)
{
    uint32_t owed = 0;
    for (uint32_t i = 0; i < model->settings.lanes_count; i++) {
        owed += model->lanes[i].out && model->lanes[i].slot != CORE_NONE;
    }
    RULE(owed == slots_used(model, true), "%u slots are stranded, %u lanes owe an answer",
         slots_used(model, true), owed);
}

/* Once a stop or a deadline has been served, nothing that it concerns waits for a lane. */
static void rule_ended_in_time(const struct sim_model *model, const struct core *core, uint64_t now_ns)
{
    bool served = model->last_event == CORE_EVENT_TIMER && core_deadline_ns(core) > now_ns;
    for (uint32_t i = 0; i < model->settings.slots; i++) {
        uint32_t p = model->slots[i].partition;
        if (p == CORE_NONE || model->partitions[p].stage > READY) {
            continue;
        }
        const struct partition *partition = &model->partitions[p];
        RULE(!model->stopped, "partition %u is %s after the stop", p, stage_names[partition->stage]);
        bool last_retry = model->no_device && partition->cpu_only; /* its job has already ended otherwise */
        RULE(!served || last_retry || model->jobs[partition->job].request.deadline_ns > now_ns,
             "partition %u is %s after its deadline", p, stage_names[partition->stage]);
    }
    for (uint32_t i = 0; served && i < model->jobs_count; i++) {
        const struct job *job = &model->jobs[i];
        RULE(job->waiting == 0 || job->request.deadline_ns > now_ns, "job %u waits after its deadline", i);
    }
}

/* No lane is idle while a ready partition could use it. */
static void rule_lanes_work(const struct sim_model *model)
{
    for (uint32_t i = 0; i < model->settings.lanes_count; i++) {
        const struct lane *lane = &model->lanes[i];
        if (lane->out || lane->slot != CORE_NONE) {
            continue;
        }
        for (uint32_t s = 0; s < model->settings.slots; s++) {
            uint32_t p = model->slots[s].partition;
            RULE(p == CORE_NONE || model->partitions[p].stage != READY ||
                     !serves(lane, model->partitions[p].cpu_only) || avoids(model, &model->partitions[p], i),
                 "lane %u idles while partition %u is ready", i, p);
        }
    }
}

/* The most urgent partition that does not wait for a load or for a witness command to end has been started if
 * there was room for it. */
static void rule_look_ahead_filled(const struct sim_model *model, uint64_t now_ns)
{
    uint32_t used = slots_used(model, false);
    if (used == model->settings.slots || ahead_of(model) >= ahead_max(model) || slots_used(model, true) > 0) {
        return;
    }
    uint32_t best = CORE_NONE;
    for (uint32_t i = 0; i < model->jobs_count; i++) {
        const struct job *job = &model->jobs[i];
        if (job->waiting > 0 && job->request.deadline_ns <= now_ns) {
            return; /* the core learns this from its next timer only, and may wait for memory for this job */
        }
        uint32_t q = next_of_job(model, now_ns, i);
        unsigned state = model->circuits[job->request.circuit].state;
        if (q != CORE_NONE && (state == RESIDENT || state == ABSENT) &&
            (!job->request.generate || model->generators < model->settings.generators_max) &&
            (best == CORE_NONE || before(model, q, best))) {
            best = q;
        }
    }
    if (best == CORE_NONE) {
        return;
    }
    const struct circuit *circuit =
        &model->circuits[model->jobs[model->partitions[best].job].request.circuit];
    RULE(circuit->state != RESIDENT ||
             circuit->settings.slot_bytes > model->settings.memory_bytes - memory_used(model),
         "partition %u could start but does not", best);
}

/* A trim that is due has begun: inline ones at once, the others when the timer was served. */
static void rule_trims_begin(const struct sim_model *model, const struct core *core, uint64_t now_ns)
{
    const struct trim_policy_settings *settings = &model->settings.trim;
    if (model->trim.running || !model->started) {
        return;
    }
    RULE(model->trim.owed == 0, "%llu partitions ended without their trim",
         (unsigned long long)model->trim.owed);
    bool ends = model->stopped || model->jobs_closed == model->jobs_count;
    uint64_t ready_ns = model->trim.enough_ns;
    if (!model->trim.wanted || ends || core_deadline_ns(core) == now_ns) {
        return;
    }
    if (model->trim.began && model->trim.began_ns + settings->interval_ns > ready_ns) {
        ready_ns = model->trim.began_ns + settings->interval_ns;
    }
    ready_ns += settings->kind == TRIM_POLICY_TIMER ? settings->interval_ns : 0;
    RULE(now_ns <= ready_ns, "a trim is overdue since %llu", (unsigned long long)ready_ns);
}

void sim_model_settled(const struct sim_model *model, uint64_t now_ns, const struct core *core)
{
    if (model->drained) {
        return; /* slots that come back now are not told to anybody */
    }
    struct core_counts counts;
    core_counts(core, &counts);
    RULE(counts.memory_reserved_bytes == memory_used(model), "the core counts %llu bytes, the model %llu",
         (unsigned long long)counts.memory_reserved_bytes, (unsigned long long)memory_used(model));
    RULE(counts.slots_held == slots_used(model, false), "the core counts %u slots", counts.slots_held);
    for (uint32_t i = 0; i < model->settings.lanes_count; i++) {
        uint32_t device = model->settings.lanes[i].device;
        RULE(core_device_busy_ns(core, device, now_ns) == model->busy_ns[device],
             "device %u was not busy so long", device);
    }
    if (model->started) {
        rule_stranded(model);
        rule_ended_in_time(model, core, now_ns);
        rule_lanes_work(model);
        rule_look_ahead_filled(model, now_ns);
        rule_trims_begin(model, core, now_ns);
    }
}

void sim_model_finished(const struct sim_model *model, const struct core *core)
{
    struct core_counts counts;
    uint32_t ends[CORE_STATES] = {0};
    uint32_t resumed = 0;
    core_counts(core, &counts);
    for (uint32_t i = 0; i < model->partitions_count; i++) {
        ends[model->partitions[i].end]++;
        resumed += model->partitions[i].resumed;
        RULE(core_partition_state(core, i) == model->partitions[i].end, "partition %u ended as %s", i,
             core_state_name(core_partition_state(core, i)));
    }
    RULE(memcmp(ends, counts.partitions, sizeof ends) == 0 && resumed == counts.resumed,
         "the core's counts of ended partitions are wrong");
    RULE(counts.trims == model->trim.count && counts.trim_bytes == model->trim.bytes &&
             counts.trim_ns == model->trim.ns,
         "the core counts %llu trims, the model %llu", (unsigned long long)counts.trims,
         (unsigned long long)model->trim.count);
    RULE(counts.late_answers == model->late, "the core counts %llu late answers, the model %llu",
         (unsigned long long)counts.late_answers, (unsigned long long)model->late);
}

void sim_model_explain(const struct sim_model *model)
{
    static const char *const circuit_names[] = {"absent", "loading", "resident", "evicting", "unusable"};
    for (uint32_t i = 0; i < model->jobs_count; i++) {
        const struct job *job = &model->jobs[i];
        if (job->closed) {
            continue;
        }
        fprintf(stderr, "  job %u: %u of %u partitions ended, circuit %u is %s (%u slots)", i, job->ended,
                job->request.partitions, job->request.circuit,
                circuit_names[model->circuits[job->request.circuit].state],
                model->circuits[job->request.circuit].slots);
        for (uint32_t p = job->first; p < job->first + job->request.partitions; p++) {
            if (model->partitions[p].stage != ENDED) {
                fprintf(stderr, ", partition %u is %s in slot %d", p, stage_names[model->partitions[p].stage],
                        model->partitions[p].slot == CORE_NONE ? -1 : (int)model->partitions[p].slot);
                break;
            }
        }
        fprintf(stderr, "\n");
    }
    fprintf(stderr, "  memory %llu of %llu, ahead %u of %llu, slots %u of %u (%u stranded)\n",
            (unsigned long long)memory_used(model), (unsigned long long)model->settings.memory_bytes,
            ahead_of(model), (unsigned long long)ahead_max(model), slots_used(model, false),
            model->settings.slots, slots_used(model, true));
}
