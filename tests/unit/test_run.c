/* Whole batches of the committed circuits: what they leave on disk, what they say, and what they survive. */
#include "tests/unit/run_batch_fixture.h"

#include "coordinator/journal_file.h"
#include "coordinator/json_read.h"
#include "groth16/verify.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#define SMALL  "circuit-small"
#define CLOSED "circuit-closed"

static struct batch batch;

static void ran(void)
{
    if (batch_run(&batch) != ERROR_NONE) {
        fail_msg("%s", batch.error.text);
    }
}

/* The verification key is the one that snarkjs made. */
static void proof_holds(const char *circuit, const char *output, const char *stem)
{
    static struct verify_key key;
    struct json_vkey vkey;
    struct json_public publics;
    struct proof proof;
    struct error error;
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, UZK_TEST_DATA "/%s/vkey.json", circuit);
    assert_int_equal(json_read_vkey(&vkey, path, &error), ERROR_NONE);
    assert_int_equal(verify_key_init(&key, &vkey.parts, path, &error), ERROR_NONE);
    snprintf(path, sizeof path, "%s/%s/%s.proof.json", shell_folder, output, stem);
    assert_int_equal(json_read_proof(&proof, path, &error), ERROR_NONE);
    snprintf(path, sizeof path, "%s/%s/%s.public.json", shell_folder, output, stem);
    assert_int_equal(json_read_public(&publics, path, &error), ERROR_NONE);
    assert_int_equal(publics.count, key.publics);
    assert_int_equal(verify_proof(&key, publics.values, &proof), VERIFY_VALID);
    json_public_free(&publics);
    json_vkey_free(&vkey);
}

static void copy_witness(const char *from, const char *to)
{
    static uint8_t bytes[1 << 20];
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, UZK_TEST_DATA "/%s", from);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = read(file, bytes, sizeof bytes);
    close(file);
    assert_true(size > 0);
    shell_put(to, bytes, (size_t)size);
}

static void two_circuits(void)
{
    batch_init(&batch);
    size_t small = batch_circuit(&batch, SMALL), closed = batch_circuit(&batch, CLOSED);
    struct config_job *spend = batch_job(&batch, small, "spend", "real");
    batch_input(&batch, spend, SMALL "/witness-000.wtns", "a");
    batch_input(&batch, spend, shell_path("copy.wtns"), "b");
    spend->bundle = true;
    struct config_job *enter = batch_job(&batch, closed, "enter", "real"); /* two jobs in one folder */
    batch_input(&batch, enter, CLOSED "/witness-000.wtns", "c");
}

static void proofs_are_accepted(void **state)
{
    (void)state;
    copy_witness(SMALL "/witness-001.wtns", "copy.wtns");
    two_circuits();
    ran();
    assert_int_equal(batch.result.status.done, 3);
    assert_int_equal(batch.result.status.resumed, 0);
    assert_int_equal(batch.result.failures_count, 0);
    assert_int_equal(batch.ended_count, 3);
    assert_int_equal(batch.jobs_ended, 2);
    assert_int_equal(batch.timings, 6);
    assert_true(batch.result.latency_p50_ns > 0 &&
                batch.result.latency_p50_ns <= batch.result.latency_p99_ns);
    proof_holds(SMALL, "real", "a");
    proof_holds(SMALL, "real", "b");
    proof_holds(CLOSED, "real", "c");
    assert_true(shell_exists("real/spend.bundle.json"));
    assert_int_equal(shell_entries(shell_path("real")), 8); /* six files, the bundle and the journal */
}

static void what_is_done_is_not_done_again(void **state)
{
    (void)state;
    char *before = strdup(shell_get("real/a.proof.json"));
    assert_non_null(before);
    two_circuits();
    ran();
    assert_int_equal(batch.result.status.resumed, 3);
    assert_int_equal(batch.result.status.done, 3);
    assert_int_equal(batch.ended_count, 0);
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1234567}};
    assert_int_equal(utimensat(AT_FDCWD, shell_path("copy.wtns"), times, 0), 0);
    unlink(shell_path("real/c.public.json"));
    two_circuits();
    ran();
    assert_int_equal(batch.result.status.resumed, 1); /* one input is another, one result is incomplete */
    assert_int_equal(batch.result.status.done, 3);
    assert_int_equal(batch.ended[0][1], CORE_DONE);
    assert_int_equal(batch.ended[1][0], CORE_DONE);
    assert_string_equal(shell_get("real/a.proof.json"), before);
    proof_holds(SMALL, "real", "b");
    proof_holds(CLOSED, "real", "c");
    free(before);
}

