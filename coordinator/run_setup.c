#include "coordinator/run_internal.h"

#include "alloc/memory.h"
#include "conf/check.h"
#include "coordinator/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUBMISSIONS = 256, SLOT_OPERATIONS = 24, EVENTS_SPARE = 64 };

/* ---- signals ---- */

/* Children must stay until they are waited for, even if whoever started us ignores SIGCHLD. A terminal that
 * goes away ends the run as SIGTERM does, but not under nohup: a blocked signal would arrive though it is
 * ignored. */
static enum error_code take_signals(struct run *run, struct error *error)
{
    sigset_t taken;
    struct sigaction hangup;
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigemptyset(&taken);
    sigaddset(&taken, SIGINT);
    sigaddset(&taken, SIGTERM);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
        sigaddset(&taken, SIGHUP);
    }
    pthread_sigmask(SIG_BLOCK, &taken, &run->signals_before);
    sigaction(SIGCHLD, &by_default, &run->child_before);
    run->signals_taken = true;
    run->signals = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    if (run->signals < 0) {
        return error_set_errno(error, errno, "creating a signal descriptor");
    }
    return ERROR_NONE;
}

static void give_back_signals(struct run *run)
{
    if (run->signals >= 0) {
        close(run->signals);
    }
    if (run->signals_taken) {
        sigaction(SIGCHLD, &run->child_before, NULL);
        pthread_sigmask(SIG_SETMASK, &run->signals_before, NULL);
    }
}

/* ---- what there is to do, and with what ---- */

/* Tables of multiples pay for circuits with many proofs on the CPU. True if any circuit gets some. */
static bool choose_tables(struct run *run)
{
    const struct config *config = run->config;
    bool any = false;
    for (size_t i = 0; i < config->circuits_count && run->plan.cpu_ordinary; ++i) {
        struct load *load = &run->loads[i];
        uint64_t proofs = 0;
        const char *witness = NULL;
        for (size_t j = 0; j < config->jobs_count; ++j) {
            const struct config_job *job = &config->jobs[j];
            if (job->circuit == i) {
                proofs += job->inputs_count;
                witness =
                    job->witness_command == NULL && job->inputs_count > 0 ? job->inputs[0].path : witness;
            }
        }
        if (load->look_code == ERROR_NONE && proofs > 0) {
            load_choose_tables(load, proofs, run->plan.budget_bytes / 4 / config->circuits_count, witness);
            any = any || load->tables != MULTIPLES_NONE;
        }
    }
    return any;
}

static bool wants_gpus(const struct config *config)
{
    bool wants = config->devices_count == 0;
    for (size_t i = 0; i < config->devices_count; ++i) {
        wants |= config->devices[i].kind == CONFIG_DEVICE_CUDA;
    }
    return wants;
}

/* With `auto` a GPU that somebody else has for himself, or that is broken, is told of and left out; one that
 * is named in the configuration must open. */
static uint32_t refused_gpus(const struct run *run, unsigned gpus)
{
    uint32_t refused = 0;
    for (unsigned i = 0; run->config->devices_count == 0 && i < gpus && i < RUN_DEVICES_MAX; ++i) {
        struct device_cuda_info info;
        struct error why;
        if (device_cuda_info(&info, i, &why) != ERROR_NONE) {
            refused |= UINT32_C(1) << i;
            run_report_note(run, "%s; the run goes on without it", why.text);
        }
    }
    return refused;
}

