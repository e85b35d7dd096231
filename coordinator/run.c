#include "coordinator/run_internal.h"

#include "conf/check.h"
#include "groth16/wtns.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Doorbells by number: the devices', then these. */
enum { BELL_CREW = RUN_DEVICES_MAX, BELL_SIGNALS, BELLS };
enum { COMPLETIONS = 16 };

/* ---- events ---- */

/* Answers may come while effects are being carried out; they are fed afterwards, in order. */
void run_push(struct run *run, const struct core_event *event)
{
    CHECK(run->events_count < run->events_capacity);
    run->events[(run->events_first + run->events_count++) % run->events_capacity] = *event;
}

static void answer(struct run *run, enum core_event_kind kind, uint32_t index, uint32_t generation,
                   enum error_code code)
{
    const struct core_event event = {.kind = kind, .index = index, .generation = generation, .code = code};
    run_push(run, &event);
}

static void answer_loaded(struct run *run, uint32_t index)
{
    const struct load *load = &run->loads[index];
    const struct core_event event = {.kind = CORE_EVENT_LOADED,
                                     .index = index,
                                     .generation = load->generation,
                                     .code = load->code,
                                     .cpu_only = load->cpu_only};
    if (load->code == ERROR_NONE && load->cpu_only) {
        run_report_note(run, "%s; circuit %s is proven on the CPU", load->refusal.text, load->config->name);
    }
    run_push(run, &event);
}

static void answer_slot(struct run *run, enum core_event_kind kind, const struct slot *slot,
                        enum error_code code)
{
    answer(run, kind, slot->number, slot->generation, code);
}

static void feed_all(struct run *run)
{
    while (run->events_count > 0 || run->freed_bytes > 0) {
        if (run->events_count == 0) { /* in one sum, so that it costs little */
            const struct core_event freed = {.kind = CORE_EVENT_FREED, .bytes = run->freed_bytes};
            run->freed_bytes = 0;
            run_push(run, &freed);
        }
        struct core_event event = run->events[run->events_first];
        run->events_first = (run->events_first + 1) % run->events_capacity;
        --run->events_count;
        run_feed(run, loop_now_ns(), &event);
    }
}

/* ---- effects ---- */

static struct slot *slot_at(struct run *run, uint32_t number)
{
    CHECK(number < run->slots.count);
    return &run->slots.table[number];
}

void run_post(struct run *run, enum worker_length length, worker_function *function, void *argument,
              enum run_task kind, uint32_t index)
{
    const struct worker_task task = {
        .function = function, .argument = argument, .kind = kind, .index = index};
    crew_post(&run->crew, length, &task);
}

/* A partition enters its slot: with GENERATE, or with READ if no command makes its witness. */
static struct slot *enter_slot(struct run *run, const struct core_effect *effect)
{
    struct slot *slot = slot_at(run, effect->index);
    uint32_t job = core_partition_job(run->core, effect->partition);
    slot->generation = effect->generation;
    if (slot->slab != POOL_NONE) {
        CHECK(slot->partition == effect->partition);
        return slot;
    }
    (void)slots_acquire(&run->slots, slot, effect->partition); /* slot->error says so if it has nothing */
    run->partition_slot[effect->partition] = slot->number;
    slot->job = &run->config->jobs[job];
    slot->config_input = run_input(run, effect->partition);
    slot->load = &run->loads[slot->job->circuit];
    slot->journal = run->jobs[job].journal;
    slot->witness_folder = run->jobs[job].witness_folder;
    slot->self_check = run->config->self_check;
    return slot;
}