static void failures_harm_nobody_else(void **state)
{
    (void)state;
    batch_init(&batch);
    shell_put("bad.zkey", "zkey, but not really", 20);
    shell_put("plain", "", 0);
    copy_witness(SMALL "/witness-001.wtns", "short.wtns");
    assert_int_equal(truncate(shell_path("short.wtns"), 1000), 0);
    assert_int_equal(mkfifo(shell_path("fifo.wtns"), 0666), 0);
    size_t small = batch_circuit(&batch, SMALL), bad = batch_circuit(&batch, shell_path("bad.zkey"));
    struct config_job *good = batch_job(&batch, small, "good", "good");
    batch_input(&batch, good, SMALL "/witness-000.wtns", "a");
    batch_input(&batch, good, CLOSED "/witness-000.wtns", "other-circuit");
    batch_input(&batch, good, shell_path("short.wtns"), "short");
    batch_input(&batch, good, shell_path("missing.wtns"), "missing");
    batch_input(&batch, good, shell_path("fifo.wtns"), "fifo");
    batch_input(&batch, good, SMALL "/witness-002.wtns", "z");
    struct config_job *broken = batch_job(&batch, bad, "broken", "broken");
    batch_input(&batch, broken, SMALL "/witness-000.wtns", "a");
    struct config_job *nowhere = batch_job(&batch, small, "nowhere", "plain");
    batch_input(&batch, nowhere, SMALL "/witness-000.wtns", "a");
    ran();
    const enum core_cause causes[] = {CORE_CAUSE_NONE, CORE_CAUSE_WITNESS, CORE_CAUSE_WITNESS,
                                      CORE_CAUSE_READ, CORE_CAUSE_READ,    CORE_CAUSE_NONE};
    for (size_t i = 0; i < 6; ++i) {
        assert_int_equal(batch.causes[0][i], causes[i]);
        assert_int_equal(batch.ended[0][i], causes[i] == CORE_CAUSE_NONE ? CORE_DONE : CORE_FAILED);
    }
    assert_int_equal(batch.causes[1][0], CORE_CAUSE_CIRCUIT);
    assert_int_equal(batch.causes[2][0], CORE_CAUSE_WRITE);
    assert_int_equal(batch.result.status.done, 2);
    assert_int_equal(batch.result.status.failed, 6);
    assert_int_equal(batch.result.failures_count, 6);
    for (unsigned i = 0; i < 6; ++i) {
        const struct run_failure *failure = &batch.result.failures[i];
        const char *expected = failure->job == broken->name    ? "bad.zkey"
                               : failure->job == nowhere->name ? "plain"
                                                               : ".wtns";
        if (strstr(failure->reason, expected) == NULL) {
            fail_msg("'%s' lacks '%s'", failure->reason, expected);
        }
    }
    proof_holds(SMALL, "good", "a");
    proof_holds(SMALL, "good", "z");
    assert_int_equal(shell_entries(shell_path("good")), 5);
}

/* A witness whose values don't satisfy the circuit: the proof is made, found wrong, made again, and not
 * delivered. */
