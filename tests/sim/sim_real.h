/* sim_real.h - the C library's own functions, where the linker puts the simulator's before them (--wrap). */
#ifndef TESTS_SIM_REAL_H
#define TESTS_SIM_REAL_H

#include <stddef.h>
#include <sys/types.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *block);
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void *address, size_t bytes);

#endif
