/* SPDX-License-Identifier: BSD-3-Clause
 * The memory of relays is what relay.h says, so that it is known before they are opened; contexts that are freed have
 * none of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/shm.h"
#include "nbcoll/transport.h"
#include "party.h"
#include "stepped.h"
#include "tally.h"

enum { LOOKS = 4000 };

static void open_relays(world *w, const nbcoll_relays_config *config, nbcoll_relays *relays[])
{
    for (int r = 0; r < w->ranks; r++)
        EXPECT(OK, nbcoll_relays_open(w->comm[r], config, &relays[r]));
    for (int looks = 0; looks < LOOKS; looks++)
        for (int r = 0; r < w->ranks; r++)
            nbcoll_relays_test(relays[r], 0);
    for (int r = 0; r < w->ranks; r++)
        EXPECT(OK, nbcoll_relays_test(relays[r], 0));
}

/* Bytes that `ranks` ranks have for their relays. */
static size_t bytes_of(int ranks, uint32_t at_once, uint32_t fragments, uint32_t fragment)
{
    nbcoll_loopback_config loopback = world_variant(0, 1);
    nbcoll_relays_config config = NBCOLL_RELAYS_DEFAULTS;
    nbcoll_relays *relays[WORLD_MOST];
    tally counted = {.used = 0};
    nbcoll_host host = tally_host(&counted);
    nbcoll_context_config context = {.size = sizeof context, .host = host};
    world w = {.ranks = 0};
    world_open(&w, ranks, &loopback, &context, NULL);
    size_t before = counted.used;
    config.host = &host;
    config.topology = NBCOLL_TOPOLOGY_RING;
    config.at_once = at_once;
    config.fragments = fragments;
    config.fragment = fragment;
    open_relays(&w, &config, relays);
    size_t used = counted.used - before;
    stepped_close(&w, relays);
    world_close(&w);
    assert_int_equal(counted.used, 0);
    return used;
}

/* Of one rank, of each fragment. */
static double bytes_of_each(int ranks, uint32_t at_once, uint32_t fragments, size_t all)
{
    return (double)all / ranks / (3.0 * at_once * fragments * ranks);
}

static void a_store_is_3_F_f_fragments_of_each_rank(void **state)
{
    enum { MORE = 6400 }; /* lines of 64 bytes */
    (void)state;
    for (int ranks = 2; ranks <= 7; ranks++)
        for (uint32_t f = 1; f <= 4; f += 3) {
            size_t less = bytes_of(ranks, 8, f, 4064), more = bytes_of(ranks, 8, f, 4064 + MORE);
            assert_true(bytes_of_each(ranks, 8, f, more - less) == MORE);
        }
}

static void a_fragment_takes_three_kibibytes_more_at_most(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 7; ranks++) {
        size_t few = bytes_of(ranks, 8, 1, 32), many = bytes_of(ranks, 16, 1, 32);
        assert_true(bytes_of_each(ranks, 8, 1, many - few) < 3 * 1024);
    }
}

/* Nothing is left that would grow with each time that relays are opened and closed. */
static void closed_relays_leave_nothing_behind(void **state)
{
    enum { RANKS = 4 };
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .flags = NBCOLL_LOOPBACK_SHARED};
    tally counted = {.used = 0};
    nbcoll_host host = tally_host(&counted);
    nbcoll_context_config context = {.size = sizeof context, .host = host};
    (void)state;
    for (uint32_t hierarchical = 0; hierarchical < 2; hierarchical++)
        for (size_t carries = 0; carries < 32; carries += 16) {
            nbcoll_relays_config config = NBCOLL_RELAYS_DEFAULTS;
            nbcoll_relays *relays[RANKS];
            world w = {.ranks = 0};
            size_t left = 0;
            config.hierarchical = hierarchical;
            config.carries = carries;
            world_open(&w, RANKS, &loopback, &context, NULL);
            for (int times = 0; times < 3; times++) {
                open_relays(&w, &config, relays);
                stepped_close(&w, relays);
                if (times)
                    assert_int_equal(counted.used, left);
                left = counted.used;
            }
            world_close(&w);
        }
}

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

