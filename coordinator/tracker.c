#include "coordinator/tracker.h"

#include "coordinator/residency.h"
#include "coordinator/scheduler.h"

/* moves[state][event]: 0 if the event is not allowed in the state, else 1 + the state that follows. */
#define TO(state) ((uint8_t)(CORE_##state + 1))
static const uint8_t moves[CORE_STATES][TRACKER_EVENTS] = {
    [CORE_QUEUED] = {[TRACKER_GENERATE] = TO(GENERATING),
                     [TRACKER_READ] = TO(READING),
                     [TRACKER_RESUME] = TO(DONE),
                     [TRACKER_FAIL] = TO(FAILED),
                     [TRACKER_CANCEL] = TO(CANCELED)},
    [CORE_GENERATING] =
        {[TRACKER_READ] = TO(READING), [TRACKER_FAIL] = TO(FAILED), [TRACKER_CANCEL] = TO(CANCELED)},
    [CORE_READING] = {[TRACKER_SYNTHESIZE] = TO(SYNTHESIZING),
                      [TRACKER_FAIL] = TO(FAILED),
                      [TRACKER_CANCEL] = TO(CANCELED)},
    [CORE_SYNTHESIZING] =
        {[TRACKER_PREPARED] = TO(READY), [TRACKER_FAIL] = TO(FAILED), [TRACKER_CANCEL] = TO(CANCELED)},
    [CORE_READY] =
        {[TRACKER_SUBMIT] = TO(PROVING), [TRACKER_FAIL] = TO(FAILED), [TRACKER_CANCEL] = TO(CANCELED)},
    [CORE_PROVING] = {[TRACKER_FINALIZE] = TO(FINALIZING),
                      [TRACKER_RETRY] = TO(READY),
                      [TRACKER_RETURN] = TO(QUEUED),
                      [TRACKER_FAIL] = TO(FAILED),
                      [TRACKER_CANCEL] = TO(CANCELED)},
    [CORE_FINALIZING] = {[TRACKER_WRITE] = TO(WRITING),
                         [TRACKER_RETRY] = TO(READY),
                         [TRACKER_FAIL] = TO(FAILED),
                         [TRACKER_CANCEL] = TO(CANCELED)},
    [CORE_WRITING] = {[TRACKER_COMPLETE] = TO(DONE), [TRACKER_FAIL] = TO(FAILED)},
};
#undef TO

void tracker_move(struct core *core, uint32_t index, enum tracker_event event)
{
    struct core_partition *partition = &core->partitions[index];
    uint8_t next = moves[partition->state][event];
    CHECK(next != 0);
    core->states[partition->state]--;
    core->ahead -= core_is_ahead(core, partition);
    partition->state = (uint8_t)(next - 1);
    core->states[partition->state]++;
    core->ahead += core_is_ahead(core, partition);
    unsigned entered = partition->state < CORE_DONE ? partition->state : (unsigned)CORE_ENTERED_END;
    partition->entered_ns[entered] = core->now_ns;
}

void tracker_admit(struct core *core, const struct core_job_request *request)
{
    CHECK(request->partitions > 0 && request->partitions <= core->partitions_max - core->partitions_count);
    CHECK(core->jobs_count < core->jobs_max);
    uint32_t index = core->jobs_count++;
    struct core_job *job = &core->jobs[index];
    job->deadline_ns = request->deadline_ns;
    job->generate_limit_ns = request->generate_limit_ns;
    job->circuit = request->circuit;
    job->first = job->cursor = core->partitions_count;
    job->count = job->queued = request->partitions;
    job->returned = job->left = job->right = job->ending_next = job->closing_next = CORE_NONE;
    job->priority = request->priority;
    job->bundle = request->bundle;
    job->generate = request->generate;
    for (uint32_t i = 0; i < job->count; i++) {
        struct core_partition *partition = &core->partitions[job->first + i];
        partition->job = index;
        partition->slot = partition->returned_next = CORE_NONE;
        partition->entered_ns[CORE_QUEUED] = core->now_ns;
    }
    core->partitions_count += job->count;
    core->states[CORE_QUEUED] += job->count;
    timers_set(&core->timers, index, job->deadline_ns);
    scheduler_queue(core, index);
}

uint32_t tracker_take_queued(struct core *core, uint32_t index)
{
    struct core_job *job = &core->jobs[index];
    CHECK(job->queued > 0);
    job->queued--;
    uint32_t taken = job->returned;
    if (taken != CORE_NONE) {
        job->returned = core->partitions[taken].returned_next;
        core->partitions[taken].returned_next = CORE_NONE;
        return taken;
    }
    while (core->partitions[job->cursor].state != CORE_QUEUED) { /* resumed */
        job->cursor++;
        CHECK(job->cursor - job->first < job->count);
    }
    return job->cursor++;
}

/* Behind those with smaller indices; there are at most as many as there were silent lanes. */
static void give_back(struct core *core, uint32_t index)
{
    struct core_job *job = &core->jobs[core->partitions[index].job];
    uint32_t *link = &job->returned;
    while (*link != CORE_NONE && *link < index) {
        link = &core->partitions[*link].returned_next;
    }
    core->partitions[index].returned_next = *link;
    *link = index;
    job->queued++;
}

