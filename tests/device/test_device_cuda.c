/* device_cuda.c over the stand-in runtime: streams are threads, operations take random times, and things
 * fail. Circuit, key and witnesses come from circom and snarkjs (tests/data/README.md); whether a proof is
 * right is decided by the pairing equation with that key's constants. */
#include "cuda/device_cuda.h"

#include "conf/check.h"
#include "groth16/verify.h"
#include "groth16/wtns.h"
#include "tests/gpu/gpu_runtime.h"
#include "tests/unit/device_wait.h"
#include "tests/unit/expect_abort.h"
#include "tests/unit/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { WITNESSES = 6, PUBLICS_MAX = 16, LANES = 2, WORKS = 5 };

/* Where faults strike: at every place, or, where a sanitizer makes proofs slow, at every so manyth. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { STRIDE = 5 };
#else
enum { STRIDE = 1 };
#endif

struct given {
    struct zkey key;
    struct circuit circuit;
    void *memory;
    struct verify_key verify;
    struct fixture_file files[WITNESSES];
    struct wtns witnesses[WITNESSES];
};
static struct given given;
static const struct circuit *const circuits[1] = {&given.circuit};

static int given_open(void **state)
{
    (void)state;
    struct error error;
    CHECK(zkey_open(&given.key, UZK_TEST_DATA "/circuit-small/circuit.zkey", &error) == ERROR_NONE);
    given.memory = fixture_block(circuit_memory_size(&given.key));
    circuit_init(&given.circuit, &given.key, given.memory, &par_serial);
    const struct zkey *key = &given.key;
    struct verify_parts parts = {key->publics, key->alpha1, key->beta2, key->gamma2, key->delta2, key->ic};
    CHECK(verify_key_init(&given.verify, &parts, key->name, &error) == ERROR_NONE);
    for (unsigned i = 0; i < WITNESSES; i++) {
        char name[64];
        snprintf(name, sizeof name, "circuit-small/witness-%03u.wtns", i);
        given.files[i] = fixture_read(name);
        CHECK(wtns_parse(&given.witnesses[i], given.files[i].bytes, given.files[i].size, name, &error) ==
              ERROR_NONE);
    }
    return 0;
}

static int given_close(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WITNESSES; i++) {
        free(given.files[i].bytes);
    }
    free(given.memory);
    zkey_close(&given.key);
    return 0;
}

static bool proves(const struct prove_sums *sums, unsigned witness)
{
    u256 publics[PUBLICS_MAX];
    CHECK(given.key.publics <= PUBLICS_MAX);
    for (unsigned i = 0; i < given.key.publics; i++) {
        u256_load_le(&publics[i], given.witnesses[witness].values + (size_t)(i + 1) * 32);
    }
    struct prove_blinding blinding;
    struct error error;
    struct proof proof;
    CHECK(prove_blinding_draw(&blinding, &error) == ERROR_NONE);
    prove_assemble(&proof, &given.circuit, sums, &blinding);
    return verify_proof(&given.verify, publics, &proof) == VERIFY_VALID;
}

static enum error_code open_device(struct device_cuda *cuda, unsigned index, struct error *error)
{
    const struct device_cuda_settings settings = {.index = index,
                                                  .lanes = LANES,
                                                  .circuits = circuits,
                                                  .circuits_count = 1,
                                                  .close_limit_ns = 300000000};
    return device_cuda_open(cuda, &settings, error);
}

static void submit(struct device *device, unsigned lane, unsigned number, struct prove_sums *sums)
{
    const struct device_work work = {&given.circuit, given.witnesses[number % WITNESSES].values, sums,
                                     number};
    device_submit(device, lane, &work);
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
}

/* What a batch on one device came to. */
struct outcome {
    unsigned good, failed, sticky, wrong;
    char reason[DEVICE_REASON_BYTES]; /* the last one */
};

/* Keeps the lanes busy until WORKS works have been answered or the device is lost. */
static struct outcome run_works(struct device *device)
{
    struct outcome outcome = {0};
    static struct prove_sums sums[WORKS];
    uint64_t submitted_ns[WORKS];
    unsigned next = 0, answered = 0;
    for (; next < LANES; next++) {
        submitted_ns[next] = device_now_ns();
        submit(device, next, next, &sums[next]);
    }
    while (answered < next) {
        struct device_completion completions[LANES];
        assert_true(device_wait_ring(device, -1));
        unsigned count = device_poll(device, completions, LANES);
        for (unsigned i = 0; i < count; i++) {
            const struct device_completion *completion = &completions[i];
            unsigned number = (unsigned)completion->token;
            answered++;
            assert_true(number < next);
            assert_times_in_order(completion, submitted_ns[number]);
            if (completion->code == ERROR_NONE) {
                bool right = proves(&sums[number], number % WITNESSES);
                outcome.good += right;
                outcome.wrong += !right;
            } else {
                assert_int_equal(completion->code, ERROR_DEVICE);
                outcome.failed++;
                outcome.sticky += completion->sticky;
                snprintf(outcome.reason, sizeof outcome.reason, "%s", completion->reason);
            }
            if (next < WORKS && outcome.sticky == 0) {
                submitted_ns[next] = device_now_ns();
                submit(device, completion->lane, next, &sums[next]);
                next++;
            }
        }
    }
    return outcome;
}

