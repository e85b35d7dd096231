/* device_random.h - repeatable chance for simulated and faulty devices: a hash of what the draw is for.
 *
 * Nothing is remembered between draws, so that one draw more here changes none there. Not for secrets. Source
 * of the mixing constants: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (2014), as in
 * SplitMix64. */
#ifndef CUDA_DEVICE_RANDOM_H
#define CUDA_DEVICE_RANDOM_H

#include <stdint.h>

static inline uint64_t device_random_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* 64 even bits for the number-th event of the kind that stream names. */
static inline uint64_t device_random(uint64_t seed, uint64_t stream, uint64_t number)
{
    return device_random_mix(device_random_mix(device_random_mix(seed) ^ stream) ^ number);
}

#endif
