/* device_sim.h - a device that takes its time and computes nothing.
 *
 * For trying out schedules and pipelines of any size on any machine: stages last as long as the configuration
 * says (struct config_sim), scattered evenly by up to +-spread_percent, and `sums` stays as it was. Its lanes
 * share one engine a copy direction and one for computing, as a GPU's streams do: while one work computes,
 * the next one's witness is copied in and the last one's result out, but two works never compute at the same
 * time. Each engine serves the older submission first, so a later submission never delays an earlier one and
 * every stage's end is known when the work is submitted. A stage's span includes its wait for the engine, as
 * a GPU's events record it.
 *
 * No thread: the doorbell is a timer set to the next completion. Equal seeds and equal times of submission
 * give equal schedules; the functions ending in _at take the time as an argument, so that a test can run
 * years in a moment. A struct config_sim with all durations 0 is a device that is always done at once. */
#ifndef CUDA_DEVICE_SIM_H
#define CUDA_DEVICE_SIM_H

#include "conf/config.h"
#include "cuda/device.h"

/* When each engine has finished all it was given. */
struct device_sim_engines {
    uint64_t h2d_free_ns, compute_free_ns, d2h_free_ns;
};

struct device_sim_lane {
    bool busy;
    uint64_t number; /* of the submission */
    struct device_completion completion;
};

struct device_sim {
    struct device device; /* first */
    struct config_sim config;
    struct device_sim_engines engines;
    uint64_t submissions;
    struct device_sim_lane lanes[DEVICE_LANES_MAX];
};

/* lanes: 1 to DEVICE_LANES_MAX. device_close(&sim->device) ends it; works still in flight are forgotten.
 * ERROR_SYSTEM if there is no file descriptor left. */
enum error_code device_sim_open(struct device_sim *sim, const struct config_sim *config, unsigned lanes,
                                struct error *error) ERROR_MUST_USE;

/* Duration of a stage of the number-th submission (from 1). Pure. */
uint64_t device_sim_duration_ns(const struct config_sim *config, uint64_t number, enum device_stage stage);

/* Places one work, submitted now, behind all earlier ones: fills begin_ns and stage_end_ns. Pure but for
 * *engines. Times stop at UINT64_MAX. */
void device_sim_schedule(struct device_sim_engines *engines, uint64_t now_ns,
                         const uint64_t durations_ns[DEVICE_STAGES], uint64_t *begin_ns,
                         uint64_t stage_end_ns[DEVICE_STAGES]);

/* device_submit and device_poll as of now_ns, which must not decrease; they leave the doorbell alone.
 * Completions come in the order in which they end. */
void device_sim_submit_at(struct device_sim *sim, uint64_t now_ns, unsigned lane,
                          const struct device_work *work);
unsigned device_sim_poll_at(struct device_sim *sim, uint64_t now_ns, struct device_completion *completions,
                            unsigned max);

/* When the next completion can be polled; UINT64_MAX if nothing is in flight. */
uint64_t device_sim_next_ns(const struct device_sim *sim);

#endif
