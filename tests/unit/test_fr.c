#include "curve_load.h"
#include "curve_vectors.h"

#define MONT_TYPE     fr
#define MONT(name)    fr_##name
#define FIELD_VECTORS vector_fr
#include "field_tests.h"
