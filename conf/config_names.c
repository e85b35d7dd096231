#include "conf/config_names.h"

#include <stddef.h>

const char *const config_priority_names[] = {"critical", "high", "normal", "low", NULL};
const char *const config_check_points_names[] = {"off", "curve", "full", NULL};
const char *const config_tables_names[] = {"auto", "off", "h", "all", NULL};
const char *const config_trim_names[] = {"off", "inline", "timer", "pressure", NULL};
const char *const config_allocator_names[] = {"glibc", "tcmalloc", "jemalloc", "mimalloc", NULL};
const char *const config_buffers_names[] = {"pool", "heap", NULL};
const char *const config_boolean_names[] = {"false", "true", "no", "yes", "off", "on", NULL};
const char *const config_sim_stage_names[CONFIG_SIM_STAGES + 1] = {"h2d", "evaluate", "ntt",
                                                                   "msm", "d2h",      NULL};