static size_t reserved; /* bytes, by all ranks */
static int lacking;     /* ranks that say of a communicator that it has no cells */
static nbcoll_shared shared;
static nbcoll_transport transport;
static nbcoll_status (*reserve_really)(nbcoll_endpoint *ep, size_t bytes, uint64_t *at);

static nbcoll_status reserve_counted(nbcoll_endpoint *ep, size_t bytes, uint64_t *at)
{
    reserved += bytes;
    return reserve_really(ep, bytes, at);
}

static void count_lacking(void *user, nbcoll_status status, const char *text)
{
    (void)user;
    lacking += status == NBCOLL_ERR_MEMORY && strstr(text, "has no cells");
}

/* The first `first` ranks are one node, the others another one. */
static void open_counted(world *w, int ranks, int first)
{
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .flags = NBCOLL_LOOPBACK_SHARED};
    const nbcoll_context_config context = {.size = sizeof context,
                                           .host = {.size = sizeof(nbcoll_host), .log = count_lacking}};
    nbcoll_request q[WORLD_MOST];
    world_open_contexts(w, ranks, &loopback, &context);
    transport = *w->endpoint[0]->transport;
    shared = *transport.shared;
    reserve_really = shared.reserve;
    shared.reserve = reserve_counted;
    transport.shared = &shared;
    for (int r = 0; r < ranks; r++) {
        nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
        config.node = r < first ? 1 : 2;
        w->endpoint[r]->transport = &transport;
        EXPECT(OK, nbcoll_comm_icreate(w->context[r], w->endpoint[r], &config, &w->comm[r], &q[r]));
    }
    world_finish(w, (size_t)ranks, q);
    reserved = 0;
    lacking = 0;
}

static size_t cells_of(int ranks, uint32_t slots)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    config.slots = slots;
    config.cells = 1;
    return nbcoll_cells_bytes(&config, ranks);
}

enum { PLACES = 3 * 4 * 4 }; /* with the defaults */

static size_t up_to_128(size_t bytes)
{
    return (bytes + 127) / 128 * 128;
}

/* What a rank has for one stream by nodes, whose leader is that one. */
static size_t stream_of(int ranks, int leader, int leads)
{
    return up_to_128(4 * (size_t)ranks) + 8 * 64 + up_to_128(16 * PLACES + 8 * (size_t)leader) +
           (leads ? 128 * PLACES : 0);
}

/* The communicator of the closing has cells; a stream's fragments have some where a leader shows them to its node: what
 * the leader writes, and words of the others. */
static void only_relays_by_nodes_take_shared_memory_for_their_streams(void **state)
{
    enum { RANKS = 5 };
    (void)state;
    for (int first = 0; first <= RANKS; first += first ? 2 : 3) { /* 0: not by nodes; then two nodes, then one */
        nbcoll_relays_config config = NBCOLL_RELAYS_DEFAULTS;
        nbcoll_relays *relays[RANKS];
        size_t all = RANKS * cells_of(RANKS, 3);
        world w;
        open_counted(&w, RANKS, first);
        config.hierarchical = first > 0;
        open_relays(&w, &config, relays);
        for (int r = 0; r < RANKS && first; r++) {
            int leader = r < first ? 0 : first;
            size_t streams = RANKS * stream_of(RANKS, leader, r == leader);
            all += streams;
            if (r == leader) /* it has looked for room for that beside the store */
                all += PLACES * RANKS * 4096 + streams + cells_of(RANKS, 3);
        }
        assert_int_equal(reserved, all);
        assert_int_equal(lacking, 0); /* they have found it, too */
        stepped_close(&w, relays);
        world_close(&w);
    }
}

