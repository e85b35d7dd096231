#include "conf/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "uzk: bug: %s:%d: CHECK(%s) does not hold; please report this line\n", file, line,
            condition);
    abort();
}
