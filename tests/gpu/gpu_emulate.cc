#include "gpu_emulate.h"

#include "conf/check.h"

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#define EMULATE_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define EMULATE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EMULATE_TSAN 1
#elif __has_feature(address_sanitizer)
#define EMULATE_ASAN 1
#endif
#endif
#ifdef EMULATE_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#ifdef EMULATE_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifndef __x86_64__
#include <ucontext.h>
#endif

thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace
{

enum { THREADS_MAX = 1024, GRID_Y_MAX = 65535, SHARED_BYTES_MAX = 48 * 1024, STACK_BYTES = 256 * 1024 };

/* Where a coroutine, or the host thread that runs them, stands while another one runs. */
struct place {
#ifdef __x86_64__
    void *stack_pointer = nullptr;
#else
    ucontext_t context;
#endif
#ifdef EMULATE_TSAN
    void *fiber = nullptr;
#endif
#ifdef EMULATE_ASAN
    void *fake_stack = nullptr;
    const void *bottom = nullptr;
    size_t bytes = 0;
#endif
};

struct coroutine {
    place where;
    std::unique_ptr<unsigned char[]> stack;
    bool returned = true;
};

/* Of one host thread. Coroutines are kept from launch to launch. */
struct emulator {
    place host;
    std::vector<std::unique_ptr<coroutine>> coroutines;
    coroutine *running = nullptr;
    const std::function<void()> *thread = nullptr;

    emulator() = default;
    emulator(const emulator &) = delete;
    emulator &operator=(const emulator &) = delete;
    ~emulator()
    {
#ifdef EMULATE_TSAN
        for (auto &each : coroutines) {
            __tsan_destroy_fiber(each->where.fiber);
        }
#endif
    }
};

thread_local emulator emulate;

#ifdef __x86_64__
/* Saves the registers that a call must keep on the present stack, and takes up those on another. */
extern "C" void gpu_emulate_switch(void **stack_pointer, void *other);
__asm__(".text\n"
        ".type gpu_emulate_switch, @function\n"
        "gpu_emulate_switch:\n\t"
        "pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
        "movq %rsp, (%rdi)\n\t"
        "movq %rsi, %rsp\n\t"
        "popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\t"
        "ret\n"
        ".size gpu_emulate_switch, . - gpu_emulate_switch\n");
#endif

void arrive()
{
#ifdef EMULATE_ASAN
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(emulate.running->where.fake_stack, &bottom, &bytes);
    emulate.host.bottom = bottom;
    emulate.host.bytes = bytes;
#endif
}

void go(place *from, place *to)
{
#ifdef EMULATE_TSAN
    __tsan_switch_to_fiber(to->fiber, 0);
#endif
#ifdef EMULATE_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->bottom, to->bytes);
#endif
#ifdef __x86_64__
    gpu_emulate_switch(&from->stack_pointer, to->stack_pointer);
#else
    swapcontext(&from->context, &to->context);
#endif
}

/* Every coroutine's life: one thread of one block after the other. */
void live()
{
    arrive();
    for (;;) {
        (*emulate.thread)();
        emulate.running->returned = true;
        go(&emulate.running->where, &emulate.host);
        arrive();
    }
}

std::unique_ptr<coroutine> make_coroutine(size_t index)
{
    auto made = std::make_unique<coroutine>();
    made->stack = std::make_unique<unsigned char[]>(STACK_BYTES);
#ifdef __x86_64__
    /* what gpu_emulate_switch pops: six registers and the address to return to, then live's own return
     * address, which is never used */
    const size_t apart = index % 64 * 320; /* or all stacks would share a few lines of the cache */
    const uintptr_t top =
        (reinterpret_cast<uintptr_t>(made->stack.get()) + STACK_BYTES - apart) & ~(uintptr_t)15;
    void **slots = reinterpret_cast<void **>(top) - 8;
    slots[6] = reinterpret_cast<void *>(live);
    made->where.stack_pointer = slots;
#else
    (void)index;
    CHECK(getcontext(&made->where.context) == 0);
    made->where.context.uc_stack.ss_sp = made->stack.get();
    made->where.context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&made->where.context, live, 0);
#endif
#ifdef EMULATE_TSAN
    made->where.fiber = __tsan_create_fiber(0);
#endif
#ifdef EMULATE_ASAN
    made->where.bottom = made->stack.get();
    made->where.bytes = STACK_BYTES;
#endif
    return made;
}

/* Until its next barrier or its end. */
void run_thread(unsigned t)
{
    coroutine *one = emulate.coroutines[t].get();
    threadIdx = dim3(t, 0, 0);
    emulate.running = one;
    go(&emulate.host, &one->where);
#ifdef EMULATE_ASAN
    __sanitizer_finish_switch_fiber(emulate.host.fake_stack, nullptr, nullptr);
#endif
}

void run_block(unsigned threads)
{
    for (unsigned t = 0; t < threads; t++) {
        emulate.coroutines[t]->returned = false;
    }
    bool left = true;
    for (bool descending = false; left; descending = !descending) {
        left = false;
        for (unsigned i = 0; i < threads; i++) {
            const unsigned t = descending ? threads - 1 - i : i;
            if (!emulate.coroutines[t]->returned) {
                run_thread(t);
                left |= !emulate.coroutines[t]->returned;
            }
        }
    }
}

void run_grid(dim3 grid, dim3 block, const std::function<void()> &thread)
{
#ifdef EMULATE_TSAN
    emulate.host.fiber = __tsan_get_current_fiber();
#endif
    while (emulate.coroutines.size() < block.x) {
        emulate.coroutines.push_back(make_coroutine(emulate.coroutines.size()));
    }
    emulate.thread = &thread;
    gridDim = grid;
    blockDim = block;
    for (unsigned y = 0; y < grid.y; y++) {
        for (unsigned x = 0; x < grid.x; x++) {
            blockIdx = dim3(x, y, 0);
            run_block(block.x);
        }
    }
}

bool is_valid(dim3 grid, dim3 block, size_t shared_bytes)
{
    return grid.x >= 1 && grid.x <= INT32_MAX && grid.y >= 1 && grid.y <= GRID_Y_MAX && grid.z == 1 &&
           block.x >= 1 && block.x <= THREADS_MAX && block.y == 1 && block.z == 1 &&
           shared_bytes <= SHARED_BYTES_MAX;
}

} // namespace

void __syncthreads(void)
{
    coroutine *self = emulate.running;
    go(&self->where, &emulate.host);
    arrive();
}

void gpu_emulate_run(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                     std::function<void()> body)
{
    CHECK(is_valid(grid, block, shared_bytes));
    (void)gpu_runtime_launch(stream,
                             [grid, block, thread = std::move(body)]() { run_grid(grid, block, thread); });
}
