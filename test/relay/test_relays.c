/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that run: what ranks contribute comes to all who have started, whoever is late; the late find it; a store that
 * is full holds back its own stream, and nothing else; whatever goes wrong is told, and they can be closed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/relay.h"
#include "purse.h"
#include "stepped.h"
#include "world.h"

enum { RANKS = 5, AT_ONCE = 2, MANY = 9, BYTES = 13, LOOKS = 4000, CREDITS = 4 };

typedef struct party {
    world w;
    nbcoll_relays *relays[WORLD_MOST];
    unsigned late; /* bits of ranks that call nothing but nbcoll_progress */
    unsigned char send[RANKS][MANY][BYTES], recv[RANKS][MANY][RANKS * BYTES];
    uint64_t number[RANKS][MANY];
} party;

/* Fragments of 8 bytes, two a block. */
static nbcoll_relays_config plain(nbcoll_topology_kind kind)
{
    nbcoll_relays_config c = NBCOLL_RELAYS_DEFAULTS;
    c.topology = kind;
    c.at_once = AT_ONCE;
    c.fragments = 2;
    c.fragment = 8;
    return c;
}

/* One look of each rank. */
static void step(party *p)
{
    for (int r = 0; r < p->w.ranks; r++)
        if (p->late >> r & 1)
            nbcoll_progress(p->w.context[r]);
        else
            nbcoll_relays_test(p->relays[r], 0);
}

static void open_all(party *p, int ranks, nbcoll_relays_config config)
{
    nbcoll_loopback_config loopback = world_variant(0, 1);
    nbcoll_context_config context = {.size = sizeof context, .credits = CREDITS};
    memset(p, 0, sizeof *p);
    world_open(&p->w, ranks, &loopback, &context, NULL);
    for (int r = 0; r < ranks; r++)
        EXPECT(OK, nbcoll_relays_open(p->w.comm[r], &config, &p->relays[r]));
    for (int looks = 0; looks < LOOKS; looks++)
        step(p);
    for (int r = 0; r < ranks; r++) {
        EXPECT(OK, nbcoll_relays_test(p->relays[r], 0));
        for (int o = 0; o < MANY; o++)
            for (int i = 0; i < BYTES; i++)
                p->send[r][o][i] = (unsigned char)(r * 31 + o * 7 + i + 1);
    }
}

static void close_all(party *p)
{
    stepped_close(&p->w, p->relays);
    world_close(&p->w);
}

static nbcoll_status start(party *p, int rank, int o)
{
    return nbcoll_relays_allgather(p->relays[rank], p->send[rank][o], p->recv[rank][o], BYTES, &p->number[rank][o]);
}

static int has_block(const party *p, int rank, int o, int of)
{
    return memcmp(&p->recv[rank][o][of * BYTES], p->send[of][o], BYTES) == 0;
}

static int all_have_come(const party *p, int o)
{
    for (int r = 0; r < p->w.ranks; r++)
        for (int of = 0; of < p->w.ranks && !(p->late >> r & 1); of++)
            if (!(p->late >> of & 1) && nbcoll_relays_arrived(p->relays[r], p->number[r][o], of) != NBCOLL_OK)
                return 0;
    return 1;
}

/* ---- late ranks -------------------------------------------------------------------------------------------------- */

/* Those that are not late start F operations: their blocks come to each other. Then the late ones do. */
static void some_are_late(nbcoll_topology_kind kind, int ranks, unsigned late)
{
    static party p;
    open_all(&p, ranks, plain(kind));
    p.late = late;
    for (int o = 0; o < AT_ONCE; o++)
        for (int r = 0; r < ranks; r++)
            if (!(late >> r & 1))
                EXPECT(OK, start(&p, r, o));
    for (int looks = 0; !all_have_come(&p, 0) || !all_have_come(&p, 1); looks++) {
        world_watchdog(&p.w, looks < LOOKS);
        step(&p);
    }
    p.late = 0;
    for (int o = 0; o < AT_ONCE; o++)
        for (int r = 0; r < ranks; r++)
            if (late >> r & 1)
                EXPECT(OK, start(&p, r, o));
    for (int r = 0; r < ranks; r++)
        for (int looks = 0; nbcoll_relays_test(p.relays[r], AT_ONCE) == NBCOLL_PENDING; looks++) {
            world_watchdog(&p.w, looks < LOOKS);
            step(&p);
        }
    for (int o = 0; o < AT_ONCE; o++)
        for (int r = 0; r < ranks; r++)
            for (int of = 0; of < ranks; of++)
                assert_true(has_block(&p, r, o, of));
    close_all(&p);
}

