/* sim_core - runs the pure core through seeded worlds, with faults, and checks every step.
 *
 * Each seed draws a world (jobs, circuits, budget, lanes, limits) and which faults may happen in it (swarm
 * testing: Groce et al., 2012), then carries the core's effects out on a virtual clock. sim_model.c repeats
 * the core's rules; core_check compares the core's own tables. A world in which nothing is left to happen
 * must have drained. Equal seeds must give equal histories. Usage: see usage() below. */
#include "conf/check.h"
#include "coordinator/core.h"
#include "tests/sim/sim_model.h"
#include "tests/sim/sim_random.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum fault {
    FAULT_LOAD,
    FAULT_GENERATE,
    FAULT_GENERATE_HANG,
    FAULT_READ,
    FAULT_WITNESS,
    FAULT_DEVICE,
    FAULT_STICKY,
    FAULT_SILENT_LATE,
    FAULT_SILENT_FOREVER,
    FAULT_SELF_CHECK,
    FAULT_FINALIZE,
    FAULT_WRITE,
    FAULT_BUNDLE,
    FAULT_DUPLICATE, /* answers come twice, the second one at any later time */
    FAULT_SLOW,      /* some operations take a hundred times as long */
    FAULT_STOP,
    FAULT_DEADLINES,
    FAULT_TIMER_LATE,
    FAULT_TIMER_SPURIOUS,
    FAULT_MEMORY, /* a budget that lets one circuit in at a time, or not even that */
    FAULT_RESUME,
    FAULT_ROOM, /* a circuit finds no room on some device */
    FAULTS
};

static const char *const effect_names[CORE_EFFECTS] = {
    "LOAD",  "EVICT",  "GENERATE", "KILL",  "READ",      "SYNTHESIZE", "SUBMIT", "FINALIZE",
    "WRITE", "BUNDLE", "RELEASE",  "ENDED", "JOB_ENDED", "QUARANTINE", "TRIM",   "DRAINED"};
static const char *const event_names[CORE_EVENTS] = {
    "ADMIT",     "RESUMED", "START",   "LOADED", "EVICTED", "GENERATED", "READ",    "SYNTHESIZED", "PROVED",
    "FINALIZED", "WRITTEN", "BUNDLED", "TIMER",  "FREED",   "PRESSURE",  "TRIMMED", "STOP"};

struct pending { /* an event that will happen */
    uint64_t at_ns;
    uint64_t order;
    struct core_event event;
};

struct world {
    struct sim_random random;
    uint64_t now_ns;
    uint64_t history; /* hash of all events and effects */
    uint64_t steps;
    uint64_t order;
    uint64_t calm_ns; /* no faults begin from here on */
    uint64_t check_every;
    struct core_settings settings;
    struct core_circuit_settings circuits[8];
    struct core_lane_settings lanes[16];
    struct core_job_request *jobs;
    uint32_t jobs_count;
    uint32_t partitions;
    unsigned chance[FAULTS]; /* permille; 0: off in this world */
    bool pool;               /* slots free nothing */
    uint64_t trim_ns;        /* a typical trim */
    bool lost[16];           /* device: has had a sticky error */
    struct pending *queue;   /* binary heap by time, then order */
    size_t queue_count, queue_capacity;
    struct core *core;
    void *memory;
    struct sim_model *model;
    bool verbose;
};

/* For the messages of a failure, which may come from anywhere. */
static uint64_t current_seed;
static const char *program;
static struct sim_model *current_model;

static void tell_seed(void)
{
    char text[256];
    int length =
        snprintf(text, sizeof text, "sim: seed %" PRIu64 " failed; replay: %s --seed %" PRIu64 " --verbose\n",
                 current_seed, program, current_seed);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0) {
        _exit(1);
    }
}

static void on_abort(int signal_number)
{
    (void)signal_number;
    tell_seed();
    _exit(1);
}

void sim_failed(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "sim: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    if (current_model != NULL) {
        sim_model_explain(current_model);
    }
    tell_seed();
    exit(1);
}

/* ---- Random choices ---- */

