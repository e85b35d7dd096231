/* One mutex guards all state, since nothing here needs to be fast; it is not held while an operation runs. */
#include "gpu_runtime.h"

#include "conf/check.h"
#include "cuda/device_random.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <time.h>

namespace
{

enum { DEVICES_MAX = 16, ALIGNMENT = 256 };

/* One recording of an event; those who wait for it keep it, whatever the event is used for afterwards. */
struct ticket {
    bool done = false;
    uint64_t time_ns = 0;
};

struct operation {
    std::function<void()> body;         /* may be empty */
    std::shared_ptr<ticket> completes;  /* an event record */
    std::shared_ptr<ticket> waits_for;  /* cudaStreamWaitEvent */
    bool sticky = false, hangs = false; /* faults that were drawn for it */
    unsigned delay_us = 0;
};

struct block {
    size_t bytes;
    int device; /* -1: pinned host memory */
};

struct device_state {
    bool lost = false;
    size_t used_bytes = 0;
    std::unique_ptr<CUstream_st> null_stream;
    std::set<CUstream_st *> streams;
};

struct runtime {
    std::mutex mutex;
    std::condition_variable changed;
    gpu_runtime_settings settings;
    gpu_runtime_counts counts;
    bool let_go = false;
    std::map<const char *, block> blocks;
    device_state devices[DEVICES_MAX];
};

runtime &state();

thread_local int current_device = 0;
thread_local cudaError_t last_error = cudaSuccess;

} // namespace

struct CUevent_st {
    int device;
    bool timed;
    std::shared_ptr<ticket> recorded;
};

struct CUstream_st {
    int device;
    std::deque<operation> queue;
    bool busy = false, stopping = false;
    std::thread thread;

    explicit CUstream_st(int number);
    ~CUstream_st();
    void work();
    void run(std::unique_lock<std::mutex> &lock, operation &next);
};

