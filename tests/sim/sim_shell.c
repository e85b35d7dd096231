/* sim_shell - runs whole batches, the real shell over a system in memory (sim_kernel.h), and checks what they
 * leave on its disk.
 *
 * Each seed draws a batch, which faults may happen, and when the process or the power ends; runs it, again
 * and again on the same folders, and once more without faults: then everything that can be proven must be.
 * Rules: a file under its final name is whole, right and synced; the journal names only what is durable; what
 * it names is not proven again; every partition ends once, a failed one with a reason; nothing is held at the
 * end. Usage: see usage() below. */
#include "conf/check.h"
#include "coordinator/cli.h"
#include "coordinator/journal_codec.h"
#include "coordinator/journal_file.h"
#include "coordinator/pressure.h"
#include "coordinator/run.h"
#include "coordinator/run_plan.h"
#include "coordinator/trace.h"
#include "cuda/device_cpu.h"
#include "cuda/device_fault.h"
#include "groth16/proof.h"
#include "groth16/wtns.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_kernel.h"
#include "tests/sim/sim_plant.h"
#include "tests/sim/sim_prover.h"
#include "tests/sim/sim_random.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    JOBS = 4,
    PARTITIONS = 30,
    CIRCUITS = 2,
    PUBLICS_BYTES = 2048,
    WITNESS_BYTES = 20000,
    RUNS = 4,
    DEVICES = 4
};

/* A circuit of tests/data and one of its witnesses. */
struct template
{
    uint8_t *zkey, *witness;
    size_t zkey_bytes, witness_bytes;
    size_t values; /* where they begin in the witness */
    uint32_t wires, publics;
    struct load load; /* looked at, for its sizes */
};

struct partition {
    unsigned job;
    bool good;
    uint32_t number; /* in the witness */
    char path[32], stem[16];
    char proof[PROOF_JSON_BYTES], publics[PUBLICS_BYTES];
    size_t proof_bytes, publics_bytes;
    char
        old_proof[PROOF_JSON_BYTES]; /* of the witness that was here before; the public values are the same */
    size_t old_proof_bytes;
    /* of the run under way */
    unsigned ended;
    enum core_state state;
    bool named;
    bool resumable; /* at its start */
};

struct world {
    struct sim_random random;
    uint64_t seed;
    struct config config;
    struct config_circuit circuits[CIRCUITS];
    struct config_job jobs[JOBS];
    struct config_input inputs[JOBS][PARTITIONS];
    char names[JOBS][16], outputs[JOBS][16];
    struct partition partitions[PARTITIONS];
    unsigned partitions_count;
    bool circuit_good[CIRCUITS];
    unsigned gpus;
    bool wraps;
    struct device_fault_settings device_faults;
    struct device_fault faults[DEVICES];
    unsigned faults_count;
    struct run_options options;
    struct run_result result;
    enum error_code code;
    struct error error;
    bool calm; /* the last run, without faults */
    unsigned jobs_ended;
    bool trace_given_up;
    unsigned records_before[JOBS]; /* in the journal of the job's folder when the run began */
    unsigned records_left;         /* of them, not read yet */
};

static struct template templates[CIRCUITS];
static struct world world;
static uint64_t current_seed;
static char current_fault[128]; /* of --fail-each */
static const char *program;
static bool verbose;
static unsigned ends[3], refused, resumed, proven;

/* ---- messages ---- */

static void tell_seed(void)
{
    fflush(stdout);
    if (current_fault[0] != 0) {
        fprintf(stderr, "sim: with %s\n", current_fault);
        return;
    }
    fprintf(stderr, "sim: seed %" PRIu64 " failed; replay: %s --seed %" PRIu64 " --verbose\n", current_seed,
            program, current_seed);
}

static void on_abort(int signal_number)
{
    (void)signal_number;
    tell_seed();
    sim_kernel_stop();
    exit(1);
}

void sim_failed(const char *format, ...)
{
    va_list arguments;
    sim_kernel_stop();
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "sim: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    for (unsigned i = 0; i < world.partitions_count; i++) {
        const struct partition *partition = &world.partitions[i];
        if (partition->ended == 0) {
            fprintf(stderr, "  has not ended: job %s, %s\n", world.names[partition->job], partition->stem);
        }
    }
    tell_seed();
    exit(1);
}

/* ---- what is on the disk ---- */

static uint64_t between(uint64_t low, uint64_t high)
{
    return sim_random_between(&world.random, low, high);
}

static bool chance(unsigned permille)
{
    return sim_random_chance(&world.random, permille);
}

static struct partition *find_partition(int folder, const char *stem, size_t length)
{
    for (unsigned i = 0; i < world.partitions_count; i++) {
        struct partition *partition = &world.partitions[i];
        if (strlen(partition->stem) == length && memcmp(partition->stem, stem, length) == 0 &&
            sim_disk_find(SIM_DISK_ROOT, world.outputs[partition->job]) == folder) {
            return partition;
        }
    }
    return NULL;
}

/* 0: proof, 1: public values, 2: bundle, -1: another kind of name. */
static int kind_of(const char *name, size_t *stem)
{
    static const char *const suffixes[] = {".proof.json", ".public.json", ".bundle.json"};
    for (int i = 0; i < 3 && name[0] != '.'; i++) {
        size_t length = strlen(name), suffix = strlen(suffixes[i]);
        if (length > suffix && strcmp(name + length - suffix, suffixes[i]) == 0) {
            *stem = length - suffix;
            return i;
        }
    }
    return -1;
}

static bool is_text(const uint8_t *bytes, size_t size, const char *text, size_t length)
{
    return size == length && (size == 0 || memcmp(bytes, text, size) == 0);
}

/* The bytes are those of the partition's proof (kind 0) or public values (1). */
static bool is_current(const struct partition *partition, int kind, const uint8_t *bytes, size_t size)
{
    return kind == 0 ? is_text(bytes, size, partition->proof, partition->proof_bytes)
                     : is_text(bytes, size, partition->publics, partition->publics_bytes);
}