static uint64_t between(struct world *world, uint64_t low, uint64_t high)
{
    return sim_random_between(&world->random, low, high);
}

static bool happens(struct world *world, enum fault fault)
{
    if (world->chance[fault] == 0 || world->now_ns >= world->calm_ns) {
        return false;
    }
    return sim_random_chance(&world->random, world->chance[fault]);
}

static uint64_t duration(struct world *world, uint64_t typical_ns)
{
    uint64_t ns = between(world, typical_ns / 4, typical_ns * 2);
    return happens(world, FAULT_SLOW) ? ns * 100 : ns;
}

/* ---- Drawing a world ---- */

static void draw_faults(struct world *world)
{
    for (unsigned i = 0; i < FAULTS; i++) {
        if (sim_random_chance(&world->random, 350)) {
            world->chance[i] =
                (unsigned)between(world, 1, sim_random_chance(&world->random, 200) ? 600 : 120);
        }
    }
    if (world->chance[FAULT_STICKY] > 40) {
        world->chance[FAULT_STICKY] = 40;
    }
    world->calm_ns = sim_random_chance(&world->random, 500) ? between(world, 0, 2000000) : UINT64_MAX;
}

static void draw_lanes(struct world *world)
{
    uint32_t devices = (uint32_t)between(world, 1, 4);
    uint32_t count = 0;
    bool limited = world->chance[FAULT_SILENT_LATE] > 0 || world->chance[FAULT_SILENT_FOREVER] > 0;
    for (uint32_t device = 0; device < devices; device++) {
        bool cpu = sim_random_chance(&world->random, 300);
        bool fallback = device > 0 && device == devices - 1 && sim_random_chance(&world->random, 500);
        uint64_t limit = limited ? between(world, 100000, 400000) : CORE_NEVER;
        for (uint64_t lanes = between(world, 1, 3); lanes > 0; lanes--) {
            world->lanes[count++] =
                (struct core_lane_settings){.device = device,
                                            .fallback_only = fallback,
                                            .cpu = cpu || fallback,
                                            .time_limit_ns = fallback ? CORE_NEVER : limit};
        }
    }
    world->settings.lanes_count = count;
    world->settings.lanes = world->lanes;
}

static void draw_memory(struct world *world)
{
    uint32_t count = (uint32_t)between(world, 1, 6);
    uint64_t all = 0, largest = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct core_circuit_settings *circuit = &world->circuits[i];
        circuit->resident_bytes = between(world, 0, 1000);
        circuit->slot_bytes = between(world, 1, 100);
        uint64_t one = circuit->resident_bytes + circuit->slot_bytes;
        all += circuit->resident_bytes + world->settings.slots * circuit->slot_bytes;
        largest = one > largest ? one : largest;
    }
    world->settings.circuits_count = count;
    world->settings.circuits = world->circuits;
    world->settings.memory_bytes = all;
    if (world->chance[FAULT_MEMORY] > 0) {
        bool hopeless = sim_random_chance(&world->random, 100);
        world->settings.memory_bytes =
            hopeless ? between(world, 0, largest) : between(world, largest, largest * 2);
    }
}

static void draw_jobs(struct world *world)
{
    bool large = sim_random_chance(&world->random, 10);
    world->jobs_count = (uint32_t)between(world, 1, large ? 40 : 10);
    world->jobs = calloc(world->jobs_count, sizeof *world->jobs);
    CHECK(world->jobs != NULL);
    bool bundles = sim_random_chance(&world->random, 500);
    bool generators = sim_random_chance(&world->random, 400);
    for (uint32_t i = 0; i < world->jobs_count; i++) {
        struct core_job_request *job = &world->jobs[i];
        job->circuit = (uint32_t)between(world, 0, world->settings.circuits_count - 1);
        job->partitions =
            (uint32_t)between(world, 1, large && sim_random_chance(&world->random, 300) ? 300 : 12);
        job->priority = (uint8_t)between(world, 0, CORE_PRIORITIES - 1);
        job->bundle = bundles && sim_random_chance(&world->random, 500);
        job->generate = generators && sim_random_chance(&world->random, 500);
        job->deadline_ns = CORE_NEVER;
        if (world->chance[FAULT_DEADLINES] > 0 && sim_random_chance(&world->random, 500)) {
            job->deadline_ns = between(world, 1, 3000000);
        }
        job->generate_limit_ns = CORE_NEVER;
        if (world->chance[FAULT_GENERATE_HANG] > 0 || sim_random_chance(&world->random, 300)) {
            job->generate_limit_ns = between(world, 20000, 200000);
        }
        world->partitions += job->partitions;
    }
}

