/* SPDX-License-Identifier: BSD-3-Clause
 * A judge that shares nothing with the verifier: it runs the schedules of all ranks over real bytes, with ranks and
 * steps in an order that dice make of their edges alone, and compares what comes out with what the meaning claims.
 * Elements of reductions have 32 bits, whatever their type; what an operation does with them is the player's. */
#ifndef TEST_VERIFY_PLAYER_H
#define TEST_VERIFY_PLAYER_H

#include <nbcoll/verify.h>

typedef struct player player;

/* Of schedules without CALLs, which must outlive it, as must the meaning. */
player *player_open(const nbcoll_schedule *const schedules[], const nbcoll_meaning *meaning);
void player_close(player *p);

/* Plays once. Null: all steps ended, and every byte is right; or what is wrong. */
const char *player_play(player *p, uint64_t *dice);

/* Plays so many times: what was wrong first, or null. */
const char *player_judge(const nbcoll_schedule *const schedules[], const nbcoll_meaning *meaning, int times,
                         uint64_t *dice);

#endif