/* Or those that were right before its witness was replaced. */
static bool is_right(const struct partition *partition, int kind, const uint8_t *bytes, size_t size)
{
    return is_current(partition, kind, bytes, size) ||
           (kind == 0 && partition->old_proof_bytes > 0 &&
            is_text(bytes, size, partition->old_proof, partition->old_proof_bytes));
}

static bool bundle_is_right(unsigned job, const uint8_t *bytes, size_t size)
{
    static char text[PARTITIONS * (PROOF_JSON_BYTES + PUBLICS_BYTES)];
    size_t length = (size_t)snprintf(text, sizeof text, "[");
    bool first = true;
    for (unsigned i = 0; i < world.partitions_count; i++) {
        const struct partition *partition = &world.partitions[i];
        if (partition->job == job) {
            length += (size_t)snprintf(
                text + length, sizeof text - length, "%s\n{\"stem\": \"%s\", \"proof\": %s, \"public\": %s}",
                first ? "" : ",", partition->stem, partition->proof, partition->publics);
            first = false;
        }
    }
    length += (size_t)snprintf(text + length, sizeof text - length, "\n]\n");
    return is_text(bytes, size, text, length);
}

static bool job_is_as_ever(unsigned job)
{
    for (unsigned i = 0; i < world.partitions_count; i++) {
        if (world.partitions[i].job == job && world.partitions[i].old_proof_bytes > 0) {
            return false;
        }
    }
    return true;
}

/* folder 0: a bundle that was made just now. */
static void check_file(int folder, const char *name, const uint8_t *bytes, size_t size, const char *when)
{
    size_t stem;
    int kind = kind_of(name, &stem);
    if (kind == 2) {
        for (unsigned i = 0; i < world.config.jobs_count; i++) {
            if (strlen(world.names[i]) == stem && memcmp(world.names[i], name, stem) == 0 &&
                (folder == 0 || job_is_as_ever(i)) && !bundle_is_right(i, bytes, size)) {
                sim_failed("%s: %s is not right (%zu bytes)", when, name, size);
            }
        }
    } else if (kind >= 0) {
        const struct partition *partition = find_partition(folder, name, stem);
        if (partition == NULL || !is_right(partition, kind, bytes, size)) {
            sim_failed("%s: %s is not whole and right (%zu bytes)", when, name, size);
        }
    }
}

static void on_renamed(int folder, const char *name, int node)
{
    size_t size;
    const uint8_t *bytes = sim_disk_bytes(node, &size);
    check_file(folder, name, bytes, size, "renamed");
    bytes = sim_disk_synced_bytes(node, &size);
    check_file(folder, name, bytes, size, "renamed before it was synced");
}

static bool is_durable(int folder, const struct partition *partition, int kind, bool current)
{
    char name[64];
    size_t size;
    snprintf(name, sizeof name, "%s%s", partition->stem, kind == 0 ? ".proof.json" : ".public.json");
    int node = sim_disk_synced_find(folder, name);
    int all = sim_disk_synced_find(SIM_DISK_ROOT, "out"); /* where all output folders are */
    bool there = all != 0 && sim_disk_synced_find(all, strrchr(world.outputs[partition->job], '/') + 1) != 0;
    if (node == 0 || !there) {
        return false;
    }
    const uint8_t *bytes = sim_disk_synced_bytes(node, &size);
    return (current ? is_current : is_right)(partition, kind, bytes, size);
}

static int journal_of(int folder)
{
    return sim_disk_find(folder, JOURNAL_FILE_NAME);
}

/* Calls for each record of a folder's journal with the partition that it names. */
static unsigned read_journal(int folder, void (*record)(int folder, struct partition *partition,
                                                        const struct journal_codec_done *done))
{
    struct journal_codec_reader reader;
    struct journal_codec_done done;
    size_t size;
    unsigned count = 0;
    int node = journal_of(folder);
    if (node < 0) {
        return 0;
    }
    const uint8_t *bytes = sim_disk_bytes(node, &size);
    if (journal_codec_open(&reader, bytes, size) != JOURNAL_CODEC_RECORD) {
        return 0;
    }
    while (journal_codec_next(&reader, &done) == JOURNAL_CODEC_RECORD) {
        struct partition *partition = find_partition(folder, done.stem, done.stem_length);
        if (partition == NULL) {
            sim_failed("the journal names what is not part of the batch");
        }
        record(folder, partition, &done);
        count++;
    }
    return count;
}

/* Records of earlier runs are not looked at: their files may have been removed by one that failed to replace
 * them, and then nobody takes them for done. */
static void check_record(int folder, struct partition *partition, const struct journal_codec_done *done)
{
    (void)done;
    if (world.records_left > 0) {
        world.records_left--;
    } else if (!is_durable(folder, partition, 0, false) || !is_durable(folder, partition, 1, false)) {
        sim_failed("the journal says that %s is done, and its files are not durable", partition->stem);
    }
}

static void on_written(int node)
{
    for (unsigned i = 0; i < world.config.jobs_count; i++) {
        int folder = sim_disk_find(SIM_DISK_ROOT, world.outputs[i]);
        if (folder > 0 && journal_of(folder) == node) {
            world.records_left = world.records_before[i];
            read_journal(folder, check_record);
            return;
        }
    }
}

/* Whatever has a final name is right, and nothing else is there but what a run that was ended may leave. */
static void check_disk(const char *when, bool clean)
{
    for (unsigned i = 0; i < world.config.jobs_count; i++) {
        int folder = sim_disk_find(SIM_DISK_ROOT, world.outputs[i]), node;
        const char *name;
        for (unsigned j = 0; folder > 0 && (node = sim_disk_entry(folder, j, &name)) != 0; j++) {
            size_t size, stem;
            const uint8_t *bytes = sim_disk_bytes(node, &size);
            check_file(folder, name, bytes, size, when);
            if (clean && kind_of(name, &stem) < 0 && strcmp(name, JOURNAL_FILE_NAME) != 0) {
                sim_failed("%s: %s is left", when, name);
            }
        }
    }
}

