#include "coordinator/trim_policy.h"

#include "conf/check.h"

#include <string.h>

#define NEVER UINT64_MAX

static uint64_t plus(uint64_t a_ns, uint64_t b_ns)
{
    uint64_t sum;
    return __builtin_add_overflow(a_ns, b_ns, &sum) ? NEVER : sum;
}

void trim_policy_init(struct trim_policy *policy, const struct trim_policy_settings *settings)
{
    CHECK(settings->kind < TRIM_POLICY_KINDS);
    CHECK(settings->interval_ns > 0 || settings->kind == TRIM_POLICY_OFF ||
          settings->kind == TRIM_POLICY_INLINE);
    memset(policy, 0, sizeof *policy);
    policy->interval_ns = settings->interval_ns;
    policy->min_freed_bytes = settings->min_freed_bytes;
    policy->kind = settings->kind;
    policy->due_ns = NEVER;
}

/* The end of the interval that now_ns lies in. */
static uint64_t tick_after(const struct trim_policy *policy, uint64_t now_ns)
{
    return plus(now_ns, policy->interval_ns - (now_ns - policy->start_ns) % policy->interval_ns);
}

/* Whether what is known now asks for a trim. */
static void look(struct trim_policy *policy, uint64_t now_ns)
{
    if (policy->kind == TRIM_POLICY_TIMER && policy->due_ns == NEVER && policy->freed_bytes > 0 &&
        policy->freed_bytes >= policy->min_freed_bytes) {
        policy->due_ns = tick_after(policy, now_ns); /* later than the interval of the last one, too */
    } else if (policy->kind == TRIM_POLICY_INLINE && policy->wanted > 0) {
        policy->due_ns = now_ns;
    }
}

void trim_policy_start(struct trim_policy *policy, uint64_t now_ns)
{
    policy->start_ns = now_ns;
    policy->earliest_ns = now_ns;
    policy->due_ns = NEVER;
    look(policy, now_ns);
}

void trim_policy_freed(struct trim_policy *policy, uint64_t now_ns, uint64_t bytes)
{
    policy->freed_bytes = plus(policy->freed_bytes, bytes);
    look(policy, now_ns);
}

void trim_policy_ended(struct trim_policy *policy, uint64_t now_ns)
{
    if (policy->kind == TRIM_POLICY_INLINE) {
        ++policy->wanted;
        look(policy, now_ns);
    }
}

void trim_policy_pressure(struct trim_policy *policy, uint64_t now_ns)
{
    if (policy->kind == TRIM_POLICY_PRESSURE && policy->freed_bytes > 0 && policy->due_ns == NEVER) {
        policy->due_ns = now_ns > policy->earliest_ns ? now_ns : policy->earliest_ns;
    }
}

uint64_t trim_policy_due_ns(const struct trim_policy *policy)
{
    return policy->running ? NEVER : policy->due_ns;
}

bool trim_policy_begin(struct trim_policy *policy, uint64_t now_ns)
{
    if (now_ns < trim_policy_due_ns(policy)) {
        return false;
    }
    CHECK(!policy->running && policy->kind != TRIM_POLICY_OFF);
    policy->running = 1;
    policy->due_ns = NEVER;
    policy->freed_bytes = 0;
    policy->wanted -= policy->wanted > 0;
    if (policy->kind ==
        TRIM_POLICY_TIMER) { /* by the ticks, so that one late trim does not skip the next tick */
        policy->earliest_ns = tick_after(policy, now_ns);
    } else if (policy->kind == TRIM_POLICY_PRESSURE) {
        policy->earliest_ns = plus(now_ns, policy->interval_ns);
    }
    return true;
}

void trim_policy_done(struct trim_policy *policy, uint64_t now_ns)
{
    CHECK(policy->running);
    policy->running = 0;
    look(policy, now_ns);
}

void trim_policy_forget(struct trim_policy *policy)
{
    policy->due_ns = NEVER;
    policy->wanted = 0;
}
