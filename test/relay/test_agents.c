/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that agents move: what ranks contribute comes to all who have started, while those that are late call nothing
 * at all; the late find it in their node's store; who is ahead by more than F operations is held back, and goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "../../src/engine/state/context.h"
#include "crew.h"
#include "party.h"

static const int shapes[][PARTY_SHAPE] = {{1}, {3}, {1, 1}, {2, 1}, {1, 1, 1, 1}, {2, 2, 1}, {1, 3, 1}};
static const int larger[][PARTY_SHAPE] = {{2, 2, 1}, {3, 2, 2, 2}, {1, 1, 1, 1, 1, 1, 1}, {1, 5, 3}};

/* Those that are not late start F operations: their blocks come to each other. Then the late ones do. */
static void some_are_late(nbcoll_topology_kind kind, const int shape[], unsigned late)
{
    static party p;
    party_open(&p, shape, NULL);
    party_open_relays(&p, party_config(kind));
    p.late = late;
    for (int o = 0; o < PARTY_AT_ONCE; o++)
        for (int r = 0; r < p.w.ranks; r++)
            if (!(late >> r & 1))
                EXPECT(OK, party_start(&p, r, o));
    for (int looks = 0; !party_all_have_come(&p, 0) || !party_all_have_come(&p, 1); looks++) {
        world_watchdog(&p.w, looks < PARTY_LOOKS);
        party_step(&p);
    }
    p.late = 0;
    for (int o = 0; o < PARTY_AT_ONCE; o++)
        for (int r = 0; r < p.w.ranks; r++)
            if (late >> r & 1)
                EXPECT(OK, party_start(&p, r, o));
    for (int r = 0; r < p.w.ranks; r++)
        party_finish(&p, r, PARTY_AT_ONCE);
    for (int o = 0; o < PARTY_AT_ONCE; o++)
        for (int r = 0; r < p.w.ranks; r++)
            for (int of = 0; of < p.w.ranks; of++)
                assert_true(party_has_block(&p, r, o, of));
    party_close_relays(&p);
    party_close(&p);
}

static void blocks_come_to_all_who_have_started_while_the_late_call_nothing(void **state)
{
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            int ranks = 0;
            for (int n = 0; shapes[i][n]; n++)
                ranks += shapes[i][n];
            for (unsigned late = 0; late < 1u << ranks; late++)
                some_are_late((nbcoll_topology_kind)kind, shapes[i], late);
        }
}

/* Each rank starts its next operation when it may, at random; what comes is looked at when its place is used again. */
static void go_on(party *p, int operations)
{
    int next[PARTY_RANKS] = {0}, least = 0;
    for (int looks = 0; least < operations; looks++) {
        world_watchdog(&p->w, looks < 50 * PARTY_LOOKS);
        int r = (int)(world_random(&p->w.random) % (unsigned)p->w.ranks);
        nbcoll_status s = next[r] < operations ? party_start(p, r, next[r]) : NBCOLL_ERR_BUSY;
        next[r] += s == NBCOLL_OK;
        assert_true(s == NBCOLL_OK || s == NBCOLL_ERR_BUSY);
        if (looks % 3 == 0)
            party_step(p);
        least = operations;
        for (int i = 0; i < p->w.ranks; i++)
            least = next[i] < least ? next[i] : least;
    }
    for (int r = 0; r < p->w.ranks; r++)
        party_finish(p, r, (uint64_t)operations);
}

static void ranks_go_on_at_their_own_pace(void **state)
{
    static party p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (size_t i = 0; i < sizeof larger / sizeof *larger; i++) {
            party_open(&p, larger[i], NULL);
            party_open_relays(&p, party_config((nbcoll_topology_kind)kind));
            go_on(&p, PARTY_MANY);
            for (int o = 0; o < PARTY_MANY; o++)
                for (int r = 0; r < p.w.ranks; r++)
                    for (int of = 0; of < p.w.ranks; of++)
                        assert_true(party_has_block(&p, r, o, of));
            party_close_relays(&p);
            party_close(&p);
        }
}

/* Of 200 operations the last rank starts none, until the others can start no more. */
static void who_is_ahead_is_held_back_and_goes_on(void **state)
{
    static const int shape[] = {2, 1, 2, 0};
    static party p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++) {
        party_open(&p, shape, NULL);
        party_open_relays(&p, party_config((nbcoll_topology_kind)kind));
        int last = p.w.ranks - 1, started[PARTY_RANKS] = {0};
        p.late = 1u << last;
        for (int looks = 0; looks < 500; looks++) {
            for (int r = 0; r < last; r++)
                started[r] += party_start(&p, r, started[r]) == NBCOLL_OK;
            party_step(&p);
        }
        for (int r = 0; r < last; r++)
            assert_int_equal(started[r], PARTY_AT_ONCE);
        p.late = 0;
        for (int o = 0; o < 200; o++)
            for (int looks = 0; started[last] <= o || started[0] <= o; looks++) {
                world_watchdog(&p.w, looks < PARTY_LOOKS);
                for (int r = 0; r <= last; r++)
                    started[r] += started[r] < 200 && party_start(&p, r, started[r]) == NBCOLL_OK;
                party_step(&p);
            }
        for (int r = 0; r <= last; r++) {
            party_finish(&p, r, 200);
            assert_int_equal(started[r], 200);
        }
        party_close_relays(&p);
        party_close(&p);
    }
}