static void a_false_witness_gives_no_proof(void **state)
{
    (void)state;
    batch_init(&batch);
    copy_witness(SMALL "/witness-000.wtns", "false.wtns");
    struct stat status;
    assert_int_equal(stat(shell_path("false.wtns"), &status), 0);
    int file = open(shell_path("false.wtns"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(file, "\x05", 1, status.st_size - 32), 1); /* the last value's lowest byte */
    assert_int_equal(pwrite(file, "\x07", 1, status.st_size - 64), 1);
    close(file);
    size_t small = batch_circuit(&batch, SMALL);
    struct config_job *job = batch_job(&batch, small, "false", "false");
    batch_input(&batch, job, shell_path("false.wtns"), "f");
    batch_input(&batch, job, SMALL "/witness-000.wtns", "t");
    ran();
    assert_int_equal(batch.ended[0][0], CORE_FAILED);
    assert_int_equal(batch.causes[0][0], CORE_CAUSE_SELF_CHECK);
    assert_int_equal(batch.ended[0][1], CORE_DONE);
    assert_true(batch.result.counts.self_check_failures >= 1);
    assert_false(shell_exists("false/f.proof.json"));
    proof_holds(SMALL, "false", "t");
}

static void one_job(const char *name, const char *output)
{
    batch_init(&batch);
    size_t small = batch_circuit(&batch, SMALL);
    struct config_job *job = batch_job(&batch, small, name, output);
    batch_input(&batch, job, SMALL "/witness-000.wtns", "a");
    batch_input(&batch, job, SMALL "/witness-001.wtns", "b");
}

static void limits_are_kept(void **state)
{
    (void)state;
    one_job("memory", "limits");
    batch.config.memory_budget = 100000;
    ran();
    assert_int_equal(batch.causes[0][0], CORE_CAUSE_MEMORY);
    assert_int_equal(batch.causes[0][1], CORE_CAUSE_MEMORY);
    assert_non_null(strstr(batch.result.failures[0].reason, "budget"));
    one_job("deadline", "limits");
    batch.jobs[0].deadline_ns = 1;
    ran();
    assert_int_equal(batch.causes[0][0], CORE_CAUSE_DEADLINE);
    assert_int_equal(batch.causes[0][1], CORE_CAUSE_DEADLINE);
    assert_int_equal(shell_entries(shell_path("limits")), 1); /* the journal */
}

/* Several circuits that don't fit into the budget together take turns. */
static void circuits_take_turns(void **state)
{
    (void)state;
    batch_init(&batch);
    for (unsigned i = 0; i < 3; ++i) {
        size_t circuit = batch_circuit(&batch, SMALL);
        struct config_job *job = batch_job(&batch, circuit, i == 0 ? "x" : i == 1 ? "y" : "z", "turns");
        batch_input(&batch, job, SMALL "/witness-000.wtns", i == 0 ? "x0" : i == 1 ? "y0" : "z0");
        batch_input(&batch, job, SMALL "/witness-001.wtns", i == 0 ? "x1" : i == 1 ? "y1" : "z1");
    }
    ran();
    assert_int_equal(batch.result.status.done, 6);
    uint64_t ample = batch.result.counts.memory_peak_bytes, least = ample;
    assert_int_equal(batch.result.counts.loads, 3);
    for (batch.config.memory_budget = 16 << 20;;
         batch.config.memory_budget -= batch.config.memory_budget / 5) {
        shell_put("turns/.uzk.journal", "", 0); /* so that nothing counts as done */
        ran();
        if (batch.result.status.failed > 0) {
            break; /* not even one fits */
        }
        assert_int_equal(batch.result.status.done, 6);
        assert_true(batch.result.counts.memory_peak_bytes <= batch.config.memory_budget);
        least = batch.result.counts.memory_peak_bytes;
    }
    assert_int_equal(batch.result.counts.causes[CORE_CAUSE_MEMORY], 6);
    assert_true(least < ample * 2 / 3); /* so they were not resident together */
}

static void simulated_proofs_are_never_taken_for_proofs(void **state)
{
    (void)state;
    struct config_device sim = {CONFIG_DEVICE_SIM, 0};
    one_job("sim", "sim");
    batch.jobs[0].bundle = true;
    batch.config.devices = &sim;
    batch.config.devices_count = 1;
    ran();
    assert_int_equal(batch.result.status.done, 2);
    assert_string_equal(shell_get("sim/a.simulated.json"), "{\n \"simulated\": true\n}\n");
    assert_int_equal(shell_entries(shell_path("sim")),
                     3); /* two of these and the journal: no proof, no bundle */
    assert_non_null(strstr(batch.notes, "simulated"));
    ran();
    assert_int_equal(batch.result.status.resumed, 0);
    one_job("sim", "sim"); /* now for real: nothing counts as done */
    ran();
    assert_int_equal(batch.result.status.resumed, 0);
    assert_int_equal(batch.result.status.done, 2);
    proof_holds(SMALL, "sim", "a");
}

static void the_urgent_comes_first(void **state)
{
    (void)state;
    struct config_device sim = {CONFIG_DEVICE_SIM, 0};
    batch_init(&batch);
    batch.config.devices = &sim;
    batch.config.devices_count = 1;
    batch.config.lanes_per_device = 1;
    batch.config.lookahead = 1; /* with more, what is read sooner may pass what is a little more urgent */
    size_t small = batch_circuit(&batch, SMALL);
    const enum config_priority priorities[] = {CONFIG_LOW, CONFIG_NORMAL, CONFIG_CRITICAL, CONFIG_HIGH};
    for (unsigned i = 0; i < 4; ++i) {
        static const char *const stems[] = {"low", "normal", "critical", "high"};
        struct config_job *job = batch_job(&batch, small, stems[i], "urgent");
        job->priority = priorities[i];
        batch_input(&batch, job, SMALL "/witness-000.wtns", stems[i]);
    }
    ran();
    assert_string_equal(batch.proved[0], "critical");
    assert_string_equal(batch.proved[1], "high");
    assert_string_equal(batch.proved[2], "normal");
    assert_string_equal(batch.proved[3], "low");
}

static void commands_make_witnesses(void **state)
{
    static char *copy[] = {"cp", "{input}", "{witness}", NULL},
                *slow[] = {"sh", "-c", "sleep 3600", "{input}", "{witness}", NULL},
                *wrong[] = {"sh", "-c", "echo no such wire >&2; exit 4", "{input}", "{witness}", NULL};
    (void)state;
    one_job("copy", "made");
    batch.jobs[0].witness_command = copy;
    struct config_job *late = batch_job(&batch, 0, "late", "late");
    batch_input(&batch, late, SMALL "/witness-000.wtns", "s");
    late->witness_command = slow;
    late->witness_timeout_ns = 50000000;
    struct config_job *fails = batch_job(&batch, 0, "fails", "fails");
    batch_input(&batch, fails, SMALL "/witness-000.wtns", "w");
    fails->witness_command = wrong;
    ran();
    assert_int_equal(batch.ended[0][0], CORE_DONE);
    assert_int_equal(batch.ended[0][1], CORE_DONE);
    assert_int_equal(batch.causes[1][0], CORE_CAUSE_TIMEOUT);
    assert_int_equal(batch.causes[2][0], CORE_CAUSE_GENERATE);
    assert_int_equal(batch.result.failures_count, 2);
    for (unsigned i = 0; i < 2; ++i) {
        const char *reason = batch.result.failures[i].reason;
        assert_non_null(
            strstr(reason, batch.result.failures[i].job == fails->name ? "no such wire" : "50 ms"));
    }
    proof_holds(SMALL, "made", "a");
    proof_holds(SMALL, "made", "b");
    assert_false(shell_exists("made/.uzk.witnesses"));
    assert_false(shell_exists("late/.uzk.witnesses"));
    one_job("copy", "made");
    batch.jobs[0].witness_command = copy;
    ran();
    assert_int_equal(batch.result.status.resumed, 2);
}

static void stop(void *context)
{
    (void)context;
    kill(getpid(), SIGTERM);
}

static void stop_twice(void *context)
{
    (void)context;
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGINT);
}

