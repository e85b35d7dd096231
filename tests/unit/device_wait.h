/* device_wait.h - for tests of devices: waiting at a doorbell, as the coordinator does. */
#ifndef TESTS_UNIT_DEVICE_WAIT_H
#define TESTS_UNIT_DEVICE_WAIT_H

#include "cuda/device.h"

#include <poll.h>
#include <stdbool.h>

/* Whether the doorbell rings within so many milliseconds; -1: for as long as it takes. */
static inline bool device_wait_ring(const struct device *device, int milliseconds)
{
    struct pollfd bell = {.fd = device->doorbell, .events = POLLIN};
    return poll(&bell, 1, milliseconds) == 1;
}

/* Sleeps at the doorbell until exactly `count` completions have come. False if more came than were asked for.
 */
static inline bool device_wait_completions(struct device *device, struct device_completion *completions,
                                           unsigned count)
{
    unsigned have = 0;
    while (have < count) {
        device_wait_ring(device, -1);
        struct device_completion batch[DEVICE_LANES_MAX];
        unsigned came = device_poll(device, batch, DEVICE_LANES_MAX);
        for (unsigned i = 0; i < came && have + i < count; i++) {
            completions[have + i] = batch[i];
        }
        have += came;
    }
    return have == count;
}

#endif