/* Each root's turn; those who have nothing to give are as late as they like. */
static void broadcasts_come_while_others_are_late(void **state)
{
    static const int shape[] = {2, 1, 2, 0};
    static unsigned char buffer[PARTY_RANKS][2][PARTY_BYTES];
    static party p;
    uint64_t number = 0;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++) {
        party_open(&p, shape, NULL);
        party_open_relays(&p, party_config((nbcoll_topology_kind)kind));
        for (int root = 0; root < p.w.ranks; root++) {
            int late = (root + 1) % p.w.ranks;
            uint64_t first = 2 * (uint64_t)root + 1;
            memset(buffer, 0, sizeof buffer);
            for (int o = 0; o < 2; o++)
                memcpy(buffer[root][o], p.send[root][o], PARTY_BYTES);
            p.late = 1u << late;
            for (int r = 0; r < p.w.ranks; r++)
                for (int o = 0; o < 2 && r != late; o++)
                    EXPECT(OK, nbcoll_relays_bcast(p.relays[r], buffer[r][o], PARTY_BYTES, root, &number));
            for (int r = 0; r < p.w.ranks; r++)
                for (int o = 0; o < 2 && r != late; o++) {
                    party_finish(&p, r, first + (uint64_t)o);
                    assert_memory_equal(buffer[r][o], p.send[root][o], PARTY_BYTES);
                }
            EXPECT(ERR_BUSY, nbcoll_relays_bcast(p.relays[root], buffer[root][0], PARTY_BYTES, root, &number));
            p.late = 0;
            for (int o = 0; o < 2; o++)
                EXPECT(OK, nbcoll_relays_bcast(p.relays[late], buffer[late][o], PARTY_BYTES, root, &number));
            party_finish(&p, late, first + 1);
            assert_memory_equal(buffer[late], buffer[root], sizeof buffer[late]);
            for (int looks = 0; looks < 200; looks++) /* all know that all have started */
                party_step(&p);
        }
        party_close_relays(&p);
        party_close(&p);
    }
}

/* Blocks of no bytes, of one, and of as many as there may be. */
static void blocks_have_any_length(void **state)
{
    static const int shape[] = {2, 1, 1, 0};
    static const size_t lengths[] = {0, 1, 7, 8, 9, 16};
    static unsigned char recv[PARTY_RANKS][PARTY_RANKS * 16], send[PARTY_RANKS][16];
    static party p;
    uint64_t number[PARTY_RANKS];
    (void)state;
    party_open(&p, shape, NULL);
    party_open_relays(&p, party_config(NBCOLL_TOPOLOGY_BRUCK));
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (int r = 0; r < p.w.ranks; r++) {
            memset(recv[r], 0, sizeof recv[r]);
            memset(send[r], r + 1 + (int)i, sizeof send[r]);
            EXPECT(OK, nbcoll_relays_allgather(p.relays[r], send[r], recv[r], lengths[i], &number[r]));
        }
        for (int r = 0; r < p.w.ranks; r++) {
            party_finish(&p, r, number[r]);
            for (int of = 0; of < p.w.ranks; of++)
                assert_memory_equal(recv[r] + (size_t)of * lengths[i], send[of], lengths[i]);
            assert_int_equal(recv[r][(size_t)p.w.ranks * lengths[i]], 0);
        }
    }
    party_close_relays(&p);
    party_close(&p);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Memory that faults when it has been given back. */
static void *take_pages(void *user, size_t bytes, size_t align)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)user;
    (void)align;
    return memory == MAP_FAILED ? NULL : memory;
}

static void give_pages(void *user, void *memory, size_t bytes)
{
    (void)user;
    munmap(memory, bytes);
}

/* Behind the n-th progress of the endpoint of rank 1 the leader ends its closing, before that rank learns of more. */
static struct {
    party *p;
    nbcoll_transport real;
    int progresses;
} interloper;

static void progress_and_let_the_leader_go(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    interloper.real.progress(ep, found);
    if (interloper.progresses-- == 0)
        while (nbcoll_relays_close(interloper.p->relays[0], 0) != NBCOLL_OK)
            nbcoll_agent_progress(interloper.p->agent[0]);
}

/* The leader gives the store back: the other rank of the node looks there no more, wherever it is. */
static void a_leader_may_end_its_closing_while_another_rank_waits_for_the_end_of_its_own(void **state)
{
    static const int shape[] = {2, 0};
    static party p;
    nbcoll_host host = {.size = sizeof host, .alloc = take_pages, .free = give_pages};
    (void)state;
    for (int n = 0; n < 8; n++) {
        party_open(&p, shape, &host);
        party_open_relays(&p, party_config(NBCOLL_TOPOLOGY_BRUCK));
        EXPECT(ERR_TIMEOUT, nbcoll_relays_close(p.relays[1], 0)); /* it leaves the store */
        nbcoll_transport *t = &p.w.comm[1]->link->transport;
        interloper.p = &p;
        interloper.real = *t;
        interloper.progresses = n;
        t->progress = progress_and_let_the_leader_go;
        EXPECT(OK, nbcoll_relays_close(p.relays[1], 60 * SECOND));
        t->progress = interloper.real.progress;
        party_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_come_to_all_who_have_started_while_the_late_call_nothing),
        cmocka_unit_test(ranks_go_on_at_their_own_pace),
        cmocka_unit_test(who_is_ahead_is_held_back_and_goes_on),
        cmocka_unit_test(broadcasts_come_while_others_are_late),
        cmocka_unit_test(blocks_have_any_length),
        cmocka_unit_test(a_leader_may_end_its_closing_while_another_rank_waits_for_the_end_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