static void blocks_come_to_all_who_have_started_whoever_is_late(void **state)
{
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (int ranks = 1; ranks <= RANKS; ranks++)
            for (unsigned late = 0; late < 1u << ranks; late++)
                some_are_late((nbcoll_topology_kind)kind, ranks, late);
}

/* Each rank starts its next operation when it may, at random. */
static void ranks_go_on_at_their_own_pace(void **state)
{
    static party p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++) {
        int next[RANKS] = {0}, least = 0;
        open_all(&p, RANKS, plain((nbcoll_topology_kind)kind));
        for (int looks = 0; least < MANY; looks++) {
            world_watchdog(&p.w, looks < 50 * LOOKS);
            int r = (int)(world_random(&p.w.random) % RANKS);
            nbcoll_status s = next[r] < MANY ? start(&p, r, next[r]) : NBCOLL_ERR_BUSY;
            next[r] += s == NBCOLL_OK;
            assert_true(s == NBCOLL_OK || s == NBCOLL_ERR_BUSY);
            step(&p);
            least = MANY;
            for (int i = 0; i < RANKS; i++)
                least = next[i] < least ? next[i] : least;
        }
        for (int r = 0; r < RANKS; r++)
            for (int looks = 0; nbcoll_relays_test(p.relays[r], MANY) == NBCOLL_PENDING; looks++) {
                world_watchdog(&p.w, looks < LOOKS);
                step(&p);
            }
        for (int o = 0; o < MANY; o++)
            for (int r = 0; r < RANKS; r++)
                for (int of = 0; of < RANKS; of++)
                    assert_true(has_block(&p, r, o, of));
        close_all(&p);
    }
}

/* Rank 0 broadcasts for as long as it may, while the last rank has started nothing: it fills that rank's store, and is
 * held back. The other ranks' streams, and the communicator, whose ranks may have few messages under way, are as
 * before; then the late one comes, and all is there. */
