#include "bench/locked.h"

#include "alloc/memory.h"
#include "bench/event_log.h"
#include "bench/ticket.h"
#include "conf/check.h"
#include "coordinator/cli.h"
#include "coordinator/core.h"
#include "coordinator/load.h"
#include "coordinator/slots.h"
#include "cuda/device_cpu.h"
#include "cuda/device_sim.h"
#include "groth16/wtns.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DEVICES_MAX = 2,
    THREADS_MAX = 255, /* numbers from 1 that fit an event's detail */
    POLL_MS = 50,
    ALIGNMENT = 64
};

/* A partition in flight. */
struct item {
    struct slot slot;
    uint8_t *slab; /* from malloc, for this partition only */
    const struct config_job *job;
    uint32_t partition;
    enum device_kind kind;
};

/* First in, first out; a taker sleeps until there is something or it is closed. Room for all in flight. */
struct fifo {
    pthread_mutex_t mutex;
    pthread_cond_t filled;
    struct item *items[LOCKED_IN_FLIGHT_MAX];
    uint64_t posted_ns[LOCKED_IN_FLIGHT_MAX];
    unsigned first, count;
    bool closed;
};

struct lane {
    sem_t done;
    struct device_completion completion;
};

struct locked_device {
    struct device *device;
    struct device_sim sim;
    struct device_cpu cpu;
    struct team team;
    bool team_open, open;
    uint32_t first_lane;
    pthread_mutex_t mutex; /* around submit and poll */
    struct lane lanes[LOCKED_WORKERS_MAX];
};

/* What the fair mutex is around. */
struct tracker {
    struct ticket mutex;
    uint32_t proving, proved, done, failed;
    struct error first_failure;
};

struct thread {
    struct locked *run;
    struct event_log *log;
    pthread_t id;
    unsigned number;
    struct locked_device *device; /* of a worker or poller */
    unsigned lane;
};

struct locked {
    struct locked_settings settings;
    struct tracker tracker;
    struct fifo ready, proved, idle; /* idle: items that no partition has */
    struct load *loads;
    struct locked_device devices[DEVICES_MAX];
    unsigned devices_count;
    struct device *device_pointers[DEVICES_MAX];
    struct load_devices load_devices;
    struct item *items;
    struct memory_probe probe;
    bool probe_open;
    uint32_t partitions, inputs;
    _Atomic uint32_t next; /* partition to be taken */
    _Atomic bool stopping; /* for pollers and the sampler */
    struct event_log logs[THREADS_MAX + 1];
    struct thread threads[THREADS_MAX + 1];
    unsigned threads_count; /* numbers 1 up to this */
    uint64_t start_ns, start_utc_ns;
};

/* ---- queues ---- */

static void fifo_init(struct fifo *fifo)
{
    pthread_mutex_init(&fifo->mutex, NULL);
    pthread_cond_init(&fifo->filled, NULL);
}

static void fifo_destroy(struct fifo *fifo)
{
    pthread_cond_destroy(&fifo->filled);
    pthread_mutex_destroy(&fifo->mutex);
}

static void fifo_put(struct fifo *fifo, struct item *item)
{
    pthread_mutex_lock(&fifo->mutex);
    CHECK(fifo->count < LOCKED_IN_FLIGHT_MAX);
    unsigned place = (fifo->first + fifo->count++) % LOCKED_IN_FLIGHT_MAX;
    fifo->items[place] = item;
    fifo->posted_ns[place] = device_now_ns();
    pthread_cond_signal(&fifo->filled);
    pthread_mutex_unlock(&fifo->mutex);
}

/* NULL: closed, and nothing left. */
static struct item *fifo_take(struct fifo *fifo, uint64_t *posted_ns)
{
    struct item *item = NULL;
    pthread_mutex_lock(&fifo->mutex);
    while (fifo->count == 0 && !fifo->closed) {
        pthread_cond_wait(&fifo->filled, &fifo->mutex);
    }
    if (fifo->count > 0) {
        item = fifo->items[fifo->first];
        *posted_ns = fifo->posted_ns[fifo->first];
        fifo->first = (fifo->first + 1) % LOCKED_IN_FLIGHT_MAX;
        fifo->count--;
    }
    pthread_mutex_unlock(&fifo->mutex);
    return item;
}