static void carry_generate(struct run *run, const struct core_effect *effect)
{
    struct slot *slot = enter_slot(run, effect);
    const struct run_job *job = &run->jobs[core_partition_job(run->core, effect->partition)];
    slot->generated = true;
    if (slot->buffers == NULL) {
        answer_slot(run, CORE_EVENT_GENERATED, slot, ERROR_SYSTEM);
        return;
    }
    if (slot->journal->code != ERROR_NONE || job->reason.code != ERROR_NONE) {
        slot->error = slot->journal->code != ERROR_NONE ? slot->journal->reason : job->reason;
        answer_slot(run, CORE_EVENT_GENERATED, slot, ERROR_SYSTEM);
        return;
    }
    const struct generator_request request = {.command = slot->job->witness_command,
                                              .input = slot->config_input->path,
                                              .folder = job->folder_path,
                                              .stem = slot->config_input->stem};
    if (!generator_path_fits(request.folder, request.stem)) {
        error_set_errno(&slot->error, ENAMETOOLONG, "%s: naming its witness", request.input);
        answer_slot(run, CORE_EVENT_GENERATED, slot, ERROR_SYSTEM);
        return;
    }
    generator_start(&slot->generator, &run->crew, RUN_SPAWN, slot->number, &request);
}

static void carry_read(struct run *run, const struct core_effect *effect)
{
    struct slot *slot = enter_slot(run, effect);
    if (slot->buffers == NULL) {
        answer_slot(run, CORE_EVENT_READ, slot, ERROR_SYSTEM);
        return;
    }
    if (slot->journal->code != ERROR_NONE) { /* where would its proof go */
        slot->error = slot->journal->reason;
        answer_slot(run, CORE_EVENT_READ, slot, ERROR_SYSTEM);
        return;
    }
    const struct input_request request = {
        .folder = AT_FDCWD,
        .path = slot->generated ? slot->generator.witness : slot->config_input->path,
        .name = slot->generated ? slot->generator.witness : slot->config_input->path,
        .bytes = slot->witness_file,
        .capacity = slot->capacity,
        .expected = (size_t)wtns_file_size(slot->load->sizes.wires),
        .remove = slot->generated};
    slot->times.read_begin_ns = loop_now_ns();
    input_start(&slot->input, &run->loop, slot->number, &request);
}

static void carry_submit(struct run *run, const struct core_effect *effect)
{
    struct slot *slot = slot_at(run, effect->index);
    CHECK(effect->lane < run->plan.lanes_count);
    struct run_lane *lane = &run->lanes[effect->lane];
    struct device *device = run->devices[lane->device].device;
    ++slot->attempts;
    slot->device = lane->device;
    slot->lane = effect->lane;
    lane->slot = slot->number;
    slot->simulated = device->kind == DEVICE_SIM;
    slot->dirty_bytes = run->slots.layout.witness_offset + slot->input.size;
    slot->times.submit_ns = loop_now_ns();
    const struct device_work work = {.circuit = slot->simulated ? NULL : &slot->load->circuit,
                                     .witness = slot->values,
                                     .sums = slot->sums,
                                     .token = (uint64_t)effect->generation << 32 | slot->number};
    device_submit(device, lane->lane, &work);
    run_trace_submit(run, slot->partition, effect->lane, slot->times.submit_ns);
}

static void carry_write(struct run *run, struct slot *slot, uint32_t generation)
{
    const char *stem = slot->config_input->stem;
    slot->generation = generation;
    slot->times.write_begin_ns = loop_now_ns();
    if (slot->journal->code != ERROR_NONE) {
        slot->error = slot->journal->reason;
        answer_slot(run, CORE_EVENT_WRITTEN, slot, ERROR_SYSTEM);
        return;
    }
    if (!output_name_fits(stem, ".simulated.json")) {
        error_set_errno(&slot->error, ENAMETOOLONG, "%s/%s.proof.json: naming the proof", slot->job->output,
                        stem);
        answer_slot(run, CORE_EVENT_WRITTEN, slot, ERROR_INPUT);
        return;
    }
    unsigned files = 1;
    if (slot->simulated) {
        output_file_set(&slot->output, 0, stem, ".simulated.json", slot->proof_text, slot->proof_length);
    } else { /* the proof last: where it is, its public values are */
        output_file_set(&slot->output, 0, stem, ".public.json", slot->public_text, slot->public_length);
        output_file_set(&slot->output, 1, stem, ".proof.json", slot->proof_text, slot->proof_length);
        files = 2;
    }
    output_start(&slot->output, &run->loop, slot->number, slot->journal->folder, slot->journal->name, files);
}

