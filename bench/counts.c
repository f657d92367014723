/* SPDX-License-Identifier: BSD-3-Clause
 * What it costs that counts differ: allreduces of 10, 11, ... bytes, so many counts, two ranks over shm that one thread
 * steps; in turn, each beside the next, and the same ones, each count 8 times before the next: both move the same
 * bytes. Nanoseconds of one operation, of both ranks, the least of rounds in which all take turns; the ratio; and what
 * the communicator has of schedules. With a number: 8 rounds in turn of so many counts, for callgrind, which is to
 * collect in measured_round. */
#include "stepped.h"

enum { MOST = 2000, ROUNDS = 7, REPEATED = 8 };

static signed char mine[2][MOST + 10], sum[2][MOST + 10];

static void in_turn(stepped *const rank[], size_t counts, int times)
{
    for (size_t i = 0; i < counts; i++)
        for (int k = 0; k < times; k++) {
            for (int r = 0; r < 2; r++)
                must(nbcoll_iallreduce(mine[r], sum[r], 10 + i, NBCOLL_INT8, NBCOLL_SUM, rank[r]->comm,
                                       &rank[r]->request));
            stepped_finish(rank, 2);
        }
}

static __attribute__((noinline)) void measured_round(stepped *const rank[], size_t counts)
{
    in_turn(rank, counts, 1);
}

static double timed(stepped *const rank[], size_t counts, int times)
{
    double at = now();
    for (int i = 0; i < REPEATED / times; i++)
        in_turn(rank, counts, times);
    return (now() - at) / (double)(REPEATED * counts);
}

static void compare(stepped *const rank[])
{
    static const size_t counts[] = {32, 100, 128, 250, 500, 1000, MOST};
    enum { NUMBERS = sizeof counts / sizeof *counts };
    double least[NUMBERS][2];

    for (int i = 0; i <= ROUNDS; i++) /* the first one builds them */
        for (size_t k = 0; k < NUMBERS; k++)
            for (int is_apart = 0; is_apart < 2; is_apart++) {
                double ns = timed(rank, counts[k], is_apart ? REPEATED : 1);
                least[k][is_apart] = i < 2 || ns < least[k][is_apart] ? ns : least[k][is_apart];
            }
    for (size_t k = 0; k < NUMBERS; k++)
        printf("%5zu counts: in turn %5.0f ns each, one after the other %5.0f, %.2f times\n", counts[k], least[k][0],
               least[k][1], least[k][0] / least[k][1]);
}

int main(int argc, char **argv)
{
    static stepped ranks[2];
    stepped *const rank[] = {&ranks[0], &ranks[1]};
    nbcoll_schedules is = {.size = sizeof is};
    size_t only = argc == 2 ? (size_t)atoi(argv[1]) : 0;

    stepped_open(rank, 2);
    if (only && only <= MOST) {
        in_turn(rank, only, 1); /* builds them */
        for (int i = 0; i < 8; i++)
            measured_round(rank, only);
    } else
        compare(rank);
    must(nbcoll_comm_schedules(rank[0]->comm, &is));
    printf("schedules: %u kept, %zu of %zu bytes; %llu operations, %llu built, %llu evicted\n", is.kept, is.bytes,
           is.most, (unsigned long long)is.operations, (unsigned long long)is.built, (unsigned long long)is.evicted);
    return 0;
}
