#include "coordinator/slots.h"

#include "conf/check.h"
#include "coordinator/loop.h"
#include "groth16/verify.h"
#include "groth16/wtns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64, WITNESS_SLACK = 4096 }; /* a file may hold sections that we don't know */

static size_t align(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void slots_layout(struct slots_layout *layout, uint32_t wires, uint32_t publics)
{
    layout->publics_offset = align(sizeof(struct prove_sums));
    layout->text_offset = align(layout->publics_offset + (size_t)publics * sizeof(u256));
    layout->text_capacity = proof_public_json_size(publics);
    layout->witness_offset = align(layout->text_offset + layout->text_capacity);
    layout->witness_capacity = (size_t)wtns_file_size(wires) + WITNESS_SLACK;
    layout->slab_bytes = align(layout->witness_offset + layout->witness_capacity);
}

size_t slots_arena_bytes(uint32_t count)
{
    return arena_bytes_for(count, sizeof(struct slot));
}

enum error_code slots_open(struct slots *slots, struct arena *arena, uint32_t count,
                           const struct slots_layout *layout, bool heap, struct error *error)
{
    memset(slots, 0, sizeof *slots);
    slots->layout = *layout;
    slots->count = count;
    slots->heap = heap;
    slots->table = arena_take(arena, count, sizeof *slots->table);
    for (uint32_t i = 0; i < count; ++i) {
        slots->table[i].number = i;
        slots->table[i].slab = POOL_NONE;
    }
    return heap ? ERROR_NONE : pool_open(&slots->pool, count + SLOTS_SPARE, layout->slab_bytes, error);
}

void slots_close(struct slots *slots)
{
    CHECK(slots->out == 0);
    if (!slots->heap) {
        pool_close(&slots->pool);
    }
}

/* Sets slot->slab in any case, so that the slot is known to be taken. */
static void take_buffers(struct slots *slots, struct slot *slot)
{
    if (slots->heap) {
        slot->slab = slot->number;
        slot->buffers = aligned_alloc(ALIGNMENT, slots->layout.slab_bytes);
        return;
    }
    slot->slab = pool_take(&slots->pool);
    CHECK(slot->slab !=
          POOL_NONE); /* there is one for each slot, and SLOTS_SPARE at most are being released */
    slot->buffers = pool_slab(&slots->pool, slot->slab);
}

bool slots_acquire(struct slots *slots, struct slot *slot, uint32_t partition)
{
    const struct slots_layout *layout = &slots->layout;
    CHECK(slot->slab == POOL_NONE);
    take_buffers(slots, slot);
    ++slots->out;
    slot->partition = partition;
    slot->dirty_bytes = 0;
    slot->generated = slot->simulated = false;
    slot->attempts = 0;
    slot->error.code = ERROR_NONE;
    slot->error.text[0] = 0;
    slot->times = (struct slot_times){0};
    if (slot->buffers == NULL) {
        error_set(&slot->error, ERROR_SYSTEM, "no memory for its buffers (%zu bytes)", layout->slab_bytes);
        return false;
    }
    slot->sums = (struct prove_sums *)(void *)slot->buffers;
    slot->publics = (u256 *)(void *)(slot->buffers + layout->publics_offset);
    slot->public_text = (char *)slot->buffers + layout->text_offset;
    slot->public_capacity = layout->text_capacity;
    slot->witness_file = slot->buffers + layout->witness_offset;
    slot->capacity = layout->witness_capacity;
    return true;
}

void slots_release(struct slots *slots, struct slot *slot)
{
    CHECK(slot->slab != POOL_NONE && slots->out > 0);
    --slots->out;
    if (!slots->heap) {
        pool_wipe(&slots->pool, slot->slab, slot->dirty_bytes);
        pool_give(&slots->pool, slot->slab);
    } else if (slot->buffers != NULL) {
        CHECK(slot->dirty_bytes <= slots->layout.slab_bytes);
        explicit_bzero(slot->buffers, slot->dirty_bytes);
        free(slot->buffers);
    }
    slot->slab = POOL_NONE;
    slot->buffers = NULL;
}

void slot_synthesize(void *argument)
{
    struct slot *slot = argument;
    struct wtns witness;
    const char *name = slot->generated ? slot->generator.witness : slot->config_input->path;
    slot->code = wtns_parse(&witness, slot->witness_file, slot->input.size, name, &slot->error);
    slot->code = slot->code != ERROR_NONE ? slot->code : wtns_match(&witness, &slot->load->key, &slot->error);
    slot->code = slot->code != ERROR_NONE ? slot->code : wtns_check(&witness, &slot->error);
    slot->values = witness.values;
}

static void check_proof(struct slot *slot, const struct proof *proof)
{
    const struct load *load = slot->load;
    for (uint32_t i = 0; i < load->key.publics; ++i) {
        u256_load_le(&slot->publics[i], slot->values + (size_t)(i + 1) * WTNS_VALUE_BYTES);
    }
    enum verify_result result = verify_proof(&load->verify, slot->publics, proof);
    if (result != VERIFY_VALID) {
        slot->code = error_set(
            &slot->error, ERROR_PROOF,
            "%s: the proof did not pass its self-check (%s); most likely the witness does not satisfy "
            "the circuit's constraints",
            slot->config_input->path, verify_result_text(result));
    }
}

static void assemble(struct slot *slot)
{
    const struct load *load = slot->load;
    struct prove_blinding blinding;
    struct proof proof;
    slot->code = prove_blinding_draw(&blinding, &slot->error);
    if (slot->code != ERROR_NONE) {
        return;
    }
    prove_assemble(&proof, &load->circuit, slot->sums, &blinding);
    explicit_bzero(&blinding, sizeof blinding);
    slot->times.assembled_ns = loop_now_ns();
    if (slot->self_check && load->verifiable) {
        check_proof(slot, &proof);
    }
    if (slot->code != ERROR_NONE) {
        return;
    }
    slot->proof_length = proof_write_json(slot->proof_text, sizeof slot->proof_text, &proof);
    slot->public_length =
        proof_public_write_json(slot->public_text, slot->public_capacity, slot->values, load->key.publics);
    slot->proof_crc = journal_codec_crc(0, slot->proof_text, slot->proof_length);
    slot->public_crc = journal_codec_crc(0, slot->public_text, slot->public_length);
}

void slot_finalize(void *argument)
{
    struct slot *slot = argument;
    slot->code = ERROR_NONE;
    slot->times.finalize_begin_ns = slot->times.assembled_ns = loop_now_ns();
    if (slot->simulated) { /* nothing was computed, and nothing may look as if it had been */
        slot->proof_length =
            (size_t)snprintf(slot->proof_text, sizeof slot->proof_text, "{\n \"simulated\": true\n}\n");
    } else {
        assemble(slot);
    }
    if (slot->code == ERROR_NONE) {
        explicit_bzero(slot->sums, sizeof *slot->sums);
        explicit_bzero(slot->witness_file, slot->input.size);
        slot->dirty_bytes = 0; /* public values may stay */
    }
    slot->times.finalize_end_ns = loop_now_ns();
}