static void carry_slot_task(struct run *run, const struct core_effect *effect)
{
    struct slot *slot = slot_at(run, effect->index);
    slot->generation = effect->generation;
    if (effect->kind == CORE_EFFECT_SYNTHESIZE) {
        run_post(run, WORKER_SHORT, slot_synthesize, slot, RUN_SYNTHESIZE, slot->number);
    } else {
        run_post(run, WORKER_SHORT, slot_finalize, slot, RUN_FINALIZE, slot->number);
    }
}

static void carry_load(struct run *run, const struct core_effect *effect)
{
    struct load *load = &run->loads[effect->index];
    load->generation = effect->generation;
    if (effect->kind == CORE_EFFECT_LOAD) {
        run_post(run, WORKER_LONG, load_open, load, RUN_LOAD, effect->index);
    } else {
        run_post(run, WORKER_LONG, load_release, load, RUN_EVICT, effect->index);
    }
}

static void carry_bundle(struct run *run, const struct core_effect *effect)
{
    struct run_job *job = &run->jobs[effect->index];
    job->bundle.generation = effect->generation;
    if (job->simulated) { /* there is no proof that could go into it */
        answer(run, CORE_EVENT_BUNDLED, effect->index, effect->generation, ERROR_NONE);
        return;
    }
    run_post(run, WORKER_LONG, bundle_write, &job->bundle, RUN_BUNDLE, effect->index);
}

static void note_quarantine(const struct run *run, const struct core_effect *effect)
{
    const struct run_lane *lane = &run->lanes[effect->lane];
    run_report_note(run, "lane %u of device %s is out of service: it stayed silent, or its device is lost",
                    lane->lane, run->devices[lane->device].device->name);
}

static void carry(struct run *run, uint64_t now_ns, const struct core_effect *effect)
{
    switch (effect->kind) {
    case CORE_EFFECT_LOAD:
    case CORE_EFFECT_EVICT:
        carry_load(run, effect);
        break;
    case CORE_EFFECT_GENERATE:
        carry_generate(run, effect);
        break;
    case CORE_EFFECT_KILL:
        generator_kill(&slot_at(run, effect->index)->generator);
        break;
    case CORE_EFFECT_READ:
        carry_read(run, effect);
        break;
    case CORE_EFFECT_SYNTHESIZE:
    case CORE_EFFECT_FINALIZE:
        carry_slot_task(run, effect);
        break;
    case CORE_EFFECT_SUBMIT:
        carry_submit(run, effect);
        break;
    case CORE_EFFECT_WRITE:
        carry_write(run, slot_at(run, effect->index), effect->generation);
        break;
    case CORE_EFFECT_BUNDLE:
        carry_bundle(run, effect);
        break;
    case CORE_EFFECT_RELEASE:
        slots_release(&run->slots, slot_at(run, effect->index));
        run_trim_freed(run, run->slots.layout.slab_bytes);
        break;
    case CORE_EFFECT_ENDED:
        run_report_ended(run, now_ns, effect);
        break;
    case CORE_EFFECT_JOB_ENDED:
        run_report_job_ended(run, effect);
        break;
    case CORE_EFFECT_QUARANTINE:
        note_quarantine(run, effect);
        break;
    case CORE_EFFECT_TRIM:
        run_trim_carry(run, effect);
        break;
    case CORE_EFFECT_DRAINED:
        run->drained = true;
        break;
    case CORE_EFFECTS:
        CHECK(effect->kind != CORE_EFFECTS);
    }
}

/* The partition that an answer is about. */
static uint32_t partition_of(const struct run *run, const struct core_event *event)
{
    uint32_t slot = CORE_NONE;
    switch (event->kind) {
    case CORE_EVENT_GENERATED:
    case CORE_EVENT_READ:
    case CORE_EVENT_SYNTHESIZED:
    case CORE_EVENT_FINALIZED:
    case CORE_EVENT_WRITTEN:
        slot = event->index;
        break;
    case CORE_EVENT_PROVED:
        slot = run->lanes[event->index].slot;
        break;
    default:
        break;
    }
    return slot == CORE_NONE ? CORE_NONE : run->slots.table[slot].partition;
}