static void fifo_close(struct fifo *fifo)
{
    pthread_mutex_lock(&fifo->mutex);
    fifo->closed = true;
    pthread_cond_broadcast(&fifo->filled);
    pthread_mutex_unlock(&fifo->mutex);
}

/* ---- events ---- */

static void note_state(struct thread *thread, uint32_t partition, enum core_state state)
{
    event_log_add(thread->log, &(struct trace_event){.kind = TRACE_STATE,
                                                     .detail = (uint8_t)state,
                                                     .index = partition,
                                                     .value2 = 1,
                                                     .time_ns = device_now_ns()});
}

static void note_task(struct thread *thread, uint32_t partition, enum trace_task task, uint64_t posted_ns,
                      uint64_t begin_ns)
{
    event_log_add(thread->log, &(struct trace_event){.kind = TRACE_TASK,
                                                     .detail = (uint8_t)task,
                                                     .index = partition,
                                                     .lane = (uint16_t)thread->number,
                                                     .value = begin_ns,
                                                     .value2 = posted_ns,
                                                     .time_ns = device_now_ns()});
}

static void note_hold(struct thread *thread, enum trace_span doing, uint64_t begin_ns, uint64_t end_ns)
{
    event_log_add(thread->log, &(struct trace_event){.kind = TRACE_HOLD,
                                                     .detail = (uint8_t)doing,
                                                     .lane = (uint16_t)thread->number,
                                                     .value = begin_ns,
                                                     .time_ns = end_ns});
}

static void note_rss(struct thread *thread)
{
    event_log_add(thread->log, &(struct trace_event){.kind = TRACE_RSS,
                                                     .value = memory_probe_rss_bytes(&thread->run->probe),
                                                     .time_ns = device_now_ns()});
}

static void pause_ns(uint64_t ns)
{
    if (ns > 0) {
        struct timespec time = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
        while (nanosleep(&time, &time) != 0 && errno == EINTR) {
        }
    }
}

/* ---- the tracker's mutex ---- */

/* Returns when it was got. */
static uint64_t tracker_lock(struct thread *thread, enum trace_span doing, uint32_t partition)
{
    unsigned holder, holder_doing;
    uint64_t begin_ns = device_now_ns();
    ticket_lock(&thread->run->tracker.mutex, thread->number, doing, &holder, &holder_doing);
    uint64_t end_ns = device_now_ns();
    if (holder == TICKET_NOBODY) { /* it was free, or changed hands just then */
        holder = 0;
        holder_doing = TRACE_SPAN_OTHER;
    }
    event_log_add(thread->log, &(struct trace_event){.kind = TRACE_LOCK,
                                                     .detail = (uint8_t)holder_doing,
                                                     .index = holder,
                                                     .lane = (uint16_t)thread->number,
                                                     .value = begin_ns,
                                                     .value2 = (uint64_t)partition + 1,
                                                     .time_ns = end_ns});
    return end_ns;
}

static void tracker_unlock(struct thread *thread, enum trace_span doing, uint64_t since_ns)
{
    uint64_t now_ns = device_now_ns();
    ticket_unlock(&thread->run->tracker.mutex);
    note_hold(thread, doing, since_ns, now_ns);
}

/* ---- synthesis ---- */

static enum error_code read_witness(struct slot *slot)
{
    const char *path = slot->config_input->path;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return error_set_errno(&slot->error, errno, "%s: opening", path);
    }
    size_t got = 0;
    ssize_t more = 1;
    while (more > 0 && got < slot->capacity) {
        more = read(file, slot->witness_file + got, slot->capacity - got);
        got += more > 0 ? (size_t)more : 0;
    }
    enum error_code code = more < 0 ? error_set_errno(&slot->error, errno, "%s: reading", path) : ERROR_NONE;
    close(file);
    slot->input.size = got;
    return code;
}