static void a_full_store_holds_back_its_own_stream_alone(void **state)
{
    static party p;
    static unsigned char buffer[RANKS][20][BYTES];
    uint64_t number[RANKS] = {0}, other = 0;
    nbcoll_request q[RANKS];
    int last = RANKS - 1;
    (void)state;
    open_all(&p, RANKS, plain(NBCOLL_TOPOLOGY_DIRECT));
    p.late = 1u << last;
    memset(buffer[0], 7, sizeof buffer[0]);
    int held = 0, count = 0;
    for (; count < 20 && !held; count++)
        for (int r = 0; r < last && !held; r++)
            for (int looks = 0;; looks++) {
                nbcoll_status s = nbcoll_relays_bcast(p.relays[r], buffer[r][count], BYTES, 0, &number[r]);
                held = s == NBCOLL_ERR_BUSY && looks > 500;
                if (s == NBCOLL_OK || held)
                    break;
                assert_int_equal(s, NBCOLL_ERR_BUSY);
                step(&p);
            }
    assert_int_equal(number[0], 4 * AT_ONCE); /* places for 3 F, and F wait for one */
    for (int r = 1; r < last; r++) {
        EXPECT(OK, nbcoll_relays_test(p.relays[r], 3 * AT_ONCE));
        EXPECT(PENDING, nbcoll_relays_test(p.relays[r], 3 * AT_ONCE + 1));
    }
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibarrier(p.w.comm[r], &q[r]));
    world_finish(&p.w, RANKS, q);
    p.late = 0;
    for (uint64_t o = 1; o <= number[0]; o++)
        for (int looks = 0; nbcoll_relays_bcast(p.relays[last], buffer[last][o - 1], BYTES, 0, &other); looks++) {
            world_watchdog(&p.w, looks < LOOKS);
            step(&p);
        }
    for (int looks = 0; nbcoll_relays_test(p.relays[last], other) == NBCOLL_PENDING; looks++) {
        world_watchdog(&p.w, looks < LOOKS);
        step(&p);
    }
    for (uint64_t o = 0; o < number[0]; o++)
        assert_memory_equal(buffer[last][o], buffer[0][o], BYTES);
    for (int looks = 0; looks < LOOKS; looks++)
        step(&p);
    close_all(&p);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void bad_calls_are_refused(void **state)
{
    static party p;
    uint64_t number = 77;
    nbcoll_relays *relays;
    (void)state;
    open_all(&p, 2, plain(NBCOLL_TOPOLOGY_DIRECT));
    for (int which = 0; which < 6; which++) {
        nbcoll_relays_config bad = plain(NBCOLL_TOPOLOGY_DIRECT);
        uint32_t *const members[] = {&bad.at_once, &bad.fragments, &bad.fragment};
        if (which < 3)
            *members[which] = 0;
        else if (which == 3)
            bad.topology = NBCOLL_TOPOLOGY_COUNT;
        else if (which == 4)
            bad.at_once = bad.fragments = 1024;
        else
            bad.size = 1;
        EXPECT(ERR_CONFIG, nbcoll_relays_open(p.w.comm[0], &bad, &relays));
    }
    EXPECT(ERR_NULL, nbcoll_relays_open(NULL, NULL, &relays));
    EXPECT(ERR_NULL, nbcoll_relays_test(NULL, 0));
    EXPECT(ERR_REQUEST, nbcoll_relays_test(p.relays[0], 1));
    EXPECT(ERR_ROOT, nbcoll_relays_bcast(p.relays[0], p.recv[0][0], BYTES, 2, &number));
    EXPECT(ERR_COUNT, nbcoll_relays_bcast(p.relays[0], p.recv[0][0], 17, 0, &number));
    EXPECT(ERR_RANK, nbcoll_relays_arrived(p.relays[0], 1, 2));
    EXPECT(ERR_REQUEST, nbcoll_relays_arrived(p.relays[0], 1, 1));
    assert_int_equal(number, 77);
    for (int o = 0; o < AT_ONCE; o++)
        EXPECT(OK, start(&p, 0, o));
    EXPECT(ERR_BUSY, start(&p, 0, AT_ONCE));
    EXPECT(ERR_BUSY, nbcoll_relays_close(p.relays[0], 0));
    EXPECT(ERR_TIMEOUT, nbcoll_relays_wait(p.relays[0], 1, 1000000));
    for (int o = 0; o < AT_ONCE; o++)
        EXPECT(OK, start(&p, 1, o));
    for (int looks = 0; looks < LOOKS; looks++)
        step(&p);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_relays_test(p.relays[r], AT_ONCE));
    close_all(&p);
}

/* Each time it runs out later. */
static void without_memory_nothing_is_opened_and_nothing_kept(void **state)
{
    static party p;
    nbcoll_loopback_config loopback = world_variant(0, 1);
    nbcoll_status s = NBCOLL_ERR_MEMORY;
    purse mine = {0};
    nbcoll_host host = purse_host(&mine);
    nbcoll_relays_config config = plain(NBCOLL_TOPOLOGY_CAYLEY);
    int failed = 0;
    (void)state;
    config.host = &host;
    memset(&p, 0, sizeof p);
    world_open(&p.w, 1, &loopback, NULL, NULL);
    for (; s == NBCOLL_ERR_MEMORY; failed++) {
        mine.left = failed;
        s = nbcoll_relays_open(p.w.comm[0], &config, &p.relays[0]);
        if (s != NBCOLL_OK)
            assert_int_equal(mine.out, 0);
    }
    EXPECT(OK, s);
    assert_in_range(failed, 5, 1000);
    mine.left = 1000;
    for (int looks = 0; looks < LOOKS; looks++)
        step(&p);
    EXPECT(OK, nbcoll_relays_test(p.relays[0], 0));
    close_all(&p);
    assert_int_equal(mine.out, 0);
}