static void mark_resumable(int folder, struct partition *partition, const struct journal_codec_done *done)
{
    struct stat input, key;
    int node = sim_disk_find(SIM_DISK_ROOT, partition->path);
    int key_node = sim_disk_find(SIM_DISK_ROOT, world.circuits[world.jobs[partition->job].circuit].zkey);
    if (node < 0 || key_node < 0) {
        return;
    }
    sim_disk_stat(node, &input);
    sim_disk_stat(key_node, &key);
    bool same = done->input_size == (uint64_t)input.st_size &&
                done->input_mtime_ns == input.st_mtim.tv_sec * INT64_C(1000000000) + input.st_mtim.tv_nsec &&
                done->key_size == (uint64_t)key.st_size &&
                done->key_mtime_ns == key.st_mtim.tv_sec * INT64_C(1000000000) + key.st_mtim.tv_nsec;
    partition->resumable = same;
    for (int kind = 0; kind < 2 && partition->resumable; kind++) {
        char name[64];
        size_t size;
        snprintf(name, sizeof name, "%s%s", partition->stem, kind == 0 ? ".proof.json" : ".public.json");
        int file = sim_disk_find(folder, name);
        const uint8_t *bytes = file < 0 ? NULL : sim_disk_bytes(file, &size);
        partition->resumable = file > 0 && is_current(partition, kind, bytes, size);
    }
}

/* ---- drawing a world ---- */

static void draw_partition(unsigned job, unsigned circuit, bool good)
{
    static uint8_t bytes[WITNESS_BYTES];
    unsigned index = world.partitions_count++;
    struct partition *partition = &world.partitions[index];
    const struct template *from = &templates[circuit];
    *partition = (struct partition){.job = job, .number = index + 1, .good = good};
    snprintf(partition->path, sizeof partition->path, "/in/w%u", index);
    snprintf(partition->stem, sizeof partition->stem, "p%u", index);
    memcpy(bytes, from->witness, from->witness_bytes);
    uint8_t *last = bytes + from->values + (size_t)(from->wires - 1) * WTNS_VALUE_BYTES;
    memset(last, 0, WTNS_VALUE_BYTES);
    memcpy(last, &partition->number, sizeof partition->number);
    size_t size = from->witness_bytes;
    if (!partition->good) {
        size = chance(500) ? 0 : (size_t)between(1, size - 1);
    }
    if (partition->good || chance(700)) { /* else it is missing */
        sim_disk_put(partition->path, bytes, size, (int64_t)between(1, 1000) * 1000000007, 0);
    }
    partition->proof_bytes =
        sim_prover_proof(partition->proof, sizeof partition->proof, bytes + from->values, from->wires);
    CHECK(proof_public_json_size(from->publics) <= sizeof partition->publics);
    partition->publics_bytes = proof_public_write_json(partition->publics, sizeof partition->publics,
                                                       bytes + from->values, from->publics);
    struct config_job *to = &world.jobs[job];
    to->inputs[to->inputs_count++] = (struct config_input){.path = partition->path, .stem = partition->stem};
}

/* Another witness under the same name. */
static void replace_witness(struct partition *partition)
{
    static uint8_t bytes[WITNESS_BYTES];
    const struct template *from = &templates[world.jobs[partition->job].circuit];
    int node = sim_disk_find(SIM_DISK_ROOT, partition->path);
    size_t size;
    const uint8_t *now = sim_disk_bytes(node, &size);
    CHECK(size == from->witness_bytes);
    memcpy(bytes, now, size);
    uint8_t *value = bytes + from->values + (size_t)(from->wires - 2) * WTNS_VALUE_BYTES;
    value[0]++;
    struct stat status;
    sim_disk_stat(node, &status);
    sim_disk_write(node, bytes, size, 0, status.st_mtim.tv_sec * INT64_C(1000000000) + 5000000000);
    sim_disk_sync(node);
    memcpy(partition->old_proof, partition->proof, sizeof partition->proof);
    partition->old_proof_bytes = partition->proof_bytes;
    partition->proof_bytes =
        sim_prover_proof(partition->proof, sizeof partition->proof, bytes + from->values, from->wires);
}

static void replace_witnesses(void)
{
    for (unsigned i = 0; i < world.partitions_count; i++) {
        struct partition *partition = &world.partitions[i];
        if (partition->good && partition->old_proof_bytes == 0 && chance(100)) {
            replace_witness(partition);
        }
    }
}

static void draw_jobs(void)
{
    static char program_name[] = "gen", input[] = "{input}", witness[] = "{witness}";
    static char *command[] = {program_name, input, witness, NULL};
    world.config.jobs_count = (size_t)between(1, JOBS);
    unsigned all = chance(300) ? (unsigned)between(1, 4) : (unsigned)between(1, PARTITIONS);
    all = all < world.config.jobs_count ? (unsigned)world.config.jobs_count : all;
    for (unsigned i = 0; i < world.config.jobs_count; i++) {
        struct config_job *job = &world.jobs[i];
        unsigned left = (unsigned)world.config.jobs_count - i - 1;
        unsigned count = left == 0 ? all : (unsigned)between(1, all - left);
        all -= count;
        snprintf(world.names[i], sizeof world.names[i], "job%u", i);
        snprintf(world.outputs[i], sizeof world.outputs[i], "/out/%u", chance(300) ? 0 : i);
        *job = (struct config_job){.name = world.names[i],
                                   .circuit = (size_t)between(0, world.config.circuits_count - 1),
                                   .priority = (enum config_priority)between(0, CONFIG_PRIORITIES - 1),
                                   .output = world.outputs[i],
                                   .bundle = chance(300),
                                   .witness_command = chance(250) ? command : NULL,
                                   .inputs = world.inputs[i]};
        for (unsigned j = 0; j < count; j++) {
            draw_partition(i, (unsigned)job->circuit, !chance(40));
        }
    }
}

static void draw_devices(void)
{
    world.gpus = chance(400) ? (unsigned)between(1, 2) : 0;
    world.config.sim = (struct config_sim){.spread_percent = (unsigned)between(0, 90), .seed = world.seed};
    for (int i = 0; i < DEVICE_STAGES; i++) {
        world.config.sim.stage_ns[i] = between(0, 3000000);
    }
    world.config.threads = (unsigned)between(1, 20);
    world.config.lanes_per_device = (unsigned)between(0, 4);
    world.config.lookahead = (unsigned)between(0, 3);
}