/* Everything was given back, and what held a witness was wiped: the circuit's block is the only dirty one. */
static void assert_all_given_back(bool worked)
{
    struct gpu_runtime_counts counts;
    gpu_runtime_count(&counts);
    assert_int_equal(counts.streams, 0);
    assert_int_equal(counts.events, 0);
    assert_int_equal(counts.device_blocks, 0);
    assert_int_equal(counts.pinned_blocks, 0);
    if (worked) {
        assert_true(counts.device_dirty <= 1);
        assert_true(counts.pinned_dirty <= 1); /* the slab for points */
    }
}

static struct outcome run_with(const struct gpu_runtime_settings *settings, struct gpu_runtime_counts *counts)
{
    struct device_cuda cuda;
    struct error error;
    gpu_runtime_configure(settings);
    assert_int_equal(open_device(&cuda, 0, &error), ERROR_NONE);
    assert_int_equal(device_attach(&cuda.device, &given.circuit, &error), ERROR_NONE);
    struct gpu_runtime_counts before;
    gpu_runtime_count(&before);
    struct outcome outcome = run_works(&cuda.device);
    gpu_runtime_count(counts);
    assert_int_equal(counts->waits, before.waits); /* nothing waited for the device */
    assert_int_equal(counts->done[GPU_RUNTIME_MALLOC], before.done[GPU_RUNTIME_MALLOC]);
    assert_int_equal(counts->done[GPU_RUNTIME_PIN], before.done[GPU_RUNTIME_PIN]);
    device_detach(&cuda.device, &given.circuit);
    device_close(&cuda.device);
    assert_all_given_back(outcome.sticky == 0);
    return outcome;
}

static void test_proves_a_batch(void **state)
{
    (void)state;
    for (unsigned delay_us = 0; delay_us <= 1500; delay_us += 500 * STRIDE) {
        struct gpu_runtime_settings settings = gpu_runtime_defaults();
        struct gpu_runtime_counts counts;
        settings.delay_us = delay_us;
        settings.seed = delay_us;
        struct outcome outcome = run_with(&settings, &counts);
        assert_int_equal(outcome.good, WORKS);
    }
}

/* Each call that enqueues something is refused once: its work fails, once all before it has run, the others
 * are proven, and the device goes on. */
static void test_each_refused_call_fails_one_work(void **state)
{
    (void)state;
    struct gpu_runtime_settings settings = gpu_runtime_defaults();
    struct gpu_runtime_counts counts;
    settings.delay_us = 50;
    run_with(&settings, &counts);
    uint64_t calls = counts.done[GPU_RUNTIME_CALL];
    unsigned failed = 0, unnoticed = 0;
    for (uint64_t nth = calls - 32; nth <= calls; nth += STRIDE) {
        settings.nth[GPU_RUNTIME_CALL] = nth;
        struct outcome outcome = run_with(&settings, &counts);
        assert_int_equal(counts.struck[GPU_RUNTIME_CALL], 1);
        assert_int_equal(outcome.good + outcome.failed, WORKS);
        assert_true(outcome.failed <= 1 && outcome.sticky == 0 && outcome.wrong == 0);
        failed += outcome.failed;
        unnoticed += outcome.failed == 0; /* wiping on the way is a failure, the doorbell's function is not */
        assert_true(outcome.failed == 0 || strstr(outcome.reason, "cudaErrorInvalidValue") != NULL);
    }
    assert_true(failed > 16 / STRIDE && (unnoticed > 0 || STRIDE > 1));
}

static void test_refused_launches(void **state)
{
    (void)state;
    struct gpu_runtime_settings settings = gpu_runtime_defaults();
    struct gpu_runtime_counts counts;
    for (uint64_t nth = 2; nth < 8; nth += STRIDE) { /* the first one belongs to the circuit */
        settings.nth[GPU_RUNTIME_LAUNCH] = nth;
        settings.delay_us = 100;
        struct outcome outcome = run_with(&settings, &counts);
        assert_int_equal(outcome.good, WORKS - 1);
        assert_int_equal(outcome.failed, 1);
        assert_int_equal(outcome.sticky, 0);
        assert_non_null(strstr(outcome.reason, "cudaErrorLaunchOutOfResources"));
    }
}