/* Neither the relays nor the contexts take any. */
static void operations_take_no_memory(void **state)
{
    static party p;
    purse mine = {.left = 1 << 20};
    nbcoll_context_config context = {.size = sizeof context, .host = purse_host(&mine)};
    nbcoll_loopback_config loopback = world_variant(0, 1);
    nbcoll_relays_config config = plain(NBCOLL_TOPOLOGY_RING);
    int left = 0;
    (void)state;
    config.host = &context.host;
    memset(&p, 0, sizeof p);
    world_open(&p.w, 3, &loopback, &context, NULL);
    for (int r = 0; r < 3; r++)
        EXPECT(OK, nbcoll_relays_open(p.w.comm[r], &config, &p.relays[r]));
    for (int o = 0; o < 40; o++) {
        for (int r = 0; r < 3; r++)
            for (int looks = 0; start(&p, r, o % MANY) != NBCOLL_OK; looks++) {
                world_watchdog(&p.w, looks < LOOKS);
                step(&p);
            }
        left = o == 20 ? mine.left : left; /* all places have been used */
    }
    for (int looks = 0; looks < LOOKS; looks++)
        step(&p);
    for (int r = 0; r < 3; r++)
        EXPECT(OK, nbcoll_relays_test(p.relays[r], 40));
    assert_int_equal(mine.left, left);
    close_all(&p);
}

static void ranks_that_mean_the_same_ports_do_not_differ(void **state)
{
    static party p;
    nbcoll_relays_config config = plain(NBCOLL_TOPOLOGY_BRUCK);
    nbcoll_loopback_config loopback = world_variant(0, 1);
    (void)state;
    memset(&p, 0, sizeof p);
    world_open(&p.w, 2, &loopback, NULL, NULL);
    for (int r = 0; r < 2; r++) {
        config.ports = r ? 2 : 0;
        EXPECT(OK, nbcoll_relays_open(p.w.comm[r], &config, &p.relays[r]));
    }
    for (int looks = 0; looks < LOOKS; looks++)
        step(&p);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_relays_allgather(p.relays[r], p.send[r][0], p.recv[r][0], 8, &p.number[r][0]));
    for (int looks = 0; looks < LOOKS; looks++)
        step(&p);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_relays_test(p.relays[r], 1));
    close_all(&p);
}

static void ranks_that_differ_are_told(void **state)
{
    static party p;
    (void)state;
    for (int how = 0; how < 2; how++) { /* in the configuration; in the bytes of a block */
        nbcoll_relays_config config = plain(NBCOLL_TOPOLOGY_DIRECT);
        nbcoll_loopback_config loopback = world_variant(0, 1);
        memset(&p, 0, sizeof p);
        world_open(&p.w, 2, &loopback, NULL, NULL);
        for (int r = 0; r < 2; r++) {
            config.fragment = 8 + (how == 0 ? (unsigned)r : 0);
            EXPECT(OK, nbcoll_relays_open(p.w.comm[r], &config, &p.relays[r]));
        }
        for (int looks = 0; looks < LOOKS; looks++)
            step(&p);
        for (int r = 0; r < 2; r++)
            if (how == 0)
                EXPECT(ERR_MISMATCH, nbcoll_relays_test(p.relays[r], 0));
            else
                EXPECT(OK, nbcoll_relays_allgather(p.relays[r], p.send[r][0], p.recv[r][0], 5u + (unsigned)r,
                                                   &p.number[r][0]));
        for (int looks = 0; looks < LOOKS; looks++)
            step(&p);
        for (int r = 0; r < 2; r++)
            EXPECT(ERR_MISMATCH, nbcoll_relays_test(p.relays[r], how ? 1 : 0));
        close_all(&p);
    }
}

/* Of two ranks that differ one sees it; the others, of which one has started nothing, hear of it, and all can close. */
static void who_finds_them_broken_tells_all_ranks(void **state)
{
    static party p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++) {
        open_all(&p, 4, plain((nbcoll_topology_kind)kind));
        for (int r = 0; r < 3; r++)
            EXPECT(OK, nbcoll_relays_bcast(p.relays[r], p.recv[r][0], r ? 6 : 5, r ? 2 : 0, &p.number[r][0]));
        for (int looks = 0; looks < LOOKS; looks++)
            step(&p);
        for (int r = 0; r < 4; r++) {
            nbcoll_status s = nbcoll_relays_test(p.relays[r], 0);
            assert_true(s == NBCOLL_ERR_MISMATCH || s == NBCOLL_ERR_CANCELLED);
        }
        close_all(&p);
    }
}

