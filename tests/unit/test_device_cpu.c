/* The circuit, its key and its witnesses come from circom and snarkjs (tests/data/README.md); whether a proof
 * is right is decided by the pairing equation with the constants of that key, and public values are read from
 * the witness. */
#include "cuda/device_cpu.h"

#include "conf/check.h"
#include "device_wait.h"
#include "expect_abort.h"
#include "groth16/verify.h"
#include "groth16/wtns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { WITNESSES = 6, PUBLICS_MAX = 16 };

struct fixture {
    struct zkey key;
    struct circuit circuit;
    void *memory;
    struct verify_key verify;
    uint8_t *files[WITNESSES];
    struct wtns witnesses[WITNESSES];
};
static struct fixture fixture;

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size);
    CHECK(bytes != NULL && fread(bytes, 1, *size, file) == *size);
    fclose(file);
    return bytes;
}

static int fixture_open(void **state)
{
    (void)state;
    struct error error;
    CHECK(zkey_open(&fixture.key, UZK_TEST_DATA "/circuit-small/circuit.zkey", &error) == ERROR_NONE);
    size_t bytes = (circuit_memory_size(&fixture.key) + 63) & ~(size_t)63;
    fixture.memory = aligned_alloc(64, bytes);
    CHECK(fixture.memory != NULL);
    circuit_init(&fixture.circuit, &fixture.key, fixture.memory, &par_serial);
    const struct zkey *key = &fixture.key;
    struct verify_parts parts = {key->publics, key->alpha1, key->beta2, key->gamma2, key->delta2, key->ic};
    CHECK(verify_key_init(&fixture.verify, &parts, key->name, &error) == ERROR_NONE);
    for (unsigned i = 0; i < WITNESSES; i++) {
        char path[512];
        size_t size;
        snprintf(path, sizeof path, UZK_TEST_DATA "/circuit-small/witness-%03u.wtns", i);
        fixture.files[i] = read_file(path, &size);
        CHECK(wtns_parse(&fixture.witnesses[i], fixture.files[i], size, "witness", &error) == ERROR_NONE);
        CHECK(wtns_match(&fixture.witnesses[i], key, &error) == ERROR_NONE);
    }
    return 0;
}

static int fixture_close(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WITNESSES; i++) {
        free(fixture.files[i]);
    }
    free(fixture.memory);
    zkey_close(&fixture.key);
    return 0;
}

static bool proves(const struct prove_sums *sums, unsigned witness)
{
    u256 publics[PUBLICS_MAX];
    CHECK(fixture.key.publics <= PUBLICS_MAX);
    for (unsigned i = 0; i < fixture.key.publics; i++) {
        u256_load_le(&publics[i], fixture.witnesses[witness].values + (size_t)(i + 1) * 32);
    }
    struct prove_blinding blinding;
    struct error error;
    struct proof proof;
    CHECK(prove_blinding_draw(&blinding, &error) == ERROR_NONE);
    prove_assemble(&proof, &fixture.circuit, sums, &blinding);
    return verify_proof(&fixture.verify, publics, &proof) == VERIFY_VALID;
}

static struct device_work work_of(unsigned witness, struct prove_sums *sums, uint64_t token)
{
    return (struct device_work){&fixture.circuit, fixture.witnesses[witness].values, sums, token};
}

static void open_both(struct team *team, struct device_cpu *cpu, unsigned workers, unsigned mains_max,
                      unsigned lanes)
{
    struct error error;
    struct team_settings settings = {.workers = workers, .mains_max = mains_max, .slots = lanes};
    assert_int_equal(team_open(team, &settings, &error), ERROR_NONE);
    assert_int_equal(device_cpu_open(cpu, team, lanes, &error), ERROR_NONE);
}

static void assert_times_in_order(const struct device_completion *completion, uint64_t submitted_ns)
{
    uint64_t before = completion->begin_ns;
    assert_true(before >= submitted_ns);
    for (unsigned stage = 0; stage < DEVICE_STAGES; stage++) {
        assert_true(completion->stage_end_ns[stage] >= before);
        before = completion->stage_end_ns[stage];
    }
    assert_true(before <= device_now_ns());
    assert_true(before > completion->begin_ns);
    assert_int_equal(completion->stage_end_ns[DEVICE_STAGE_H2D], completion->begin_ns);
}

