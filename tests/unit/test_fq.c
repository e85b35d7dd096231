#include "curve_load.h"
#include "curve_vectors.h"

#define MONT_TYPE     fq
#define MONT(name)    fq_##name
#define FIELD_VECTORS vector_fq
#include "field_tests.h"
