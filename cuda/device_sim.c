#include "cuda/device_sim.h"

#include "conf/check.h"
#include "cuda/device_random.h"
#include "cuda/device_timer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

uint64_t device_sim_duration_ns(const struct config_sim *config, uint64_t number, enum device_stage stage)
{
    CHECK(stage < DEVICE_STAGES);
    unsigned spread = config->spread_percent < 100 ? config->spread_percent : 100;
    uint64_t middle = config->stage_ns[stage];
    uint64_t reach = (uint64_t)((unsigned __int128)middle * spread / 100);
    uint64_t choice = device_random(config->seed, stage, number);
    unsigned __int128 choices = (unsigned __int128)reach * 2 + 1;
    uint64_t shift = (uint64_t)(choices * choice >> 64); /* even below choices, but for one part in 2^64 */
    return device_time_add(middle - reach, shift);
}

/* One stage on one engine. */
static uint64_t device_sim_serve(uint64_t *engine_free_ns, uint64_t ready_ns, uint64_t duration_ns)
{
    uint64_t begin_ns = ready_ns > *engine_free_ns ? ready_ns : *engine_free_ns;
    *engine_free_ns = device_time_add(begin_ns, duration_ns);
    return *engine_free_ns;
}

void device_sim_schedule(struct device_sim_engines *engines, uint64_t now_ns,
                         const uint64_t durations_ns[DEVICE_STAGES], uint64_t *begin_ns,
                         uint64_t stage_end_ns[DEVICE_STAGES])
{
    uint64_t *const served_by[DEVICE_STAGES] = {
        [DEVICE_STAGE_H2D] = &engines->h2d_free_ns,     [DEVICE_STAGE_EVALUATE] = &engines->compute_free_ns,
        [DEVICE_STAGE_NTT] = &engines->compute_free_ns, [DEVICE_STAGE_MSM] = &engines->compute_free_ns,
        [DEVICE_STAGE_D2H] = &engines->d2h_free_ns,
    };
    /* Oldest first needs no queue: works leave every engine in the order in which they came, so the three
     * computing stages of one work follow each other without a break. */
    *begin_ns = now_ns > engines->h2d_free_ns ? now_ns : engines->h2d_free_ns;
    uint64_t ready_ns = now_ns;
    for (unsigned stage = 0; stage < DEVICE_STAGES; stage++) {
        ready_ns = device_sim_serve(served_by[stage], ready_ns, durations_ns[stage]);
        stage_end_ns[stage] = ready_ns;
    }
}

void device_sim_submit_at(struct device_sim *sim, uint64_t now_ns, unsigned number,
                          const struct device_work *work)
{
    CHECK(number < sim->device.lanes);
    struct device_sim_lane *lane = &sim->lanes[number];
    CHECK(!lane->busy);
    lane->busy = true;
    lane->number = ++sim->submissions;
    lane->completion = (struct device_completion){.token = work->token, .lane = number};
    uint64_t durations_ns[DEVICE_STAGES];
    for (unsigned stage = 0; stage < DEVICE_STAGES; stage++) {
        durations_ns[stage] = device_sim_duration_ns(&sim->config, lane->number, stage);
    }
    device_sim_schedule(&sim->engines, now_ns, durations_ns, &lane->completion.begin_ns,
                        lane->completion.stage_end_ns);
}

static uint64_t device_sim_end_ns(const struct device_sim_lane *lane)
{
    return lane->completion.stage_end_ns[DEVICE_STAGE_D2H];
}

/* The busy lane that ends first, NULL if none is busy. Later submissions never end earlier. */
static struct device_sim_lane *device_sim_first(struct device_sim *sim)
{
    struct device_sim_lane *first = NULL;
    for (unsigned i = 0; i < sim->device.lanes; i++) {
        struct device_sim_lane *lane = &sim->lanes[i];
        if (lane->busy && (first == NULL || lane->number < first->number)) {
            first = lane;
        }
    }
    return first;
}

unsigned device_sim_poll_at(struct device_sim *sim, uint64_t now_ns, struct device_completion *completions,
                            unsigned max)
{
    unsigned count = 0;
    while (count < max) {
        struct device_sim_lane *lane = device_sim_first(sim);
        if (lane == NULL || device_sim_end_ns(lane) > now_ns) {
            break;
        }
        completions[count++] = lane->completion;
        lane->busy = false;
    }
    return count;
}

uint64_t device_sim_next_ns(const struct device_sim *sim)
{
    const struct device_sim_lane *lane = device_sim_first((struct device_sim *)(uintptr_t)sim);
    return lane != NULL ? device_sim_end_ns(lane) : UINT64_MAX;
}

static enum error_code device_sim_attach(struct device *device, const struct circuit *circuit,
                                         struct error *error)
{
    (void)device;
    (void)circuit;
    (void)error;
    return ERROR_NONE;
}

static void device_sim_detach(struct device *device, const struct circuit *circuit)
{
    (void)device;
    (void)circuit;
}

static void device_sim_submit(struct device *device, unsigned lane, const struct device_work *work)
{
    struct device_sim *sim = (struct device_sim *)(void *)device;
    device_sim_submit_at(sim, device_now_ns(), lane, work);
    device_timer_set(device->doorbell, device_sim_next_ns(sim));
}

static unsigned device_sim_poll(struct device *device, struct device_completion *completions, unsigned max)
{
    struct device_sim *sim = (struct device_sim *)(void *)device;
    unsigned count = device_sim_poll_at(sim, device_now_ns(), completions, max);
    device_timer_set(device->doorbell, device_sim_next_ns(sim)); /* takes back what it rang so far */
    return count;
}

static void device_sim_close(struct device *device)
{
    close(device->doorbell);
    device->doorbell = -1;
}

enum error_code device_sim_open(struct device_sim *sim, const struct config_sim *config, unsigned lanes,
                                struct error *error)
{
    static const struct device_operations operations = {
        .attach = device_sim_attach,
        .detach = device_sim_detach,
        .submit = device_sim_submit,
        .poll = device_sim_poll,
        .close = device_sim_close,
    };
    _Static_assert(sizeof config->stage_ns / sizeof *config->stage_ns == DEVICE_STAGES, "a duration each");
    CHECK(lanes >= 1 && lanes <= DEVICE_LANES_MAX);
    memset(sim, 0, sizeof *sim);
    sim->device =
        (struct device){.operations = &operations, .kind = DEVICE_SIM, .lanes = lanes, .name = "sim"};
    sim->config = *config;
    sim->device.doorbell = device_timer_open();
    if (sim->device.doorbell < 0) {
        return error_set_errno(error, errno, "cannot make a timer for the simulated device");
    }
    return ERROR_NONE;
}
