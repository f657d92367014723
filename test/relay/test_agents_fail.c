/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that agents move, when something goes wrong: a rank or an agent is lost, ranks differ, something is refused,
 * memory runs out. Each rank is told, and relays can be closed. And what memory they take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/relay/relays_agents.h"
#include "party.h"

enum { AT_ONCE = PARTY_AT_ONCE };

static const int nodes[] = {2, 1, 2, 0};

static void look(party *p)
{
    for (int looks = 0; looks < 500; looks++)
        party_step(p);
}

/* Of an operation that is under way everywhere but at the last rank. */
static void begin(party *p, nbcoll_topology_kind kind)
{
    party_open(p, nodes, NULL);
    party_open_relays(p, party_config(kind));
    p->late = 1u << 4;
    for (int r = 0; r < 4; r++)
        EXPECT(OK, party_start(p, r, 0));
    look(p);
    for (int r = 0; r < 4; r++)
        EXPECT(PENDING, nbcoll_relays_test(p->relays[r], 1));
}

/* All others' operations have ended like this, and nothing starts or is written any more. */
static void all_end(party *p, unsigned but)
{
    static unsigned char before[PARTY_RANKS][PARTY_MANY][PARTY_RANKS * PARTY_BYTES];
    look(p);
    memcpy(before, p->recv, sizeof before);
    for (int r = 0; r < 4; r++)
        if (!(but >> r & 1)) {
            EXPECT(ERR_PEER_LOST, nbcoll_relays_test(p->relays[r], 1));
            EXPECT(ERR_PEER_LOST, nbcoll_relays_test(p->relays[r], 0));
            EXPECT(ERR_PEER_LOST, party_start(p, r, 1));
        }
    look(p);
    assert_memory_equal(before, p->recv, sizeof before);
}

static void a_lost_rank_ends_what_is_under_way_on_all_nodes(void **state)
{
    static party p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++) {
        begin(&p, (nbcoll_topology_kind)kind);
        EXPECT(OK, nbcoll_comm_declare_lost(p.w.comm[0], 4)); /* the others hear of it by their agents, or so */
        all_end(&p, 0);
        p.late = 0;
        look(&p);
        EXPECT(ERR_PEER_LOST, nbcoll_relays_test(p.relays[4], 0));
        party_close_relays(&p);
        party_close(&p);
    }
}

/* Which closes its queue pairs: its node's ranks learn why, all others that it is lost. */
static void an_agent_that_is_cancelled_or_closed_ends_all(void **state)
{
    static party p;
    (void)state;
    for (int is_closed = 0; is_closed < 2; is_closed++)
        for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++) {
            begin(&p, (nbcoll_topology_kind)kind);
            if (is_closed) {
                EXPECT(OK, nbcoll_agent_close(p.agent[0]));
                p.agent[0] = NULL;
            } else
                EXPECT(OK, nbcoll_agent_cancel(p.agent[0]));
            all_end(&p, 3);
            for (int r = 0; r < 2; r++)
                EXPECT(ERR_CANCELLED, nbcoll_relays_test(p.relays[r], 1));
            party_close_relays(&p); /* but for the last rank's, which has heard nothing */
            p.late = 0;
            party_close_relays(&p);
            party_close(&p);
        }
}

static void a_lost_rank_that_leads_no_node_ends_all(void **state)
{
    static party p;
    (void)state;
    begin(&p, NBCOLL_TOPOLOGY_BRUCK);
    EXPECT(OK, nbcoll_comm_declare_lost(p.w.comm[3], 1)); /* at another node */
    p.late |= 2;
    all_end(&p, 2);
    p.late = 0;
    look(&p);
    party_close_relays(&p);
    party_close(&p);
}

