/* level_run LEVEL PROGRAM - runs a test program on a lower level than this processor's best (groth16/cpu.h).
 * Exits 77, ctest's word for skipped here, where LEVEL is the best, since the program's plain run takes that,
 * or above it. */
#include "groth16/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: level_run LEVEL PROGRAM\n", stderr);
        return 2;
    }
    enum cpu_level best = cpu_level();
    for (int level = 0; level < (int)best; level++) {
        if (strcmp(argv[1], cpu_level_name((enum cpu_level)level)) == 0) {
            setenv("UZK_CPU", argv[1], 1);
            execv(argv[2], argv + 2);
            perror(argv[2]);
            return 2;
        }
    }
    printf("the plain run takes the best level of this processor, %s\n", cpu_level_name(best));
    return 77;
}
