/* sim_prover.h - devices that prove nothing and can tell right from wrong.
 *
 * A prover takes its time as device_sim does and answers with sums that are a hash of the witness as it is
 * when the proof is done; the linker puts it in the place of the CPU and CUDA devices, and simple stand-ins
 * in the place of the mathematics that follows (assembly, self-check). So a proof's text is right exactly if
 * it was made from the witness of its partition, whole and in time. A wrapper device (cuda/device_fault.h)
 * may spoil the sums; then the stand-in of the self-check finds out. Equal blindings of two proofs are an
 * error. */
#ifndef TESTS_SIM_PROVER_H
#define TESTS_SIM_PROVER_H

#include "conf/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Forgets what was proven and drawn; gpus: how many there are. */
void sim_prover_reset(const struct config_sim *timing, unsigned gpus);

/* From now on the CPU device and its team are what they are elsewhere, for opening and closing them. */
void sim_prover_real_cpu(bool real);

/* The texts of the proof and the public values of a witness (values of 32 bytes). Sizes as their writers
 * want. */
size_t sim_prover_proof(char *text, size_t capacity, const uint8_t *values, uint32_t wires);

/* Whether the process may have been paused between the core's decision and a device's start. That counts as
 * the device's time, and nobody can tell it from a device that is silent. */
bool sim_prover_late(void);

/* How often a witness with this last value was proven since the reset; numbers below SIM_PROVER_NUMBERS. */
enum { SIM_PROVER_NUMBERS = 256 };
unsigned sim_prover_proven(uint32_t number);

#endif
