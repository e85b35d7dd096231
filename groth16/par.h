/* par.h - how the mathematics asks for threads without owning any.
 *
 * A caller that has worker threads passes a `struct par`; groth16 calls par_run with a number of independent tasks
 * and continues when all of them are done. groth16 creates no thread, takes no lock and never nests par_run inside
 * a task. The struct belongs to the caller and must outlive the call; one struct serves one call at a time.
 *
 * `worker` tells a task which slot of per-worker scratch it may use: no two tasks that run at the same moment have
 * the same worker number, and it is below par->workers. Tasks start in index order, so put the longest first. */
#ifndef GROTH16_PAR_H
#define GROTH16_PAR_H

#include <stddef.h>

typedef void par_task(void *argument, size_t index, unsigned worker);

struct par {
    void (*run)(struct par *par, size_t tasks, par_task *task, void *argument);
    unsigned workers; /* most tasks that may run at once, at least 1 */
};

static inline void par_run(struct par *par, size_t tasks, par_task *task, void *argument)
{
    par->run(par, tasks, task, argument);
}

/* Runs every task on the calling thread, in order. */
extern struct par par_serial;

#endif