static void draw_world(uint64_t seed)
{
    static char path[] = "sim.conf", trace[] = "/trace", zkeys[CIRCUITS][8] = {"/key0", "/key1"};
    static char circuit_names[CIRCUITS][8] = {"closed", "small"};
    memset(&world, 0, sizeof world);
    world.seed = seed;
    sim_random_init(&world.random, seed);
    sim_disk_reset();
    CHECK(sim_disk_mkdir(SIM_DISK_ROOT, "/in") == 0 && sim_disk_mkdir(SIM_DISK_ROOT, "/proc") == 0);
    CHECK(sim_disk_mkdir(SIM_DISK_ROOT, "/proc/self") == 0);
    CHECK(sim_disk_mkdir(SIM_DISK_ROOT, "/proc/pressure") == 0);
    sim_disk_put("/proc/self/statm", "5000 1000 500 1 0 700 0\n", 24, 0, 0);
    sim_disk_put("/proc/meminfo", "MemAvailable:   900000 kB\n", 26, 0, 0);
    sim_disk_put(PRESSURE_PATH, "", 0, 0, 0);
    sim_disk_sync(SIM_DISK_ROOT);
    sim_disk_sync(sim_disk_find(SIM_DISK_ROOT, "/proc"));
    world.config = (struct config){.path = path,
                                   .circuits = world.circuits,
                                   .circuits_count = (size_t)between(1, CIRCUITS),
                                   .jobs = world.jobs,
                                   .memory_budget = UINT64_C(512) << 20,
                                   .trim_policy = (enum config_trim_policy)between(0, CONFIG_TRIM_PRESSURE),
                                   .trim_interval_ns = between(1, 50) * 1000000,
                                   .trim_min_freed = between(1, 100000),
                                   .buffers_heap = chance(150),
                                   .trace = chance(500) ? trace : NULL,
                                   .timeline_ns = between(1, 100) * 2000000,
                                   .self_check = chance(700)};
    for (unsigned i = 0; i < world.config.circuits_count; i++) {
        world.circuit_good[i] = !chance(30);
        world.circuits[i] = (struct config_circuit){.name = circuit_names[i],
                                                    .zkey = zkeys[i],
                                                    .check_points = CONFIG_CHECK_OFF,
                                                    .tables = CONFIG_TABLES_OFF};
        size_t size = world.circuit_good[i] ? templates[i].zkey_bytes : (size_t)between(0, 2000);
        sim_disk_put(zkeys[i], templates[i].zkey, size, 1000000007, 1);
    }
    draw_devices();
    draw_jobs();
}

/* Somebody cuts off a witness while the batch runs. What was read before is still right. */
static void on_disturbed(void)
{
    unsigned index = (unsigned)between(0, world.partitions_count - 1);
    struct partition *partition = &world.partitions[index];
    int node = sim_disk_find(SIM_DISK_ROOT, partition->path);
    struct stat status;
    if (node > 0 && partition->good) {
        sim_disk_stat(node, &status);
        sim_disk_truncate(node, (size_t)between(0, (uint64_t)status.st_size - 1), INT64_C(9000000000));
        sim_disk_sync(node);
        partition->good = false;
    }
}

/* Each kind of fault with chance `most` at most, but for those that are not in this world. */
static void draw_faults(struct sim_settings *settings)
{
    static const unsigned most[SIM_FAULTS] = {
        [SIM_FAULT_CALL] = 8,   [SIM_FAULT_MEMORY] = 20,    [SIM_FAULT_IO] = 40,
        [SIM_FAULT_SPACE] = 60, [SIM_FAULT_SHORT] = 500,    [SIM_FAULT_INTERRUPT] = 200,
        [SIM_FAULT_SLOW] = 50,  [SIM_FAULT_STALL] = 100,    [SIM_FAULT_BUSY] = 400,
        [SIM_FAULT_RING] = 2,   [SIM_FAULT_POLL_END] = 300, [SIM_FAULT_RING_TWICE] = 300,
        [SIM_FAULT_CLOCK] = 3,  [SIM_FAULT_PAUSE] = 5,      [SIM_FAULT_CHILD] = 400};
    for (unsigned i = 0; i < SIM_FAULTS; i++) {
        bool rare = i == SIM_FAULT_CALL || i == SIM_FAULT_MEMORY || i == SIM_FAULT_RING;
        settings->chance[i] = chance(rare ? 150 : 350) ? (unsigned)between(1, most[i]) : 0;
    }
    settings->calm_steps = between(100, 20000);
    if (chance(400)) {
        uint64_t bits = between(6, 14);
        settings->kill_step = between(1, UINT64_C(1) << bits);
    }
    if (chance(100)) {
        settings->stop_ns[0] = between(1, 50000000);
        settings->stop_ns[1] = chance(300) ? between(1, 50000000) : 0;
    }
    settings->disturb_ns = chance(100) ? between(1, 30000000) : 0;
    if (chance(300)) {
        settings->submissions = (unsigned)between(2, 16);
        settings->completions = (unsigned)between(2, 64);
    }
    memset(&world.device_faults, 0, sizeof world.device_faults);
    world.device_faults.seed = between(1, UINT32_MAX);
    world.device_faults.delay_ns = between(1, 3000) * 1000000;
    for (unsigned i = 0; i < DEVICE_FAULTS; i++) {
        bool final = i == DEVICE_FAULT_STICKY || i == DEVICE_FAULT_SILENCE || i == DEVICE_FAULT_ATTACH;
        world.device_faults.rules[i].permille = chance(200) ? (unsigned)between(1, final ? 60 : 400) : 0;
    }
    if (!world.config.self_check) { /* nobody could tell */
        world.device_faults.rules[DEVICE_FAULT_CORRUPT].permille = 0;
    }
}

/* ---- a run ---- */