static enum error_code look_at_circuits(struct run *run, struct error *error)
{
    const struct config *config = run->config;
    run->loads = calloc(config->circuits_count + 1, sizeof *run->loads);
    if (run->loads == NULL) {
        return error_set_errno(error, ENOMEM, "%s: reading its circuits", config->path);
    }
    for (size_t i = 0; i < config->circuits_count; ++i) {
        struct load *load = &run->loads[i];
        load->config = &config->circuits[i];
        load->devices = &run->load_devices;
        load->verify_wanted = config->self_check;
        load_look(load);
        if (load->look_code == ERROR_NONE && config->self_check && load->sizes.shape.key.ic == NULL) {
            run_report_note(
                run, "%s: has no section 3 (IC), so its proofs cannot be checked before they are written",
                load->config->zkey);
        }
    }
    struct error missing;
    struct run_plan_machine machine = {.processors = cli_processors(),
                                       .memory_bytes = memory_available_bytes()};
    if (wants_gpus(config)) {
        machine.gpus = device_cuda_count(&missing);
        machine.gpus_missing = missing.text;
        machine.gpus_refused = refused_gpus(run, machine.gpus);
    }
    enum error_code code = run_plan_make(&run->plan, config, run->loads, &machine, error);
    if (code == ERROR_NONE && choose_tables(run)) { /* circuits have grown */
        code = run_plan_make(&run->plan, config, run->loads, &machine, error);
    }
    for (unsigned i = 0; i < run->plan.devices_count && run->options->lane_limit_ns != 0; ++i) {
        run->plan.devices[i].time_limit_ns = run->options->lane_limit_ns;
    }
    return code;
}

static void core_settings_of(const struct run *run, struct core_settings *settings,
                             struct core_circuit_settings *circuits, struct core_lane_settings *lanes)
{
    const struct run_plan *plan = &run->plan;
    for (size_t i = 0; i < run->config->circuits_count; ++i) {
        const struct load *load = &run->loads[i];
        bool fits = run_plan_least_bytes(load, plan->threads) <= plan->budget_bytes;
        circuits[i].resident_bytes = fits ? load->sizes.resident_bytes : plan->budget_bytes + 1;
        circuits[i].slot_bytes = plan->layout.slab_bytes;
        if (load->look_code != ERROR_NONE) { /* it fails when it is loaded, whatever memory there is */
            circuits[i] = (struct core_circuit_settings){0, 0};
        }
    }
    uint32_t lane = 0;
    for (unsigned i = 0; i < plan->devices_count; ++i) {
        for (unsigned j = 0; j < plan->devices[i].lanes; ++j) {
            lanes[lane++] = (struct core_lane_settings){.device = i,
                                                        .fallback_only = plan->devices[i].fallback,
                                                        .cpu = plan->devices[i].kind == CONFIG_DEVICE_CPU,
                                                        .time_limit_ns = plan->devices[i].time_limit_ns};
        }
    }
    CHECK(lane == plan->lanes_count);
    *settings = (struct core_settings){.jobs_max = (uint32_t)run->config->jobs_count,
                                       .partitions_max = plan->partitions,
                                       .slots = plan->slots,
                                       .lookahead = plan->lookahead,
                                       .generators_max = plan->generators_max,
                                       .attempts_max = plan->attempts_max,
                                       .memory_bytes = plan->memory_bytes,
                                       .trim = trim_settings(run->config),
                                       .circuits_count = (uint32_t)run->config->circuits_count,
                                       .lanes_count = plan->lanes_count,
                                       .circuits = circuits,
                                       .lanes = lanes};
}

/* Files that may be open at once: a slot has two outputs, or a witness command with its pipe (which takes a
 * moment to close). The usual soft limit of 1024 is for programs that use select. */
static void raise_file_limit(const struct run *run)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)run->plan.slots * 8 + (rlim_t)run->config->jobs_count * 4 + 128;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted && limit.rlim_cur != RLIM_INFINITY) {
        limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || wanted < limit.rlim_max ? wanted : limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* if it is too low even so, partitions fail and say so */
    }
}

/* ---- memory ---- */

static void settings_of(const struct run *run, struct loop_settings *loop, struct crew_settings *crew)
{
    const struct run_plan *plan = &run->plan;
    uint32_t tasks =
        plan->slots + (uint32_t)run->config->circuits_count + (uint32_t)run->config->jobs_count + 1;
    *crew = (struct crew_settings){.short_threads = plan->short_threads, .tasks_max = tasks};
    *loop = (struct loop_settings){.submissions = SUBMISSIONS,
                                   .operations_max = plan->slots * SLOT_OPERATIONS +
                                                     (uint32_t)run->config->jobs_count * JOURNAL_FILE_TOKENS +
                                                     SLOTS_SPARE + RUN_DEVICES_MAX + EVENTS_SPARE};
}

