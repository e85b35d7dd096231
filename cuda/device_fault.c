#include "cuda/device_fault.h"

#include "conf/check.h"
#include "cuda/device_random.h"
#include "cuda/device_timer.h"
#include "groth16/g1.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

bool device_fault_strikes(const struct device_fault_settings *settings, enum device_fault_kind kind,
                          uint64_t number)
{
    CHECK(kind < DEVICE_FAULTS);
    const struct device_fault_rule *rule = &settings->rules[kind];
    return rule->nth == number || device_random(settings->seed, kind, number) % 1000 < rule->permille;
}

/* As device_fault_strikes for a lane's work, and counts it. */
static bool device_fault_hit(struct device_fault *fault, enum device_fault_kind kind, uint64_t number)
{
    CHECK(kind < DEVICE_FAULT_ATTACH);
    bool strikes = device_fault_strikes(&fault->settings, kind, number);
    fault->struck[kind] += strikes;
    return strikes;
}

/* Takes the inner doorbell out of the epoll set, or puts it back. */
static void device_fault_set_deaf(struct device_fault *fault, bool deaf)
{
    if (fault->deaf != deaf) {
        struct epoll_event event = {.events = EPOLLIN};
        int operation = deaf ? EPOLL_CTL_DEL : EPOLL_CTL_ADD;
        CHECK(epoll_ctl(fault->device.doorbell, operation, fault->inner->doorbell, &event) == 0);
        fault->deaf = deaf;
    }
}

static enum error_code device_fault_attach(struct device *device, const struct circuit *circuit,
                                           struct error *error)
{
    struct device_fault *fault = (struct device_fault *)(void *)device;
    uint64_t number = atomic_fetch_add(&fault->attaches, 1) + 1;
    if (device_fault_strikes(&fault->settings, DEVICE_FAULT_ATTACH, number)) {
        return error_set(error, ERROR_DEVICE, "%s: injected fault: no room for the circuit", device->name);
    }
    return device_attach(fault->inner, circuit, error);
}

static void device_fault_detach(struct device *device, const struct circuit *circuit)
{
    device_detach(((struct device_fault *)(void *)device)->inner, circuit);
}

static void device_fault_submit(struct device *device, unsigned number, const struct device_work *work)
{
    struct device_fault *fault = (struct device_fault *)(void *)device;
    CHECK(number < device->lanes);
    struct device_fault_lane *lane = &fault->lanes[number];
    CHECK(!lane->busy);
    *lane = (struct device_fault_lane){.busy = true, .number = ++fault->submissions, .sums = work->sums};
    device_fault_set_deaf(fault, device_fault_hit(fault, DEVICE_FAULT_LOSE_RING, lane->number));
    device_submit(fault->inner, number, work);
}

static void device_fault_fail(const struct device_fault *fault, struct device_fault_lane *lane)
{
    struct device_completion *completion = &lane->completion;
    completion->code = ERROR_DEVICE;
    completion->sticky = fault->lost;
    snprintf(completion->reason, sizeof completion->reason, "injected fault: %s",
             fault->lost ? "the device is lost" : "the work failed");
    if (lane->sums != NULL) {
        memset(lane->sums, 0xa5, sizeof *lane->sums); /* nobody may look at the sums of a failed work */
    }
}

/* What the rules do to a completion of the inner device; only once for each. */
static void device_fault_strike(struct device_fault *fault, struct device_fault_lane *lane, uint64_t now_ns)
{
    uint64_t number = lane->number;
    lane->held = true;
    lane->due_ns = now_ns;
    if (device_fault_hit(fault, DEVICE_FAULT_DELAY, number)) {
        lane->due_ns = device_time_add(now_ns, fault->settings.delay_ns);
    }
    lane->silent = device_fault_hit(fault, DEVICE_FAULT_SILENCE, number);
    if (device_fault_hit(fault, DEVICE_FAULT_STICKY, number)) {
        fault->lost = true;
    }
    bool fails = device_fault_hit(fault, DEVICE_FAULT_FAIL, number);
    bool corrupt = device_fault_hit(fault, DEVICE_FAULT_CORRUPT, number);
    if (lane->completion.code != ERROR_NONE) {
        return; /* it failed by itself */
    }
    if (fails || fault->lost) {
        device_fault_fail(fault, lane);
    } else if (corrupt && lane->sums != NULL && fault->device.kind != DEVICE_SIM) {
        g1_xyzz_add_affine(&lane->sums->c, &lane->sums->c, &g1_generator); /* on the curve, and wrong */
    }
}