static void a_signal_stops_and_the_next_run_goes_on(void **state)
{
    (void)state;
    one_job("stopped", "stopped");
    batch.on_start = stop;
    ran();
    assert_true(batch.result.stopped);
    assert_int_equal(batch.result.status.done + batch.result.status.canceled, 2);
    assert_int_equal(batch.result.status.failed, 0);
    assert_non_null(strstr(batch.notes, "stopping"));
    uint32_t done = batch.result.status.done;
    one_job("stopped", "stopped");
    ran();
    assert_false(batch.result.stopped);
    assert_int_equal(batch.result.status.resumed, done);
    assert_int_equal(batch.result.status.done, 2);
}

static void a_second_signal_leaves_at_once(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        one_job("left", "left");
        batch.on_start = stop_twice;
        (void)!batch_run(&batch);
        _exit(1); /* not reached */
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), RUN_EXIT_KILLED);
    one_job("left", "left");
    ran();
    assert_int_equal(batch.result.status.done, 2);
}

static void what_cannot_run_is_refused(void **state)
{
    (void)state;
    struct config_device cuda = {CONFIG_DEVICE_CUDA, 0};
    one_job("cuda", "refused");
    batch.config.devices = &cuda;
    batch.config.devices_count = 1;
    assert_int_equal(batch_run(&batch), ERROR_INPUT);
    assert_non_null(strstr(batch.error.text, "devices: cuda:0: "));
    assert_int_equal(mkdir(shell_path("held"), 0777), 0);
    int file = open(shell_path("held/" JOURNAL_FILE_NAME), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    assert_int_equal(flock(file, LOCK_EX | LOCK_NB), 0);
    one_job("held", "held");
    assert_int_equal(batch_run(&batch), ERROR_SYSTEM);
    assert_non_null(strstr(batch.error.text, "held"));
    close(file);
    ran();
    assert_int_equal(batch.result.status.done, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proofs_are_accepted),
        cmocka_unit_test(what_is_done_is_not_done_again),
        cmocka_unit_test(failures_harm_nobody_else),
        cmocka_unit_test(a_false_witness_gives_no_proof),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(circuits_take_turns),
        cmocka_unit_test(simulated_proofs_are_never_taken_for_proofs),
        cmocka_unit_test(the_urgent_comes_first),
        cmocka_unit_test(commands_make_witnesses),
        cmocka_unit_test(a_signal_stops_and_the_next_run_goes_on),
        cmocka_unit_test(a_second_signal_leaves_at_once),
        cmocka_unit_test(what_cannot_run_is_refused),
    };
    return cmocka_run_group_tests(tests, shell_setup, shell_teardown);
}