void run_feed(struct run *run, uint64_t now_ns, const struct core_event *event)
{
    struct core_effect effect;
    uint32_t partition = partition_of(run, event);
    run->fed_ns = now_ns;
    core_step(run->core, now_ns, event);
    run_trace_states(run, now_ns, partition);
    while (core_effect_take(run->core, &effect)) {
        carry(run, now_ns, &effect);
        run_trace_states(run, now_ns, effect.partition);
    }
    run_trace_blocked(run, now_ns);
}

/* ---- completions ---- */

static void poll_device(struct run *run, unsigned number)
{
    struct device_completion completions[COMPLETIONS];
    struct run_device *device = &run->devices[number];
    unsigned count;
    do {
        count = device_poll(device->device, completions, COMPLETIONS);
        for (unsigned i = 0; i < count; ++i) {
            const struct device_completion *completion = &completions[i];
            struct slot *slot = slot_at(run, (uint32_t)completion->token);
            if (completion->code != ERROR_NONE) {
                error_set(&slot->error, ERROR_DEVICE, "device %s, lane %u: %s", device->device->name,
                          completion->lane, completion->reason);
            }
            run_report_proved(run, slot, completion);
            run_trace_proved(run, slot->partition, device->first_lane + completion->lane, completion);
            const struct core_event event = {.kind = CORE_EVENT_PROVED,
                                             .index = device->first_lane + completion->lane,
                                             .generation = (uint32_t)(completion->token >> 32),
                                             .code = completion->code,
                                             .sticky = completion->sticky};
            run_push(run, &event);
        }
        feed_all(run);
    } while (count == COMPLETIONS);
}

static void poll_devices(struct run *run)
{
    for (unsigned i = 0; i < run->devices_open; ++i) {
        poll_device(run, i);
    }
}

static void answer_generated(struct run *run, const struct slot *slot)
{
    run_trace_io(run, TRACE_TASK_GENERATE, slot->partition, slot->times.generate_posted_ns,
                 slot->times.generate_begin_ns);
    answer_slot(run, CORE_EVENT_GENERATED, slot, slot->generator.code);
}

static void complete_task(struct run *run, const struct worker_task *task)
{
    struct slot *slot = NULL;
    if (task->kind == RUN_SPAWN || task->kind == RUN_SYNTHESIZE || task->kind == RUN_FINALIZE) {
        slot = slot_at(run, task->index);
    }
    switch ((enum run_task)task->kind) {
    case RUN_LOAD:
        run_trace_task(run, TRACE_TASK_LOAD, task->index, task);
        if (run->loads[task->index].code == ERROR_NONE) {
            run_trace_circuit(run, task->index, true, run->loads[task->index].sizes.resident_bytes, task);
        }
        answer_loaded(run, task->index);
        break;
    case RUN_EVICT:
        run_trace_circuit(run, task->index, false, run->loads[task->index].sizes.resident_bytes, task);
        run_trim_freed(run, run->loads[task->index].sizes.resident_bytes);
        answer(run, CORE_EVENT_EVICTED, task->index, run->loads[task->index].generation, ERROR_NONE);
        break;
    case RUN_SPAWN:
        slot->times.generate_posted_ns = task->posted_ns;
        slot->times.generate_begin_ns = task->begin_ns;
        if (generator_spawned(&slot->generator, &run->loop)) {
            slot->error = slot->generator.error;
            answer_generated(run, slot);
        }
        break;
    case RUN_SYNTHESIZE:
        run_trace_task(run, TRACE_TASK_SYNTHESIZE, slot->partition, task);
        answer_slot(run, CORE_EVENT_SYNTHESIZED, slot, slot->code);
        break;
    case RUN_FINALIZE:
        run_trace_task(run, TRACE_TASK_FINALIZE, slot->partition, task);
        if (slot->simulated) {
            run->jobs[core_partition_job(run->core, slot->partition)].simulated = true;
        }
        answer_slot(run, CORE_EVENT_FINALIZED, slot, slot->code);
        break;
    case RUN_BUNDLE:
        run_trace_task(run, TRACE_TASK_BUNDLE, task->index, task);
        answer(run, CORE_EVENT_BUNDLED, task->index, run->jobs[task->index].bundle.generation,
               run->jobs[task->index].bundle.code);
        break;
    case RUN_TRIM:
        run_trim_end(run, task->thread);
        break;
    }
}