static void draw_trims(struct world *world)
{
    struct trim_policy_settings *trim = &world->settings.trim;
    trim->kind = (enum trim_policy_kind)between(world, 0, TRIM_POLICY_KINDS - 1);
    trim->interval_ns = between(world, 1, sim_random_chance(&world->random, 300) ? 1000 : 300000);
    trim->min_freed_bytes = between(world, 0, 400);
    world->pool = sim_random_chance(&world->random, 300);
    world->trim_ns = between(world, 100, 200000);
}

static void draw(struct world *world)
{
    draw_faults(world);
    draw_lanes(world);
    world->settings.slots = (uint32_t)between(world, 1, 16);
    draw_memory(world);
    draw_jobs(world);
    world->settings.jobs_max = world->jobs_count;
    world->settings.partitions_max = world->partitions;
    world->settings.lookahead = (uint32_t)between(world, 1, 4);
    world->settings.generators_max = (uint32_t)between(world, 1, 4);
    world->settings.attempts_max = (uint32_t)between(world, 1, 4);
    world->check_every = world->partitions > 300 ? 50 : 1;
    draw_trims(world);
}

/* ---- The virtual clock ---- */

static bool earlier(const struct pending *a, const struct pending *b)
{
    return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

static void happen(struct world *world, uint64_t delay_ns, const struct core_event *event)
{
    if (world->queue_count == world->queue_capacity) {
        world->queue_capacity = world->queue_capacity * 2 + 64;
        world->queue = realloc(world->queue, world->queue_capacity * sizeof *world->queue);
        CHECK(world->queue != NULL);
    }
    struct pending pending = {.at_ns = world->now_ns + delay_ns, .order = world->order++, .event = *event};
    size_t place = world->queue_count++;
    while (place > 0 && earlier(&pending, &world->queue[(place - 1) / 2])) {
        world->queue[place] = world->queue[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    world->queue[place] = pending;
}

static struct pending next_pending(struct world *world)
{
    struct pending top = world->queue[0];
    struct pending last = world->queue[--world->queue_count];
    size_t place = 0;
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= world->queue_count) {
            break;
        }
        if (child + 1 < world->queue_count && earlier(&world->queue[child + 1], &world->queue[child])) {
            child++;
        }
        if (!earlier(&world->queue[child], &last)) {
            break;
        }
        world->queue[place] = world->queue[child];
        place = child;
    }
    world->queue[place] = last;
    return top;
}

/* ---- Carrying effects out ---- */

static void answer(struct world *world, uint64_t typical_ns, struct core_event event, enum fault fault,
                   enum error_code code)
{
    if (fault != FAULTS && happens(world, fault)) {
        event.code = code;
    }
    uint64_t delay = duration(world, typical_ns);
    happen(world, delay, &event);
    if (happens(world, FAULT_DUPLICATE)) {
        happen(world, delay + between(world, 0, 300000), &event);
    }
}

static void carry_generate(struct world *world, const struct core_effect *effect)
{
    struct core_event event = {
        .kind = CORE_EVENT_GENERATED, .index = effect->index, .generation = effect->generation};
    const struct core_job_request *job = &world->jobs[core_partition_job(world->core, effect->partition)];
    if (job->generate_limit_ns != CORE_NEVER && happens(world, FAULT_GENERATE_HANG)) {
        return; /* until it is killed */
    }
    answer(world, 30000, event, FAULT_GENERATE, ERROR_INPUT);
}

static void carry_submit(struct world *world, const struct core_effect *effect)
{
    struct core_event event = {
        .kind = CORE_EVENT_PROVED, .index = effect->lane, .generation = effect->generation};
    const struct core_lane_settings *lane = &world->lanes[effect->lane];
    if (lane->time_limit_ns != CORE_NEVER) {
        if (happens(world, FAULT_SILENT_FOREVER)) {
            return;
        }
        if (happens(world, FAULT_SILENT_LATE)) {
            happen(world, lane->time_limit_ns * between(world, 1, 8), &event);
            return;
        }
    }
    if (world->lost[lane->device] || happens(world, FAULT_STICKY)) {
        world->lost[lane->device] = true;
        event.sticky = true;
        event.code = ERROR_DEVICE;
    }
    answer(world, 40000, event, FAULT_DEVICE, ERROR_DEVICE);
}

/* The buffers go back a little later, and now and then the system finds memory short. */
static void carry_release(struct world *world)
{
    if (!world->pool) {
        struct core_event freed = {.kind = CORE_EVENT_FREED, .bytes = between(world, 0, 100)};
        happen(world, between(world, 0, 3000), &freed);
    }
    if (world->settings.trim.kind == TRIM_POLICY_PRESSURE && sim_random_chance(&world->random, 200)) {
        struct core_event pressure = {.kind = CORE_EVENT_PRESSURE};
        happen(world, between(world, 0, 20000), &pressure);
    }
}

static void carry_out(struct world *world, const struct core_effect *effect)
{
    struct core_event event = {.index = effect->index, .generation = effect->generation};
    switch (effect->kind) {
    case CORE_EFFECT_LOAD:
        event.kind = CORE_EVENT_LOADED;
        event.cpu_only = happens(world, FAULT_ROOM);
        answer(world, 100000, event, FAULT_LOAD, ERROR_INPUT);
        break;
    case CORE_EFFECT_EVICT:
        event.kind = CORE_EVENT_EVICTED;
        answer(world, 10000, event, FAULTS, ERROR_NONE);
        break;
    case CORE_EFFECT_GENERATE:
        carry_generate(world, effect);
        break;
    case CORE_EFFECT_KILL:
        event.kind = CORE_EVENT_GENERATED;
        event.code = ERROR_CANCELED;
        answer(world, 1000, event, FAULTS, ERROR_NONE);
        break;
    case CORE_EFFECT_READ:
        event.kind = CORE_EVENT_READ;
        answer(world, 2000, event, FAULT_READ, ERROR_SYSTEM);
        break;
    case CORE_EFFECT_SYNTHESIZE:
        event.kind = CORE_EVENT_SYNTHESIZED;
        answer(world, 10000, event, FAULT_WITNESS, ERROR_INPUT);
        break;
    case CORE_EFFECT_SUBMIT:
        carry_submit(world, effect);
        break;
    case CORE_EFFECT_FINALIZE:
        event.kind = CORE_EVENT_FINALIZED;
        if (happens(world, FAULT_SELF_CHECK)) {
            event.code = ERROR_PROOF;
        }
        answer(world, 8000, event, FAULT_FINALIZE, ERROR_SYSTEM);
        break;
    case CORE_EFFECT_WRITE:
        event.kind = CORE_EVENT_WRITTEN;
        answer(world, 5000, event, FAULT_WRITE, ERROR_SYSTEM);
        break;
    case CORE_EFFECT_BUNDLE:
        event.kind = CORE_EVENT_BUNDLED;
        answer(world, 5000, event, FAULT_BUNDLE, ERROR_SYSTEM);
        break;
    case CORE_EFFECT_TRIM:
        event.kind = CORE_EVENT_TRIMMED;
        event.bytes = between(world, 0, 1000);
        event.ns = between(world, 0, world->trim_ns);
        answer(world, world->trim_ns, event, FAULTS, ERROR_NONE);
        break;
    case CORE_EFFECT_RELEASE:
        carry_release(world);
        break;
    case CORE_EFFECT_ENDED:
    case CORE_EFFECT_JOB_ENDED:
    case CORE_EFFECT_QUARANTINE:
    case CORE_EFFECT_DRAINED:
    case CORE_EFFECTS:
        break;
    }
}

/* ---- Steps ---- */

static void mix(struct world *world, uint64_t word)
{
    world->history = (world->history ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    world->history ^= world->history >> 31;
}

static void step(struct world *world, const struct core_event *event)
{
    if (world->verbose) {
        printf("%10" PRIu64 " %s %u gen %u%s%s\n", world->now_ns, event_names[event->kind], event->index,
               event->generation, event->code == ERROR_NONE ? "" : " failed", event->sticky ? " sticky" : "");
    }
    mix(world,
        world->now_ns ^ (uint64_t)event->kind << 56 ^ (uint64_t)event->index << 32 ^ event->generation);
    sim_model_event(world->model, world->now_ns, event);
    core_step(world->core, world->now_ns, event);
    struct core_effect effect;
    while (core_effect_take(world->core, &effect)) {
        if (world->verbose) {
            printf("%10s   -> %s %u gen %u partition %d lane %d%s%s\n", "", effect_names[effect.kind],
                   effect.index, effect.generation,
                   effect.partition == CORE_NONE ? -1 : (int)effect.partition,
                   effect.lane == CORE_NONE ? -1 : (int)effect.lane,
                   effect.kind == CORE_EFFECT_ENDED || effect.kind == CORE_EFFECT_JOB_ENDED ? " " : "",
                   effect.kind == CORE_EFFECT_ENDED || effect.kind == CORE_EFFECT_JOB_ENDED
                       ? (effect.cause == CORE_CAUSE_NONE ? core_state_name(effect.state)
                                                          : core_cause_name(effect.cause))
                       : "");
        }
        mix(world, (uint64_t)effect.kind << 56 ^ (uint64_t)effect.index << 32 ^ effect.generation);
        mix(world, (uint64_t)effect.partition << 32 ^ (uint64_t)effect.lane << 8 ^ effect.cause);
        sim_model_effect(world->model, world->now_ns, &effect);
        carry_out(world, &effect);
    }
    if (world->steps++ % world->check_every == 0) {
        sim_model_settled(world->model, world->now_ns, world->core);
        core_check(world->core);
        mix(world, world->steps % 64 == 0 ? core_hash(world->core) : 0);
    }
}

static void begin(struct world *world)
{
    for (uint32_t i = 0; i < world->jobs_count; i++) {
        struct core_event admit = {.kind = CORE_EVENT_ADMIT, .job = world->jobs[i]};
        step(world, &admit);
        uint32_t first = core_job_first_partition(world->core, i);
        bool all = world->chance[FAULT_RESUME] > 0 && sim_random_chance(&world->random, 200);
        for (uint32_t p = 0; p < world->jobs[i].partitions; p++) {
            if (all || (world->chance[FAULT_RESUME] > 0 && sim_random_chance(&world->random, 300))) {
                struct core_event resumed = {.kind = CORE_EVENT_RESUMED, .index = first + p};
                step(world, &resumed);
            }
        }
    }
    struct core_event start = {.kind = CORE_EVENT_START};
    struct core_event stop = {.kind = CORE_EVENT_STOP};
    if (world->chance[FAULT_STOP] > 0) {
        for (uint64_t stops = between(world, 1, 2); stops > 0; stops--) {
            happen(world, between(world, 0, 2000000), &stop);
        }
        if (sim_random_chance(&world->random, 50)) {
            step(world, &stop);
        }
    }
    step(world, &start);
}

/* The next event or the core's timer, whichever comes first; false if nothing is left to happen. */
static bool advance(struct world *world)
{
    uint64_t timer_ns = core_deadline_ns(world->core);
    if (timer_ns != CORE_NEVER) {
        timer_ns = timer_ns < world->now_ns ? world->now_ns : timer_ns;
        timer_ns += happens(world, FAULT_TIMER_LATE) ? between(world, 0, 200000) : 0;
    }
    bool spurious = happens(world, FAULT_TIMER_SPURIOUS);
    if (world->queue_count > 0 && world->queue[0].at_ns <= timer_ns && !spurious) {
        struct pending pending = next_pending(world);
        CHECK(pending.at_ns >= world->now_ns);
        world->now_ns = pending.at_ns;
        step(world, &pending.event);
        return true;
    }
    if (timer_ns == CORE_NEVER && !(spurious && world->queue_count > 0)) {
        return false;
    }
    if (!spurious) {
        world->now_ns = timer_ns;
    }
    struct core_event timer = {.kind = CORE_EVENT_TIMER};
    step(world, &timer);
    return true;
}

static uint64_t run(uint64_t seed, bool verbose, uint64_t *steps)
{
    struct world world = {.verbose = verbose};
    sim_random_init(&world.random, seed);
    world.now_ns = between(&world, 0, 1000);
    draw(&world);
    size_t size = core_size(&world.settings);
    world.memory = aligned_alloc(64, (size + 63) & ~(size_t)63);
    CHECK(world.memory != NULL);
    memset(world.memory, 0, size);
    world.core = core_init(world.memory, &world.settings);
    world.model = current_model = sim_model_open(&world.settings);
    if (verbose) {
        printf("world %" PRIu64 ": %u jobs, %u partitions, %u circuits, %u slots, %u lanes, budget %" PRIu64
               "\n",
               seed, world.jobs_count, world.partitions, world.settings.circuits_count, world.settings.slots,
               world.settings.lanes_count, world.settings.memory_bytes);
    }
    begin(&world);
    /* Every partition takes some ten events for each attempt, answered twice, with as many timers; ends in
     * 64s. */
    uint64_t bound = 1000 + (uint64_t)world.partitions * 400;
    while (advance(&world)) {
        if (world.steps > bound) {
            sim_failed("no end after %" PRIu64 " steps", world.steps);
        }
    }
    if (!sim_model_drained(world.model)) {
        sim_failed("nothing is left to happen, but the core has not drained");
    }
    core_check(world.core);
    sim_model_finished(world.model, world.core);
    mix(&world, core_hash(world.core));
    *steps += world.steps;
    sim_model_close(world.model);
    current_model = NULL;
    free(world.memory);
    free(world.queue);
    free(world.jobs);
    return world.history;
}

static _Noreturn void usage(void)
{
    fprintf(stderr,
            "usage: %s [--seed N | --seeds COUNT [--first N]] [--verbose]\n"
            "  --seed N       run one world, twice\n"
            "  --seeds COUNT  run COUNT worlds from --first on (default: UZK_SIM_SEEDS or 10000, from 1)\n"
            "  --verbose      print every event and effect\n",
            program);
    exit(2);
}

static uint64_t number(const char *text)
{
    char *end;
    uint64_t value = text == NULL ? 0 : strtoull(text, &end, 10);
    if (text == NULL || *text == 0 || *end != 0) {
        usage();
    }
    return value;
}

int main(int argc, char **argv)
{
    program = argv[0];
    const char *from_environment = getenv("UZK_SIM_SEEDS");
    uint64_t first = 1, count = from_environment != NULL ? number(from_environment) : 10000;
    bool verbose = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0) {
            verbose = true;
        } else if (strcmp(argv[i], "--seed") == 0) {
            first = number(argv[++i]);
            count = 1;
        } else if (strcmp(argv[i], "--seeds") == 0) {
            count = number(argv[++i]);
        } else if (strcmp(argv[i], "--first") == 0) {
            first = number(argv[++i]);
        } else {
            usage();
        }
    }
    signal(SIGABRT, on_abort);
    uint64_t steps = 0, begun = (uint64_t)clock();
    for (uint64_t i = 0; i < count; i++) {
        current_seed = first + i;
        uint64_t history = run(current_seed, verbose, &steps);
        if (run(current_seed, false, &steps) != history) {
            sim_failed("two runs of the seed differ");
        }
    }
    printf("%" PRIu64 " worlds from seed %" PRIu64 ", %" PRIu64
           " steps, %.1f s: all drained, no rule broken\n",
           count, first, steps, (double)((uint64_t)clock() - begun) / CLOCKS_PER_SEC);
    return 0;
}
