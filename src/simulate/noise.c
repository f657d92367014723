/* SPDX-License-Identifier: BSD-3-Clause
 * Noise: when a core that is taken away now and then has done its work. Nothing is kept: where a pulse lies follows
 * from the seed, the core and the number of the period. */
#include "simulate.h"

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014): the finalizer. */
static uint64_t nbcolli_noise_stir(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint64_t nbcolli_mix(uint64_t seed, uint64_t a, uint64_t b)
{
    return nbcolli_noise_stir(nbcolli_noise_stir(nbcolli_noise_stir(seed + UINT64_C(0x9e3779b97f4a7c15)) + a) + b);
}

enum { NBCOLLI_NOISE_CHOICE = 1, NBCOLLI_NOISE_PLACE = 2 }; /* what the numbers are for */

/* The core's periods begin so long before time 0. */
static uint64_t nbcolli_noise_shift(const nbcoll_sim_config *config, uint64_t core)
{
    const nbcoll_sim_noise *n = &config->noise;
    return n->phase == NBCOLL_SIM_TOGETHER ? 0 : nbcolli_mix(config->seed + NBCOLLI_NOISE_PLACE, core, 0) % n->period;
}

static uint64_t nbcolli_noise_begin(const nbcoll_sim_config *config, uint64_t core, uint64_t period)
{
    const nbcoll_sim_noise *n = &config->noise;
    uint64_t offset = 0;
    if (n->phase == NBCOLL_SIM_RANDOM)
        offset = nbcolli_mix(config->seed + NBCOLLI_NOISE_PLACE, core, period + 1) % (n->period - n->length + 1);
    return period * n->period + offset;
}

uint64_t nbcolli_noise_end(const nbcoll_sim_config *config, uint64_t core, uint64_t t, uint64_t work)
{
    const nbcoll_sim_noise *n = &config->noise;
    if (!n->period || !n->length || nbcolli_mix(config->seed + NBCOLLI_NOISE_CHOICE, core, 0) % 1000 >= n->share)
        return t + work;
    uint64_t shift = nbcolli_noise_shift(config, core);
    t += shift;
    for (uint64_t period = t / n->period;; period++) {
        uint64_t begin = nbcolli_noise_begin(config, core, period);
        if (t < begin && work <= begin - t)
            return t + work - shift;
        work -= t < begin ? begin - t : 0;
        if (t < begin + n->length)
            t = begin + n->length;
        uint64_t next = (period + 1) * n->period;
        if (work <= next - t)
            return t + work - shift;
        work -= next - t;
        t = next;
    }
}