static void take_tasks(struct run *run)
{
    struct worker_task task;
    while (crew_take(&run->crew, &task)) {
        complete_task(run, &task);
        feed_all(run);
    }
}

static void kill_generators(struct run *run)
{
    for (uint32_t i = 0; i < run->slots.count; ++i) {
        generator_kill(&run->slots.table[i].generator);
    }
}

static void take_signals(struct run *run)
{
    struct signalfd_siginfo info;
    while (read(run->signals, &info, sizeof info) == sizeof info) {
        if (run->drained) {
            continue;
        }
        if (++run->stops > 1) {
            kill_generators(run);
            run_setup_remove_witnesses(run);
            run_report_note(run, "stopped at once; what is proven is kept, a later run resumes behind it");
            _exit(RUN_EXIT_KILLED);
        }
        run_report_note(
            run,
            "stopping: proofs that are being computed are finished and kept; once more to leave at once");
        const struct core_event event = {.kind = CORE_EVENT_STOP};
        run_push(run, &event);
    }
}

static int bell_file(const struct run *run, uint32_t bell)
{
    switch (bell) {
    case BELL_CREW:
        return run->crew.doorbell;
    case BELL_SIGNALS:
        return run->signals;
    default:
        return run->devices[bell].device->doorbell;
    }
}

static void watch(struct run *run, uint32_t bell)
{
    const struct loop_token token = {LOOP_DOORBELL, bell, run->watch_generation};
    loop_poll(&run->loop, token, bell_file(run, bell), true);
}

static void complete_bell(struct run *run, const struct loop_completion *completion)
{
    uint32_t bell = completion->token.slot;
    CHECK(bell < run->devices_open || bell == BELL_CREW || bell == BELL_SIGNALS);
    if (!completion->more &&
        !run->drained) { /* the kernel ends a multishot when it likes; what rang meanwhile rings again */
        watch(run, bell);
    }
    if (bell == BELL_CREW) {
        take_tasks(run);
    } else if (bell == BELL_SIGNALS) {
        take_signals(run);
    } else {
        poll_device(run, bell);
    }
}

static int64_t input_mtime(const struct slot *slot)
{
    return slot->generated ? slot->generator.input_mtime_ns : slot->input.mtime_ns;
}

static void journal_proof(struct run *run, struct slot *slot)
{
    const struct journal_codec_done done = {.job = slot->job->name,
                                            .job_length = strlen(slot->job->name),
                                            .stem = slot->config_input->stem,
                                            .stem_length = strlen(slot->config_input->stem),
                                            .input_size = slot->generated ? slot->generator.input_size
                                                                          : slot->input.size,
                                            .input_mtime_ns = input_mtime(slot),
                                            .key_size = slot->load->key_size,
                                            .key_mtime_ns = slot->load->key_mtime_ns,
                                            .proof_size = slot->proof_length,
                                            .public_size = slot->public_length,
                                            .proof_crc = slot->proof_crc,
                                            .public_crc = slot->public_crc};
    slot->entry.slot = slot->number;
    slot->entry.length = journal_codec_encode(slot->entry.record, &done);
    if (slot->journal->code != ERROR_NONE || slot->entry.length == 0) {
        slot->error = slot->journal->reason;
        if (slot->entry.length == 0) {
            error_set(&slot->error, ERROR_INPUT, "job %s, %s: a name that the journal cannot hold",
                      slot->job->name, slot->config_input->stem);
        }
        answer_slot(run, CORE_EVENT_WRITTEN, slot, ERROR_SYSTEM);
        return;
    }
    journal_file_append(slot->journal, &run->loop, &slot->entry);
}