/* Whatever the device dies of, all that was in flight is answered, nothing is wrong, and close returns. */
static void test_sticky_errors_lose_the_device(void **state)
{
    (void)state;
    struct gpu_runtime_settings settings = gpu_runtime_defaults();
    struct gpu_runtime_counts counts;
    run_with(&settings, &counts);
    uint64_t operations = counts.done[GPU_RUNTIME_STICKY], first = operations - 14 * WORKS;
    for (uint64_t nth = first; nth <= operations; nth += 3 * STRIDE) {
        settings.nth[GPU_RUNTIME_STICKY] = nth;
        settings.delay_us = (unsigned)(nth % 3) * 150;
        settings.seed = nth;
        struct outcome outcome = run_with(&settings, &counts);
        assert_int_equal(counts.struck[GPU_RUNTIME_STICKY], 1);
        assert_int_equal(outcome.wrong, 0);
        if (outcome.failed > 0) { /* else it died of the doorbell behind the last work */
            assert_int_equal(outcome.sticky, outcome.failed);
            assert_non_null(strstr(outcome.reason, "cudaErrorIllegalAddress"));
        }
    }
}

/* Host functions that are lost or come twice: a work whose witness was not staged fails, nothing hangs and
 * nothing is wrong. */
static void test_host_functions_lost_and_doubled(void **state)
{
    (void)state;
    struct gpu_runtime_settings settings = gpu_runtime_defaults();
    struct gpu_runtime_counts counts;
    settings.delay_us = 100;
    for (uint64_t nth = 1; nth <= 6; nth += 1 + (STRIDE > 1)) {
        memset(settings.nth, 0, sizeof settings.nth);
        settings.nth[GPU_RUNTIME_LOSE] = nth;
        struct outcome outcome = run_with(&settings, &counts);
        assert_int_equal(counts.struck[GPU_RUNTIME_LOSE], 1);
        assert_int_equal(outcome.good + outcome.failed, WORKS);
        assert_true(outcome.failed <= 1 && outcome.sticky == 0);
        memset(settings.nth, 0, sizeof settings.nth);
        settings.nth[GPU_RUNTIME_DOUBLE] = nth;
        outcome = run_with(&settings, &counts);
        assert_int_equal(outcome.good, WORKS);
    }
    memset(settings.nth, 0, sizeof settings.nth);
    settings.permille[GPU_RUNTIME_DOUBLE] = 500;
    assert_int_equal(run_with(&settings, &counts).good, WORKS);
}

static void test_what_hangs_is_abandoned(void **state)
{
    (void)state;
    struct gpu_runtime_settings settings = gpu_runtime_defaults();
    struct device_cuda cuda;
    struct error error;
    struct prove_sums sums;
    settings.nth[GPU_RUNTIME_HANG] = 3;
    gpu_runtime_configure(&settings);
    assert_int_equal(open_device(&cuda, 0, &error), ERROR_NONE);
    assert_int_equal(device_attach(&cuda.device, &given.circuit, &error), ERROR_NONE);
    memset(&sums, 0x5a, sizeof sums);
    submit(&cuda.device, 0, 0, &sums);
    struct device_cuda_state *left = cuda.state;
    device_close(&cuda.device); /* within its limit */
    assert_null(cuda.state);
    gpu_runtime_let_go();
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    cuda.state = left; /* only so that the test leaves nothing behind */
    device_close(&cuda.device);
    for (size_t i = 0; i < sizeof sums; i++) { /* nobody came back to the caller's memory */
        assert_int_equal(((uint8_t *)&sums)[i], 0x5a);
    }
    assert_all_given_back(true);
}

static void test_memory_that_is_not_there(void **state)
{
    (void)state;
    struct gpu_runtime_settings settings = gpu_runtime_defaults();
    struct gpu_runtime_counts counts;
    struct device_cuda cuda;
    struct error error;
    run_with(&settings, &counts);
    uint64_t allocations[] = {counts.done[GPU_RUNTIME_MALLOC], counts.done[GPU_RUNTIME_PIN]};
    for (unsigned kind = 0; kind < 2; kind++) {
        assert_true(allocations[kind] > 0);
        for (uint64_t nth = 1; nth <= allocations[kind]; nth++) {
            memset(settings.nth, 0, sizeof settings.nth);
            settings.nth[kind == 0 ? GPU_RUNTIME_MALLOC : GPU_RUNTIME_PIN] = nth;
            gpu_runtime_configure(&settings);
            enum error_code code = open_device(&cuda, 0, &error);
            if (code == ERROR_NONE) {
                code = device_attach(&cuda.device, &given.circuit, &error);
                device_detach(&cuda.device, &given.circuit);
                device_close(&cuda.device);
            }
            assert_int_equal(code, ERROR_DEVICE);
            assert_non_null(strstr(error.text, "cudaErrorMemoryAllocation"));
            assert_all_given_back(false);
        }
    }
}

