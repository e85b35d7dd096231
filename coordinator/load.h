/* load.h - one circuit of the batch: brought into memory, shared, and let go again.
 *
 * A struct load owns a circuit's proving key (mapped), its tables, its verification key and its attachment to
 * the devices. load_open and load_release are tasks for the crew's long thread, since they take up to
 * seconds; between the two the struct is immutable and any thread may read key, circuit and verify.
 * load_look, before the loop starts, reads the key once to learn what it will take. */
#ifndef COORDINATOR_LOAD_H
#define COORDINATOR_LOAD_H

#include "conf/config.h"
#include "conf/error.h"
#include "cuda/device.h"
#include "cuda/team.h"
#include "groth16/circuit.h"
#include "groth16/verify.h"
#include "groth16/zkey.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct load_devices {
    struct device **devices;
    unsigned count;
};

/* What a circuit takes; zero if its key could not be read. */
struct load_sizes {
    uint32_t wires, publics;
    uint64_t resident_bytes; /* key, tables and verification key */
    struct circuit shape;    /* key and domain only: enough to ask for scratch sizes */
};

struct load {
    const struct config_circuit *config;
    const struct load_devices *devices;
    struct team *team; /* whose idle threads help */
    bool verify_wanted;

    struct load_sizes sizes; /* by load_look, tables added by load_choose_tables */
    enum multiples_kind tables;
    uint64_t key_size;
    int64_t key_mtime_ns;
    enum error_code look_code; /* of load_look: without sizes it cannot be loaded */

    uint32_t generation; /* of the core's request, to be repeated in the answer */
    struct zkey key;
    struct circuit circuit;
    struct verify_key verify;
    bool key_open, verifiable;
    void *memory;
    size_t memory_bytes;
    void *multiples;
    size_t multiples_bytes;
    unsigned attached; /* devices that were asked to take it */
    bool cpu_only;     /* a GPU has no room for it, see refusal; CPU lanes prove it */
    struct error refusal;
    uint64_t took_ns;
    enum error_code code; /* of load_open */
    struct error error;
};

/* Fills sizes, or sets look_code and error. Blocks. */
void load_look(struct load *load);

/* Decides on tables of multiples (groth16/multiples.h) for a batch of `proofs` and adds their bytes to the
 * sizes; none if they take more than allowed_bytes. witness: a file that the batch will prove, or NULL; read
 * only where the configuration leaves the choice open. Blocks. */
void load_choose_tables(struct load *load, uint64_t proofs, uint64_t allowed_bytes, const char *witness);

/* Tasks: load_open sets code and error and leaves nothing behind on failure. */
void load_open(void *load);
void load_release(void *load);

#endif