static void report_written(struct run *run, const struct slot *slot, uint64_t now_ns)
{
    run_report_written(run, slot, now_ns);
    run_trace_io(run, TRACE_TASK_WRITE, slot->partition, slot->times.write_begin_ns,
                 slot->times.write_begin_ns);
}

static void complete_output(struct run *run, const struct loop_completion *completion)
{
    struct slot *slot = slot_at(run, completion->token.slot / OUTPUT_TOKENS);
    if (!output_complete(&slot->output, &run->loop, completion, &slot->error)) {
        return;
    }
    if (slot->output.code == ERROR_NONE && !slot->simulated) {
        journal_proof(run, slot);
        return;
    }
    report_written(run, slot, loop_now_ns());
    answer_slot(run, CORE_EVENT_WRITTEN, slot, slot->output.code);
}

static void complete_journal(struct run *run, const struct loop_completion *completion)
{
    struct error error;
    enum error_code code;
    uint32_t number = completion->token.slot / JOURNAL_FILE_TOKENS;
    CHECK(number < run->journals_count);
    struct journal_file_entry *entry =
        journal_file_complete(&run->journals[number], &run->loop, completion, &code, &error);
    uint64_t now_ns = loop_now_ns();
    while (entry != NULL) {
        struct slot *slot = slot_at(run, entry->slot);
        entry = entry->next;
        if (code != ERROR_NONE) {
            slot->error = error;
        } else {
            report_written(run, slot, now_ns);
        }
        answer_slot(run, CORE_EVENT_WRITTEN, slot, code);
    }
}

static void complete_input(struct run *run, const struct loop_completion *completion)
{
    struct slot *slot = slot_at(run, completion->token.slot);
    if (input_complete(&slot->input, &run->loop, completion, &slot->error)) {
        slot->dirty_bytes = run->slots.layout.witness_offset + slot->input.got;
        run_trace_io(run, TRACE_TASK_READ, slot->partition, slot->times.read_begin_ns,
                     slot->times.read_begin_ns);
        answer_slot(run, CORE_EVENT_READ, slot, slot->input.code);
    }
}

static void complete_child(struct run *run, const struct loop_completion *completion)
{
    struct slot *slot = slot_at(run, completion->token.slot);
    if (generator_complete(&slot->generator, &run->loop, completion)) {
        if (slot->generator.code != ERROR_NONE) {
            slot->error = slot->generator.error;
        }
        answer_generated(run, slot);
    }
}

static void dispatch(struct run *run, const struct loop_completion *completion)
{
    switch (completion->token.kind) {
    case LOOP_DOORBELL:
        complete_bell(run, completion);
        break;
    case LOOP_INPUT:
        complete_input(run, completion);
        break;
    case LOOP_OUTPUT:
        complete_output(run, completion);
        break;
    case LOOP_JOURNAL:
        complete_journal(run, completion);
        break;
    case LOOP_CHILD:
    case LOOP_CAPTURE:
        complete_child(run, completion);
        break;
    case LOOP_TRACE:
        run_trace_complete(run, completion);
        break;
    case LOOP_ADVISE:
    case LOOP_PRESSURE:
        run_trim_complete(run, completion);
        break;
    case LOOP_DISCARD:
        break;
    case LOOP_INTERNAL:
    case LOOP_KINDS:
        CHECK(completion->token.kind != completion->token.kind);
    }
    feed_all(run);
}

/* ---- the loop ---- */

static enum trace_span span_of(const struct loop_token *token)
{
    if (token->kind == LOOP_DOORBELL) {
        return token->slot == BELL_SIGNALS ? TRACE_SPAN_OTHER : TRACE_SPAN_DISPATCH;
    }
    return TRACE_SPAN_IO;
}

static void take_completions(struct run *run)
{
    struct loop_completion completion;
    while (loop_take(&run->loop, &completion)) {
        run_trace_doing(run, span_of(&completion.token));
        dispatch(run, &completion);
    }
}