static struct device *wrap(void *context, struct device *device)
{
    (void)context;
    struct error error;
    CHECK(world.faults_count < DEVICES);
    struct device_fault *fault = &world.faults[world.faults_count];
    if (!world.wraps ||
        device_fault_open(fault, device, &world.device_faults, &error) != ERROR_NONE) { /* no descriptor */
        return device;
    }
    world.faults_count++;
    return &fault->device;
}

static void on_loop(void *context)
{
    (void)context;
    sim_kernel_forbid_allocation(true);
}

static void on_loop_ended(void *context)
{
    (void)context;
    sim_kernel_forbid_allocation(false);
}

static void on_note(void *context, const char *text)
{
    (void)context;
    world.trace_given_up |= strstr(text, "the trace ends here") != NULL;
    if (verbose) {
        printf("%12" PRIu64 " %s\n", sim_kernel_now_ns(), text);
    }
}

static void on_ended(void *context, const struct run_ended *ended)
{
    (void)context;
    for (unsigned i = 0; i < world.partitions_count; i++) {
        struct partition *partition = &world.partitions[i];
        if (partition->stem == ended->stem) {
            partition->ended++;
            partition->state = ended->state;
            partition->named = ended->reason[0] != 0;
        }
    }
    if (verbose) {
        printf("%12" PRIu64 " %s %s %s\n", sim_kernel_now_ns(), ended->stem, core_state_name(ended->state),
               ended->reason);
    }
}

static void on_job_ended(void *context, const struct run_job_ended *ended)
{
    (void)context;
    world.jobs_ended++;
    if (ended->bundle != NULL) {
        size_t size;
        int node = sim_disk_find(SIM_DISK_ROOT, ended->bundle);
        if (node < 0) {
            sim_failed("%s is said to be written and is not there", ended->bundle);
        }
        const uint8_t *bytes = sim_disk_synced_bytes(node, &size);
        check_file(0, strrchr(ended->bundle, '/') + 1, bytes, size, "said to be written");
    }
}

static void process(void *context)
{
    static const struct run_sink sink = {.loop_started = on_loop,
                                         .loop_ended = on_loop_ended,
                                         .note = on_note,
                                         .timing = on_note,
                                         .partition_ended = on_ended,
                                         .job_ended = on_job_ended};
    (void)context;
    world.options = (struct run_options){.tick_ns = world.seed % 3 == 0 ? 0 : 20000000,
                                         .timing = world.seed % 5 == 0,
                                         .sink = &sink,
                                         .wrap_device = wrap,
                                         .lane_limit_ns = 2000000000};
    world.code = run_batch(&world.config, &world.options, &world.result, &world.error);
}

/* After a run that came to its end: everyone has ended, and what is said of them is so. */
static void check_ended(void)
{
    const struct run_status *status = &world.result.status;
    unsigned done = 0, failed = 0, again = 0;
    for (unsigned i = 0; i < world.partitions_count; i++) {
        const struct partition *partition = &world.partitions[i];
        int folder = sim_disk_find(SIM_DISK_ROOT, world.outputs[partition->job]);
        if (partition->ended == 0 && partition->resumable) {
            again++;
            if (world.calm && sim_prover_proven(partition->number) > 0) {
                sim_failed("%s was done, and is proven again", partition->stem);
            }
            continue;
        }
        if (partition->ended != 1) {
            sim_failed("%s ended %u times", partition->stem, partition->ended);
        }
        done += partition->state == CORE_DONE;
        failed += partition->state == CORE_FAILED;
        if (partition->named != (partition->state != CORE_DONE)) {
            sim_failed("%s: a reason and no failure, or the other way round", partition->stem);
        }
        if (partition->state == CORE_DONE &&
            !(is_durable(folder, partition, 0, true) && is_durable(folder, partition, 1, true))) {
            sim_failed("%s is said to be done, and its files are not durable", partition->stem);
        }
    }
    if (status->done != done + again || status->failed != failed || status->resumed != again ||
        status->done + status->failed + status->canceled != status->partitions) {
        sim_failed("counts: %u done, %u resumed, %u failed of %u; %u, %u and %u were told", status->done,
                   status->resumed, status->failed, status->partitions, done, again, failed);
    }
    if (world.jobs_ended != world.config.jobs_count) {
        sim_failed("%u of %zu jobs ended", world.jobs_ended, world.config.jobs_count);
    }
    if (!world.wraps && !sim_prover_late() && world.result.counts.lanes_quarantined > 0) {
        sim_failed("a lane is out of service whose device did nothing wrong");
    }
    resumed += again;
    proven += done;
}

/* Without faults all that can be proven is. */
static void check_calm(void)
{
    if (world.code != ERROR_NONE) {
        sim_failed("without faults: %s", world.error.text);
    }
    for (unsigned i = 0; i < world.partitions_count; i++) {
        const struct partition *partition = &world.partitions[i];
        bool good = partition->good && world.circuit_good[world.jobs[partition->job].circuit];
        bool done = partition->ended == 0 || partition->state == CORE_DONE;
        if (good != done) {
            sim_failed("%s: %s", partition->stem, done ? "is done and cannot be" : "could be done");
        }
        if (partition->resumable && partition->ended != 0) {
            sim_failed("%s was done, and is begun again", partition->stem);
        }
    }
    check_disk("at the end", true);
}

/* A trace that was not given up holds all that was told, to the end. */
static void check_trace(void)
{
    size_t size;
    if (world.config.trace == NULL || world.trace_given_up) {
        return;
    }
    int node = sim_disk_find(SIM_DISK_ROOT, world.config.trace);
    const uint8_t *bytes = node < 0 ? NULL : sim_disk_bytes(node, &size);
    struct trace_event event = {0};
    if (node < 0 || size < sizeof(struct trace_header) + sizeof event ||
        memcmp(bytes, TRACE_MAGIC, strlen(TRACE_MAGIC)) != 0 ||
        (size - sizeof(struct trace_header)) % sizeof event != 0) {
        sim_failed("the trace is not whole");
    }
    uint64_t count = (size - sizeof(struct trace_header)) / sizeof event;
    bool ended = false;
    for (uint64_t i = 0; i < count; i++) {
        memcpy(&event, bytes + sizeof(struct trace_header) + i * sizeof event, sizeof event);
        ended |= event.kind == TRACE_END;
    }
    if (world.result.trace_dropped == 0 && (!ended || count != world.result.trace_events)) {
        sim_failed("the trace has %" PRIu64 " events of %" PRIu64 "%s", count, world.result.trace_events,
                   ended ? "" : " and does not end");
    }
}

