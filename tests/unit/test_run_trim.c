/* Trims in whole batches: each policy does what it says, shown by the trace and the result. */
#include "tests/unit/run_batch_fixture.h"

#include "coordinator/explain.h"
#include "cuda/device.h"

#include <malloc.h>
#include <sched.h>
#include <sys/mount.h>

enum { PARTITIONS = 16 };

static struct batch batch;
static struct trace_read trace;
static struct config_input inputs[PARTITIONS];

/* PARTITIONS proofs on the simulated device, 6 ms each: many intervals, also where others keep the machine
 * busy.
 */
static void simulated(const char *output, enum config_trim_policy policy)
{
    static struct config_device sim = {.kind = CONFIG_DEVICE_SIM};
    batch_init(&batch);
    struct config_job *job = batch_job(&batch, batch_circuit(&batch, "circuit-small"), "job", output);
    for (unsigned i = 0; i < PARTITIONS; ++i) {
        char stem[16];
        snprintf(stem, sizeof stem, "w%02u", i);
        inputs[i] = (struct config_input){.path = UZK_TEST_DATA "/circuit-small/witness-000.wtns",
                                          .stem = batch_text(&batch, "%s", stem)};
    }
    job->inputs = inputs;
    job->inputs_count = PARTITIONS;
    batch.config.devices = &sim;
    batch.config.devices_count = 1;
    batch.config.sim.stage_ns[DEVICE_STAGE_MSM] = 5000000;
    batch.config.lanes_per_device = 2;
    batch.config.trim_policy = policy;
    batch.config.trim_interval_ns = 2000000;
    batch.config.trim_min_freed = 1;
    batch.config.timeline_ns = 1000000;
    batch.config.trace = batch_text(&batch, "%s", shell_path("run.trace"));
}

static void run_it(void)
{
    struct error error;
    if (batch_run(&batch) != ERROR_NONE) {
        fail_msg("%s", batch.error.text);
    }
    assert_int_equal(batch.result.status.done, PARTITIONS);
    if (trace_read_open(&trace, batch.config.trace, &error) != ERROR_NONE) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(trace.dropped + trace.odd + trace.unknown, 0);
}

/* A resident size taken at a moment. */
static uint64_t rss_at(uint64_t time_ns)
{
    for (size_t i = 0; i < trace.count; ++i) {
        if (trace.events[i].kind == TRACE_RSS && trace.events[i].time_ns == time_ns) {
            return trace.events[i].value;
        }
    }
    fail_msg("no resident size at %llu", (unsigned long long)time_ns);
    return 0;
}

/* Each trim is in the trace with its thread and the resident size before and after; the result has the sums.
 */
static unsigned check_trims(bool on_coordinator)
{
    unsigned count = 0;
    uint64_t ns = 0, bytes = 0;
    for (size_t i = 0; i < trace.count; ++i) {
        const struct trace_event *event = &trace.events[i];
        if (event->kind == TRACE_TRIM) {
            uint64_t before = rss_at(event->value), after = rss_at(event->time_ns);
            assert_int_equal(event->value2, before > after ? before - after : 0);
            assert_int_equal(event->detail == TRACE_THREAD_COORDINATOR, on_coordinator);
            ++count;
            ns += event->time_ns - event->value;
            bytes += event->value2;
        }
    }
    assert_int_equal(batch.result.counts.trims, count);
    assert_int_equal(batch.result.counts.trim_ns, ns);
    assert_int_equal(batch.result.counts.trim_bytes, bytes);
    return count;
}

static void off_never_trims(void **state)
{
    (void)state;
    simulated("off", CONFIG_TRIM_OFF);
    run_it();
    assert_string_equal(batch.result.trim_policy, "off");
    assert_int_equal(check_trims(false), 0);
    trace_read_close(&trace);
}

static void inline_trims_after_each_partition(void **state)
{
    (void)state;
    simulated("inline", CONFIG_TRIM_INLINE);
    run_it();
    assert_int_equal(check_trims(true), PARTITIONS);
    assert_string_equal(trace.header.policy, "inline");
    assert_string_equal(trace.header.allocator, batch.result.allocator);
    trace_read_close(&trace);
}