/* Devices are asked first, and what has passed is as of before that: a process that was stopped for a while,
 * even just now, must not take its own silence for theirs. If one of them had an answer, timers are for the
 * next time, which is at once. */
static void take_timers(struct run *run)
{
    uint64_t now_ns = loop_now_ns();
    run_trace_doing(run, TRACE_SPAN_OTHER);
    if (!run->drained && now_ns >= core_deadline_ns(run->core)) {
        const struct core_event event = {.kind = CORE_EVENT_TIMER};
        poll_devices(run);
        if (run->fed_ns <= now_ns) {
            run_feed(run, now_ns, &event);
            feed_all(run);
        }
        now_ns = loop_now_ns(); /* the core's time has moved on */
    }
    if (now_ns >= run->tick_ns) {
        run_report_tick(run, now_ns);
        run->tick_ns = now_ns + run->options->tick_ns;
    }
    if (now_ns >= run_trace_tick_ns(run)) {
        run_trace_tick(run, now_ns);
    }
    run_trace_doing(run, TRACE_SPANS);
}

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns < b_ns ? a_ns : b_ns;
}

static enum error_code loop_run(struct run *run, struct error *error)
{
    for (uint32_t i = 0; i < run->devices_open; ++i) {
        watch(run, i);
    }
    watch(run, BELL_CREW);
    watch(run, BELL_SIGNALS);
    run_trim_watch(run);
    run->looping = true;
    const struct core_event start = {.kind = CORE_EVENT_START};
    run_push(run, &start);
    feed_all(run);
    run->tick_ns = run->options->tick_ns == 0 ? LOOP_NEVER : loop_now_ns() + run->options->tick_ns;
    while (!run->drained) {
        uint64_t wake_ns =
            earlier(core_deadline_ns(run->core), earlier(run->tick_ns, run_trace_tick_ns(run)));
        enum error_code code = loop_wait(&run->loop, wake_ns, error);
        if (code != ERROR_NONE) {
            return code;
        }
        take_completions(run);
        take_timers(run);
    }
    return ERROR_NONE;
}

/* Nothing is left to do; what is still in flight (doorbells, files being closed) is ended before its memory
 * goes. */
static enum error_code quiesce(struct run *run, struct error *error)
{
    run_trace_end(run, loop_now_ns());
    run_trim_unwatch(run);
    for (uint32_t bell = 0; bell < BELLS; ++bell) {
        if (bell < run->devices_open || bell >= BELL_CREW) {
            loop_cancel(&run->loop, (struct loop_token){LOOP_DOORBELL, bell, run->watch_generation});
        }
    }
    while (loop_in_flight(&run->loop) > 0) {
        enum error_code code = loop_wait(&run->loop, LOOP_NEVER, error);
        if (code != ERROR_NONE) {
            return code;
        }
        take_completions(run);
    }
    return ERROR_NONE;
}

static void call(void (*function)(void *context), void *context)
{
    if (function != NULL) {
        function(context);
    }
}

enum error_code run_batch(const struct config *config, const struct run_options *options,
                          struct run_result *result, struct error *error)
{
    static const struct run_sink silent;
    struct run run;
    memset(&run, 0, sizeof run);
    memset(result, 0, sizeof *result);
    run.config = config;
    run.options = options;
    run.result = result;
    run.sink = options->sink != NULL ? *options->sink : silent;
    enum error_code code = run_setup_open(&run, error);
    code = code != ERROR_NONE ? code : run_setup_admit(&run, error);
    if (code == ERROR_NONE) {
        call(run.sink.loop_started, run.sink.context);
        code = loop_run(&run, error);
        code = code != ERROR_NONE ? code : quiesce(&run, error);
        call(run.sink.loop_ended, run.sink.context);
        if (code !=
            ERROR_NONE) { /* the ring is broken, which leaves threads and the kernel with our memory */
            kill_generators(&run);
            return code;
        }
        uint64_t now_ns = loop_now_ns();
        run_report_tick(&run, now_ns);
        run_report_result(&run, now_ns);
    }
    run_setup_close(&run);
    return code;
}
