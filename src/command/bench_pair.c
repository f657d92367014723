/* SPDX-License-Identifier: BSD-3-Clause
 * The point-to-point baseline: messages between two ranks, as two algorithms of their own, so that the same calls,
 * engine and transport carry them as the collectives. A round trip, and a window of messages one way that one word
 * answers; a segment is a message. */
#include <nbcoll/schedule.h>

#include "bench.h"

enum { WINDOW = 64 };
#define MOST ((size_t)64 << 20) /* bytes of a window */

int bench_window(size_t bytes)
{
    size_t fit = bytes ? MOST / bytes : WINDOW;
    return fit > WINDOW ? WINDOW : fit ? (int)fit : 1;
}

static void build_round_trip(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_step step[2];
    for (int i = 0; i < 2; i++) /* rank 0 sends first */
        step[i] = b->rank == i ? nbcoll_add_send(b, !b->rank, a->send, a->segment)
                               : nbcoll_add_recv(b, !b->rank, a->recv, a->segment);
    nbcoll_after(b, step[1], step[0]);
}

static void build_window(nbcoll_builder *b, const nbcoll_args *a)
{
    int messages = bench_window(a->segment);
    nbcoll_step answer = b->rank == 0 ? nbcoll_add_recv(b, 1, a->recv, 0) : nbcoll_add_send(b, 0, a->send, 0);
    for (int i = 0; i < messages && b->rank == 0; i++)
        nbcoll_add_send(b, 1, nbcoll_at(a->send, (size_t)i * a->segment), a->segment);
    for (int i = 0; i < messages && b->rank == 1; i++)
        nbcoll_after(b, answer, nbcoll_add_recv(b, 0, nbcoll_at(a->recv, (size_t)i * a->segment), a->segment));
}

static const nbcoll_algorithm round_trip = {sizeof round_trip, "round_trip", NBCOLL_OPERATION_ALLGATHER,
                                            build_round_trip, NBCOLL_ALGORITHM_SEGMENT, NULL};
static const nbcoll_algorithm window = {sizeof window, "window", NBCOLL_OPERATION_ALLGATHER, build_window,
                                        NBCOLL_ALGORITHM_SEGMENT, NULL};

void bench_pair_plan(bench_plan *plan, size_t bytes)
{
    plan->is_pair = 1; /* an allgather has buffers for both */
    plan->at = (nbcoll_case){.size = sizeof plan->at, .operation = NBCOLL_OPERATION_ALLGATHER, .ranks = 2,
                             .count = bytes * (size_t)bench_window(bytes), .reduction.type = NBCOLL_BYTE};
    plan->instances = 1;
    plan->only = 1u << BENCH_NONBLOCKING;
    plan->entries = 2;
    plan->entry[0].choice = (nbcoll_choice){.algorithm = &round_trip, .segment = bytes};
    plan->entry[1].choice = (nbcoll_choice){.algorithm = &window, .segment = bytes};
}