/* Else those would go by messages: beside them there are the communicator's own cells, and those of the closing. */
static void the_usual_shared_memory_has_room_for_the_streams_of_64_ranks_of_a_node(void **state)
{
    enum { RANKS = 64 };
    (void)state;
    size_t all = RANKS * stream_of(RANKS, 0, 1) + up_to_128((size_t)8 * RANKS) + cells_of(RANKS, 3) +
                 nbcoll_cells_bytes(NULL, RANKS);
    assert_true(all <= nbcoll_shm_quota(RANKS));
}

/* ---- by agents --------------------------------------------------------------------------------------------------- */

/* Bytes that one rank of three nodes has for its relays by agents, beside the store. */
static size_t bytes_by_agents(int rank, uint32_t at_once, uint32_t fragments, size_t carries)
{
    static const int sizes[] = {3, 2, 1, 0};
    static party p;
    nbcoll_relays_config config = party_config(NBCOLL_TOPOLOGY_RING);
    tally counted = {.used = 0};
    nbcoll_host host = tally_host(&counted);
    config.at_once = at_once;
    config.fragments = fragments;
    config.carries = carries;
    party_open(&p, sizes, NULL);
    for (int r = 0; r < p.w.ranks; r++) {
        config.agent = r == 0 ? p.agent[0] : r == 3 ? p.agent[1] : r == 5 ? p.agent[2] : NULL;
        config.host = r == rank ? &host : NULL;
        EXPECT(OK, nbcoll_relays_open(p.w.comm[r], &config, &p.relays[r]));
    }
    for (int looks = 0; looks < LOOKS; looks++)
        party_step(&p);
    for (int r = 0; r < p.w.ranks; r++)
        EXPECT(OK, nbcoll_relays_test(p.relays[r], 0));
    size_t used = counted.used;
    party_close_relays(&p);
    party_close(&p);
    assert_int_equal(counted.used, 0);
    return used;
}

static void by_agents_a_rank_has_8_F_f_P_bytes_and_a_leader_8_a_buffer_and_4_a_destination(void **state)
{
    enum { RANKS = 6, F = 8, LESS = 128, MORE = 256, BATCHES = F * (MORE - LESS) };
    /* Node 0 has three ranks, whose buffers go to node 1; those of node 2's rank, too; those of node 1's to nobody. */
    enum { RANK = 8 * BATCHES * RANKS, LEADER = RANK + 8 * 2 * BATCHES * RANKS + 4 * 2 * BATCHES * (3 + 1) };
    enum { PIECE = 16384 };
    (void)state;
    for (size_t carries = 0; carries < 2; carries++) {
        assert_int_equal(bytes_by_agents(1, F, MORE, carries) - bytes_by_agents(1, F, LESS, carries), RANK);
        assert_int_equal(bytes_by_agents(0, F, MORE, carries) - bytes_by_agents(0, F, LESS, carries), LEADER);
        assert_int_equal(bytes_by_agents(1, 4, 4, carries), PIECE);
        assert_int_equal(bytes_by_agents(0, 4, 4, carries), 2 * PIECE);
    }
    enum { MANY = 64 }; /* operations at once */
    assert_int_equal(bytes_by_agents(1, MANY, LESS, 1) - bytes_by_agents(1, MANY, LESS, 0), 4 * 3 * MANY * RANKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_is_3_F_f_fragments_of_each_rank),
        cmocka_unit_test(a_fragment_takes_three_kibibytes_more_at_most),
        cmocka_unit_test(closed_relays_leave_nothing_behind),
        cmocka_unit_test(only_relays_by_nodes_take_shared_memory_for_their_streams),
        cmocka_unit_test(the_usual_shared_memory_has_room_for_the_streams_of_64_ranks_of_a_node),
        cmocka_unit_test(by_agents_a_rank_has_8_F_f_P_bytes_and_a_leader_8_a_buffer_and_4_a_destination),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