static enum sim_ended one_run(struct sim_settings *settings)
{
    const char *first;
    settings->watch.renamed = on_renamed;
    settings->watch.written = on_written;
    settings->watch.disturbed = on_disturbed;
    settings->verbose = verbose;
    world.faults_count = world.jobs_ended = 0;
    world.trace_given_up = false;
    for (unsigned i = 0; i < world.partitions_count; i++) {
        world.partitions[i].ended = 0;
        world.partitions[i].resumable = false;
    }
    for (unsigned i = 0; i < world.config.jobs_count; i++) {
        int folder = sim_disk_find(SIM_DISK_ROOT, world.outputs[i]);
        world.records_before[i] = folder > 0 ? read_journal(folder, mark_resumable) : 0;
    }
    sim_prover_reset(&world.config.sim, world.gpus);
    sim_kernel_open(settings);
    enum sim_ended how = sim_kernel_run(process, NULL);
    ends[how]++;
    if (how == SIM_ENDED_RETURNED) {
        if (world.code != ERROR_NONE) {
            refused++;
            if (world.error.text[0] == 0 || world.error.code != world.code) {
                sim_failed("the run failed and does not say why");
            }
        } else {
            check_ended();
            check_trace();
        }
        bool broken = strstr(world.error.text, "waiting on io_uring") != NULL && world.code != ERROR_NONE;
        unsigned held = sim_kernel_held(&first);
        if (held > 0 && !broken) {
            sim_failed("%u things are held at the end: %s", held, first);
        }
        if (verbose) {
            printf("returned %d%s%s\n", (int)world.code, world.code != ERROR_NONE ? ": " : "",
                   world.code != ERROR_NONE ? world.error.text : "");
        }
    } else if (verbose) {
        printf("%s after %" PRIu64 " steps\n", how == SIM_ENDED_KILLED ? "killed" : "left at once",
               sim_kernel_steps());
    }
    sim_kernel_close();
    check_disk("after the run", false);
    return how;
}

/* What the largest circuit and one proof of it need. */
static uint64_t least_bytes(void)
{
    uint64_t least = 0;
    for (unsigned i = 0; i < world.config.circuits_count; i++) {
        uint64_t bytes = run_plan_least_bytes(&templates[i].load, world.config.threads);
        least = bytes > least ? bytes : least;
    }
    return least;
}

/* The deadlines and limits of the configuration that only faulty runs have. */
static void set_limits(bool calm)
{
    for (unsigned i = 0; i < world.config.jobs_count; i++) {
        world.jobs[i].deadline_ns = calm || !chance(100) ? 0 : between(1, 100000000);
        world.jobs[i].witness_timeout_ns = calm ? 0 : between(1000000, 500000000);
    }
    /* Plenty, or hardly more than the least, so that circuits come and go; or less than that. */
    world.config.memory_budget = UINT64_C(512) << 20;
    if (chance(500)) {
        world.config.memory_budget = least_bytes() + (chance(500) ? 0 : between(1, 500000));
    }
    if (!calm && chance(100)) {
        world.config.memory_budget = between(1, least_bytes());
    }
    world.wraps = !calm && chance(600);
    world.calm = calm;
}

static uint64_t run_seed(uint64_t seed)
{
    uint64_t hash = 0;
    draw_world(seed);
    unsigned runs = (unsigned)between(1, RUNS) - 1;
    for (unsigned i = 0; i <= runs; i++) {
        struct sim_settings settings = {.seed = between(1, UINT64_MAX - 1)};
        if (world.config.trim_policy == CONFIG_TRIM_PRESSURE) {
            settings.pressure_ns = between(1, 100) * 1000000;
        }
        set_limits(i == runs);
        if (i > 0 && chance(150)) {
            replace_witnesses();
        }
        if (i < runs) {
            draw_faults(&settings);
        }
        enum sim_ended how = one_run(&settings);
        hash = (hash ^ sim_kernel_hash()) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29 ^ sim_kernel_steps();
        if (i == runs) {
            CHECK(how == SIM_ENDED_RETURNED);
            check_calm();
        }
        if (chance(how == SIM_ENDED_RETURNED ? 300 : 600)) {
            sim_disk_lose_power(&world.random);
            check_disk("after a loss of power", false);
        }
    }
    return hash;
}

/* ---- each call fails once ---- */

/* A batch in which the shell makes every call it has: leftovers and a torn journal to begin with, witness
 * commands, a bundle, a trace, the system's pressure. */
static void draw_everything(bool heap, const char *call)
{
    static char program_name[] = "gen", input[] = "{input}", witness[] = "{witness}", trace[] = "/trace";
    static char *command[] = {program_name, input, witness, NULL};
    uint8_t header[JOURNAL_CODEC_HEADER_BYTES + 5] = {0};
    draw_world(1);
    world.partitions_count = 0;
    memset(world.jobs, 0, sizeof world.jobs);
    sim_random_init(&world.random, 1);
    world.config.circuits_count = 1;
    world.circuit_good[0] = true;
    bool tables = strcmp(call, "mmap") == 0; /* they take their time */
    world.circuits[0].tables = tables ? CONFIG_TABLES_H : CONFIG_TABLES_OFF;
    world.config.trim_policy = heap ? CONFIG_TRIM_PRESSURE : CONFIG_TRIM_TIMER;
    world.config.trim_interval_ns = 1000000;
    world.config.trim_min_freed = 1;
    world.config.buffers_heap = heap;
    world.config.trace = trace;
    world.config.self_check = true;
    world.config.threads = 1;
    world.gpus = 0;
    world.config.jobs_count = 2;
    for (unsigned i = 0; i < 2; i++) {
        snprintf(world.names[i], sizeof world.names[i], "job%u", i);
        snprintf(world.outputs[i], sizeof world.outputs[i], "/out/%u", i);
        world.jobs[i] = (struct config_job){.name = world.names[i],
                                            .priority = CONFIG_NORMAL,
                                            .output = world.outputs[i],
                                            .bundle = i == 0,
                                            .witness_command = i == 0 ? NULL : command,
                                            .inputs = world.inputs[i]};
        draw_partition(i, 0, true);
        draw_partition(i, 0, true);
    }
    CHECK(sim_disk_mkdir(SIM_DISK_ROOT, "/out") == 0 && sim_disk_mkdir(SIM_DISK_ROOT, "/out/0") == 0);
    journal_codec_header(header);
    sim_disk_put("/out/0/.uzk.journal", header, sizeof header, 0, 0);
    sim_disk_put("/out/0/.p9.proof.json.tmp", header, 3, 0, 0);
}