static void a_lost_rank_ends_what_is_under_way_and_they_can_be_closed(void **state)
{
    static party p;
    (void)state;
    open_all(&p, 3, plain(NBCOLL_TOPOLOGY_RING));
    for (int r = 0; r < 2; r++)
        EXPECT(OK, start(&p, r, 0));
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_declare_lost(p.w.comm[r], 2));
    p.late = 1u << 2;
    for (int looks = 0; looks < LOOKS; looks++)
        step(&p);
    for (int r = 0; r < 2; r++) {
        EXPECT(ERR_PEER_LOST, nbcoll_relays_test(p.relays[r], 1));
        EXPECT(ERR_PEER_LOST, start(&p, r, 1));
    }
    for (int looks = 0; looks < LOOKS; looks++)
        nbcoll_relays_test(p.relays[2], 0);
    close_all(&p);
}

/* Has it still to close them? */
static int look_to_close(party *p, int rank)
{
    if (p->relays[rank] && nbcoll_relays_close(p->relays[rank], 0) == NBCOLL_OK)
        p->relays[rank] = NULL;
    else
        nbcoll_progress(p->w.context[rank]);
    return p->relays[rank] != NULL;
}

/* All but rank `without` have closed, which is called no more. */
static void others_close(party *p, int without)
{
    int left = 1;
    for (int looks = 0; left; looks++) {
        world_watchdog(&p->w, looks < LOOKS);
        left = 0;
        for (int r = 0; r < p->w.ranks; r++)
            if (r != without)
                left += look_to_close(p, r);
    }
}

/* After so many looks of theirs, while all of them are closing. Returns whether all were closed before. */
static int lost_while_they_close(party *p, int victim, int looks)
{
    int left = 0;
    for (int i = 0; i < looks; i++)
        look_to_close(p, (int)(world_random(&p->w.random) % (unsigned)p->w.ranks));
    for (int r = 0; r < p->w.ranks; r++) {
        left += p->relays[r] != NULL;
        if (r != victim)
            EXPECT(OK, nbcoll_comm_declare_lost(p->w.comm[r], victim));
    }
    others_close(p, victim);
    others_close(p, -1); /* at last itself, for the end of the world */
    return !left;
}

static void a_rank_that_is_lost_at_any_look_of_the_closing_is_not_waited_for(void **state)
{
    static party p;
    int closed = 0, lost = 0;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (int looks = 0; looks < 64; looks++) {
            open_all(&p, 4, plain((nbcoll_topology_kind)kind));
            p.w.random = (uint64_t)(64 * kind + looks + 1);
            for (int r = 0; r < 4; r++)
                EXPECT(OK, start(&p, r, 0));
            for (int i = 0; i < LOOKS / 10; i++)
                step(&p);
            if (lost_while_they_close(&p, looks % 4, looks / 2 * 2))
                closed++;
            else
                lost++;
            world_close(&p.w);
        }
    assert_true(closed > 10 && lost > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_come_to_all_who_have_started_whoever_is_late),
        cmocka_unit_test(ranks_go_on_at_their_own_pace),
        cmocka_unit_test(a_full_store_holds_back_its_own_stream_alone),
        cmocka_unit_test(bad_calls_are_refused),
        cmocka_unit_test(without_memory_nothing_is_opened_and_nothing_kept),
        cmocka_unit_test(operations_take_no_memory),
        cmocka_unit_test(ranks_that_mean_the_same_ports_do_not_differ),
        cmocka_unit_test(ranks_that_differ_are_told),
        cmocka_unit_test(who_finds_them_broken_tells_all_ranks),
        cmocka_unit_test(a_lost_rank_ends_what_is_under_way_and_they_can_be_closed),
        cmocka_unit_test(a_rank_that_is_lost_at_any_look_of_the_closing_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
