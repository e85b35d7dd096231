#include "cuda/device_cpu.h"

#include "conf/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DEVICE_CPU_IDLE, DEVICE_CPU_BUSY, DEVICE_CPU_DONE };

static void device_cpu_scratch_free(struct device_cpu_scratch *scratch)
{
    if (scratch->memory != NULL) {
        explicit_bzero(scratch->memory, scratch->bytes);
        CHECK(munmap(scratch->memory, scratch->bytes) == 0);
    }
    scratch->memory = NULL;
    scratch->bytes = 0;
}

/* 0, or why there is no scratch of this size: an errno value. */
static int device_cpu_scratch_grow(struct device_cpu_scratch *scratch, size_t bytes)
{
    if (bytes <= scratch->bytes) {
        return 0;
    }
    device_cpu_scratch_free(scratch); /* first, so that both are never held at once */
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return errno;
    }
    (void)madvise(memory, bytes, MADV_DONTDUMP);
    (void)madvise(memory, bytes, MADV_HUGEPAGE); /* advice: refused without harm */
    scratch->memory = memory;
    scratch->bytes = bytes;
    return 0;
}

static void device_cpu_stage_done(void *context, enum prove_stage stage)
{
    static const enum device_stage stages[PROVE_STAGES] = {
        [PROVE_EVALUATE] = DEVICE_STAGE_EVALUATE,
        [PROVE_NTT] = DEVICE_STAGE_NTT,
        [PROVE_MSM] = DEVICE_STAGE_MSM,
    };
    struct device_completion *completion = context;
    CHECK(stage < PROVE_STAGES);
    completion->stage_end_ns[stages[stage]] = device_now_ns();
}

static void device_cpu_fail(struct device_completion *completion, size_t bytes, int reason)
{
    char text[64];
    snprintf(completion->reason, sizeof completion->reason, "no memory for %zu MiB of scratch: %s",
             bytes >> 20, strerror_r(reason, text, sizeof text));
    completion->code = ERROR_DEVICE;
    for (unsigned stage = 0; stage < DEVICE_STAGES; stage++) {
        completion->stage_end_ns[stage] = completion->begin_ns;
    }
}

/* The team's task. */
static void device_cpu_prove(void *argument, struct par *par, unsigned worker)
{
    struct device_cpu_lane *lane = argument;
    struct device_cpu *cpu = lane->device;
    struct device_completion *completion = &lane->completion;
    struct device_cpu_scratch *scratch = &cpu->scratch[worker];
    CHECK(atomic_load_explicit(&lane->state, memory_order_relaxed) == DEVICE_CPU_BUSY);
    memset(completion, 0, sizeof *completion);
    completion->token = lane->work.token;
    completion->lane = (unsigned)(lane - cpu->lanes);
    completion->begin_ns = device_now_ns();
    completion->stage_end_ns[DEVICE_STAGE_H2D] = completion->begin_ns;
    size_t bytes = prove_scratch_size(lane->work.circuit, par->workers);
    int refused = device_cpu_scratch_grow(scratch, bytes);
    if (refused != 0) {
        device_cpu_fail(completion, bytes, refused);
    } else {
        prove_compute(lane->work.sums, lane->work.circuit, lane->work.witness, par, scratch->memory,
                      device_cpu_stage_done, completion);
        completion->stage_end_ns[DEVICE_STAGE_D2H] = completion->stage_end_ns[DEVICE_STAGE_MSM];
    }
    atomic_store_explicit(&lane->state, DEVICE_CPU_DONE, memory_order_release);
    uint64_t one = 1;
    ssize_t written = write(cpu->device.doorbell, &one, sizeof one);
    CHECK(written == sizeof one); /* the counter would have to reach 2^64 - 1 to refuse */
    atomic_fetch_add_explicit(&cpu->left, 1, memory_order_release);
}

static enum error_code device_cpu_attach(struct device *device, const struct circuit *circuit,
                                         struct error *error)
{
    (void)device;
    (void)circuit;
    (void)error;
    return ERROR_NONE;
}

static void device_cpu_detach(struct device *device, const struct circuit *circuit)
{
    (void)device;
    (void)circuit;
}

static void device_cpu_submit(struct device *device, unsigned number, const struct device_work *work)
{
    struct device_cpu *cpu = (struct device_cpu *)(void *)device;
    CHECK(number < device->lanes);
    CHECK(work->circuit != NULL && work->witness != NULL && work->sums != NULL);
    struct device_cpu_lane *lane = &cpu->lanes[number];
    CHECK(atomic_load_explicit(&lane->state, memory_order_relaxed) == DEVICE_CPU_IDLE);
    lane->work = *work;
    atomic_store_explicit(&lane->state, DEVICE_CPU_BUSY, memory_order_relaxed);
    cpu->submitted++;
    team_post(cpu->team, number, device_cpu_prove, lane);
}

static unsigned device_cpu_poll(struct device *device, struct device_completion *completions, unsigned max)
{
    struct device_cpu *cpu = (struct device_cpu *)(void *)device;
    uint64_t rings;
    ssize_t taken = read(device->doorbell, &rings, sizeof rings);
    CHECK(taken == sizeof rings || errno == EAGAIN);
    unsigned count = 0;
    for (unsigned i = 0; i < device->lanes && count < max; i++) {
        struct device_cpu_lane *lane = &cpu->lanes[i];
        if (atomic_load_explicit(&lane->state, memory_order_acquire) == DEVICE_CPU_DONE) {
            completions[count++] = lane->completion;
            atomic_store_explicit(&lane->state, DEVICE_CPU_IDLE, memory_order_relaxed);
        }
    }
    return count;
}

static void device_cpu_close(struct device *device)
{
    struct device_cpu *cpu = (struct device_cpu *)(void *)device;
    for (unsigned i = 0; i < device->lanes; i++) {
        cpu->submitted -= team_withdraw(cpu->team, i);
    }
    /* A proof can't be stopped half-way; how long the last one takes is up to its circuit. */
    while (atomic_load_explicit(&cpu->left, memory_order_acquire) != cpu->submitted) {
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    for (unsigned i = 0; i < TEAM_WORKERS_MAX; i++) {
        device_cpu_scratch_free(&cpu->scratch[i]);
    }
    close(device->doorbell);
    device->doorbell = -1;
}

enum error_code device_cpu_open(struct device_cpu *cpu, struct team *team, unsigned lanes,
                                struct error *error)
{
    static const struct device_operations operations = {
        .attach = device_cpu_attach,
        .detach = device_cpu_detach,
        .submit = device_cpu_submit,
        .poll = device_cpu_poll,
        .close = device_cpu_close,
    };
    CHECK(lanes >= 1 && lanes <= DEVICE_LANES_MAX && lanes <= team->slots_count);
    memset(cpu, 0, sizeof *cpu);
    cpu->device =
        (struct device){.operations = &operations, .kind = DEVICE_CPU, .lanes = lanes, .name = "cpu"};
    cpu->team = team;
    for (unsigned i = 0; i < lanes; i++) {
        cpu->lanes[i].device = cpu;
    }
    cpu->device.doorbell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (cpu->device.doorbell < 0) {
        return error_set_errno(error, errno, "cannot make an eventfd for the CPU device");
    }
    return ERROR_NONE;
}

size_t device_cpu_scratch_bytes(const struct circuit *circuit, const struct team *team)
{
    size_t bytes;
    return __builtin_mul_overflow(prove_scratch_size(circuit, team->workers), (size_t)team->mains_max, &bytes)
               ? SIZE_MAX
               : bytes;
}