/* The batch is refused with exit code 3 and says why, or its partitions do; later all of it can be done. */
static void fail_once(bool heap, const char *name, uint64_t nth, int code)
{
    struct sim_settings settings = {.seed = 1, .pressure_ns = 2000000};
    snprintf(current_fault, sizeof current_fault, "call %" PRIu64 " of %s failing (%s), buffers %s", nth,
             name, strerror(code), heap ? "from the heap" : "pooled");
    draw_everything(heap, name);
    settings.fail_call = name;
    settings.fail_nth = nth;
    settings.fail_code = code;
    if (one_run(&settings) != SIM_ENDED_RETURNED) {
        sim_failed("the run was ended");
    }
    if (sim_kernel_calls(name) < nth) {
        sim_failed("it was not called so often this time");
    }
    if (world.code != ERROR_NONE && cli_exit_code(world.code) != CLI_EXIT_SYSTEM) {
        sim_failed("exit code %d: %s", cli_exit_code(world.code), world.error.text);
    }
    bool interrupted = strncmp(name, "ring ", 5) == 0 && (code == EINTR || code == EAGAIN);
    if (interrupted && (world.code != ERROR_NONE || world.result.status.failed > 0)) {
        sim_failed("what was only interrupted counts as failed");
    }
    settings = (struct sim_settings){.seed = 2};
    world.calm = true;
    one_run(&settings);
    check_calm();
    world.calm = false;
}

static void open_cpu(void *context)
{
    static struct team team;
    static struct device_cpu cpu;
    const struct team_settings settings = {.workers = 3, .mains_max = 2, .slots = 2, .guests = 1};
    (void)context;
    world.code = team_open(&team, &settings, &world.error);
    if (world.code != ERROR_NONE) {
        return;
    }
    world.code = device_cpu_open(&cpu, &team, 2, &world.error);
    if (world.code == ERROR_NONE) {
        device_close(&cpu.device);
    }
    team_close(&team);
}

/* The CPU device and its threads, which the batch has a stand-in for. */
static unsigned fail_each_of_cpu(void)
{
    const char *name, *first;
    unsigned runs = 0;
    sim_prover_real_cpu(true);
    for (unsigned i = 0; (name = sim_kernel_call_name(i)) != NULL; i++) {
        struct sim_settings settings = {.seed = 1};
        sim_kernel_open(&settings);
        CHECK(sim_kernel_run(open_cpu, NULL) == SIM_ENDED_RETURNED && world.code == ERROR_NONE);
        uint64_t count = sim_kernel_calls(name);
        for (settings.fail_nth = 1; settings.fail_nth <= count; settings.fail_nth++) {
            snprintf(current_fault, sizeof current_fault, "call %" PRIu64 " of %s failing, CPU device",
                     settings.fail_nth, name);
            settings.fail_call = name;
            settings.fail_code = sim_kernel_call_code(i, 0);
            sim_kernel_open(&settings);
            CHECK(sim_kernel_run(open_cpu, NULL) == SIM_ENDED_RETURNED);
            if (world.code == ERROR_NONE || cli_exit_code(world.code) != CLI_EXIT_SYSTEM) {
                sim_failed("exit code %d: %s", cli_exit_code(world.code), world.error.text);
            }
            if (sim_kernel_held(&first) > 0) {
                sim_failed("held at the end: %s", first);
            }
            runs++;
        }
    }
    sim_prover_real_cpu(false);
    CHECK(runs >= 5); /* a mapping, three threads, a doorbell */
    return runs;
}

/* Every call that the shell makes in this batch, each time that it makes it, with each error that it may
 * meet.
 */
static void fail_each(void)
{
    const char *name;
    unsigned runs = fail_each_of_cpu();
    for (unsigned i = 0; (name = sim_kernel_call_name(i)) != NULL; i++) {
        unsigned calls = 0;
        for (unsigned heap = 0; heap < 2; heap++) {
            const struct sim_settings settings = {.seed = 1, .pressure_ns = 2000000};
            struct sim_settings once = settings;
            draw_everything(heap, name);
            one_run(&once);
            uint64_t count = sim_kernel_calls(name);
            for (uint64_t nth = 1; nth <= count; nth++) {
                for (unsigned j = 0; sim_kernel_call_code(i, j) != 0; j++) {
                    fail_once(heap, name, nth, sim_kernel_call_code(i, j));
                    runs++;
                }
            }
            calls += (unsigned)count;
        }
        printf("%s: %u calls\n", name, calls);
        if (calls == 0) {
            sim_failed("nobody calls %s, so its failure is not tested", name);
        }
    }
    printf("%u runs in which one call failed: each was told, and made good by the next\n", runs);
}

/* ---- the process is stopped and goes on ---- */

/* At each step of a batch in turn, for longer than a submission may take: that is nobody's fault, and
 * everything is proven. */
static void pause_each(void)
{
    struct sim_settings settings = {.seed = 1};
    uint64_t steps, late = 0;
    draw_everything(false, "");
    one_run(&settings);
    steps = sim_kernel_steps();
    for (settings.pause_step = 1; settings.pause_step < steps; settings.pause_step++) {
        snprintf(current_fault, sizeof current_fault, "the process stopped at step %" PRIu64,
                 settings.pause_step);
        draw_everything(false, "");
        if (one_run(&settings) != SIM_ENDED_RETURNED || world.code != ERROR_NONE) {
            sim_failed("the run did not come to its end");
        }
        late += sim_prover_late();
        if (!sim_prover_late() && world.result.status.done != world.partitions_count) {
            sim_failed("%u of %u are done", world.result.status.done, world.partitions_count);
        }
    }
    printf("stopped at each of %" PRIu64 " steps (%" PRIu64 " of them as a device was about to begin)\n",
           steps, late);
    CHECK(late < steps / 4);
}

