#include "tests/sim/sim_prover.h"

#include "conf/check.h"
#include "coordinator/load.h"
#include "cuda/device_cpu.h"
#include "cuda/device_cuda.h"
#include "cuda/device_sim.h"
#include "groth16/proof.h"
#include "tests/sim/sim_kernel.h"

#include <stdio.h>
#include <string.h>

/* Nobody includes these: the linker finds them by name. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { PROVERS = 4, BLINDINGS = 512, VALUE_BYTES = 32 };

struct prover {
    struct device *device; /* as the run knows it; NULL: unused */
    struct device_sim sim;
    struct device_work works[DEVICE_LANES_MAX];
};

static struct prover provers[PROVERS];
static unsigned provers_count, gpus_count;
static struct config_sim timing_of_all;
static bool real_cpu, late;
static unsigned proven[SIM_PROVER_NUMBERS];
static uint64_t blindings[BLINDINGS];
static unsigned blindings_count;

void sim_prover_reset(const struct config_sim *timing, unsigned gpus)
{
    timing_of_all = *timing;
    gpus_count = gpus;
    provers_count = blindings_count = 0;
    late = false;
    memset(proven, 0, sizeof proven);
}

void sim_prover_real_cpu(bool real)
{
    real_cpu = real;
}

bool sim_prover_late(void)
{
    return late;
}

unsigned sim_prover_proven(uint32_t number)
{
    return proven[number % SIM_PROVER_NUMBERS];
}

/* ---- what a witness is made to ---- */