namespace
{

const char *const fault_names[GPU_RUNTIME_FAULTS] = {"malloc", "pin",  "launch", "sticky",
                                                     "call",   "lose", "double", "hang"};

uint64_t now_ns()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

void set_one(gpu_runtime_settings &settings, const std::string &name, uint64_t value)
{
    if (name == "devices") {
        settings.devices = static_cast<int>(value);
        CHECK(value <= DEVICES_MAX);
    } else if (name == "memory") {
        settings.memory_bytes = value;
    } else if (name == "seed") {
        settings.seed = value;
    } else if (name == "refused") {
        settings.refused = static_cast<uint32_t>(value);
    } else if (name == "delay_us") {
        settings.delay_us = static_cast<unsigned>(value);
    } else {
        for (int i = 0; i < GPU_RUNTIME_FAULTS; ++i) {
            if (name == fault_names[i]) {
                settings.nth[i] = value;
                return;
            }
            if (name == std::string(fault_names[i]) + "_permille") {
                settings.permille[i] = static_cast<uint32_t>(value);
                return;
            }
        }
        CHECK(!"UZK_STANDIN has a name that does not exist");
    }
}

gpu_runtime_settings settings_from_environment()
{
    gpu_runtime_settings settings = gpu_runtime_defaults();
    const char *text = getenv("UZK_STANDIN");
    while (text != nullptr && *text != '\0') {
        size_t name = strcspn(text, "=,"), whole = strcspn(text, ",");
        CHECK(text[name] == '=');
        set_one(settings, std::string(text, name), strtoull(text + name + 1, nullptr, 10));
        text += whole + (text[whole] == ',');
    }
    return settings;
}

/* Never destroyed: streams may outlive main. */
runtime &state()
{
    static runtime &only = *[] {
        auto *made = new runtime;
        made->settings = settings_from_environment();
        made->counts = {};
        return made;
    }();
    return only;
}

/* Counts an operation and tells whether the fault strikes it. */
bool strikes(gpu_runtime_fault fault)
{
    runtime &r = state();
    uint64_t number = ++r.counts.done[fault];
    bool hit = number == r.settings.nth[fault] ||
               device_random(r.settings.seed, fault, number) % 1000 < r.settings.permille[fault];
    r.counts.struck[fault] += hit;
    return hit;
}

cudaError_t failed(cudaError_t code)
{
    if (code != cudaSuccess && code != cudaErrorNotReady) {
        last_error = code;
    }
    return code;
}

cudaError_t health(int device)
{
    return state().devices[device].lost ? cudaErrorIllegalAddress : cudaSuccess;
}

bool usable_device(int device)
{
    return device >= 0 && device < state().settings.devices;
}

/* The stream, or the device's own one for NULL; nullptr if there is no such device. */
CUstream_st *stream_of(cudaStream_t stream)
{
    if (stream != nullptr) {
        return stream;
    }
    if (!usable_device(current_device)) {
        return nullptr;
    }
    auto &own = state().devices[current_device].null_stream;
    if (own == nullptr) {
        own = std::make_unique<CUstream_st>(current_device);
    }
    return own.get();
}

/* With the mutex held. */
cudaError_t enqueue(cudaStream_t stream, operation &&next)
{
    runtime &r = state();
    CUstream_st *queue = stream_of(stream);
    if (queue == nullptr) {
        return failed(cudaErrorNoDevice);
    }
    if (health(queue->device) != cudaSuccess) {
        return failed(health(queue->device));
    }
    if (strikes(GPU_RUNTIME_CALL)) {
        return failed(cudaErrorInvalidValue);
    }
    next.sticky = strikes(GPU_RUNTIME_STICKY);
    if (r.settings.delay_us > 0) {
        next.delay_us = static_cast<unsigned>(
            device_random(r.settings.seed, GPU_RUNTIME_FAULTS, r.counts.done[GPU_RUNTIME_STICKY]) %
            (r.settings.delay_us + 1));
    }
    queue->queue.push_back(std::move(next));
    r.changed.notify_all();
    return cudaSuccess;
}

bool drained(const CUstream_st *stream)
{
    return stream->queue.empty() && !stream->busy;
}

cudaError_t wait_drained(std::unique_lock<std::mutex> &lock, const CUstream_st *stream)
{
    runtime &r = state();
    ++r.counts.waits;
    r.changed.wait(lock, [&] { return drained(stream) || r.devices[stream->device].lost; });
    return failed(health(stream->device));
}

/* Whether the range lies within one block of that device (-1: pinned). */
bool within(const void *address, size_t bytes, int device)
{
    const auto &blocks = state().blocks;
    const char *at = static_cast<const char *>(address);
    auto after = blocks.upper_bound(at);
    if (after == blocks.begin()) {
        return false;
    }
    const auto &found = *--after;
    size_t offset = static_cast<size_t>(at - found.first);
    return found.second.device == device && offset <= found.second.bytes &&
           bytes <= found.second.bytes - offset;
}

bool ranges_right(const void *to, const void *from, size_t bytes, cudaMemcpyKind kind, int device,
                  bool pinned)
{
    bool host_from = kind == cudaMemcpyHostToDevice, host_to = kind == cudaMemcpyDeviceToHost;
    if (kind == cudaMemcpyDefault || kind == cudaMemcpyHostToHost) {
        return false;
    }
    return (host_from ? !pinned || within(from, bytes, -1) : within(from, bytes, device)) &&
           (host_to ? !pinned || within(to, bytes, -1) : within(to, bytes, device));
}

bool all_zero(const char *memory, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) {
        if (memory[i] != 0) {
            return false;
        }
    }
    return true;
}

cudaError_t take(void **memory, size_t bytes, int device)
{
    size_t room = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *taken = bytes == 0 || room < bytes ? nullptr : aligned_alloc(ALIGNMENT, room);
    if (taken == nullptr) {
        return failed(cudaErrorMemoryAllocation);
    }
    memset(taken, 0xa5, bytes); /* nobody may count on fresh memory */
    runtime &r = state();
    r.blocks[static_cast<const char *>(taken)] = {bytes, device};
    if (device >= 0) {
        r.devices[device].used_bytes += bytes;
        r.counts.device_bytes += bytes;
        ++r.counts.device_blocks;
    } else {
        ++r.counts.pinned_blocks;
    }
    *memory = taken;
    return cudaSuccess;
}

/* Whether nothing uses the device's memory: freeing waits for that, as CUDA does. */
bool at_rest(const device_state &device)
{
    for (const CUstream_st *stream : device.streams) {
        if (device.lost ? stream->busy : !drained(stream)) {
            return false;
        }
    }
    return true;
}

