#define MONT_ADX
#define MSM_LEVEL(name) name##_adx
#include "groth16/msm_groups.h"