/* Keeps every lane busy until all works are done, as a batch does. */
static void prove_batch(unsigned workers, unsigned mains_max, unsigned lanes, unsigned works)
{
    static struct team team;
    static struct device_cpu cpu;
    open_both(&team, &cpu, workers, mains_max, lanes);
    struct device *device = &cpu.device;
    struct error error;
    assert_int_equal(device_attach(device, &fixture.circuit, &error), ERROR_NONE);
    struct prove_sums sums[64];
    uint64_t submitted_ns[64];
    bool done[64] = {false};
    assert_true(works <= 64);
    unsigned next = 0;
    for (; next < lanes && next < works; next++) {
        struct device_work work = work_of(next % WITNESSES, &sums[next], next);
        submitted_ns[next] = device_now_ns();
        device_submit(device, next, &work);
    }
    for (unsigned count = 0; count < works;) {
        assert_true(device_wait_ring(device, -1));
        struct device_completion completions[DEVICE_LANES_MAX];
        unsigned came = device_poll(device, completions, DEVICE_LANES_MAX);
        for (unsigned i = 0; i < came; i++, count++) {
            struct device_completion *completion = &completions[i];
            assert_int_equal(completion->code, ERROR_NONE);
            assert_false(completion->sticky);
            assert_true(completion->token < works && completion->lane < lanes);
            assert_false(done[completion->token]);
            done[completion->token] = true;
            assert_times_in_order(completion, submitted_ns[completion->token]);
            assert_true(proves(&sums[completion->token], (unsigned)(completion->token % WITNESSES)));
            if (next < works) {
                struct device_work work = work_of(next % WITNESSES, &sums[next], next);
                submitted_ns[next] = device_now_ns();
                device_submit(device, completion->lane, &work);
                next++;
            }
        }
    }
    struct device_completion none;
    assert_int_equal(device_poll(device, &none, 1), 0);
    assert_false(device_wait_ring(device, 0));
    device_detach(device, &fixture.circuit);
    device_close(device);
    team_close(&team);
}

static void test_proves_a_batch(void **state)
{
    (void)state;
    prove_batch(1, 0, 1, 2);
    prove_batch(2, 0, 3, 7);
    prove_batch(3, 1, 2, 3);
    prove_batch(4, 0, 5, 8);
}

static void test_wrong_witness_does_not_prove(void **state) /* so that `proves` can fail */
{
    (void)state;
    struct team team;
    static struct device_cpu cpu;
    open_both(&team, &cpu, 2, 0, 1);
    size_t bytes = (size_t)fixture.key.wires * 32;
    uint8_t *witness = malloc(bytes);
    assert_non_null(witness);
    memcpy(witness, fixture.witnesses[0].values, bytes);
    witness[bytes - 32] ^= 1;
    struct prove_sums sums;
    struct device_work work = {&fixture.circuit, witness, &sums, 1};
    device_submit(&cpu.device, 0, &work);
    struct device_completion completion;
    assert_true(device_wait_completions(&cpu.device, &completion, 1));
    assert_int_equal(completion.code, ERROR_NONE);
    assert_false(proves(&sums, 0));
    device_close(&cpu.device);
    team_close(&team);
    free(witness);
}

static void test_poll_gives_no_more_than_asked(void **state)
{
    (void)state;
    struct team team;
    static struct device_cpu cpu;
    open_both(&team, &cpu, 2, 0, 4);
    struct prove_sums sums[4];
    for (unsigned i = 0; i < 4; i++) {
        struct device_work work = work_of(i, &sums[i], 100 + i);
        device_submit(&cpu.device, i, &work);
    }
    while (atomic_load(&cpu.left) < 4) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_true(device_wait_ring(&cpu.device, 0));
    struct device_completion completions[4];
    assert_int_equal(device_poll(&cpu.device, completions, 3), 3);
    assert_false(device_wait_ring(&cpu.device, 0));
    assert_int_equal(device_poll(&cpu.device, completions + 3, 3), 1);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(completions[i].token, 100 + i);
        assert_int_equal(completions[i].lane, i);
    }
    device_close(&cpu.device);
    team_close(&team);
}

/* A domain whose vectors are larger than an address space: the system must refuse, and nothing else may
 * happen. */
static void test_refused_memory_fails_the_work_only(void **state)
{
    (void)state;
    struct team team;
    static struct device_cpu cpu;
    open_both(&team, &cpu, 2, 0, 2);
    struct circuit huge = fixture.circuit;
    huge.key.domain_log2 = 45;
    struct prove_sums sums[2];
    for (unsigned round = 0; round < 2; round++) {
        struct device_work works[2] = {{&huge, fixture.witnesses[0].values, &sums[0], 7},
                                       work_of(1, &sums[1], 8)};
        device_submit(&cpu.device, 0, &works[0]);
        device_submit(&cpu.device, 1, &works[1]);
        struct device_completion completions[2];
        assert_true(device_wait_completions(&cpu.device, completions, 2));
        for (unsigned i = 0; i < 2; i++) {
            if (completions[i].token == 8) {
                assert_int_equal(completions[i].code, ERROR_NONE);
                assert_true(proves(&sums[1], 1));
                continue;
            }
            assert_int_equal(completions[i].code, ERROR_DEVICE);
            assert_false(completions[i].sticky);
            assert_non_null(strstr(completions[i].reason, "MiB of scratch"));
            assert_true(completions[i].stage_end_ns[DEVICE_STAGE_D2H] >= completions[i].begin_ns);
        }
    }
    device_close(&cpu.device);
    team_close(&team);
}

static void submit_all(struct device_cpu *cpu, struct prove_sums sums[WITNESSES])
{
    for (unsigned i = 0; i < WITNESSES; i++) {
        struct device_work work = work_of(i, &sums[i], i);
        device_submit(&cpu->device, i, &work);
    }
}

