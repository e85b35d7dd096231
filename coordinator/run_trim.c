#include "conf/check.h"
#include "coordinator/pressure.h"
#include "coordinator/run_internal.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t advise_max = (size_t)1 << 30; /* of a slab beyond that, the rest stays */

enum error_code run_trim_open(struct run *run, struct error *error)
{
    enum error_code code = trim_open(&run->trim, error);
    run->trim_open = code == ERROR_NONE;
    if (code != ERROR_NONE || run->config->trim_policy != CONFIG_TRIM_PRESSURE) {
        return code;
    }
    if (run->options->pressure_file > 0) {
        run->pressure = run->options->pressure_file;
        return ERROR_NONE;
    }
    return pressure_open(&run->pressure, PRESSURE_PATH, error);
}

void run_trim_close(struct run *run)
{
    if (run->trim_open) {
        trim_close(&run->trim);
    }
    if (run->pressure >= 0 && run->options->pressure_file <= 0) {
        close(run->pressure);
    }
    run->pressure = -1;
}

void run_trim_freed(struct run *run, uint64_t bytes)
{
    if (run->config->trim_policy != CONFIG_TRIM_OFF) {
        run->freed_bytes += bytes;
    }
}

/* ---- trims ---- */

void run_trim_carry(struct run *run, const struct core_effect *effect)
{
    run->trim.generation = effect->generation;
    if (run->config->trim_policy == CONFIG_TRIM_INLINE) { /* the fault itself: everything waits for it */
        enum trace_span before = run_trace_doing(run, TRACE_SPAN_TRIM);
        trim_run(&run->trim);
        run_trace_doing(run, before);
        run_trim_end(run, TRACE_THREAD_COORDINATOR);
        return;
    }
    run_post(run, WORKER_TRIM, trim_run, &run->trim, RUN_TRIM, 0);
}

/* Slabs are advised away a few at a time, by the kernel's threads: it takes the lock of this process's memory
 * map, which is everybody's. */
static void sweep(struct run *run)
{
    struct pool *pool = &run->slots.pool;
    bool any_age = run->config->trim_policy == CONFIG_TRIM_PRESSURE;
    while (run->sweeping && run->releasing < SLOTS_SPARE) {
        uint32_t slab = pool_release_take(pool, any_age);
        if (slab == POOL_NONE) {
            run->sweeping = false;
            break;
        }
        size_t bytes;
        unsigned char *pages = pool_release_pages(pool, slab, &bytes);
        const struct loop_token token = {LOOP_ADVISE, slab, 0};
        loop_madvise(&run->loop, token, pages, bytes < advise_max ? bytes : advise_max, MADV_DONTNEED);
        ++run->releasing;
    }
}

/* Not while the trim runs, whose resident sizes are to be its own. */
void run_trim_end(struct run *run, uint32_t thread)
{
    const struct trim *trim = &run->trim;
    run_trace_trimmed(run, thread);
    const struct core_event event = {.kind = CORE_EVENT_TRIMMED,
                                     .generation = trim->generation,
                                     .bytes = trim_bytes(trim),
                                     .ns = trim->end_ns - trim->begin_ns};
    run_push(run, &event);
    if (!run->slots.heap && run->looping) {
        pool_age(&run->slots.pool);
        run->sweeping = true;
        sweep(run);
    }
}

static void complete_advice(struct run *run, const struct loop_completion *completion)
{
    uint32_t slab = completion->token.slot;
    size_t bytes;
    CHECK(run->releasing > 0);
    --run->releasing;
    (void)pool_release_pages(&run->slots.pool, slab, &bytes);
    pool_release_done(&run->slots.pool, slab);
    if (completion->result == 0) {
        ++run->result->buffers_released;
        run->result->buffers_released_bytes += bytes < advise_max ? bytes : advise_max;
    }
    sweep(run);
}

/* ---- pressure ---- */

static struct loop_token pressure_token(void)
{
    return (struct loop_token){LOOP_PRESSURE, 0, 0};
}

void run_trim_watch(struct run *run)
{
    if (run->pressure >= 0) {
        loop_poll_urgent(&run->loop, pressure_token(), run->pressure);
    }
}

void run_trim_unwatch(struct run *run)
{
    run->sweeping = false;
    if (run->pressure >= 0) {
        loop_cancel(&run->loop, pressure_token());
    }
}

static void complete_pressure(struct run *run, const struct loop_completion *completion)
{
    if (run->drained) {
        return;
    }
    if (completion->result > 0) {
        const struct core_event event = {.kind = CORE_EVENT_PRESSURE};
        run_push(run, &event);
    } else {
        run_report_note(run, "polling the system's memory pressure failed (error %d); no more trims",
                        -completion->result);
        return;
    }
    if (!completion->more) { /* the kernel ends a multishot when it likes */
        run_trim_watch(run);
    }
}

void run_trim_complete(struct run *run, const struct loop_completion *completion)
{
    if (completion->token.kind == LOOP_ADVISE) {
        complete_advice(run, completion);
        return;
    }
    CHECK(completion->token.kind == LOOP_PRESSURE);
    complete_pressure(run, completion);
}