/* ---- the end at each step ---- */

/* The process is killed at each step of a batch in turn, and half the time the power goes with it: a second
 * run finds what is done and does the rest. */
static void kill_each(void)
{
    struct sim_settings settings = {.seed = 1}, calm = {.seed = 2};
    uint64_t steps;
    draw_everything(false, "");
    one_run(&settings);
    steps = sim_kernel_steps();
    for (settings.kill_step = 1; settings.kill_step < steps; settings.kill_step++) {
        for (unsigned power = 0; power < 2; power++) {
            snprintf(current_fault, sizeof current_fault, "the process killed at step %" PRIu64 "%s",
                     settings.kill_step, power ? ", and no power" : "");
            draw_everything(false, "");
            sim_random_init(&world.random, settings.kill_step);
            if (one_run(&settings) != SIM_ENDED_KILLED) {
                sim_failed("the process was not killed");
            }
            if (power) {
                sim_disk_lose_power(&world.random);
                check_disk("after a loss of power", false);
            }
            world.calm = true;
            one_run(&calm);
            check_calm();
            world.calm = false;
        }
    }
    printf("killed at each of %" PRIu64 " steps, with and without power\n", steps);
}

/* ---- the program ---- */

static uint8_t *read_file(const char *path, size_t *size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(2);
    }
    *size = (size_t)status.st_size;
    uint8_t *bytes = malloc(*size);
    CHECK(bytes != NULL && read(file, bytes, *size) == (ssize_t)*size);
    close(file);
    return bytes;
}

static void open_templates(void)
{
    static const char *const names[CIRCUITS] = {"circuit-closed", "circuit-small"};
    for (unsigned i = 0; i < CIRCUITS; i++) {
        struct template *template = &templates[i];
        char path[512];
        struct wtns witness;
        struct error error;
        snprintf(path, sizeof path, UZK_TEST_DATA "/%s/witness-000.wtns", names[i]);
        template->witness = read_file(path, &template->witness_bytes);
        CHECK(template->witness_bytes <= WITNESS_BYTES);
        CHECK(wtns_parse(&witness, template->witness, template->witness_bytes, path, &error) == ERROR_NONE);
        template->values = (size_t)(witness.values - template->witness);
        template->wires = witness.count;
        snprintf(path, sizeof path, UZK_TEST_DATA "/%s/circuit.zkey", names[i]);
        template->zkey = read_file(path, &template->zkey_bytes);
        const struct config_circuit circuit = {.zkey = path};
        template->load = (struct load){.config = &circuit};
        load_look(&template->load);
        CHECK(template->load.look_code == ERROR_NONE);
        template->load.config = NULL;
        template->publics = template->load.sizes.publics;
    }
}

static _Noreturn void usage(void)
{
    fprintf(
        stderr,
        "usage: %s [--calls | --fail-each | --seed N | --seeds COUNT [--first N]] [--plant BUG] [--verbose]\n"
        "  --calls        print the calls that can fail\n"
        "  --fail-each    one batch, with each call that it makes failing once; then\n"
        "                 stopped and killed at each step\n"
        "  --seed N       run one world, twice\n"
        "  --seeds COUNT  run COUNT worlds from --first on (default: 5000, or half of UZK_SIM_SEEDS; "
        "from 1)\n"
        "  --plant BUG    with one of the shell's rules broken: %s\n"
        "  --verbose      print what happens\n",
        program, sim_plant_names());
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

static void tell_faults(void)
{
    printf("faults:");
    for (unsigned i = 0; i < SIM_FAULTS; i++) {
        const char *name;
        uint64_t times = sim_kernel_struck((enum sim_fault)i, &name);
        printf("%s %" PRIu64 " %s", i == 0 ? "" : ",", times, name);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    bool each = false;
    program = argv[0];
    const char *from_environment = getenv("UZK_SIM_SEEDS"); /* of the core's worlds, which are faster */
    uint64_t first = 1, count = from_environment != NULL ? number(from_environment) / 2 : 5000;
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
        } else if (strcmp(argv[i], "--calls") == 0) {
            for (unsigned call = 0; sim_kernel_call_name(call) != NULL; call++) {
                puts(sim_kernel_call_name(call));
            }
            return 0;
        } else if (strcmp(argv[i], "--fail-each") == 0) {
            each = true;
        } else if (strcmp(argv[i], "--plant") == 0) {
            if (!sim_plant(argv[++i])) {
                usage();
            }
        } else {
            usage();
        }
    }
    open_templates();
    signal(SIGABRT, on_abort);
    if (each) {
        fail_each();
        pause_each();
        kill_each();
        return 0;
    }
    uint64_t begun = (uint64_t)clock();
    for (uint64_t i = 0; i < count; i++) {
        current_seed = first + i;
        uint64_t hash = run_seed(current_seed);
        if ((count == 1 || current_seed % 4 == 0) && run_seed(current_seed) != hash) {
            sim_failed("two runs of the seed differ");
        }
    }
    sim_disk_reset();
    for (unsigned i = 0; i < CIRCUITS; i++) {
        free(templates[i].zkey);
        free(templates[i].witness);
    }
    printf("%" PRIu64 " worlds from seed %" PRIu64
           ", %.1f s: %u runs returned (%u refused), %u were killed, %u left at once; %u partitions proven, "
           "%u resumed; no rule broken\n",
           count, first, (double)((uint64_t)clock() - begun) / CLOCKS_PER_SEC, ends[SIM_ENDED_RETURNED],
           refused, ends[SIM_ENDED_KILLED], ends[SIM_ENDED_EXITED], proven, resumed);
    tell_faults();
    return 0;
}
