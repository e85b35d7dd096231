#include "coordinator/trim.h"

#include "conf/check.h"
#include "coordinator/loop.h"

#include <string.h>

enum error_code trim_open(struct trim *trim, struct error *error)
{
    memset(trim, 0, sizeof *trim);
    trim->allocator = allocator_in_place(trim->library, sizeof trim->library);
    return memory_probe_open(&trim->probe, error);
}

void trim_close(struct trim *trim)
{
    memory_probe_close(&trim->probe);
}

void trim_run(void *argument)
{
    struct trim *trim = argument;
    trim->rss_before_bytes = memory_probe_rss_bytes(&trim->probe);
    trim->begin_ns = loop_now_ns();
    if (trim->allocator != NULL) {
        trim->allocator->trim();
    }
    trim->end_ns = loop_now_ns();
    trim->rss_after_bytes = memory_probe_rss_bytes(&trim->probe);
}

uint64_t trim_bytes(const struct trim *trim)
{
    return trim->rss_before_bytes > trim->rss_after_bytes ? trim->rss_before_bytes - trim->rss_after_bytes
                                                          : 0;
}

const char *trim_allocator_name(const struct trim *trim)
{
    if (trim->allocator != NULL) {
        return trim->allocator->name;
    }
    const char *slash = strrchr(trim->library, '/');
    return slash != NULL ? slash + 1 : trim->library;
}

struct trim_policy_settings trim_settings(const struct config *config)
{
    static const enum trim_policy_kind kinds[] = {[CONFIG_TRIM_OFF] = TRIM_POLICY_OFF,
                                                  [CONFIG_TRIM_INLINE] = TRIM_POLICY_INLINE,
                                                  [CONFIG_TRIM_TIMER] = TRIM_POLICY_TIMER,
                                                  [CONFIG_TRIM_PRESSURE] = TRIM_POLICY_PRESSURE};
    CHECK(config->trim_policy < sizeof kinds / sizeof kinds[0]);
    return (struct trim_policy_settings){.kind = kinds[config->trim_policy],
                                         .interval_ns =
                                             config->trim_interval_ns > 0 ? config->trim_interval_ns : 1,
                                         .min_freed_bytes = config->trim_min_freed};
}
