/* sim_random.h - the simulator's random numbers: xoshiro256** seeded by splitmix64 (Blackman and Vigna,
 * 2018). Equal seeds give equal sequences everywhere. */
#ifndef TESTS_SIM_RANDOM_H
#define TESTS_SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct sim_random {
    uint64_t state[4];
};

static inline void sim_random_init(struct sim_random *random, uint64_t seed)
{
    for (unsigned i = 0; i < 4; i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t mixed = (seed ^ seed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        random->state[i] = mixed ^ mixed >> 31;
    }
}

static inline uint64_t sim_random_word(struct sim_random *random)
{
    uint64_t *s = random->state;
    uint64_t product = s[1] * 5;
    uint64_t word = (product << 7 | product >> 57) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = s[3] << 45 | s[3] >> 19;
    return word;
}

/* From low to high, both included; the bias of the modulus does not matter here. */
static inline uint64_t sim_random_between(struct sim_random *random, uint64_t low, uint64_t high)
{
    return low + sim_random_word(random) % (high - low + 1);
}

/* True in permille cases of a thousand. */
static inline bool sim_random_chance(struct sim_random *random, unsigned permille)
{
    return sim_random_word(random) % 1000 < permille;
}

#endif
