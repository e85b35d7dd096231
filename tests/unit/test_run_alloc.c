/* On the coordinator's thread nothing is allocated and no lock is taken from the start of the loop to its
 * end: whatever a batch meets. The program's own malloc and mutex functions stand before the library's and
 * count by thread. */
#include "tests/unit/run_batch_fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

static __thread bool watching;
static unsigned allocations, locks;
static unsigned allocations_ever; /* by all threads: shows that the counting works */

#ifndef SANITIZED
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static void count_allocation(void)
{
    __atomic_fetch_add(&allocations_ever, 1, __ATOMIC_RELAXED);
    allocations += watching;
}

void *malloc(size_t size)
{
    count_allocation();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    count_allocation();
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    count_allocation();
    return __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    count_allocation();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    count_allocation();
    *block = __libc_memalign(alignment, size);
    return *block == NULL ? ENOMEM : 0;
}

void free(void *block)
{
    allocations += watching && block != NULL;
    __libc_free(block);
}

typedef int lock_function(pthread_mutex_t *mutex);
static lock_function *real_lock;

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    locks += watching;
    if (real_lock == NULL) {
        void *found = dlsym(RTLD_NEXT, "pthread_mutex_lock");
        memcpy(&real_lock, &found, sizeof real_lock);
    }
    return real_lock(mutex);
}
#endif

static void watch(void *context)
{
    (void)context;
    allocations = locks = 0;
    watching = true;
}

static void unwatch(void *context)
{
    (void)context;
    watching = false;
}

static struct batch batch;

/* Good and bad witnesses, a witness command that works and one that doesn't, a bundle, two circuits, a broken
 * one. */
static void a_batch_of_everything(void)
{
    static char *copy[] = {"cp", "{input}", "{witness}", NULL};
    static char *wrong[] = {"sh", "-c", "echo words; exit 1", "{input}", "{witness}", NULL};
    batch_init(&batch);
    size_t small = batch_circuit(&batch, "circuit-small"), closed = batch_circuit(&batch, "circuit-closed");
    size_t broken = batch_circuit(&batch, shell_path("bad.zkey"));
    struct config_job *job = batch_job(&batch, small, "plain", "all");
    batch_input(&batch, job, "circuit-small/witness-000.wtns", "p0");
    batch_input(&batch, job, "circuit-small/witness-001.wtns", "p1");
    batch_input(&batch, job, "circuit-closed/witness-000.wtns", "bad");
    batch_input(&batch, job, shell_path("missing"), "missing");
    job = batch_job(&batch, closed, "closed", "all");
    batch_input(&batch, job, "circuit-closed/witness-000.wtns", "c0");
    job->bundle = true;
    job = batch_job(&batch, small, "made", "made");
    batch_input(&batch, job, "circuit-small/witness-002.wtns", "m0");
    batch_input(&batch, job, "circuit-small/witness-003.wtns", "m1");
    job->witness_command = copy;
    job = batch_job(&batch, small, "wrong", "wrong");
    batch_input(&batch, job, "circuit-small/witness-002.wtns", "w0");
    job->witness_command = wrong;
    job = batch_job(&batch, broken, "broken", "broken");
    batch_input(&batch, job, "circuit-small/witness-002.wtns", "b0");
    job = batch_job(&batch, small, "nowhere", "bad.zkey");
    batch_input(&batch, job, "circuit-small/witness-002.wtns", "n0");
    batch.config.trace = batch_text(&batch, "%s", shell_path("run.trace"));
    batch.config.timeline_ns = 1000000;
    batch.config.trim_interval_ns = 1000000; /* and nothing needs to be freed for a trim but one byte */
    batch.on_start = watch;
    batch.on_end = unwatch;
}

static void the_coordinator_allocates_nothing(void **state)
{
    (void)state;
#ifdef SANITIZED
    skip(); /* the sanitizers have put their own functions there */
#endif
    shell_put("bad.zkey", "", 0);
    for (unsigned round = 0; round < 2; ++round) { /* the second one resumes */
        a_batch_of_everything();
        unsigned before = allocations_ever;
        if (batch_run(&batch) != ERROR_NONE) {
            fail_msg("%s", batch.error.text);
        }
        assert_int_equal(batch.result.status.done, 5);
        assert_int_equal(batch.result.status.failed, 5);
        assert_int_equal(batch.result.status.resumed, round == 0 ? 0 : 5);
        assert_true(allocations_ever > before); /* before and after the loop there are some */
        assert_int_equal(allocations, 0);
        assert_int_equal(locks, 0);
        struct stat status;
        assert_int_equal(stat(shell_path("run.trace"), &status), 0);
        assert_true(status.st_size > 1000);
    }
}

static void the_counters_count(void **state)
{
    (void)state;
#ifdef SANITIZED
    skip();
#endif
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    watch(NULL);
    void *volatile block = malloc(100);
    free(block);
    pthread_mutex_lock(&mutex);
    unwatch(NULL);
    pthread_mutex_unlock(&mutex);
    assert_int_equal(allocations, 2);
    assert_int_equal(locks, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counters_count),
        cmocka_unit_test(the_coordinator_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, shell_setup, shell_teardown);
}
