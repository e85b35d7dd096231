#include "bench/ticket.h"

#include "conf/check.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static void futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void ticket_init(struct ticket *ticket)
{
    atomic_init(&ticket->next, 0);
    atomic_init(&ticket->holder, (uint32_t)TICKET_NOBODY << 16);
    ticket->serving = 0;
    for (uint32_t i = 0; i < TICKET_THREADS_MAX;
         i++) { /* one round ago, but for ticket 0, whose turn it is */
        atomic_init(&ticket->turns[i], i == 0 ? 0 : i - TICKET_THREADS_MAX);
    }
}

void ticket_lock(struct ticket *ticket, unsigned thread, unsigned doing, unsigned *holder,
                 unsigned *holder_doing)
{
    CHECK(thread < TICKET_NOBODY && doing <= UINT16_MAX);
    uint32_t before = atomic_load_explicit(&ticket->holder, memory_order_relaxed);
    uint32_t mine = atomic_fetch_add_explicit(&ticket->next, 1, memory_order_relaxed);
    _Atomic uint32_t *turn = &ticket->turns[mine % TICKET_THREADS_MAX];
    for (;;) {
        uint32_t seen = atomic_load_explicit(turn, memory_order_acquire);
        if (seen == mine) {
            break;
        }
        futex_wait(turn, seen);
    }
    ticket->serving = mine;
    atomic_store_explicit(&ticket->holder, (uint32_t)thread << 16 | doing, memory_order_relaxed);
    *holder = before >> 16;
    *holder_doing = before & UINT16_MAX;
}

void ticket_unlock(struct ticket *ticket)
{
    uint32_t next = ticket->serving + 1;
    CHECK(atomic_load_explicit(&ticket->holder, memory_order_relaxed) >> 16 != TICKET_NOBODY);
    atomic_store_explicit(&ticket->holder, (uint32_t)TICKET_NOBODY << 16, memory_order_relaxed);
    _Atomic uint32_t *turn = &ticket->turns[next % TICKET_THREADS_MAX];
    atomic_store_explicit(turn, next, memory_order_release);
    futex_wake(turn);
}
