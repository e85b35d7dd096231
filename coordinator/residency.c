#include "coordinator/residency.h"

#include "coordinator/scheduler.h"

static bool has_work(const struct core_circuit *circuit)
{
    return circuit->queues[0] != CORE_NONE || circuit->queues[1] != CORE_NONE;
}

static void reserve(struct core *core, uint64_t bytes)
{
    CHECK(bytes <= core->memory_bytes - core->reserved_bytes);
    core->reserved_bytes += bytes;
    if (core->reserved_bytes > core->peak_bytes) {
        core->peak_bytes = core->reserved_bytes;
    }
}

static void unreserve(struct core *core, uint64_t bytes)
{
    CHECK(bytes <= core->reserved_bytes);
    core->reserved_bytes -= bytes;
}

static void idle_add(struct core *core, uint32_t index)
{
    const struct core_circuit *circuit = &core->circuits[index];
    CHECK(circuit->uses == 0 && circuit->state == CORE_CIRCUIT_RESIDENT);
    if (!heap_contains(&core->idle, index)) {
        core->idle_bytes += circuit->resident_bytes;
    }
    heap_set(&core->idle, index, (struct heap_key){.high = has_work(circuit), .low = circuit->used_sequence});
}

static void idle_remove(struct core *core, uint32_t index)
{
    if (heap_contains(&core->idle, index)) {
        core->idle_bytes -= core->circuits[index].resident_bytes;
        heap_remove(&core->idle, index);
    }
}

static void evict(struct core *core, uint32_t index)
{
    struct core_circuit *circuit = &core->circuits[index];
    idle_remove(core, index);
    circuit->state = CORE_CIRCUIT_EVICTING;
    core_next(&circuit->generation);
    core->evicting++;
    core->evicting_bytes += circuit->resident_bytes;
    core->evictions++;
    core_emit(core, CORE_EFFECT_EVICT, index)->generation = circuit->generation;
    scheduler_refresh(core, index);
}

bool residency_make_room(struct core *core, uint64_t bytes, uint32_t keep)
{
    uint64_t unused = core->memory_bytes - core->reserved_bytes;
    if (bytes <= unused) {
        return true;
    }
    bool kept = keep != CORE_NONE && heap_contains(&core->idle, keep);
    if (kept) {
        idle_remove(core, keep);
    }
    if (bytes - unused <= core->evicting_bytes + core->idle_bytes && SIM_PLANTED_BUG != 3) {
        while (bytes - unused > core->evicting_bytes) {
            evict(core, heap_top(&core->idle));
        }
    }
    if (kept) {
        idle_add(core, keep);
    }
    return false;
}

bool residency_load(struct core *core, uint32_t index)
{
    struct core_circuit *circuit = &core->circuits[index];
    CHECK(circuit->state == CORE_CIRCUIT_ABSENT && circuit->doom == CORE_CAUSE_NONE);
    uint64_t bytes = circuit->resident_bytes + circuit->slot_bytes;
    if (!residency_make_room(core, bytes, CORE_NONE)) {
        return false;
    }
    reserve(core, bytes);
    circuit->state = CORE_CIRCUIT_LOADING;
    core_next(&circuit->generation);
    core->loading++;
    core->loads++;
    core_emit(core, CORE_EFFECT_LOAD, index)->generation = circuit->generation;
    scheduler_refresh(core, index);
    return true;
}

void residency_loaded(struct core *core, uint32_t index, bool usable)
{
    struct core_circuit *circuit = &core->circuits[index];
    CHECK(circuit->state == CORE_CIRCUIT_LOADING && circuit->uses == 0);
    core->loading--;
    unreserve(core, circuit->slot_bytes);
    circuit->used_sequence = ++core->sequence;
    if (usable) {
        circuit->state = CORE_CIRCUIT_RESIDENT;
        idle_add(core, index);
    } else {
        circuit->state = CORE_CIRCUIT_UNUSABLE;
        unreserve(core, circuit->resident_bytes);
    }
    scheduler_refresh(core, index);
}

void residency_evicted(struct core *core, uint32_t index)
{
    struct core_circuit *circuit = &core->circuits[index];
    CHECK(circuit->state == CORE_CIRCUIT_EVICTING && circuit->uses == 0);
    core->evicting--;
    core->evicting_bytes -= circuit->resident_bytes;
    unreserve(core, circuit->resident_bytes);
    circuit->state = CORE_CIRCUIT_ABSENT;
    scheduler_refresh(core, index);
}

void residency_use(struct core *core, uint32_t index)
{
    struct core_circuit *circuit = &core->circuits[index];
    CHECK(circuit->state == CORE_CIRCUIT_RESIDENT);
    idle_remove(core, index);
    reserve(core, circuit->slot_bytes);
    circuit->uses++;
    circuit->used_sequence = ++core->sequence;
}

void residency_leave(struct core *core, uint32_t index)
{
    struct core_circuit *circuit = &core->circuits[index];
    CHECK(circuit->uses > 0 && circuit->state == CORE_CIRCUIT_RESIDENT);
    circuit->uses--;
    unreserve(core, circuit->slot_bytes);
    circuit->used_sequence = ++core->sequence;
    if (circuit->uses == 0) {
        idle_add(core, index);
    }
}

void residency_refresh(struct core *core, uint32_t index)
{
    if (heap_contains(&core->idle, index)) {
        idle_add(core, index);
    }
}

void residency_evict_idle(struct core *core)
{
    while (core->idle.count > 0) {
        evict(core, heap_top(&core->idle));
    }
}
