/* slots.h - what the shell knows about each slot: the partition in it and every operation that may be under
 * way for it.
 *
 * The core decides which partition has which slot (core.h); a struct slot holds what carrying that out takes:
 * buffers for the witness, its sums and its texts, and the states of reading, generating, synthesizing,
 * finalizing and writing. One operation at a time is under way for a slot. While that is a task of the crew
 * the slot is the crew's, while it is a submission the device reads the witness and writes the sums;
 * otherwise it is the coordinator's.
 *
 * Buffers that hold secrets lie in a pool, which stays out of core dumps; a witness is wiped as soon as its
 * proof is assembled, or when the slot is released. For comparisons of allocators they can come from malloc
 * instead, one for each partition: then the coordinator allocates, and core dumps have them. */
#ifndef COORDINATOR_SLOTS_H
#define COORDINATOR_SLOTS_H

#include "alloc/arena.h"
#include "alloc/pool.h"
#include "conf/config.h"
#include "coordinator/generator.h"
#include "coordinator/input.h"
#include "coordinator/journal_file.h"
#include "coordinator/load.h"
#include "coordinator/output.h"
#include "groth16/proof.h"
#include "groth16/prove.h"
#include "groth16/u256.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times of one partition, for its timing lines; CLOCK_MONOTONIC. */
struct slot_times {
    uint64_t generate_posted_ns, generate_begin_ns;
    uint64_t read_begin_ns;
    uint64_t submit_ns;
    uint64_t finalize_begin_ns, assembled_ns, finalize_end_ns;
    uint64_t write_begin_ns;
};

struct slot {
    uint32_t number;
    uint32_t partition;
    uint32_t generation; /* of the operation under way */
    const struct config_job *job;
    const struct config_input *config_input;
    const struct load *load;
    struct journal_file *journal;
    int witness_folder; /* of the job's witness command */

    uint32_t slab; /* of the pool; POOL_NONE without buffers */
    uint8_t *buffers;
    uint8_t *witness_file; /* in the buffers, capacity bytes */
    size_t capacity;
    size_t dirty_bytes; /* of the buffers, to be wiped */
    struct prove_sums *sums;
    u256 *publics;
    char *public_text;
    size_t public_capacity, public_length;
    char proof_text[PROOF_JSON_BYTES];
    size_t proof_length;
    uint32_t proof_crc, public_crc;
    bool generated; /* the witness came from a command */
    bool simulated; /* proven by a device that computes nothing */
    bool self_check;
    const uint8_t *values;
    uint64_t input_size;
    int64_t input_mtime_ns;
    unsigned attempts;
    uint32_t device; /* of the last submission */
    uint32_t lane;

    enum error_code code; /* of the task under way */
    struct error error;   /* of what failed last */
    struct slot_times times;

    struct generator generator;
    struct input input;
    struct output output;
    struct journal_file_entry entry;
};

/* Room in a slab for partitions of circuits of up to so many wires and public values. */
struct slots_layout {
    size_t publics_offset, text_offset, text_capacity, witness_offset, witness_capacity, slab_bytes;
};
void slots_layout(struct slots_layout *layout, uint32_t wires, uint32_t publics);

enum { SLOTS_SPARE = 4 }; /* slabs that can be released while every slot is taken */

struct slots {
    struct slots_layout layout;
    bool heap;    /* buffers from malloc, and no pool */
    uint32_t out; /* slots that have buffers */
    struct pool pool;
    uint32_t count;
    struct slot *table;
};

size_t slots_arena_bytes(uint32_t count);

/* ERROR_SYSTEM if the pool cannot be mapped. */
enum error_code ERROR_MUST_USE slots_open(struct slots *slots, struct arena *arena, uint32_t count,
                                          const struct slots_layout *layout, bool heap, struct error *error);
/* A slot that still has its buffers is a leak in the caller and aborts. */
void slots_close(struct slots *slots);

/* Gives the slot its buffers for a partition; its other fields are set by the caller. False: malloc has none,
 * and slot->error says so; the slot can do nothing but be released. */
bool slots_acquire(struct slots *slots, struct slot *slot, uint32_t partition);

/* Wipes and gives back the buffers, layout.slab_bytes of them. */
void slots_release(struct slots *slots, struct slot *slot);

/* Tasks on a slot. slot_synthesize checks the file that was read: it parses, fits the circuit, and every
 * value is in range; values is set. slot_finalize blinds and assembles the proof, checks it if self_check is
 * set, writes the texts, and wipes the witness; ERROR_PROOF: the check failed, and the witness stays for
 * another attempt. Both set slot->code, and on failure slot->error. */
void slot_synthesize(void *slot);
void slot_finalize(void *slot);

#endif
