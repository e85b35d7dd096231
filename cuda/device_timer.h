/* device_timer.h - a timerfd as a doorbell that rings at a given time; and times that stop instead of
 * wrapping.
 *
 * CLOCK_MONOTONIC nanoseconds; UINT64_MAX is never. The file descriptor belongs to whoever opened it. */
#ifndef CUDA_DEVICE_TIMER_H
#define CUDA_DEVICE_TIMER_H

#include "conf/check.h"

#include <stdint.h>
#include <sys/timerfd.h>

static inline uint64_t device_time_add(uint64_t a_ns, uint64_t b_ns)
{
    uint64_t sum_ns;
    return __builtin_add_overflow(a_ns, b_ns, &sum_ns) ? UINT64_MAX : sum_ns;
}

/* -1 and errno on failure, as timerfd_create. */
static inline int device_timer_open(void)
{
    return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

/* Makes fd readable from time_ns on, at once if that has passed; unreadable until then. One system call. */
static inline void device_timer_set(int fd, uint64_t time_ns)
{
    struct itimerspec when = {0}; /* all zero: never */
    if (time_ns != UINT64_MAX) {
        uint64_t ns = time_ns > 0 ? time_ns : 1;
        when.it_value.tv_sec = (time_t)(ns / UINT64_C(1000000000));
        when.it_value.tv_nsec = (long)(ns % UINT64_C(1000000000));
    }
    CHECK(timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, 0) == 0);
}

#endif