static void test_close_waits_for_what_has_begun(void **state)
{
    (void)state;
    struct team team;
    static struct device_cpu cpu;
    open_both(&team, &cpu, 2, 0, WITNESSES);
    struct prove_sums sums[WITNESSES];
    submit_all(&cpu, sums);
    device_close(&cpu.device);
    uint64_t begun = atomic_load(&cpu.left);
    team_close(&team);
    assert_int_equal(atomic_load(&cpu.left), begun); /* no worker came back to it */
}

struct barrier {
    _Atomic bool begun, open;
};

static void wait_open(void *argument, struct par *par, unsigned worker)
{
    (void)par;
    (void)worker;
    struct barrier *barrier = argument;
    barrier->begun = true;
    while (!barrier->open) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void test_close_drops_what_has_not_begun(void **state)
{
    (void)state;
    struct team team;
    static struct device_cpu cpu;
    struct error error;
    struct team_settings settings = {.workers = 1, .slots = WITNESSES + 1};
    assert_int_equal(team_open(&team, &settings, &error), ERROR_NONE);
    assert_int_equal(device_cpu_open(&cpu, &team, WITNESSES, &error), ERROR_NONE);
    struct barrier barrier = {false};
    team_post(&team, WITNESSES, wait_open, &barrier); /* a slot that the device doesn't use */
    while (!barrier.begun) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    struct prove_sums sums[WITNESSES];
    submit_all(&cpu, sums);
    device_close(&cpu.device);
    barrier.open = true;
    team_close(&team);
    assert_int_equal(atomic_load(&cpu.left), 0);
}

/* Whether the mapping at this address has the flag "dd" (MADV_DONTDUMP) in /proc/self/smaps. */
static bool left_out_of_core_dumps(const void *address)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    CHECK(maps != NULL);
    char line[1024];
    bool inside = false, found = false;
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) {
            inside = begin <= (uintptr_t)address && (uintptr_t)address < end;
        } else if (inside && strncmp(line, "VmFlags:", 8) == 0) {
            found = strstr(line, " dd") != NULL;
        }
    }
    fclose(maps);
    return found;
}

static void test_scratch_is_kept_and_left_out_of_core_dumps(void **state)
{
    (void)state;
    struct team team;
    static struct device_cpu cpu;
    open_both(&team, &cpu, 1, 0, 1);
    assert_null(cpu.scratch[0].memory);
    void *memory = NULL;
    for (unsigned i = 0; i < 2; i++) {
        struct prove_sums sums;
        struct device_work work = work_of(i, &sums, i);
        device_submit(&cpu.device, 0, &work);
        struct device_completion completion;
        assert_true(device_wait_completions(&cpu.device, &completion, 1));
        assert_true(memory == NULL || memory == cpu.scratch[0].memory);
        memory = cpu.scratch[0].memory;
    }
    assert_true(left_out_of_core_dumps(memory));
    assert_true(cpu.scratch[0].bytes <= device_cpu_scratch_bytes(&fixture.circuit, &team));
    device_close(&cpu.device);
    assert_null(cpu.scratch[0].memory);
    team_close(&team);
}

static void submit_twice(void *argument)
{
    (void)argument;
    struct team team;
    static struct device_cpu cpu;
    struct error error;
    struct team_settings settings = {.workers = 1, .slots = 1};
    struct prove_sums sums;
    if (team_open(&team, &settings, &error) == ERROR_NONE &&
        device_cpu_open(&cpu, &team, 1, &error) == ERROR_NONE) {
        struct device_work work = work_of(0, &sums, 0);
        device_submit(&cpu.device, 0, &work);
        device_submit(&cpu.device, 0, &work);
    }
}

static void open_with_too_few_slots(void *argument)
{
    (void)argument;
    struct team team;
    static struct device_cpu cpu;
    struct error error;
    struct team_settings settings = {.workers = 1, .slots = 1};
    if (team_open(&team, &settings, &error) == ERROR_NONE &&
        device_cpu_open(&cpu, &team, 2, &error) == ERROR_NONE) {
        device_close(&cpu.device);
    }
}

static void test_bugs_abort(void **state)
{
    (void)state;
    assert_true(expect_abort(submit_twice, NULL));
    assert_true(expect_abort(open_with_too_few_slots, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bugs_abort), /* first, while there is one thread */
        cmocka_unit_test(test_proves_a_batch),
        cmocka_unit_test(test_wrong_witness_does_not_prove),
        cmocka_unit_test(test_poll_gives_no_more_than_asked),
        cmocka_unit_test(test_refused_memory_fails_the_work_only),
        cmocka_unit_test(test_close_waits_for_what_has_begun),
        cmocka_unit_test(test_close_drops_what_has_not_begun),
        cmocka_unit_test(test_scratch_is_kept_and_left_out_of_core_dumps),
    };
    return cmocka_run_group_tests(tests, fixture_open, fixture_close);
}
