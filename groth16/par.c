#include "groth16/par.h"

static void par_serial_run(struct par *par, size_t tasks, par_task *task, void *argument)
{
    (void)par;
    for (size_t index = 0; index < tasks; index++) {
        task(argument, index, 0);
    }
}

struct par par_serial = {.run = par_serial_run, .workers = 1};