static enum error_code open_arena(struct run *run, const struct core_settings *core, struct error *error)
{
    const struct run_plan *plan = &run->plan;
    size_t jobs = run->config->jobs_count;
    struct loop_settings loop;
    struct crew_settings crew;
    settings_of(run, &loop, &crew);
    run->events_capacity = plan->slots + plan->lanes_count + (uint32_t)run->config->circuits_count +
                           (uint32_t)jobs + EVENTS_SPARE;
    size_t bytes =
        arena_bytes_for(1, core_size(core)) + loop_arena_bytes(&loop) + crew_arena_bytes(&crew) +
        slots_arena_bytes(plan->slots) + jobs * journal_file_arena_bytes() +
        arena_bytes_for(jobs, sizeof(struct run_job)) + arena_bytes_for(jobs, sizeof(struct journal_file)) +
        arena_bytes_for(plan->lanes_count, sizeof(struct run_lane)) +
        arena_bytes_for(plan->partitions, sizeof(uint32_t)) +
        arena_bytes_for(run->events_capacity, sizeof(struct core_event)) + run_trace_arena_bytes(run) +
        arena_bytes_for(plan->devices_count, sizeof(struct device_cuda)) +
        arena_bytes_for(1, sizeof(struct device_cpu)) + arena_bytes_for(1, sizeof(struct device_sim));
    enum error_code code = arena_open(&run->arena, bytes, error);
    if (code != ERROR_NONE) {
        return code;
    }
    run->arena_open = true;
    run->jobs = arena_take(&run->arena, jobs, sizeof *run->jobs);
    run->journals = arena_take(&run->arena, jobs, sizeof *run->journals);
    run->lanes = arena_take(&run->arena, plan->lanes_count, sizeof *run->lanes);
    run->partition_slot = arena_take(&run->arena, plan->partitions, sizeof *run->partition_slot);
    run->events = arena_take(&run->arena, run->events_capacity, sizeof *run->events);
    run->cpu = arena_take(&run->arena, 1, sizeof *run->cpu);
    run->gpus = arena_take(&run->arena, plan->devices_count, sizeof *run->gpus);
    run->sim = arena_take(&run->arena, 1, sizeof *run->sim);
    for (uint32_t i = 0; i < plan->partitions; ++i) {
        run->partition_slot[i] = CORE_NONE;
    }
    for (size_t i = 0; i < jobs; ++i) {
        run->jobs[i].witness_folder = -1;
    }
    code = loop_open(&run->loop, &run->arena, &loop, error);
    run->loop_open = code == ERROR_NONE;
    if (code == ERROR_NONE) {
        code = crew_open(&run->crew, &run->arena, &crew, error);
        run->crew_open = code == ERROR_NONE;
    }
    if (code == ERROR_NONE) {
        code = slots_open(&run->slots, &run->arena, plan->slots, &plan->layout, run->config->buffers_heap,
                          error);
        run->slots_open = code == ERROR_NONE;
    }
    return code;
}

static enum error_code open_core(struct run *run, struct error *error)
{
    struct core_settings settings;
    struct core_circuit_settings *circuits = calloc(run->config->circuits_count + 1, sizeof *circuits);
    struct core_lane_settings *lanes = calloc(run->plan.lanes_count, sizeof *lanes);
    enum error_code code = ERROR_NONE;
    if (circuits == NULL || lanes == NULL) {
        code = error_set_errno(error, ENOMEM, "%s: preparing the run", run->config->path);
    } else {
        core_settings_of(run, &settings, circuits, lanes);
        code = open_arena(run, &settings, error);
    }
    if (code == ERROR_NONE) {
        run->core = core_init(arena_take(&run->arena, 1, core_size(&settings)), &settings);
    }
    free(circuits);
    free(lanes);
    return code;
}

