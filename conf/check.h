/* check.h - assertions that stay on in release.
 *
 * CHECK states what must be true if uzk itself is right. It never guards against the outside world: bad input
 * and refused system calls are errors (error.h). A failed CHECK prints the place and the condition and
 * aborts, since continuing with a broken state could deliver a wrong proof. Any thread may use it; it takes
 * no lock. Cost: one predicted branch. */
#ifndef CONF_CHECK_H
#define CONF_CHECK_H

#ifdef __cplusplus /* the kernels, and what stands in for a GPU in the tests */
extern "C" [[noreturn]] void check_failed(const char *file, int line, const char *condition);
#else
_Noreturn void check_failed(const char *file, int line, const char *condition);
#endif

#define CHECK(condition)                                  \
    do {                                                  \
        if (__builtin_expect(!(condition), 0)) {          \
            check_failed(__FILE__, __LINE__, #condition); \
        }                                                 \
    } while (0)

#endif
