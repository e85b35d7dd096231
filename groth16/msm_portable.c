#define MSM_LEVEL(name) name##_portable
#include "groth16/msm_groups.h"