/* ---- devices ---- */

static enum error_code open_cpu(struct run *run, const struct run_plan_device *wanted, struct error *error)
{
    const struct team_settings team = {
        .workers = run->plan.threads, .mains_max = run->plan.mains_max, .slots = wanted->lanes, .guests = 1};
    enum error_code code = team_open(&run->team, &team, error);
    run->team_open = code == ERROR_NONE;
    return code != ERROR_NONE ? code : device_cpu_open(run->cpu, &run->team, wanted->lanes, error);
}

/* Room is made for those circuits that fit; the others are refused when they are loaded. */
static enum error_code open_gpu(struct run *run, struct device_cuda *gpu,
                                const struct run_plan_device *wanted, struct error *error)
{
    size_t count = 0;
    const struct circuit **circuits = calloc(run->config->circuits_count + 1, sizeof *circuits);
    if (circuits == NULL) {
        return error_set_errno(error, ENOMEM, "%s: opening cuda:%u", run->config->path, wanted->index);
    }
    for (size_t i = 0; i < run->config->circuits_count; ++i) {
        if (run->loads[i].look_code == ERROR_NONE) {
            circuits[count++] = &run->loads[i].sizes.shape;
        }
    }
    const struct device_cuda_settings settings = {
        .index = wanted->index, .lanes = wanted->lanes, .circuits = circuits, .circuits_count = count};
    enum error_code code = device_cuda_open(gpu, &settings, error);
    free(circuits);
    return code;
}

static enum error_code open_device(struct run *run, unsigned number, struct device **device,
                                   struct error *error)
{
    const struct run_plan_device *wanted = &run->plan.devices[number];
    switch (wanted->kind) {
    case CONFIG_DEVICE_CPU:
        *device = &run->cpu->device;
        return open_cpu(run, wanted, error);
    case CONFIG_DEVICE_CUDA:
        *device = &run->gpus[number].device;
        return open_gpu(run, &run->gpus[number], wanted, error);
    default:
        CHECK(wanted->kind == CONFIG_DEVICE_SIM);
        *device = &run->sim->device;
        return device_sim_open(run->sim, &run->config->sim, wanted->lanes, error);
    }
}

static enum error_code open_devices(struct run *run, struct error *error)
{
    const struct run_plan *plan = &run->plan;
    uint32_t first = 0;
    for (unsigned i = 0; i < plan->devices_count; ++i) {
        const struct run_plan_device *wanted = &plan->devices[i];
        struct device *device = NULL;
        enum error_code code = open_device(run, i, &device, error);
        if (code != ERROR_NONE) {
            return code;
        }
        if (run->options->wrap_device != NULL) {
            device = run->options->wrap_device(run->options->wrap_context, device);
        }
        run->devices[i].device = run->device_pointers[i] = device;
        run->devices[i].first_lane = first;
        for (unsigned j = 0; j < wanted->lanes; ++j) {
            run->lanes[first++] = (struct run_lane){.device = i, .lane = j, .slot = CORE_NONE};
        }
        ++run->devices_open;
    }
    run->load_devices = (struct load_devices){run->device_pointers, run->devices_open};
    for (size_t i = 0; i < run->config->circuits_count; ++i) {
        run->loads[i].team = run->team_open ? &run->team : NULL;
    }
    return ERROR_NONE;
}

/* ---- output folders ---- */

/* The journal of a folder that another job opened already; NULL if this job is its first. */
static struct journal_file *find_journal(struct run *run, const char *folder)
{
    struct stat status;
    if (stat(folder, &status) != 0) {
        return NULL;
    }
    for (uint32_t i = 0; i < run->journals_count; ++i) {
        struct journal_file *journal = &run->journals[i];
        if (journal->folder >= 0 && journal->device == status.st_dev && journal->inode == status.st_ino) {
            return journal;
        }
    }
    return NULL;
}

