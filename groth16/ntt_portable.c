#define NTT(name) ntt_portable_##name
#include "groth16/ntt_kernel.h"