static void timer_trims_once_an_interval(void **state)
{
    (void)state;
    simulated("timer", CONFIG_TRIM_TIMER);
    run_it();
    unsigned count = check_trims(false);
    assert_in_range(count, 1, PARTITIONS);
    uint64_t before_ns = 0;
    for (size_t i = 0; i < trace.count;
         ++i) { /* sorted by time; a trim's is its end, but one runs at a time */
        if (trace.events[i].kind == TRACE_TRIM) {
            assert_true(trace.events[i].value >= before_ns);
            before_ns = trace.events[i].time_ns;
        }
    }
    trace_read_close(&trace);
    /* One interval holds the whole batch: all its completions together cost no trim at all. */
    simulated("timer-long", CONFIG_TRIM_TIMER);
    batch.config.trim_interval_ns = UINT64_C(3600000000000);
    run_it();
    assert_int_equal(check_trims(false), 0);
    trace_read_close(&trace);
    simulated("timer-much", CONFIG_TRIM_TIMER);
    batch.config.trim_min_freed = UINT64_C(1) << 40;
    run_it();
    assert_int_equal(check_trims(false), 0);
    trace_read_close(&trace);
}

/* The C library's stands behind the program's own. This one returns when the last partition has ended; it
 * gives up after a minute, which only happens if something waits for it. */
static unsigned wanted_ends, trims_begun, gave_up;

int malloc_trim(size_t pad)
{
    (void)pad;
    if (__atomic_load_n(&wanted_ends, __ATOMIC_ACQUIRE) == 0) {
        return 0;
    }
    __atomic_fetch_add(&trims_begun, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < 60000 && __atomic_load_n(&wanted_ends, __ATOMIC_ACQUIRE) > 0; ++i) {
        usleep(1000);
    }
    __atomic_fetch_add(&gave_up, __atomic_load_n(&wanted_ends, __ATOMIC_ACQUIRE) > 0, __ATOMIC_RELAXED);
    return 0;
}

static void one_less(void *context, const struct run_ended *ended)
{
    batch_ended(context, ended);
    __atomic_fetch_sub(&wanted_ends, 1, __ATOMIC_RELEASE);
}

/* A trim that takes as long as the whole rest of the batch: everything else goes on, and in the trace the
 * submissions lie within it. */
static void a_trim_delays_no_dispatch(void **state)
{
    (void)state;
    const struct run_sink sink = {.context = &batch, .partition_ended = one_less};
    const struct run_options options = {.sink = &sink};
    struct explain explain;
    struct error error;
    simulated("dispatch", CONFIG_TRIM_TIMER);
    wanted_ends = PARTITIONS;
    trims_begun = gave_up = 0;
    assert_int_equal(run_batch(&batch.config, &options, &batch.result, &batch.error), ERROR_NONE);
    wanted_ends = 0;
    if (trims_begun == 0) { /* a sanitizer's allocator has no trim */
        skip();
    }
    assert_int_equal(gave_up, 0);
    assert_int_equal(batch.result.status.done, PARTITIONS);
    assert_int_equal(explain_open(&explain, batch.config.trace, &error), ERROR_NONE);
    assert_int_equal(explain.trims.count, 1);
    unsigned within = 0;
    for (size_t i = 0; i < explain.read.count; ++i) {
        const struct trace_event *trim = &explain.read.events[i];
        for (size_t j = 0; trim->kind == TRACE_TRIM && j < explain.read.count; ++j) {
            const struct trace_event *event = &explain.read.events[j];
            within +=
                event->kind == TRACE_SUBMIT && event->time_ns > trim->value && event->time_ns < trim->time_ns;
        }
    }
    assert_true(within > 0);
    assert_int_equal(gaps_suspect_ns(&explain.gaps, GAPS_SUSPECT_BUSY_TRIM), 0);
    explain_close(&explain);
}

/* A namespace of one's own, in which a change of the mounts is urgent news on /proc/self/mounts: that stands
 * for the system's word. The same kind of wake-up as from the system's pressure; io_uring passes over a
 * socket's urgent data. */
static int open_news(void)
{
    if ((geteuid() != 0 && unshare(CLONE_NEWUSER) != 0) || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", shell_folder, "tmpfs", 0, NULL) != 0) {
        return -1;
    }
    return open("/proc/self/mounts", O_RDONLY | O_CLOEXEC);
}

/* At each end of a partition, so that some comes after something was freed. */
static void tell_news(void *context, const struct run_ended *ended)
{
    batch_ended(context, ended);
    assert_int_equal(mount("none", shell_path("mounted"), "tmpfs", 0, NULL), 0);
}