static void test_circuit_that_does_not_fit(void **state)
{
    (void)state;
    uint64_t needed = device_cuda_bytes(&given.circuit, LANES), reserve = UINT64_C(64) << 20;
    struct gpu_runtime_settings settings = gpu_runtime_defaults();
    struct device_cuda cuda;
    struct error error;
    for (unsigned fits = 0; fits < 2; fits++) {
        settings.memory_bytes = needed + reserve - 1 + fits;
        gpu_runtime_configure(&settings);
        assert_int_equal(open_device(&cuda, 0, &error), ERROR_NONE);
        assert_int_equal(device_attach(&cuda.device, &given.circuit, &error),
                         fits ? ERROR_NONE : ERROR_DEVICE);
        if (!fits) {
            assert_non_null(strstr(error.text, "cuda:0: circuit "));
            assert_non_null(strstr(error.text, "MiB"));
        }
        device_detach(&cuda.device, &given.circuit); /* nothing if it was refused */
        device_close(&cuda.device);
        assert_all_given_back(false);
    }
}

static void test_several_devices(void **state)
{
    (void)state;
    struct gpu_runtime_settings settings = gpu_runtime_defaults();
    struct device_cuda cuda[2];
    struct error error;
    settings.devices = 2;
    settings.delay_us = 200;
    gpu_runtime_configure(&settings);
    assert_int_equal(device_cuda_count(&error), 2);
    for (unsigned i = 0; i < 2; i++) {
        char name[] = {'c', 'u', 'd', 'a', ':', (char)('0' + i), 0};
        assert_int_equal(open_device(&cuda[i], i, &error), ERROR_NONE);
        assert_string_equal(cuda[i].device.name, name);
        assert_int_equal(device_attach(&cuda[i].device, &given.circuit, &error), ERROR_NONE);
    }
    struct prove_sums sums[2 * LANES];
    for (unsigned i = 0; i < 2 * LANES; i++) {
        submit(&cuda[i % 2].device, i / 2, i, &sums[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct device_completion completions[LANES];
        assert_true(device_wait_completions(&cuda[i].device, completions, LANES));
        for (unsigned j = 0; j < LANES; j++) {
            assert_int_equal(completions[j].code, ERROR_NONE);
        }
    }
    for (unsigned i = 0; i < 2 * LANES; i++) {
        assert_true(proves(&sums[i], i));
    }
    device_close(&cuda[0].device); /* attached circuits go with it */
    device_close(&cuda[1].device);
    struct gpu_runtime_counts counts;
    gpu_runtime_count(&counts);
    assert_int_equal(counts.device_blocks + counts.pinned_blocks + counts.streams + counts.events, 0);
}

static void test_what_there_is(void **state)
{
    (void)state;
    struct gpu_runtime_settings settings = gpu_runtime_defaults();
    struct device_cuda cuda;
    struct device_cuda_info info;
    struct error error;
    gpu_runtime_configure(&settings);
    assert_int_equal(device_cuda_info(&info, 0, &error), ERROR_NONE);
    assert_int_equal(info.memory_bytes, settings.memory_bytes);
    assert_int_equal(info.major, 9);
    assert_int_equal(open_device(&cuda, 1, &error), ERROR_INPUT);
    assert_non_null(strstr(error.text, "cuda:1"));
    settings.devices = 0;
    gpu_runtime_configure(&settings);
    assert_int_equal(device_cuda_count(&error), 0);
    assert_non_null(strstr(error.text, "cudaErrorNoDevice"));
    assert_int_equal(open_device(&cuda, 0, &error), ERROR_DEVICE);
}

static void submit_twice(void *argument)
{
    (void)argument;
    struct device_cuda cuda;
    struct error error;
    static struct prove_sums sums;
    if (open_device(&cuda, 0, &error) == ERROR_NONE &&
        device_attach(&cuda.device, &given.circuit, &error) == ERROR_NONE) {
        submit(&cuda.device, 0, 0, &sums);
        submit(&cuda.device, 0, 1, &sums);
    }
}

static void test_bugs_abort(void **state)
{
    (void)state;
    assert_true(expect_abort(submit_twice, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bugs_abort), /* first, while there is one thread */
        cmocka_unit_test(test_proves_a_batch),
        cmocka_unit_test(test_each_refused_call_fails_one_work),
        cmocka_unit_test(test_refused_launches),
        cmocka_unit_test(test_sticky_errors_lose_the_device),
        cmocka_unit_test(test_host_functions_lost_and_doubled),
        cmocka_unit_test(test_what_hangs_is_abandoned),
        cmocka_unit_test(test_memory_that_is_not_there),
        cmocka_unit_test(test_circuit_that_does_not_fit),
        cmocka_unit_test(test_several_devices),
        cmocka_unit_test(test_what_there_is),
    };
    return cmocka_run_group_tests(tests, given_open, given_close);
}
