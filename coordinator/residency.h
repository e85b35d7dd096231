/* residency.h - which circuits are loaded, and the memory budget that they share with the slots.
 *
 * Part of the pure core (core_internal.h). A loading circuit reserves its own bytes and those of one slot, so
 * that it can be used once it is there; an evicting one keeps its bytes until EVICTED. A circuit is idle when
 * it is resident and no slot uses it; idle circuits without queued work go first, then the least recently
 * used. The reserved bytes never exceed the budget. O(log circuits). */
#ifndef COORDINATOR_RESIDENCY_H
#define COORDINATOR_RESIDENCY_H

#include "coordinator/core_internal.h"

/* Whether bytes fit into the budget now. If not, evicts idle circuits (never `keep`; CORE_NONE: any) provided
 * that this will be enough, and the caller tries again after the answers. */
bool residency_make_room(struct core *core, uint64_t bytes, uint32_t keep);

/* Starts loading an absent circuit if it and one slot fit; as residency_make_room otherwise. */
bool residency_load(struct core *core, uint32_t circuit);

void residency_loaded(struct core *core, uint32_t circuit, bool usable);
void residency_evicted(struct core *core, uint32_t circuit);

/* A slot of the circuit is taken or given back: its memory is reserved or freed. */
void residency_use(struct core *core, uint32_t circuit);
void residency_leave(struct core *core, uint32_t circuit);

/* Whether the circuit has queued work has changed. */
void residency_refresh(struct core *core, uint32_t circuit);

/* Evicts every idle circuit: at the end. */
void residency_evict_idle(struct core *core);

#endif