static void ranks_that_differ_are_told(void **state)
{
    static const int two[] = {2, 1, 0};
    static party p;
    (void)state;
    for (int how = 0; how < 4; how++) { /* in the configuration; the bytes of a block; the operation; who moves them */
        party_open(&p, two, NULL);
        int mismatches = 0;
        nbcoll_relays_config config = party_config(NBCOLL_TOPOLOGY_DIRECT);
        for (int r = 0; r < 3; r++) {
            config.agent = r == 0 ? p.agent[0] : r == 2 ? p.agent[1] : NULL;
            config.fragment = r == 1 && how == 0 ? 9 : 8;
            config.by_agents = r != 1 || how != 3;
            EXPECT(OK, nbcoll_relays_open(p.w.comm[r], &config, &p.relays[r]));
        }
        look(&p);
        for (int r = 0; r < 3; r++)
            if (how == 0 || how == 3)
                EXPECT(ERR_MISMATCH, nbcoll_relays_test(p.relays[r], 0));
            else if (how == 2 && r == 1)
                EXPECT(OK, nbcoll_relays_bcast(p.relays[r], p.recv[r][0], 8, 1, &p.number[r][0]));
            else
                EXPECT(OK, nbcoll_relays_allgather(p.relays[r], p.send[r][0], p.recv[r][0], how == 1 && r == 1 ? 7 : 8,
                                                   &p.number[r][0]));
        look(&p);
        for (int r = 0; r < 3; r++) {
            nbcoll_status s = nbcoll_relays_test(p.relays[r], 0);
            assert_true(s == NBCOLL_ERR_MISMATCH || (s == NBCOLL_ERR_PEER_LOST && how));
            mismatches += s == NBCOLL_ERR_MISMATCH;
        }
        assert_true(mismatches > 0);
        party_close_relays(&p);
        party_close(&p);
    }
}

/* Which another rank of the node has written: the next arrival is a buffer that is not there; ever so many have
 * arrived, all of them this rank's own; a rank that is not there has sent what comes next. */
static void write_nonsense(const nbcolli_relays_agents *a, int how)
{
    const nbcolli_node_store *store = &a->store;
    uint64_t arrived = nbcolli_node_store_arrived(store);
    uint32_t own = nbcolli_node_store_own(store, a->reader, 0), other = nbcolli_node_store_own(store, !a->reader, 0);
    nbcolli_relays_message *packed = nbcolli_node_store_message(store, other);
    *packed = (nbcolli_relays_message){UINT32_MAX / 2, a->fingerprint, {1, 8, 0, 8}};
    for (uint32_t i = 0; i < store->buffers; i++)
        atomic_store(&store->ring[(arrived + i) % store->buffers], how == 0 ? UINT32_MAX : how == 1 ? own : other);
    atomic_store(&store->head->arrived, how == 1 ? UINT64_MAX : arrived + 1);
}

static void a_rank_that_reads_nonsense_in_its_store_ends_its_relays(void **state)
{
    static const int two[] = {2, 1, 0};
    static party p;
    (void)state;
    for (int how = 0; how < 3; how++) {
        party_open(&p, two, NULL);
        party_open_relays(&p, party_config(NBCOLL_TOPOLOGY_DIRECT));
        EXPECT(OK, nbcoll_relays_allgather(p.relays[1], p.send[1][0], p.recv[1][0], 8, &p.number[1][0]));
        write_nonsense(p.relays[1]->agents, how);
        EXPECT(ERR_MISMATCH, nbcoll_relays_test(p.relays[1], 1));
        look(&p);
        for (int r = 0; r < 3; r++)
            assert_int_not_equal(nbcoll_relays_test(p.relays[r], 0), NBCOLL_OK);
        party_close_relays(&p);
        party_close(&p);
    }
}

static void what_cannot_be_is_refused_on_all_ranks(void **state)
{
    static const int two[] = {2, 1, 0};
    static party p;
    (void)state;
    for (int how = 0; how < 2; how++) { /* a leader has no agent; has that of another rank */
        party_open(&p, two, NULL);
        nbcoll_relays_config config = party_config(NBCOLL_TOPOLOGY_RING);
        config.by_agents = 2;
        EXPECT(ERR_CONFIG, nbcoll_relays_open(p.w.comm[0], &config, &p.relays[0]));
        config.by_agents = 1;
        for (int r = 0; r < 3; r++) {
            config.agent = r == 0 ? p.agent[0] : how ? p.agent[0] : NULL;
            EXPECT(OK, nbcoll_relays_open(p.w.comm[r], &config, &p.relays[r]));
        }
        look(&p);
        for (int r = 0; r < 3; r++) {
            EXPECT(ERR_UNSUPPORTED, nbcoll_relays_test(p.relays[r], 0));
            EXPECT(ERR_UNSUPPORTED, party_start(&p, r, 0));
        }
        party_close_relays(&p);
        party_close(&p);
    }
}