cudaError_t give(std::unique_lock<std::mutex> &lock, void *memory, bool pinned)
{
    runtime &r = state();
    if (memory == nullptr) {
        return cudaSuccess;
    }
    r.changed.wait(lock, [&] {
        for (const device_state &device : r.devices) {
            if (!at_rest(device)) {
                return false;
            }
        }
        return true;
    });
    auto found = r.blocks.find(static_cast<const char *>(memory));
    if (found == r.blocks.end() || (found->second.device < 0) != pinned) {
        return failed(cudaErrorInvalidValue);
    }
    block freed = found->second;
    r.blocks.erase(found);
    bool dirty = !all_zero(static_cast<const char *>(memory), freed.bytes);
    cudaError_t code = cudaSuccess;
    if (pinned) {
        --r.counts.pinned_blocks;
        r.counts.pinned_dirty += dirty;
    } else {
        --r.counts.device_blocks;
        r.counts.device_bytes -= freed.bytes;
        r.devices[freed.device].used_bytes -= freed.bytes;
        r.counts.device_dirty += dirty;
        code = health(freed.device);
    }
    free(memory);
    return failed(code);
}

std::unique_lock<std::mutex> locked()
{
    return std::unique_lock<std::mutex>(state().mutex);
}

} // namespace

/* ---- streams ---- */

CUstream_st::CUstream_st(int number) : device(number)
{
    state().devices[device].streams.insert(this);
    thread = std::thread([this] { work(); });
}

/* Called without the mutex. */
CUstream_st::~CUstream_st()
{
    {
        auto lock = locked();
        stopping = true;
        state().changed.notify_all();
    }
    thread.join();
    auto lock = locked();
    state().devices[device].streams.erase(this);
}

void CUstream_st::run(std::unique_lock<std::mutex> &lock, operation &next)
{
    runtime &r = state();
    device_state &own = r.devices[device];
    if (next.waits_for != nullptr) {
        r.changed.wait(lock, [&] { return next.waits_for->done || own.lost || stopping; });
    }
    if (next.hangs) {
        r.changed.wait(lock, [&] { return r.let_go || own.lost; });
    }
    if (own.lost) {
        return;
    }
    if (next.sticky) {
        own.lost = true;
        return;
    }
    lock.unlock();
    if (next.delay_us > 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(next.delay_us));
    }
    if (next.body) {
        next.body();
    }
    lock.lock();
    if (next.completes != nullptr) {
        next.completes->time_ns = now_ns();
        next.completes->done = true;
    }
}

void CUstream_st::work()
{
    runtime &r = state();
    auto lock = locked();
    for (;;) {
        r.changed.wait(lock, [&] { return stopping || !queue.empty(); });
        if (queue.empty()) {
            return;
        }
        operation next = std::move(queue.front());
        queue.pop_front();
        busy = true;
        run(lock, next);
        busy = false;
        r.changed.notify_all();
    }
}

/* ---- settings ---- */

gpu_runtime_settings gpu_runtime_defaults(void)
{
    gpu_runtime_settings settings = {};
    settings.devices = 1;
    settings.memory_bytes = UINT64_C(1) << 30;
    settings.seed = 1;
    return settings;
}

void gpu_runtime_configure(const gpu_runtime_settings *settings)
{
    runtime &r = state();
    for (device_state &device : r.devices) {
        device.null_stream.reset();
    }
    auto lock = locked();
    CHECK(settings->devices >= 0 && settings->devices <= DEVICES_MAX);
    for (device_state &device : r.devices) {
        CHECK(device.streams.empty() && device.used_bytes == 0);
        device.lost = false;
    }
    r.settings = *settings;
    r.counts = {};
    r.let_go = false;
    last_error = cudaSuccess;
}

void gpu_runtime_count(struct gpu_runtime_counts *counts)
{
    auto lock = locked();
    *counts = state().counts;
}

void gpu_runtime_let_go(void)
{
    auto lock = locked();
    state().let_go = true;
    state().changed.notify_all();
}

/* ---- devices and errors ---- */

cudaError_t cudaGetDeviceCount(int *count)
{
    auto lock = locked();
    *count = state().settings.devices;
    return failed(*count > 0 ? cudaSuccess : cudaErrorNoDevice);
}

cudaError_t cudaSetDevice(int device)
{
    auto lock = locked();
    if (!usable_device(device)) {
        return failed(state().settings.devices > 0 ? cudaErrorInvalidDevice : cudaErrorNoDevice);
    }
    if ((state().settings.refused >> device & 1) != 0) {
        return failed(cudaErrorDevicesUnavailable);
    }
    current_device = device;
    return failed(health(device));
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current_device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    auto lock = locked();
    if (!usable_device(device)) {
        return failed(cudaErrorInvalidDevice);
    }
    *properties = {};
    snprintf(properties->name, sizeof properties->name, "Stand-in %d (no GPU)", device);
    properties->totalGlobalMem = state().settings.memory_bytes;
    properties->major = 9;
    properties->multiProcessorCount = 2;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    auto lock = locked();
    if (!usable_device(current_device)) {
        return failed(cudaErrorNoDevice);
    }
    runtime &r = state();
    device_state &device = r.devices[current_device];
    ++r.counts.waits;
    r.changed.wait(lock, [&] { return device.lost || at_rest(device); });
    return failed(health(current_device));
}