static void device_fault_take(struct device_fault *fault, uint64_t now_ns)
{
    struct device_completion arrived[DEVICE_LANES_MAX];
    unsigned count = device_poll(fault->inner, arrived, DEVICE_LANES_MAX);
    for (unsigned i = 0; i < count; i++) {
        CHECK(arrived[i].lane < fault->device.lanes);
        struct device_fault_lane *lane = &fault->lanes[arrived[i].lane];
        CHECK(lane->busy && !lane->held);
        lane->completion = arrived[i];
        device_fault_strike(fault, lane, now_ns);
    }
}

/* The held completion to be delivered next: the earliest due, of equals the one submitted first. */
static struct device_fault_lane *device_fault_first(struct device_fault *fault)
{
    struct device_fault_lane *first = NULL;
    for (unsigned i = 0; i < fault->device.lanes; i++) {
        struct device_fault_lane *lane = &fault->lanes[i];
        if (!lane->held || lane->silent) {
            continue;
        }
        if (first == NULL || lane->due_ns < first->due_ns ||
            (lane->due_ns == first->due_ns && lane->number < first->number)) {
            first = lane;
        }
    }
    return first;
}

static unsigned device_fault_poll(struct device *device, struct device_completion *completions, unsigned max)
{
    struct device_fault *fault = (struct device_fault *)(void *)device;
    uint64_t now_ns = device_now_ns();
    bool ring_again = false;
    device_fault_set_deaf(fault, false);
    device_fault_take(fault, now_ns);
    unsigned count = 0;
    struct device_fault_lane *lane = device_fault_first(fault);
    for (; lane != NULL && lane->due_ns <= now_ns && count < max; lane = device_fault_first(fault)) {
        if (fault->lost && lane->completion.code == ERROR_NONE) {
            device_fault_fail(fault, lane); /* it was held while the device got lost */
        }
        lane->completion.sticky |= fault->lost;
        completions[count++] = lane->completion;
        ring_again |= device_fault_hit(fault, DEVICE_FAULT_RING_TWICE, lane->number);
        *lane = (struct device_fault_lane){0};
    }
    uint64_t next_ns = lane != NULL ? lane->due_ns : UINT64_MAX;
    device_timer_set(fault->timer, ring_again ? now_ns : next_ns);
    return count;
}

static void device_fault_close(struct device *device)
{
    struct device_fault *fault = (struct device_fault *)(void *)device;
    close(device->doorbell);
    close(fault->timer);
    device->doorbell = -1;
    fault->timer = -1;
    device_close(fault->inner);
}

/* Doorbell and timer; on failure neither is left open, and errno says why. */
static bool device_fault_open_doorbell(struct device_fault *fault)
{
    fault->timer = device_timer_open();
    if (fault->timer < 0) {
        return false;
    }
    fault->device.doorbell = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (fault->device.doorbell >= 0 &&
        epoll_ctl(fault->device.doorbell, EPOLL_CTL_ADD, fault->timer, &event) == 0 &&
        epoll_ctl(fault->device.doorbell, EPOLL_CTL_ADD, fault->inner->doorbell, &event) == 0) {
        return true;
    }
    int reason = errno;
    close(fault->timer);
    if (fault->device.doorbell >= 0) {
        close(fault->device.doorbell);
    }
    errno = reason;
    return false;
}

enum error_code device_fault_open(struct device_fault *fault, struct device *inner,
                                  const struct device_fault_settings *settings, struct error *error)
{
    static const struct device_operations operations = {
        .attach = device_fault_attach,
        .detach = device_fault_detach,
        .submit = device_fault_submit,
        .poll = device_fault_poll,
        .close = device_fault_close,
    };
    memset(fault, 0, sizeof *fault);
    fault->device = (struct device){.operations = &operations, .kind = inner->kind, .lanes = inner->lanes};
    snprintf(fault->device.name, sizeof fault->device.name, "%.50s (faulty)", inner->name);
    fault->inner = inner;
    fault->settings = *settings;
    if (!device_fault_open_doorbell(fault)) {
        return error_set_errno(error, errno, "cannot make the doorbell of device %s", fault->device.name);
    }
    return ERROR_NONE;
}