static void a_node_where_one_rank_shares_no_memory_is_refused_on_all_ranks(void **state)
{
    static const int two[] = {2, 1, 0};
    static party p;
    (void)state;
    for (int alone = 0; alone < 2; alone++) { /* the leader; the other one */
        party_open_without(&p, two, NULL, alone);
        party_open_relays(&p, party_config(NBCOLL_TOPOLOGY_RING));
        for (int r = 0; r < 3; r++) {
            EXPECT(ERR_UNSUPPORTED, nbcoll_relays_test(p.relays[r], 0));
            EXPECT(ERR_UNSUPPORTED, party_start(&p, r, 0));
        }
        party_close_relays(&p);
        party_close(&p);
    }
}

static void bad_calls_are_refused(void **state)
{
    static const int two[] = {2, 1, 0};
    static party p;
    uint64_t number = 77;
    (void)state;
    party_open(&p, two, NULL);
    party_open_relays(&p, party_config(NBCOLL_TOPOLOGY_DIRECT));
    EXPECT(ERR_REQUEST, nbcoll_relays_test(p.relays[0], 1));
    EXPECT(ERR_ROOT, nbcoll_relays_bcast(p.relays[0], p.recv[0][0], PARTY_BYTES, 3, &number));
    EXPECT(ERR_COUNT, nbcoll_relays_bcast(p.relays[0], p.recv[0][0], 17, 0, &number));
    EXPECT(ERR_RANK, nbcoll_relays_arrived(p.relays[0], 1, 3));
    EXPECT(ERR_REQUEST, nbcoll_relays_arrived(p.relays[0], 1, 1));
    assert_int_equal(number, 77);
    for (int o = 0; o < AT_ONCE; o++)
        EXPECT(OK, party_start(&p, 0, o));
    EXPECT(ERR_BUSY, party_start(&p, 0, AT_ONCE));
    EXPECT(ERR_BUSY, nbcoll_relays_close(p.relays[0], 0));
    EXPECT(ERR_TIMEOUT, nbcoll_relays_wait(p.relays[0], 1, 1000000));
    for (int r = 1; r < 3; r++)
        for (int o = 0; o < AT_ONCE; o++)
            EXPECT(OK, party_start(&p, r, o));
    look(&p);
    for (int r = 0; r < 3; r++)
        EXPECT(OK, nbcoll_relays_test(p.relays[r], AT_ONCE));
    party_close_relays(&p);
    party_close(&p);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

typedef struct purse {
    long left;  /* times that there is memory */
    long taken; /* times it was */
    size_t out; /* bytes */
    size_t most; /* at a time */
} purse;

static void *take(void *user, size_t bytes, size_t align)
{
    purse *p = user;
    if (p->left-- <= 0)
        return NULL;
    p->taken++;
    p->out += bytes;
    p->most = bytes > p->most ? bytes : p->most;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void give(void *user, void *memory, size_t bytes)
{
    purse *p = user;
    p->out -= bytes;
    free(memory);
}

/* Who lacks memory for the communicator of the relays does not make it, or breaks it. */
static int ends_the_others(nbcoll_status its, nbcoll_status theirs)
{
    return its == NBCOLL_ERR_MEMORY && (theirs == NBCOLL_ERR_CANCELLED || theirs == NBCOLL_ERR_PEER_LOST);
}

/* Each time it runs out later, once: either the call says so, or all ranks are told, or they are open. */
static void without_memory_all_ranks_are_told_and_nothing_is_kept(void **state)
{
    static const int two[] = {1, 1, 0};
    static party p;
    purse mine = {1 << 20, 0, 0, 0};
    nbcoll_host host = {.size = sizeof host, .user = &mine, .alloc = take, .free = give};
    int refused = 0, told = 0, well = 0;
    (void)state;
    for (long failed = 0; well < 3; failed++) {
        mine.left = 1 << 20;
        party_open(&p, two, &host);
        size_t before = mine.out;
        nbcoll_relays_config config = party_config(NBCOLL_TOPOLOGY_CAYLEY);
        config.host = &host;
        config.agent = p.agent[0];
        mine.left = failed;
        nbcoll_status s = nbcoll_relays_open(p.w.comm[0], &config, &p.relays[0]);
        if (s != NBCOLL_OK) {
            EXPECT(ERR_MEMORY, s);
            assert_int_equal(mine.out, before);
            refused++;
        }
        long left = mine.left; /* the rest of it runs out in this one's steps */
        mine.left = 1 << 20;
        config.agent = p.agent[1];
        if (s != NBCOLL_OK) {
            config.agent = p.agent[0];
            EXPECT(OK, nbcoll_relays_open(p.w.comm[0], &config, &p.relays[0]));
            config.agent = p.agent[1];
        }
        EXPECT(OK, nbcoll_relays_open(p.w.comm[1], &config, &p.relays[1]));
        mine.left = left > 0 ? left : 0;
        for (int looks = 0; looks < 50; looks++)
            party_step(&p);
        mine.left = 1 << 20;
        look(&p);
        nbcoll_status first = nbcoll_relays_test(p.relays[0], 0), second = nbcoll_relays_test(p.relays[1], 0);
        if (ends_the_others(first, second) || ends_the_others(second, first))
            first = second = NBCOLL_ERR_MEMORY;
        assert_true(first == second);
        assert_true(first == NBCOLL_OK || first == NBCOLL_ERR_MEMORY || first == NBCOLL_ERR_PEER_LOST);
        told += first != NBCOLL_OK;
        well += first == NBCOLL_OK && s == NBCOLL_OK && failed > 100;
        party_close_relays(&p);
        party_close(&p);
        assert_int_equal(mine.out, 0);
        assert_true(failed < 2000);
    }
    print_message("%d refused, %d told\n", refused, told);
    assert_true(refused > 3);
    assert_true(told > 3);
}

static void operations_take_no_memory(void **state)
{
    static party p;
    purse mine = {1 << 20, 0, 0, 0};
    nbcoll_host host = {.size = sizeof host, .user = &mine, .alloc = take, .free = give};
    int next[PARTY_RANKS] = {0};
    (void)state;
    party_open(&p, nodes, &host);
    party_open_relays(&p, party_config(NBCOLL_TOPOLOGY_RING));
    long taken = mine.taken;
    for (int o = 0; o < 40; o++)
        for (int r = 0; r < p.w.ranks; r++)
            for (int looks = 0; next[r] <= o; looks++) {
                world_watchdog(&p.w, looks < PARTY_LOOKS);
                next[r] += party_start(&p, r, next[r]) == NBCOLL_OK;
                party_step(&p);
            }
    for (int r = 0; r < p.w.ranks; r++)
        party_finish(&p, r, 40);
    assert_int_equal(mine.taken, taken);
    party_close_relays(&p);
    party_close(&p);
}

/* What relay.h says: F = 3, f = 4, 100 bytes; nodes of 2 and 3 ranks, and what the transport has before it. */
static void a_store_takes_what_is_documented(void **state)
{
    static const int two[] = {3, 2, 0};
    enum { BUFFERS = 2 * 3 * 4 * 5, BUFFER = 64 + 192, RING = 512, AREA = 128 };
    static party p;
    purse mine = {1 << 20, 0, 0, 0};
    nbcoll_host host = {.size = sizeof host, .user = &mine, .alloc = take, .free = give};
    nbcoll_relays_config config = party_config(NBCOLL_TOPOLOGY_BRUCK);
    (void)state;
    config.at_once = 3;
    config.fragments = 4;
    config.fragment = 100;
    party_open(&p, two, &host);
    mine.most = 0;
    party_open_relays(&p, config);
    assert_int_equal(mine.most, 192 + 64 * 3 + RING + BUFFERS * BUFFER + AREA);
    party_close_relays(&p);
    party_close(&p);
    assert_int_equal(mine.out, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_rank_ends_what_is_under_way_on_all_nodes),
        cmocka_unit_test(an_agent_that_is_cancelled_or_closed_ends_all),
        cmocka_unit_test(a_lost_rank_that_leads_no_node_ends_all),
        cmocka_unit_test(ranks_that_differ_are_told),
        cmocka_unit_test(a_rank_that_reads_nonsense_in_its_store_ends_its_relays),
        cmocka_unit_test(what_cannot_be_is_refused_on_all_ranks),
        cmocka_unit_test(a_node_where_one_rank_shares_no_memory_is_refused_on_all_ranks),
        cmocka_unit_test(bad_calls_are_refused),
        cmocka_unit_test(without_memory_all_ranks_are_told_and_nothing_is_kept),
        cmocka_unit_test(operations_take_no_memory),
        cmocka_unit_test(a_store_takes_what_is_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