#define NAMED(code) \
    case code:      \
        return #code
const char *cudaGetErrorName(cudaError_t code)
{
    switch (code) {
        NAMED(cudaSuccess);
        NAMED(cudaErrorInvalidValue);
        NAMED(cudaErrorMemoryAllocation);
        NAMED(cudaErrorInitializationError);
        NAMED(cudaErrorInvalidConfiguration);
        NAMED(cudaErrorInvalidMemcpyDirection);
        NAMED(cudaErrorInsufficientDriver);
        NAMED(cudaErrorDevicesUnavailable);
        NAMED(cudaErrorNoDevice);
        NAMED(cudaErrorInvalidDevice);
        NAMED(cudaErrorECCUncorrectable);
        NAMED(cudaErrorInvalidResourceHandle);
        NAMED(cudaErrorNotReady);
        NAMED(cudaErrorIllegalAddress);
        NAMED(cudaErrorLaunchOutOfResources);
        NAMED(cudaErrorLaunchTimeout);
        NAMED(cudaErrorLaunchFailure);
        NAMED(cudaErrorNotSupported);
        NAMED(cudaErrorUnknown);
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t code)
{
    return code == cudaSuccess ? "no error" : "injected by the stand-in, or a wrong call of it";
}

cudaError_t cudaGetLastError(void)
{
    auto lock = locked();
    cudaError_t code = last_error;
    last_error = usable_device(current_device) ? health(current_device) : cudaSuccess;
    return code != cudaSuccess ? code : last_error;
}

cudaError_t cudaPeekAtLastError(void)
{
    auto lock = locked();
    return last_error != cudaSuccess || !usable_device(current_device) ? last_error : health(current_device);
}

/* ---- memory ---- */

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    auto lock = locked();
    if (!usable_device(current_device)) {
        return failed(cudaErrorNoDevice);
    }
    *total_bytes = state().settings.memory_bytes;
    *free_bytes = *total_bytes - state().devices[current_device].used_bytes;
    return failed(health(current_device));
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    auto lock = locked();
    if (!usable_device(current_device)) {
        return failed(cudaErrorNoDevice);
    }
    if (health(current_device) != cudaSuccess) {
        return failed(health(current_device));
    }
    if (strikes(GPU_RUNTIME_MALLOC) ||
        bytes > state().settings.memory_bytes - state().devices[current_device].used_bytes) {
        return failed(cudaErrorMemoryAllocation);
    }
    return take(memory, bytes, current_device);
}

cudaError_t cudaFree(void *memory)
{
    auto lock = locked();
    return give(lock, memory, false);
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    auto lock = locked();
    (void)flags;
    if (!usable_device(current_device)) {
        return failed(cudaErrorNoDevice);
    }
    return strikes(GPU_RUNTIME_PIN) ? failed(cudaErrorMemoryAllocation) : take(memory, bytes, -1);
}

cudaError_t cudaFreeHost(void *memory)
{
    auto lock = locked();
    return give(lock, memory, true);
}

static cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
                        bool pinned)
{
    CUstream_st *queue = stream_of(stream);
    if (queue == nullptr) {
        return failed(cudaErrorNoDevice);
    }
    if (!ranges_right(to, from, bytes, kind, queue->device, pinned)) {
        return failed(cudaErrorInvalidValue);
    }
    operation next;
    next.body = [=] { memcpy(to, from, bytes); };
    return enqueue(stream, std::move(next));
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    auto lock = locked();
    cudaError_t code = copy(to, from, bytes, kind, nullptr, false);
    return code != cudaSuccess ? code : wait_drained(lock, stream_of(nullptr));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    auto lock = locked();
    return copy(to, from, bytes, kind, stream, true);
}