static void pressure_trims_when_the_system_says_so(void **state)
{
    (void)state;
    struct error error;
    int news = open_news();
    if (news < 0) {
        print_message("skipped: no mount namespace\n");
        skip();
    }
    assert_int_equal(mkdir(shell_path("mounted"), 0777), 0);
    const struct run_sink sink = {.context = &batch, .partition_ended = tell_news};
    simulated("pressure", CONFIG_TRIM_PRESSURE);
    batch.config.trim_interval_ns = 1;
    const struct run_options options = {.sink = &sink, .pressure_file = news};
    assert_int_equal(run_batch(&batch.config, &options, &batch.result, &batch.error), ERROR_NONE);
    assert_int_equal(trace_read_open(&trace, batch.config.trace, &error), ERROR_NONE);
    assert_in_range(check_trims(false), 1, PARTITIONS);
    assert_true(batch.result.buffers_released > 0);
    trace_read_close(&trace);
    /* Nobody says anything: nothing is trimmed, however much was freed. */
    simulated("calm", CONFIG_TRIM_PRESSURE);
    batch.options.pressure_file = news;
    run_it();
    assert_int_equal(check_trims(false), 0);
    trace_read_close(&trace);
    assert_true(fcntl(news, F_GETFD) >= 0); /* still open: it is the caller's */
    close(news);
    for (unsigned i = 0; i < PARTITIONS; ++i) {
        assert_int_equal(umount(shell_path("mounted")), 0);
    }
    assert_int_equal(umount2(shell_folder, MNT_DETACH), 0);
}

static void idle_buffers_are_handed_back(void **state)
{
    (void)state;
    simulated("pool", CONFIG_TRIM_INLINE);
    run_it();
    assert_true(batch.result.buffers_released > 0);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(batch.result.buffers_released_bytes % (batch.result.buffers_released * page), 0);
    trace_read_close(&trace);
}

/* Stands before the C library's; nobody else in the program aligns to 64 bytes. */
static unsigned refuse_buffers; /* so many times from now on */

void *aligned_alloc(size_t alignment, size_t size)
{
    void *block = NULL;
    if (alignment == 64 && refuse_buffers > 0) {
        --refuse_buffers;
        return NULL;
    }
    return posix_memalign(&block, alignment, size) == 0 ? block : NULL;
}

static void a_heap_without_buffers_fails_partitions(void **state)
{
    (void)state;
    simulated("heap-refused", CONFIG_TRIM_TIMER);
    batch.config.buffers_heap = true;
    batch.config.lanes_per_device = 1;
    refuse_buffers = 3;
    assert_int_equal(batch_run(&batch), ERROR_NONE);
    assert_int_equal(refuse_buffers, 0);
    assert_int_equal(batch.result.status.failed, 3);
    assert_int_equal(batch.result.status.done, PARTITIONS - 3);
    assert_non_null(strstr(batch.result.failures[0].reason, "no memory for its buffers"));
}

static void buffers_can_come_from_the_heap(void **state)
{
    (void)state;
    simulated("heap", CONFIG_TRIM_TIMER);
    batch.config.buffers_heap = true;
    run_it();
    assert_int_equal(batch.result.buffers_released, 0);
    trace_read_close(&trace);
    batch_init(&batch); /* real proofs, and one that is refused */
    struct config_job *job = batch_job(&batch, batch_circuit(&batch, "circuit-small"), "job", "heap-real");
    batch_input(&batch, job, "circuit-small/witness-000.wtns", "w0");
    batch_input(&batch, job, "circuit-closed/witness-000.wtns", "bad");
    batch_input(&batch, job, "circuit-small/witness-001.wtns", "w1");
    batch.config.buffers_heap = true;
    assert_int_equal(batch_run(&batch), ERROR_NONE);
    assert_int_equal(batch.result.status.done, 2);
    assert_int_equal(batch.result.status.failed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_never_trims),
        cmocka_unit_test(inline_trims_after_each_partition),
        cmocka_unit_test(timer_trims_once_an_interval),
        cmocka_unit_test(a_trim_delays_no_dispatch),
        cmocka_unit_test(idle_buffers_are_handed_back),
        cmocka_unit_test(buffers_can_come_from_the_heap),
        cmocka_unit_test(a_heap_without_buffers_fails_partitions),
        cmocka_unit_test(pressure_trims_when_the_system_says_so), /* the last one: it leaves the namespace */
    };
    return cmocka_run_group_tests(tests, shell_setup, shell_teardown);
}