uint32_t tracker_take_slot(struct core *core, uint32_t index)
{
    CHECK(core->slots_free != CORE_NONE);
    struct core_partition *partition = &core->partitions[index];
    CHECK(partition->slot == CORE_NONE);
    uint32_t taken = core->slots_free;
    struct core_slot *slot = &core->slots[taken];
    CHECK(slot->state == CORE_SLOT_FREE && slot->answer == CORE_EVENTS);
    core->slots_free = slot->next;
    slot->next = CORE_NONE;
    slot->state = CORE_SLOT_HELD;
    slot->partition = index;
    slot->circuit = core->jobs[partition->job].circuit;
    slot->lane = CORE_NONE;
    core->slots_held++;
    partition->slot = taken;
    if (partition->taken_ns == 0) {
        partition->taken_ns = core->now_ns;
    }
    residency_use(core, slot->circuit);
    return taken;
}

void tracker_release_slot(struct core *core, uint32_t index)
{
    struct core_slot *slot = &core->slots[index];
    CHECK(slot->state != CORE_SLOT_FREE && slot->partition == CORE_NONE && slot->answer == CORE_EVENTS);
    if (slot->state == CORE_SLOT_STRANDED) {
        core->slots_stranded--;
    }
    slot->state = CORE_SLOT_FREE;
    slot->lane = CORE_NONE;
    slot->next = core->slots_free;
    core->slots_free = index;
    core->slots_held--;
    residency_leave(core, slot->circuit);
    core_emit(core, CORE_EFFECT_RELEASE, index);
}

void tracker_begin(struct core *core, uint32_t index, enum core_effect_kind effect,
                   enum core_event_kind answer)
{
    struct core_slot *slot = &core->slots[index];
    CHECK(slot->state == CORE_SLOT_HELD && slot->answer == CORE_EVENTS);
    core_next(&slot->generation);
    slot->answer = (uint8_t)answer;
    struct core_effect *emitted = core_emit(core, effect, index);
    emitted->generation = slot->generation;
    emitted->partition = slot->partition;
}

static void close_job(struct core *core, uint32_t index, enum core_cause cause)
{
    struct core_job *job = &core->jobs[index];
    CHECK(!job->closed && job->ended == job->count && job->queued == 0);
    job->closed = 1;
    core->jobs_closed++;
    struct core_effect *effect = core_emit(core, CORE_EFFECT_JOB_ENDED, index);
    effect->cause = cause;
    if (job->done == job->count) {
        effect->state = cause == CORE_CAUSE_NONE ? CORE_DONE : CORE_FAILED;
    } else {
        effect->state = job->done + job->canceled == job->count ? CORE_CANCELED : CORE_FAILED;
    }
}

/* One partition of the job has come to its end: the last one closes the job. */
static void count_end(struct core *core, uint32_t index)
{
    struct core_job *job = &core->jobs[index];
    job->ended++;
    if (job->ended < job->count) {
        return;
    }
    timers_clear(&core->timers, index);
    if (core->closing.head == CORE_NONE) {
        core->closing.head = index;
    } else {
        core->jobs[core->closing.tail].closing_next = index;
    }
    core->closing.tail = index;
}

void tracker_end(struct core *core, uint32_t index, enum core_cause cause)
{
    struct core_partition *partition = &core->partitions[index];
    struct core_job *job = &core->jobs[partition->job];
    CHECK(partition->slot == CORE_NONE && partition->cause == CORE_CAUSE_NONE);
    enum tracker_event event = cause == CORE_CAUSE_NONE      ? TRACKER_COMPLETE
                               : cause == CORE_CAUSE_STOPPED ? TRACKER_CANCEL
                                                             : TRACKER_FAIL;
    tracker_move(core, index, event);
    partition->cause = (uint8_t)cause;
    core->causes[cause]++;
    job->done += event == TRACKER_COMPLETE;
    job->canceled += event == TRACKER_CANCEL;
    if (cause == CORE_CAUSE_NONE) {
        histogram_add(core->latency, core->now_ns - partition->taken_ns);
    }
    struct core_effect *effect = core_emit(core, CORE_EFFECT_ENDED, index);
    effect->partition = index;
    effect->state = partition->state;
    effect->cause = cause;
    count_end(core, partition->job);
}

void tracker_resume(struct core *core, uint32_t index)
{
    struct core_job *job = &core->jobs[core->partitions[index].job];
    CHECK(!core->started);
    tracker_move(core, index, TRACKER_RESUME);
    job->queued--;
    job->done++;
    count_end(core, core->partitions[index].job);
}

/* Takes the partition off the slot, which stays held by nobody. */
static uint32_t detach(struct core *core, uint32_t index)
{
    struct core_slot *slot = &core->slots[index];
    CHECK(slot->state == CORE_SLOT_HELD);
    uint32_t partition = slot->partition;
    CHECK(core->partitions[partition].slot == index);
    slot->partition = CORE_NONE;
    core->partitions[partition].slot = CORE_NONE;
    return partition;
}