static void find_input(const struct locked *run, uint32_t partition, struct item *item)
{
    const struct config *config = run->settings.config;
    uint32_t number = partition % run->inputs;
    size_t job = 0;
    while (number >= config->jobs[job].inputs_count) {
        number -= (uint32_t)config->jobs[job++].inputs_count;
    }
    item->job = &config->jobs[job];
    item->slot.job = item->job;
    item->slot.config_input = &item->job->inputs[number];
    item->slot.load = &run->loads[item->job->circuit];
    item->slot.self_check = config->self_check;
}

/* A partition gets buffers of its own from the heap, as the old pipeline's did. */
static void give_buffers(struct item *item)
{
    struct slots_layout layout;
    struct slot *slot = &item->slot;
    slots_layout(&layout, slot->load->sizes.wires, slot->load->sizes.publics);
    item->slab = aligned_alloc(ALIGNMENT, (layout.slab_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    CHECK(item->slab != NULL);
    slot->sums = (struct prove_sums *)(void *)item->slab;
    slot->publics = (u256 *)(void *)(item->slab + layout.publics_offset);
    slot->public_text = (char *)item->slab + layout.text_offset;
    slot->public_capacity = layout.text_capacity;
    slot->witness_file = item->slab + layout.witness_offset;
    slot->capacity = layout.witness_capacity;
}

static void synthesize(struct thread *thread, struct item *item, uint32_t partition)
{
    memset(item, 0, sizeof *item);
    item->partition = partition;
    find_input(thread->run, partition, item);
    give_buffers(item);
    uint64_t begin_ns = device_now_ns();
    note_state(thread, partition, CORE_READING);
    item->slot.code = read_witness(&item->slot);
    note_task(thread, partition, TRACE_TASK_READ, begin_ns, begin_ns);
    if (item->slot.code != ERROR_NONE) {
        return;
    }
    begin_ns = device_now_ns();
    note_state(thread, partition, CORE_SYNTHESIZING);
    slot_synthesize(&item->slot);
    note_task(thread, partition, TRACE_TASK_SYNTHESIZE, begin_ns, begin_ns);
}

static void *synthesizer_main(void *argument)
{
    struct thread *thread = argument;
    struct locked *run = thread->run;
    for (;;) {
        uint64_t posted_ns;
        struct item *item = fifo_take(&run->idle, &posted_ns);
        uint32_t partition = item == NULL ? run->partitions : atomic_fetch_add(&run->next, 1);
        if (partition >= run->partitions) {
            fifo_close(&run->idle);
            return NULL;
        }
        synthesize(thread, item, partition);
        if (item->slot.code == ERROR_NONE) {
            note_state(thread, partition, CORE_READY);
            fifo_put(&run->ready, item);
        } else {
            fifo_put(&run->proved, item);
        }
    }
}

/* ---- the device's workers ---- */

static void note_stages(struct thread *thread, uint32_t partition, const struct device_completion *completion)
{
    uint64_t begin_ns = completion->begin_ns;
    for (unsigned stage = 0; stage < DEVICE_STAGES; stage++) {
        event_log_add(thread->log,
                      &(struct trace_event){.kind = TRACE_STAGE,
                                            .detail = (uint8_t)stage,
                                            .index = partition,
                                            .lane = (uint16_t)(thread->device->first_lane + thread->lane),
                                            .value = begin_ns,
                                            .time_ns = completion->stage_end_ns[stage]});
        begin_ns = completion->stage_end_ns[stage];
    }
}

static void submit(struct thread *thread, struct item *item)
{
    struct locked_device *device = thread->device;
    const struct slot *slot = &item->slot;
    item->kind = device->device->kind;
    item->slot.simulated = item->kind == DEVICE_SIM;
    const struct device_work work = {.circuit = item->slot.simulated ? NULL : &slot->load->circuit,
                                     .witness = slot->values,
                                     .sums = slot->sums,
                                     .token = item->partition};
    event_log_add(thread->log, &(struct trace_event){.kind = TRACE_SUBMIT,
                                                     .index = item->partition,
                                                     .lane = (uint16_t)(device->first_lane + thread->lane),
                                                     .value = thread->number,
                                                     .time_ns = device_now_ns()});
    note_state(thread, item->partition, CORE_PROVING);
    pthread_mutex_lock(&device->mutex);
    device_submit(device->device, thread->lane, &work);
    pthread_mutex_unlock(&device->mutex);
}

static void *worker_main(void *argument)
{
    struct thread *thread = argument;
    struct locked *run = thread->run;
    struct tracker *tracker = &run->tracker;
    struct lane *lane = &thread->device->lanes[thread->lane];
    struct item *item;
    uint64_t posted_ns;
    while ((item = fifo_take(&run->ready, &posted_ns)) != NULL) {
        pause_ns(run->settings.handover_ns);
        uint64_t since_ns = tracker_lock(thread, TRACE_SPAN_DISPATCH, item->partition);
        tracker->proving++;
        tracker_unlock(thread, TRACE_SPAN_DISPATCH, since_ns);
        submit(thread, item);
        while (sem_wait(&lane->done) != 0) {
            CHECK(errno == EINTR);
        }
        CHECK(lane->completion.token == item->partition);
        if (lane->completion.code != ERROR_NONE) {
            item->slot.code = error_set(&item->slot.error, lane->completion.code, "%s: %s",
                                        thread->device->device->name, lane->completion.reason);
        } else {
            note_stages(thread, item->partition, &lane->completion);
        }
        since_ns = tracker_lock(thread, TRACE_SPAN_DISPATCH, item->partition);
        tracker->proving--;
        tracker->proved++;
        tracker_unlock(thread, TRACE_SPAN_DISPATCH, since_ns);
        fifo_put(&run->proved, item);
    }
    return NULL;
}

/* Waits for the device and wakes the workers whose lanes are done. */
static void *poller_main(void *argument)
{
    struct thread *thread = argument;
    struct locked_device *device = thread->device;
    while (!atomic_load(&thread->run->stopping)) {
        struct pollfd bell = {.fd = device->device->doorbell, .events = POLLIN};
        poll(&bell, 1, POLL_MS);
        struct device_completion completions[LOCKED_WORKERS_MAX];
        pthread_mutex_lock(&device->mutex);
        unsigned count = device_poll(device->device, completions, LOCKED_WORKERS_MAX);
        pthread_mutex_unlock(&device->mutex);
        for (unsigned i = 0; i < count; i++) {
            struct lane *lane = &device->lanes[completions[i].lane];
            lane->completion = completions[i];
            sem_post(&lane->done);
        }
    }
    return NULL;
}

static void *sampler_main(void *argument)
{
    struct thread *thread = argument;
    while (!atomic_load(&thread->run->stopping)) {
        note_rss(thread);
        pause_ns(thread->run->settings.config->timeline_ns);
    }
    note_rss(thread);
    return NULL;
}

/* ---- finalizers ---- */

static enum error_code write_file(const struct item *item, const char *suffix, const char *text,
                                  size_t length, struct error *error)
{
    char final[4096], temporary[4096 + 8];
    int needed =
        snprintf(final, sizeof final, "%s/%s%s", item->job->output, item->slot.config_input->stem, suffix);
    if (needed < 0 || (size_t)needed >= sizeof final) {
        return error_set_errno(error, ENAMETOOLONG, "%s: naming the proof", item->job->output);
    }
    snprintf(temporary, sizeof temporary, "%s.%u.tmp", final, item->partition % 1000);
    int file = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool written = file >= 0 && write(file, text, length) == (ssize_t)length && fsync(file) == 0;
    if (file >= 0) {
        close(file);
    }
    if (!written || rename(temporary, final) != 0) {
        return error_set_errno(error, errno, "%s: writing", final);
    }
    return ERROR_NONE;
}

static void write_proof(struct item *item)
{
    struct slot *slot = &item->slot;
    const char *suffix = slot->simulated ? ".simulated.json" : ".proof.json";
    if (!slot->simulated) {
        slot->code = write_file(item, ".public.json", slot->public_text, slot->public_length, &slot->error);
    }
    if (slot->code == ERROR_NONE) {
        slot->code = write_file(item, suffix, slot->proof_text, slot->proof_length, &slot->error);
    }
}

static void finalize(struct thread *thread, struct item *item, uint64_t posted_ns)
{
    uint64_t begin_ns = device_now_ns();
    note_state(thread, item->partition, CORE_FINALIZING);
    slot_finalize(&item->slot);
    note_task(thread, item->partition, TRACE_TASK_FINALIZE, posted_ns, begin_ns);
    if (item->slot.code == ERROR_NONE) {
        begin_ns = device_now_ns();
        note_state(thread, item->partition, CORE_WRITING);
        write_proof(item);
        note_task(thread, item->partition, TRACE_TASK_WRITE, begin_ns, begin_ns);
    }
}

static void trim(struct thread *thread)
{
    struct locked *run = thread->run;
    uint64_t before = memory_probe_rss_bytes(&run->probe);
    uint64_t begin_ns = device_now_ns();
    run->settings.trim_function();
    uint64_t end_ns = device_now_ns();
    uint64_t after = memory_probe_rss_bytes(&run->probe);
    event_log_add(thread->log, &(struct trace_event){.kind = TRACE_TRIM,
                                                     .detail = (uint8_t)thread->number,
                                                     .value = begin_ns,
                                                     .value2 = before > after ? before - after : 0,
                                                     .time_ns = end_ns});
    note_rss(thread);
}

/* Records the partition, and does under the mutex what the old pipeline did under it. */
static void record(struct thread *thread, struct item *item)
{
    struct locked *run = thread->run;
    struct tracker *tracker = &run->tracker;
    enum trace_span doing = run->settings.trim == LOCKED_TRIM_INSIDE ? TRACE_SPAN_TRIM : TRACE_SPAN_FINALIZE;
    uint64_t since_ns = tracker_lock(thread, doing, item->partition);
    bool failed = item->slot.code != ERROR_NONE;
    if (failed && tracker->failed++ == 0) {
        tracker->first_failure = item->slot.error;
    }
    tracker->done += !failed;
    note_state(thread, item->partition, failed ? CORE_FAILED : CORE_DONE);
    pause_ns(run->settings.hold_ns);
    free(item->slab);
    if (run->settings.trim == LOCKED_TRIM_INSIDE) {
        uint64_t begin_ns = device_now_ns();
        note_hold(thread, TRACE_SPAN_FINALIZE, since_ns, begin_ns);
        trim(thread);
        since_ns = begin_ns;
    }
    tracker_unlock(thread, doing, since_ns);
    if (run->settings.trim == LOCKED_TRIM_OUTSIDE) {
        trim(thread);
    }
}

static void *finalizer_main(void *argument)
{
    struct thread *thread = argument;
    struct locked *run = thread->run;
    struct item *item;
    uint64_t posted_ns;
    while ((item = fifo_take(&run->proved, &posted_ns)) != NULL) {
        if (item->slot.code == ERROR_NONE) {
            finalize(thread, item, posted_ns);
        }
        record(thread, item);
        fifo_put(&run->idle, item);
    }
    return NULL;
}

/* ---- before and after ---- */

static enum error_code open_device(struct locked *run, enum config_device_kind kind, struct error *error)
{
    const struct config *config = run->settings.config;
    const unsigned lanes = run->settings.workers;
    struct locked_device *device = &run->devices[run->devices_count];
    enum error_code code;
    if (kind == CONFIG_DEVICE_CUDA || run->devices_count == DEVICES_MAX) {
        return error_set(error, ERROR_INPUT, "%s: devices: expected cpu or sim, or both", config->path);
    }
    if (kind == CONFIG_DEVICE_SIM) {
        code = device_sim_open(&device->sim, &config->sim, lanes, error);
        device->device = &device->sim.device;
    } else {
        const struct team_settings team = {
            .workers = config->threads > 0 ? config->threads : cli_processors(), .slots = lanes, .guests = 1};
        code = team_open(&device->team, &team, error);
        device->team_open = code == ERROR_NONE;
        code = code != ERROR_NONE ? code : device_cpu_open(&device->cpu, &device->team, lanes, error);
        device->device = &device->cpu.device;
    }
    device->open = code == ERROR_NONE;
    device->first_lane = run->devices_count * lanes;
    pthread_mutex_init(&device->mutex, NULL);
    for (unsigned i = 0; i < lanes; i++) {
        sem_init(&device->lanes[i].done, 0, 0);
    }
    run->device_pointers[run->devices_count++] = device->device;
    return code;
}

static enum error_code open_devices(struct locked *run, struct error *error)
{
    const struct config *config = run->settings.config;
    enum error_code code = ERROR_NONE;
    if (config->devices_count == 0) {
        return open_device(run, CONFIG_DEVICE_CPU, error);
    }
    for (size_t i = 0; i < config->devices_count && code == ERROR_NONE; i++) {
        code = open_device(run, config->devices[i].kind, error);
    }
    return code;
}

static enum error_code open_circuits(struct locked *run, struct error *error)
{
    const struct config *config = run->settings.config;
    run->load_devices = (struct load_devices){run->device_pointers, run->devices_count};
    run->loads = calloc(config->circuits_count, sizeof *run->loads);
    CHECK(run->loads != NULL);
    for (size_t i = 0; i < config->circuits_count; i++) {
        struct load *load = &run->loads[i];
        load->config = &config->circuits[i];
        load->devices = &run->load_devices;
        load->verify_wanted = config->self_check;
        load_look(load);
        load_open(load);
        if (load->code != ERROR_NONE) {
            *error = load->error;
            return load->code;
        }
    }
    return ERROR_NONE;
}

static enum error_code open_outputs(struct locked *run, struct error *error)
{
    const struct config *config = run->settings.config;
    for (size_t i = 0; i < config->jobs_count; i++) {
        const struct config_job *job = &config->jobs[i];
        if (job->witness_command != NULL) {
            return error_set(error, ERROR_INPUT,
                             "%s: job %s: the baseline runs no witness_command; name witnesses", config->path,
                             job->name);
        }
        if (mkdir(job->output, 0755) != 0 && errno != EEXIST) {
            return error_set_errno(error, errno, "%s: creating the output folder", job->output);
        }
        run->inputs += (uint32_t)job->inputs_count;
    }
    run->partitions = run->settings.partitions > 0 ? run->settings.partitions : run->inputs;
    return ERROR_NONE;
}

static struct thread *start(struct locked *run, void *(*function)(void *), struct locked_device *device,
                            unsigned lane)
{
    CHECK(run->threads_count < THREADS_MAX);
    unsigned number = ++run->threads_count;
    struct thread *thread = &run->threads[number];
    *thread = (struct thread){
        .run = run, .log = &run->logs[number], .number = number, .device = device, .lane = lane};
    CHECK(pthread_create(&thread->id, NULL, function, thread) == 0);
    return thread;
}

static void join(struct locked *run, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        CHECK(pthread_join(run->threads[i].id, NULL) == 0);
    }
}

/* Starts the threads, from the pipeline's end to its beginning, and ends them the other way round. */
static void run_threads(struct locked *run)
{
    const struct locked_settings *settings = &run->settings;
    const unsigned workers = settings->workers * run->devices_count;
    for (unsigned i = 0; i < workers; i++) {
        start(run, worker_main, &run->devices[i / settings->workers], i % settings->workers);
    }
    for (unsigned i = 0; i < settings->finalizers; i++) {
        start(run, finalizer_main, NULL, 0);
    }
    const unsigned pollers = run->threads_count + 1;
    for (unsigned i = 0; i < run->devices_count; i++) {
        start(run, poller_main, &run->devices[i], 0);
    }
    start(run, sampler_main, NULL, 0);
    const unsigned synthesizers = run->threads_count + 1;
    for (unsigned i = 0; i < settings->synthesizers; i++) {
        start(run, synthesizer_main, NULL, 0);
    }
    join(run, synthesizers, settings->synthesizers);
    fifo_close(&run->ready);
    join(run, 1, workers);
    fifo_close(&run->proved);
    join(run, 1 + workers, settings->finalizers);
    atomic_store(&run->stopping, true);
    join(run, pollers, run->devices_count + 1);
}

static enum error_code write_trace(struct locked *run, uint64_t end_ns, struct error *error)
{
    const struct locked_settings *settings = &run->settings;
    static const char *const policies[] = {"off", "outside lock", "under lock"};
    struct trace_header header = {.magic = TRACE_MAGIC,
                                  .version = TRACE_VERSION,
                                  .event_bytes = sizeof(struct trace_event),
                                  .start_ns = run->start_ns,
                                  .start_utc_ns = run->start_utc_ns,
                                  .timeline_ns = settings->config->timeline_ns,
                                  .partitions = run->partitions,
                                  .devices_count = run->devices_count};
    memcpy(header.magic, TRACE_MAGIC, sizeof header.magic);
    snprintf(header.program, sizeof header.program, "locked baseline");
    snprintf(header.allocator, sizeof header.allocator, "%s", settings->allocator);
    snprintf(header.policy, sizeof header.policy, "%s", policies[settings->trim]);
    for (unsigned i = 0; i < run->devices_count; i++) {
        struct trace_device *device = &header.devices[i];
        snprintf(device->name, sizeof device->name, "%.23s", run->devices[i].device->name);
        device->lanes = settings->workers;
        device->first_lane = run->devices[i].first_lane;
    }
    event_log_add(&run->logs[0], &(struct trace_event){.kind = TRACE_STATE,
                                                       .detail = CORE_QUEUED,
                                                       .value2 = run->partitions,
                                                       .time_ns = run->start_ns});
    event_log_add(&run->logs[0], &(struct trace_event){.kind = TRACE_END, .time_ns = end_ns});
    return event_log_write(settings->trace, &header, run->logs, THREADS_MAX + 1, error);
}

static void close_all(struct locked *run)
{
    for (size_t i = 0; run->loads != NULL && i < run->settings.config->circuits_count; i++) {
        load_release(&run->loads[i]);
    }
    for (unsigned i = 0; i < run->devices_count; i++) {
        struct locked_device *device = &run->devices[i];
        if (device->open) {
            device_close(device->device);
        }
        if (device->team_open) {
            team_close(&device->team);
        }
        pthread_mutex_destroy(&device->mutex);
    }
    for (unsigned i = 0; i <= THREADS_MAX; i++) {
        event_log_free(&run->logs[i]);
    }
    if (run->probe_open) {
        memory_probe_close(&run->probe);
    }
    fifo_destroy(&run->idle);
    fifo_destroy(&run->ready);
    fifo_destroy(&run->proved);
    free(run->loads);
    free(run->items);
    free(run);
}

static uint64_t utc_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static struct locked *open_run(const struct locked_settings *settings)
{
    struct locked *run = aligned_alloc(64, (sizeof *run + 63) / 64 * 64);
    CHECK(run != NULL);
    memset(run, 0, sizeof *run);
    run->settings = *settings;
    run->items = calloc(settings->in_flight, sizeof *run->items);
    CHECK(run->items != NULL);
    ticket_init(&run->tracker.mutex);
    fifo_init(&run->idle);
    fifo_init(&run->ready);
    fifo_init(&run->proved);
    for (unsigned i = 0; i < settings->in_flight; i++) {
        fifo_put(&run->idle, &run->items[i]);
    }
    return run;
}

enum error_code locked_run(const struct locked_settings *settings, struct locked_result *result,
                           struct error *error)
{
    CHECK(settings->in_flight > 0 && settings->in_flight <= LOCKED_IN_FLIGHT_MAX);
    CHECK(settings->workers > 0 && settings->workers <= LOCKED_WORKERS_MAX);
    CHECK(settings->finalizers > 0 && settings->finalizers <= settings->in_flight);
    CHECK(settings->synthesizers > 0 && settings->synthesizers <= LOCKED_SYNTHESIZERS_MAX);
    struct locked *run = open_run(settings);
    enum error_code code = open_outputs(run, error);
    code = code != ERROR_NONE ? code : memory_probe_open(&run->probe, error);
    run->probe_open = code == ERROR_NONE;
    code = code != ERROR_NONE ? code : open_devices(run, error);
    code = code != ERROR_NONE ? code : open_circuits(run, error);
    if (code == ERROR_NONE) {
        run->start_ns = device_now_ns();
        run->start_utc_ns = utc_ns();
        run_threads(run);
        uint64_t end_ns = device_now_ns();
        *result = (struct locked_result){.done = run->tracker.done,
                                         .failed = run->tracker.failed,
                                         .wall_ns = end_ns - run->start_ns,
                                         .first_failure = run->tracker.first_failure};
        code = write_trace(run, end_ns, error);
    }
    close_all(run);
    return code;
}