static cudaError_t fill(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    CUstream_st *queue = stream_of(stream);
    if (queue == nullptr || !within(memory, bytes, queue->device)) {
        return failed(queue == nullptr ? cudaErrorNoDevice : cudaErrorInvalidValue);
    }
    operation next;
    next.body = [=] { memset(memory, value, bytes); };
    return enqueue(stream, std::move(next));
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    auto lock = locked();
    cudaError_t code = fill(memory, value, bytes, nullptr);
    return code != cudaSuccess ? code : wait_drained(lock, stream_of(nullptr));
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    auto lock = locked();
    return fill(memory, value, bytes, stream);
}

/* ---- streams ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    auto lock = locked();
    (void)flags;
    if (!usable_device(current_device)) {
        return failed(cudaErrorNoDevice);
    }
    if (health(current_device) != cudaSuccess) {
        return failed(health(current_device));
    }
    *stream = new CUstream_st(current_device);
    ++state().counts.streams;
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    int device = stream->device;
    delete stream; /* after what was enqueued, unless the device is lost */
    auto lock = locked();
    --state().counts.streams;
    return failed(health(device));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    auto lock = locked();
    CUstream_st *queue = stream_of(stream);
    return queue == nullptr ? failed(cudaErrorNoDevice) : wait_drained(lock, queue);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    auto lock = locked();
    CUstream_st *queue = stream_of(stream);
    if (queue == nullptr) {
        return failed(cudaErrorNoDevice);
    }
    if (health(queue->device) != cudaSuccess) {
        return failed(health(queue->device));
    }
    return drained(queue) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    auto lock = locked();
    (void)flags;
    operation next;
    next.waits_for = event->recorded; /* none yet: nothing to wait for */
    return enqueue(stream, std::move(next));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument)
{
    auto lock = locked();
    bool lost = strikes(GPU_RUNTIME_LOSE), doubled = strikes(GPU_RUNTIME_DOUBLE);
    operation next;
    next.body = [=] {
        for (int i = 0; i < (lost ? 0 : doubled ? 2 : 1); ++i) {
            function(argument);
        }
    };
    return enqueue(stream, std::move(next));
}

cudaError_t gpu_runtime_launch(cudaStream_t stream, std::function<void()> body)
{
    auto lock = locked();
    bool refused = strikes(GPU_RUNTIME_LAUNCH), hangs = strikes(GPU_RUNTIME_HANG);
    if (refused) {
        return failed(cudaErrorLaunchOutOfResources);
    }
    operation next;
    next.body = std::move(body);
    next.hangs = hangs;
    return enqueue(stream, std::move(next));
}

/* ---- events ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    auto lock = locked();
    if (!usable_device(current_device)) {
        return failed(cudaErrorNoDevice);
    }
    if (health(current_device) != cudaSuccess) {
        return failed(health(current_device));
    }
    *event = new CUevent_st{current_device, (flags & cudaEventDisableTiming) == 0, nullptr};
    ++state().counts.events;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    auto lock = locked();
    int device = event->device;
    delete event;
    --state().counts.events;
    return failed(health(device));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    auto lock = locked();
    CUstream_st *queue = stream_of(stream);
    if (queue == nullptr || queue->device != event->device) {
        return failed(cudaErrorInvalidResourceHandle);
    }
    operation next;
    next.completes = std::make_shared<ticket>();
    std::shared_ptr<ticket> recorded = next.completes;
    cudaError_t code = enqueue(stream, std::move(next));
    if (code == cudaSuccess) {
        event->recorded = recorded;
    }
    return code;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    auto lock = locked();
    if (health(event->device) != cudaSuccess) {
        return failed(health(event->device));
    }
    return event->recorded == nullptr || event->recorded->done ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    auto lock = locked();
    runtime &r = state();
    std::shared_ptr<ticket> recorded = event->recorded;
    ++r.counts.waits;
    r.changed.wait(lock,
                   [&] { return recorded == nullptr || recorded->done || r.devices[event->device].lost; });
    return failed(health(event->device));
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end)
{
    auto lock = locked();
    if (health(begin->device) != cudaSuccess) {
        return failed(health(begin->device));
    }
    if (!begin->timed || !end->timed || begin->recorded == nullptr || end->recorded == nullptr) {
        return failed(cudaErrorInvalidResourceHandle);
    }
    if (!begin->recorded->done || !end->recorded->done) {
        return cudaErrorNotReady;
    }
    int64_t ns = static_cast<int64_t>(end->recorded->time_ns - begin->recorded->time_ns);
    *milliseconds = static_cast<float>(static_cast<double>(ns) / 1e6);
    return cudaSuccess;
}