void tracker_end_held(struct core *core, uint32_t index, enum core_cause cause)
{
    struct core_slot *slot = &core->slots[index];
    scheduler_unready(core, index);
    if (slot->answer == CORE_EVENT_GENERATED) {
        timers_clear(&core->timers, core_timer_of_slot(core, index));
        core_emit(core, CORE_EFFECT_KILL, index)->generation = slot->generation;
    }
    tracker_end(core, detach(core, index), cause);
    trim_policy_ended(&core->trim, core->now_ns);
    if (slot->answer == CORE_EVENTS) {
        tracker_release_slot(core, index);
    } else {
        slot->state = CORE_SLOT_ABANDONED;
    }
}

void tracker_sweep(struct core *core, uint32_t job, enum core_cause cause)
{
    for (uint32_t i = 0; i < core->slots_count; i++) {
        const struct core_slot *slot = &core->slots[i];
        if (slot->state != CORE_SLOT_HELD) {
            continue;
        }
        const struct core_partition *partition = &core->partitions[slot->partition];
        if (partition->state >= CORE_GENERATING && partition->state <= CORE_READY &&
            (job == CORE_NONE || job == partition->job)) {
            tracker_end_held(core, i, cause);
        }
    }
}

void tracker_end_job(struct core *core, uint32_t index, enum core_cause cause)
{
    struct core_job *job = &core->jobs[index];
    CHECK(cause != CORE_CAUSE_NONE);
    if (job->end_cause != CORE_CAUSE_NONE) {
        return;
    }
    job->end_cause = (uint8_t)cause;
    timers_clear(&core->timers, index);
    if (job->queued > 0) {
        if (core->ending.head == CORE_NONE) {
            core->ending.head = index;
        } else {
            core->jobs[core->ending.tail].ending_next = index;
        }
        core->ending.tail = index;
    }
    scheduler_refresh(core, job->circuit);
}

enum core_cause tracker_bar(const struct core *core, uint32_t index)
{
    const struct core_partition *partition = &core->partitions[index];
    const struct core_job *job = &core->jobs[partition->job];
    if (partition->attempts >= core->attempts_max) {
        return CORE_CAUSE_DEVICE;
    }
    if (core->stopping) {
        return CORE_CAUSE_STOPPED;
    }
    /* A retry on the CPU goes on even when the ordinary lanes, and with them the queues, are gone. */
    if (job->end_cause != CORE_CAUSE_NONE &&
        !(job->end_cause == CORE_CAUSE_NO_DEVICE && partition->cpu_only)) {
        return job->end_cause;
    }
    return core->lanes_usable[partition->cpu_only] == 0 ? CORE_CAUSE_NO_DEVICE : CORE_CAUSE_NONE;
}

void tracker_strand(struct core *core, uint32_t index)
{
    struct core_slot *slot = &core->slots[index];
    uint32_t partition = detach(core, index);
    slot->state = CORE_SLOT_STRANDED;
    core->slots_stranded++;
    enum core_cause cause = tracker_bar(core, partition);
    if (cause == CORE_CAUSE_NONE && core->circuits[slot->circuit].doom != CORE_CAUSE_NONE) {
        cause = core->circuits[slot->circuit].doom; /* its queue takes nothing any more */
    }
    if (cause != CORE_CAUSE_NONE) {
        tracker_end(core, partition, cause);
        return;
    }
    core->retries++;
    tracker_move(core, partition, TRACKER_RETURN);
    give_back(core, partition);
    scheduler_queue(core, core->partitions[partition].job);
}

void tracker_pump(struct core *core)
{
    uint32_t left = CORE_ENDS_PER_STEP;
    while (left > 0 && core->ending.head != CORE_NONE) {
        struct core_job *job = &core->jobs[core->ending.head];
        if (job->queued == 0) {
            core->ending.head = job->ending_next;
            job->ending_next = CORE_NONE;
            continue;
        }
        tracker_end(core, tracker_take_queued(core, core->ending.head), job->end_cause);
        left--;
    }
    while (left > 0 && core->closing.head != CORE_NONE) {
        uint32_t index = core->closing.head;
        struct core_job *job = &core->jobs[index];
        core->closing.head = job->closing_next;
        job->closing_next = CORE_NONE;
        if (job->bundle && job->done == job->count) {
            job->bundling = 1;
            core_next(&job->generation);
            core_emit(core, CORE_EFFECT_BUNDLE, index)->generation = job->generation;
        } else {
            close_job(core, index, CORE_CAUSE_NONE);
        }
        left--;
    }
}

void tracker_bundled(struct core *core, uint32_t index, enum error_code code)
{
    struct core_job *job = &core->jobs[index];
    CHECK(job->bundling);
    job->bundling = 0;
    close_job(core, index, code == ERROR_NONE ? CORE_CAUSE_NONE : CORE_CAUSE_WRITE);
}

bool tracker_pending(const struct core *core)
{
    return core->ending.head != CORE_NONE || core->closing.head != CORE_NONE;
}
