/* core_harness.h - a core with a script around it, for unit tests: feed one event, look at its effects.
 *
 * harness_open makes a core for the settings; harness_step feeds one event at harness.now_ns and keeps the
 * effects of that step; harness_find looks one up. core_check runs after every step. */
#ifndef TESTS_CORE_HARNESS_H
#define TESTS_CORE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/core.h"

#include <stdlib.h>
#include <string.h>

struct harness {
    struct core *core;
    uint64_t now_ns;
    struct core_effect effects[512];
    unsigned effects_count;
};

static inline void harness_open(struct harness *harness, const struct core_settings *settings)
{
    memset(harness, 0, sizeof *harness);
    size_t size = (core_size(settings) + 63) & ~(size_t)63;
    void *memory = aligned_alloc(64, size);
    assert_non_null(memory);
    memset(memory, 0, size);
    harness->core = core_init(memory, settings);
    harness->now_ns = 1000;
}

static inline void harness_close(struct harness *harness)
{
    free(harness->core);
}

static inline void harness_step(struct harness *harness, struct core_event event)
{
    core_step(harness->core, harness->now_ns, &event);
    harness->effects_count = 0;
    while (core_effect_take(harness->core, &harness->effects[harness->effects_count])) {
        harness->effects_count++;
        assert_true(harness->effects_count < 512);
    }
    core_check(harness->core);
}

static inline void harness_event(struct harness *harness, enum core_event_kind kind)
{
    harness_step(harness, (struct core_event){.kind = kind});
}

static inline void harness_admit(struct harness *harness, struct core_job_request job)
{
    harness_step(harness, (struct core_event){.kind = CORE_EVENT_ADMIT, .job = job});
}

/* Answers an effect of an earlier step. */
static inline void harness_answer(struct harness *harness, enum core_event_kind kind,
                                  struct core_effect effect, enum error_code code)
{
    uint32_t index = kind == CORE_EVENT_PROVED ? effect.lane : effect.index;
    harness_step(harness, (struct core_event){
                              .kind = kind, .index = index, .generation = effect.generation, .code = code});
}

static inline unsigned harness_count(const struct harness *harness, enum core_effect_kind kind)
{
    unsigned count = 0;
    for (unsigned i = 0; i < harness->effects_count; i++) {
        count += harness->effects[i].kind == kind;
    }
    return count;
}

/* The step's nth effect of the kind (0: the first); the test fails if there is none. */
static inline struct core_effect harness_find(const struct harness *harness, enum core_effect_kind kind,
                                              unsigned nth)
{
    for (unsigned i = 0; i < harness->effects_count; i++) {
        if (harness->effects[i].kind == kind && nth-- == 0) {
            return harness->effects[i];
        }
    }
    fail_msg("no effect of kind %d in this step", (int)kind);
    return (struct core_effect){0};
}

static inline struct core_effect harness_first(const struct harness *harness, enum core_effect_kind kind)
{
    return harness_find(harness, kind, 0);
}

/* Carries a partition that is being read to its submission; the step's effects are those of the last answer.
 */
static inline void harness_prepare(struct harness *harness, struct core_effect read)
{
    harness_answer(harness, CORE_EVENT_READ, read, ERROR_NONE);
    harness_answer(harness, CORE_EVENT_SYNTHESIZED, harness_first(harness, CORE_EFFECT_SYNTHESIZE),
                   ERROR_NONE);
}

#endif