static void report_journal(const struct run *run, const struct journal_file *journal)
{
    if (journal->torn) {
        run_report_note(
            run,
            "%s: the end of its journal was torn, as after a crash, and was cut off; what it named "
            "before that is kept",
            journal->name);
    }
    if (journal->leftovers > 0) {
        run_report_note(run, "%s: removed %u temporary files of a run that was ended", journal->name,
                        journal->leftovers);
    }
}

static void open_witness_folder(struct run_job *job, const struct config_job *config)
{
    if (config->witness_command == NULL || job->journal->code != ERROR_NONE) {
        return;
    }
    job->witness_folder = generator_folder_open(job->journal->folder);
    if (job->witness_folder < 0) {
        error_set_errno(&job->reason, -job->witness_folder, "%s: making a folder for witnesses",
                        config->output);
        job->witness_folder = -1;
        return;
    }
    job->folder_path = realpath(config->output, NULL);
    if (job->folder_path == NULL) {
        error_set_errno(&job->reason, errno, "%s: finding its path", config->output);
    }
}

static enum error_code open_folders(struct run *run, struct error *error)
{
    for (size_t i = 0; i < run->config->jobs_count; ++i) {
        const struct config_job *config = &run->config->jobs[i];
        struct run_job *job = &run->jobs[i];
        job->journal = find_journal(run, config->output);
        if (job->journal == NULL) {
            job->journal = &run->journals[run->journals_count];
            enum error_code code =
                journal_file_open(job->journal, config->output, run->journals_count, &run->arena, error);
            if (code != ERROR_NONE) {
                return code;
            }
            ++run->journals_count;
            report_journal(run, job->journal);
        }
        open_witness_folder(job, config);
        job->bundle.job = config;
        job->bundle.folder = job->journal->folder;
    }
    return ERROR_NONE;
}

enum error_code run_setup_open(struct run *run, struct error *error)
{
    run->signals = -1;
    run->tracing.file = run->pressure = -1;
    enum error_code code = loop_probe(error);
    code = code != ERROR_NONE ? code : take_signals(run, error);
    code = code != ERROR_NONE ? code : look_at_circuits(run, error);
    if (code == ERROR_NONE) {
        raise_file_limit(run);
        code = open_core(run, error);
    }
    if (code == ERROR_NONE) {
        code = run_trim_open(run, error);
    }
    code = code != ERROR_NONE ? code : open_folders(run, error);
    code = code != ERROR_NONE
               ? code
               : run_trace_open(run, error); /* may lie beside an output folder that was made now */
    code = code != ERROR_NONE ? code : open_devices(run, error);
    if (code == ERROR_NONE) {
        run_trace_begin(run);
    }
    return code;
}

/* ---- jobs ---- */

/* Feeds RESUMED for each partition that an earlier run finished with the input and the key as they are now.
 */
static void resume(struct run *run, uint64_t now_ns, size_t index)
{
    const struct config_job *config = &run->config->jobs[index];
    struct run_job *job = &run->jobs[index];
    const struct load *load = &run->loads[config->circuit];
    if (run->plan.simulated_only || job->journal->records == 0 || load->look_code != ERROR_NONE) {
        return;
    }
    uint32_t resumed = 0; /* in a row, up to here */
    for (size_t i = 0; i < config->inputs_count; ++i) {
        struct stat status = {0};
        bool there =
            stat(config->inputs[i].path, &status) == 0; /* if not, reading it will say what is wrong */
        const struct journal_file_identity identity = {
            .input_size = (uint64_t)status.st_size,
            .input_mtime_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec,
            .key_size = load->key_size,
            .key_mtime_ns = load->key_mtime_ns};
        if (there && journal_file_is_done(job->journal, config->name, config->inputs[i].stem, &identity)) {
            const struct core_event event = {.kind = CORE_EVENT_RESUMED, .index = job->first + (uint32_t)i};
            run_feed(run, now_ns, &event);
            ++job->done;
            ++resumed;
        } else {
            run_trace_admitted(run, now_ns, job->first + (uint32_t)i - resumed, resumed, CORE_DONE);
            resumed = 0;
        }
    }
    run_trace_admitted(run, now_ns, job->first + (uint32_t)config->inputs_count - resumed, resumed,
                       CORE_DONE);
}

