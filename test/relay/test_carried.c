/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that carry out the calls of their communicator, moved by the ranks' engines or by agents: whoever is late
 * passes on what others contribute, and by agents calls nothing at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "carried.h"

/* The first that is not late broadcasts F times: it comes to all who have started. Then the late ones start. */
static void some_are_late(nbcoll_topology_kind kind, int ranks, unsigned late)
{
    static carried p;
    int root = 0;
    carried_open(&p, ranks, carried_config(kind), NULL);
    carried_await(&p);
    while (late >> root & 1)
        root++;
    for (int turn = 0; turn < 2; turn++) {
        nbcoll_request q[RANKS * AT_ONCE];
        size_t n = 0;
        p.late = carried_by_agents && !turn ? late : 0;
        for (int o = 0; o < AT_ONCE; o++)
            for (int r = 0; r < ranks; r++)
                if ((late >> r & 1) == (unsigned)turn) {
                    memcpy(p.recv[r][o], p.send[r][o], BYTES);
                    EXPECT(OK, nbcoll_ibcast(p.recv[r][o], BYTES, NBCOLL_BYTE, root, p.w.comm[r], &q[n++]));
                }
        carried_finish_all(&p, n, q);
    }
    for (int o = 0; o < AT_ONCE; o++)
        for (int r = 0; r < ranks; r++)
            assert_memory_equal(p.recv[r][o], p.send[root][o], BYTES);
    carried_close(&p);
}

static void a_late_rank_passes_on_what_calls_contribute(void **state)
{
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (int ranks = 2; ranks <= RANKS; ranks++)
            for (unsigned late = 0; late < (1u << ranks) - 1; late++)
                some_are_late((nbcoll_topology_kind)kind, ranks, late);
}

/* The communicator has an agent, on nodes of one rank, and tolerates arrivals. */
static void open_with_agents(carried *p, int ranks)
{
    nbcoll_loopback_config loopback = world_variant(0, 1);
    nbcoll_agent_config agent = {.size = sizeof agent};
    nbcoll_request q[RANKS];
    memset(p, 0, sizeof *p);
    world_open_contexts(&p->w, ranks, &loopback, NULL);
    for (int r = 0; r < ranks; r++) {
        nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
        comm.flags = NBCOLL_ARRIVAL_TOLERANT;
        comm.node = 1 + (uint64_t)r;
        EXPECT(OK, nbcoll_agent_open(p->w.endpoint[r], &agent, &p->agent[r]));
        comm.agent = p->agent[r];
        EXPECT(OK, nbcoll_comm_icreate(p->w.context[r], p->w.endpoint[r], &comm, &p->w.comm[r], &q[r]));
    }
    world_finish(&p->w, (size_t)ranks, q);
    for (int r = 0; r < ranks; r++)
        EXPECT(OK, carried_open_relays(p, r, carried_config(NBCOLL_TOPOLOGY_RING)));
    carried_await(p);
}

static void close_with_agents(carried *p)
{
    for (int r = 0; r < p->w.ranks; r++)
        EXPECT(OK, nbcoll_comm_free(p->w.comm[r]));
    for (int r = 0; r < p->w.ranks; r++)
        p->w.comm[r] = NULL;
    carried_close_ranks(p);
}

/* Of a persistent allgather what is there comes to all who have started it, though the late one calls nothing; longer
 * ones are programs of the same agents. */
static void a_tolerant_communicator_with_an_agent_waits_for_nobody_else(void **state)
{
    enum { LATE = 1, TURNS = 6 };
    static carried p;
    static unsigned char mine[RANKS][LONG], all[RANKS][RANKS * LONG];
    nbcoll_request q[RANKS], of[RANKS];
    (void)state;
    open_with_agents(&p, RANKS);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_allgather_init(mine[r], all[r], BYTES, NBCOLL_BYTE, p.w.comm[r], &of[r]));
    for (int turn = 1; turn <= TURNS; turn++) {
        for (int r = 0; r < RANKS; r++)
            memset(mine[r], turn * 10 + r, sizeof mine[r]);
        p.late = 1u << LATE;
        for (int r = 0; r < RANKS; r++)
            if (r != LATE)
                EXPECT(OK, nbcoll_start(&of[r]));
        for (int looks = 0; all[0][4 * BYTES + BYTES - 1] != turn * 10 + 4; looks++) {
            world_watchdog(&p.w, looks < LOOKS);
            carried_step(&p);
        }
        p.late = 0;
        EXPECT(OK, nbcoll_start(&of[LATE]));
        carried_finish_all(&p, RANKS, of);
        for (int r = 0; r < RANKS; r++)
            for (int k = 0; k < RANKS; k++)
                assert_int_equal(all[r][k * BYTES + BYTES - 1], turn * 10 + k);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_iallgather(mine[r], all[r], LONG, NBCOLL_BYTE, p.w.comm[r], &q[r]));
        carried_finish_all(&p, RANKS, q);
        for (int k = 0; k < RANKS; k++)
            assert_int_equal(all[LATE][k * LONG + LONG - 1], turn * 10 + k);
    }
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_request_free(&of[r]));
    carried_close_relays(&p);
    close_with_agents(&p);
}

static void what_relays_carry_out_is_not_called_offloaded(void **state)
{
    nbcoll_args args = {.size = sizeof args,
                        .operation = NBCOLL_OPERATION_ALLGATHER,
                        .count = BYTES,
                        .reduction = {NBCOLL_BYTE, NBCOLL_SUM}};
    nbcoll_refusal why = {.size = sizeof why};
    static carried p;
    (void)state;
    open_with_agents(&p, 2);
    EXPECT(ERR_UNSUPPORTED, nbcoll_comm_offloads(p.w.comm[0], &args, &why));
    assert_int_equal(why.reason, NBCOLL_REFUSAL_CARRIED);
    assert_string_equal(why.text, nbcoll_refusal_text(NBCOLL_REFUSAL_CARRIED));
    args.count = LONG;
    EXPECT(OK, nbcoll_comm_offloads(p.w.comm[0], &args, &why));
    carried_close_relays(&p);
    args.count = BYTES;
    EXPECT(OK, nbcoll_comm_offloads(p.w.comm[0], &args, &why));
    close_with_agents(&p);
}

int main(void)
{
    const struct CMUnitTest engines[] = {
        cmocka_unit_test(a_late_rank_passes_on_what_calls_contribute),
    };
    const struct CMUnitTest agents[] = {
        cmocka_unit_test(a_late_rank_passes_on_what_calls_contribute),
        cmocka_unit_test(a_tolerant_communicator_with_an_agent_waits_for_nobody_else),
        cmocka_unit_test(what_relays_carry_out_is_not_called_offloaded),
    };
    int failed = cmocka_run_group_tests_name("by engines", engines, NULL, NULL);
    carried_by_agents = 1;
    return failed + cmocka_run_group_tests_name("by agents", agents, NULL, NULL);
}