static uint64_t hash_of(const uint8_t *values, uint32_t wires)
{
    uint64_t hash = wires;
    for (size_t i = 0; i < (size_t)wires * VALUE_BYTES; i += sizeof hash) {
        uint64_t word;
        memcpy(&word, values + i, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash | 1;
}

static void proof_of(struct proof *proof, uint64_t hash)
{
    memset(proof, 0, sizeof *proof);
    proof->a.x.w[0] = proof->a.y.w[0] = hash;
    proof->c.x.w[0] = proof->c.y.w[0] = hash + 2;
}

size_t sim_prover_proof(char *text, size_t capacity, const uint8_t *values, uint32_t wires)
{
    struct proof proof;
    proof_of(&proof, hash_of(values, wires));
    return proof_write_json(text, capacity, &proof);
}

/* ---- the device ---- */

static struct prover *prover_of(const struct device *device)
{
    unsigned i = 0;
    while (provers[i].device != device) {
        CHECK(++i < provers_count);
    }
    return &provers[i];
}

static enum error_code attach(struct device *device, const struct circuit *circuit, struct error *error)
{
    return device_attach(&prover_of(device)->sim.device, circuit, error);
}

static void detach(struct device *device, const struct circuit *circuit)
{
    device_detach(&prover_of(device)->sim.device, circuit);
}

static void submit(struct device *device, unsigned lane, const struct device_work *work)
{
    struct prover *prover = prover_of(device);
    prover->works[lane] = *work;
    device_submit(&prover->sim.device, lane, work);
    late |= sim_kernel_paused(); /* its time runs from before the pause */
}

static unsigned poll_device(struct device *device, struct device_completion *completions, unsigned max)
{
    struct prover *prover = prover_of(device);
    unsigned count = device_poll(&prover->sim.device, completions, max);
    for (unsigned i = 0; i < count; i++) {
        const struct device_work *work = &prover->works[completions[i].lane];
        uint32_t wires = work->circuit->key.wires, number;
        memset(work->sums, 0, sizeof *work->sums);
        work->sums->a.x.w[0] = hash_of(work->witness, wires);
        work->sums->c.x.w[0] = work->sums->a.x.w[0] + 2;
        memcpy(&number, work->witness + (size_t)(wires - 1) * VALUE_BYTES, sizeof number);
        proven[number % SIM_PROVER_NUMBERS]++;
    }
    return count;
}

static void close_device(struct device *device)
{
    device_close(&prover_of(device)->sim.device);
    device->doorbell = -1;
}

static enum error_code open_prover(struct device *device, enum device_kind kind, unsigned lanes,
                                   unsigned number, struct error *error)
{
    static const struct device_operations operations = {
        .attach = attach, .detach = detach, .submit = submit, .poll = poll_device, .close = close_device};
    CHECK(provers_count < PROVERS);
    struct prover *prover = &provers[provers_count];
    struct config_sim timing = timing_of_all;
    timing.seed += number;
    enum error_code code = device_sim_open(&prover->sim, &timing, lanes, error);
    if (code != ERROR_NONE) {
        return code;
    }
    prover->device = device;
    provers_count++;
    *device = (struct device){
        .operations = &operations, .kind = kind, .lanes = lanes, .doorbell = prover->sim.device.doorbell};
    snprintf(device->name, sizeof device->name, kind == DEVICE_CPU ? "cpu" : "cuda:%u", number);
    return ERROR_NONE;
}

enum error_code __real_device_cpu_open(struct device_cpu *cpu, struct team *team, unsigned lanes,
                                       struct error *error);
enum error_code __wrap_device_cpu_open(struct device_cpu *cpu, struct team *team, unsigned lanes,
                                       struct error *error)
{
    if (real_cpu) {
        return __real_device_cpu_open(cpu, team, lanes, error);
    }
    return open_prover(&cpu->device, DEVICE_CPU, lanes, 100, error);
}

enum error_code __wrap_device_cuda_open(struct device_cuda *cuda, const struct device_cuda_settings *settings,
                                        struct error *error)
{
    return open_prover(&cuda->device, DEVICE_CUDA, settings->lanes, settings->index, error);
}

enum error_code __wrap_device_cuda_info(struct device_cuda_info *info, unsigned index, struct error *error)
{
    memset(info, 0, sizeof *info);
    bool refused = index == 0 && timing_of_all.seed % 5 == 0;
    return refused ? error_set(error, ERROR_DEVICE, "cuda:%u: refused in this world", index) : ERROR_NONE;
}

unsigned __wrap_device_cuda_count(struct error *why)
{
    if (gpus_count == 0) {
        error_set(why, ERROR_DEVICE, "none in this world");
    }
    return gpus_count;
}

/* ---- the team, which has nothing to do ---- */

enum error_code __real_team_open(struct team *team, const struct team_settings *settings,
                                 struct error *error);
enum error_code __wrap_team_open(struct team *team, const struct team_settings *settings, struct error *error)
{
    return real_cpu ? __real_team_open(team, settings, error) : ERROR_NONE;
}

void __real_team_close(struct team *team);
void __wrap_team_close(struct team *team)
{
    if (real_cpu) {
        __real_team_close(team);
    }
}

struct par *__wrap_team_par_open(struct team *team)
{
    (void)team;
    return NULL;
}

/* ---- the mathematics ---- */

enum error_code __wrap_verify_key_init(struct verify_key *key, const struct verify_parts *parts,
                                       const char *name, struct error *error)
{
    (void)key;
    (void)parts;
    (void)name;
    (void)error;
    return ERROR_NONE;
}

void __wrap_prove_assemble(struct proof *proof, const struct circuit *circuit, const struct prove_sums *sums,
                           const struct prove_blinding *blinding)
{
    (void)circuit;
    uint64_t drawn = blinding->r.w[0] ^ blinding->s.w[1] << 1;
    for (unsigned i = 0; i < blindings_count; i++) {
        if (blindings[i] == drawn || blinding->r.w[0] == blinding->s.w[0]) {
            sim_failed("two proofs have one blinding");
        }
    }
    blindings[blindings_count++ % BLINDINGS] = drawn;
    CHECK(blindings_count < BLINDINGS);
    proof_of(proof, sums->a.x.w[0]);
    proof->c.x.w[0] = proof->c.y.w[0] = sums->c.x.w[0];
}

enum verify_result __wrap_verify_proof(const struct verify_key *key, const u256 *publics,
                                       const struct proof *proof)
{
    (void)key;
    (void)publics;
    return proof->c.x.w[0] == proof->a.x.w[0] + 2 ? VERIFY_VALID : VERIFY_INVALID;
}