static uint64_t after_ns(uint64_t start_ns, uint64_t duration_ns)
{
    return duration_ns == 0 || duration_ns > UINT64_MAX - 1 - start_ns ? CORE_NEVER : start_ns + duration_ns;
}

enum error_code run_setup_admit(struct run *run, struct error *error)
{
    run->start_ns = loop_now_ns();
    for (size_t i = 0; i < run->config->jobs_count; ++i) {
        const struct config_job *config = &run->config->jobs[i];
        if (config->inputs_count == 0) {
            return error_set(error, ERROR_INPUT, "%s:%d: job %s has no input", run->config->path,
                             config->line, config->name);
        }
        const struct core_event event = {.kind = CORE_EVENT_ADMIT,
                                         .job = {.circuit = (uint32_t)config->circuit,
                                                 .partitions = (uint32_t)config->inputs_count,
                                                 .priority = (uint8_t)config->priority,
                                                 .bundle = config->bundle,
                                                 .generate = config->witness_command != NULL,
                                                 .deadline_ns = after_ns(run->start_ns, config->deadline_ns),
                                                 .generate_limit_ns = config->witness_timeout_ns == 0
                                                                          ? CORE_NEVER
                                                                          : config->witness_timeout_ns}};
        run_feed(run, run->start_ns, &event);
        run->jobs[i].first = core_job_first_partition(run->core, (uint32_t)i);
        run_trace_admitted(run, run->start_ns, run->jobs[i].first, (uint32_t)config->inputs_count,
                           CORE_QUEUED);
        resume(run, run->start_ns, i);
    }
    for (uint32_t i = 0; i < run->journals_count; ++i) {
        journal_file_replay_end(&run->journals[i]);
    }
    arena_freeze(&run->arena);
    return ERROR_NONE;
}

void run_setup_remove_witnesses(struct run *run)
{
    for (size_t i = 0; run->jobs != NULL && i < run->config->jobs_count; ++i) {
        struct run_job *job = &run->jobs[i];
        if (job->witness_folder >= 0) {
            generator_folder_remove(job->journal->folder, job->witness_folder);
            job->witness_folder = -1;
        }
    }
}

static void close_folders(struct run *run)
{
    run_setup_remove_witnesses(run);
    for (size_t i = 0; run->jobs != NULL && i < run->config->jobs_count; ++i) {
        free(run->jobs[i].folder_path);
    }
    for (uint32_t i = 0; i < run->journals_count; ++i) {
        journal_file_close(&run->journals[i]);
    }
}

/* Devices first: a silent one may still use a slot and a circuit. */
void run_setup_close(struct run *run)
{
    for (unsigned i = 0; i < run->devices_open; ++i) {
        device_close(run->devices[i].device);
    }
    if (run->crew_open) {
        crew_close(&run->crew);
    }
    for (size_t i = 0; run->loads != NULL && i < run->config->circuits_count; ++i) {
        run->loads[i].attached = 0; /* the devices are gone */
        load_release(&run->loads[i]);
    }
    if (run->team_open) {
        team_close(&run->team);
    }
    if (run->slots_open) {
        for (uint32_t i = 0; i < run->slots.count; ++i) {
            if (run->slots.table[i].slab != POOL_NONE) {
                slots_release(&run->slots, &run->slots.table[i]);
            }
        }
        slots_close(&run->slots);
    }
    run_trim_close(run);
    run_trace_close(run);
    close_folders(run);
    if (run->loop_open) {
        loop_close(&run->loop);
    }
    if (run->arena_open) {
        arena_close(&run->arena);
    }
    free(run->loads);
    give_back_signals(run);
}
