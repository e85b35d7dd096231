/* ticket.h - a mutex that is fair: it is taken in the order in which it was asked for.
 *
 * The tracker's mutex of the pipeline that uzk replaces (DESIGN section 1) is of this kind, as mutexes of
 * asynchronous runtimes are. Fairness is what makes the fault so regular: whoever comes while somebody trims
 * waits for that trim and for everybody in between, however short its own business is.
 *
 * Each waiter sleeps on a word of its own (a futex), so that a release wakes one thread. At most
 * TICKET_THREADS_MAX threads may hold or wait at once. ticket_init on caller memory; nothing to give back. */
#ifndef BENCH_TICKET_H
#define BENCH_TICKET_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

enum { TICKET_THREADS_MAX = 256, TICKET_NOBODY = 0xffff };

struct ticket {
    alignas(64) _Atomic uint32_t next;   /* to be drawn */
    alignas(64) _Atomic uint32_t holder; /* thread << 16 | what it does; for who has to wait */
    uint32_t serving;                    /* the holder's */
    alignas(64) _Atomic uint32_t turns[TICKET_THREADS_MAX]; /* by ticket: the last one whose turn it was */
};

void ticket_init(struct ticket *ticket);

/* Waits its turn. Says who held it when the wait began (TICKET_NOBODY: nobody) and what that thread was
 * doing; the caller says the same of itself for others: `thread` below TICKET_NOBODY, `doing` below 65536. */
void ticket_lock(struct ticket *ticket, unsigned thread, unsigned doing, unsigned *holder,
                 unsigned *holder_doing);

/* The thread that holds it. */
void ticket_unlock(struct ticket *ticket);

#endif
