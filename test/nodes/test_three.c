/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators over three endpoints: one within each node, one for each rack of two nodes, and one that reaches all.
 * Each pair talks by the first that both have, and every collective has its values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "joined.h"
#include "nbcoll/trace.h"
#include "operation.h"

typedef struct racks {
    joined j;
    nbcoll_loopback *rack[JOINED_NODES];
    nbcoll_endpoint *middle[WORLD_MOST]; /* of each rank, within its rack */
} racks;

static int rack_of(const nbcoll_nodes *nodes, int rank)
{
    return nbcoll_node_of(nodes, rank) / 2;
}

/* Its address there, where ranks are numbered from the last one down. */
static int place_of(const nbcoll_nodes *nodes, int rank)
{
    int place = 0;
    for (int r = rank + 1; r < nodes->ranks; r++)
        place += rack_of(nodes, r) == rack_of(nodes, rank);
    return place;
}

static void open_racks(racks *k, const nbcoll_nodes *nodes, const nbcoll_loopback_config configs[3],
                       const nbcoll_context_config *contexts)
{
    joined_open_contexts(&k->j, nodes, &configs[0], &configs[2], contexts);
    memset(k->rack, 0, sizeof k->rack);
    for (int r = 0; r < nodes->ranks; r++) {
        int rack = rack_of(nodes, r);
        nbcoll_loopback_config config = configs[1];
        config.ranks = 0;
        for (int peer = 0; peer < nodes->ranks; peer++)
            config.ranks += rack_of(nodes, peer) == rack;
        if (!k->rack[rack])
            EXPECT(OK, nbcoll_loopback_create(&config, &k->rack[rack]));
        EXPECT(OK, nbcoll_loopback_open(k->rack[rack], place_of(nodes, r), &k->middle[r]));
    }
}

/* Ranks whose bit in `turned` is set name their rack first. */
static void create(racks *k, const nbcoll_comm_config *config, uint64_t turned)
{
    nbcoll_request request[WORLD_MOST];
    for (int r = 0; r < k->j.w.ranks; r++) {
        int is_turned = (int)(turned >> r & 1);
        nbcoll_endpoint *all[3] = {NULL, NULL, k->j.w.endpoint[r]};
        all[is_turned] = k->j.near[r];
        all[!is_turned] = k->middle[r];
        EXPECT(OK, nbcoll_comm_icreate_over(k->j.w.context[r], 3, all, config, &k->j.w.comm[r], &request[r]));
    }
    world_finish(&k->j.w, (size_t)k->j.w.ranks, request);
}

static void close_racks(racks *k)
{
    joined_close(&k->j);
    for (int i = 0; i < JOINED_NODES; i++)
        EXPECT(OK, nbcoll_loopback_free(k->rack[i]));
}

static void run_one(world *w, const operation *o)
{
    nbcoll_request request[WORLD_MOST];
    share mine[WORLD_MOST];

    for (int r = 0; r < w->ranks; r++) {
        mine[r] = share_make(o, r, w->ranks);
        EXPECT(OK, operation_start(o, &mine[r], w->comm[r], &request[r]));
        if (world_random(&w->random) % 2)
            world_step(w);
    }
    world_finish(w, (size_t)w->ranks, request);
    for (int r = 0; r < w->ranks; r++) {
        operation_check(o, &mine[r], r, w->ranks);
        share_free(&mine[r]);
    }
}

static void every_collective_has_its_values_over_three_endpoints(void **state)
{
    static const nbcoll_context_config contexts = {.size = sizeof contexts, .credits = 3};
    static const nbcoll_comm_config limits = {
        .size = sizeof limits, .slots = 4, .cells = 8, .schedules = 16, .eager = 256, .large = 2048};
    (void)state;
    for (int i = 1; i < JOINED_PLACEMENTS; i++) {
        int ranks = 3 + i;
        const nbcoll_loopback_config configs[3] = {world_variant((i + 5) % WORLD_VARIANTS, 1),
                                                   world_variant((3 * i + 1) % WORLD_VARIANTS, 2),
                                                   world_variant((5 * i) % WORLD_VARIANTS, 3)};
        nbcoll_nodes *nodes = joined_placement(i, ranks, (uint64_t)i);
        uint64_t random = (uint64_t)i, turned = i % 2 ? 0 : world_random(&random);
        racks k;
        open_racks(&k, nodes, configs, &contexts);
        create(&k, &limits, turned);
        for (int n = 0; n < 2 * NBCOLL_OPERATION_COUNT;) {
            operation o = operation_random(&random, ranks, n % 8 ? 300 : 2000);
            if (o.what != (nbcoll_operation)(n % NBCOLL_OPERATION_COUNT))
                continue;
            run_one(&k.j.w, &o);
            n++;
        }
        close_racks(&k);
        nbcoll_nodes_free(nodes);
    }
}

/* ---- who talks by which ------------------------------------------------------------------------------------------ */

enum { RANKS = 9, NEAR, RACK, ALL };

static size_t posts[3][RANKS][RANKS]; /* by endpoint, rank and address there */

typedef struct place {
    int endpoint, rank;
} place;

static void count(void *user, const nbcoll_trace_event *e)
{
    const place *p = user;
    if (e->call == NBCOLL_TRACE_POST || e->call == NBCOLL_TRACE_LINE)
        posts[p->endpoint - NEAR][p->rank][e->peer]++;
}

static void count_posts(nbcoll_endpoint **ep, place *p, int endpoint, int rank)
{
    *p = (place){endpoint, rank};
    const nbcoll_trace_config config = {.size = sizeof config, .user = p, .event = count};
    EXPECT(OK, nbcoll_trace_open(&config, *ep, ep));
}

static void a_pair_talks_by_the_first_endpoint_that_both_have_as_the_lower_one_names_them(void **state)
{
    const nbcoll_loopback_config plain[3] = {{.size = sizeof *plain}, {.size = sizeof *plain}, {.size = sizeof *plain}};
    const operation o = {.what = NBCOLL_OPERATION_ALLTOALL, .count = 10, .how = {NBCOLL_INT32, NBCOLL_SUM}};
    static place places[3][RANKS];
    const uint64_t turned[] = {0, 0x0b6};
    (void)state;
    for (int t = 0; t < 2; t++) {
        nbcoll_nodes *nodes = joined_placement(6, RANKS, 4);
        racks k;
        open_racks(&k, nodes, plain, NULL);
        for (int r = 0; r < RANKS; r++) {
            count_posts(&k.j.near[r], &places[0][r], NEAR, r);
            count_posts(&k.middle[r], &places[1][r], RACK, r);
            count_posts(&k.j.w.endpoint[r], &places[2][r], ALL, r);
        }
        create(&k, NULL, turned[t]);
        memset(posts, 0, sizeof posts);
        run_one(&k.j.w, &o);
        for (int r = 0; r < RANKS; r++)
            for (int peer = 0; peer < RANKS; peer++) {
                int is_one_node = nbcoll_node_of(nodes, r) == nbcoll_node_of(nodes, peer);
                int is_one_rack = rack_of(nodes, r) == rack_of(nodes, peer);
                int rack_first = (int)(turned[t] >> (r < peer ? r : peer) & 1);
                int by = is_one_node && !rack_first ? NEAR : is_one_rack ? RACK : ALL;
                if (r == peer)
                    continue;
                if (is_one_node)
                    assert_int_equal(posts[0][r][nbcoll_node_place(nodes, peer)] > 0, by == NEAR);
                if (is_one_rack)
                    assert_int_equal(posts[1][r][place_of(nodes, peer)] > 0, by == RACK);
                assert_int_equal(posts[2][r][peer] > 0, by == ALL);
            }
        close_racks(&k);
        nbcoll_nodes_free(nodes);
    }
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static void what_has_any_endpoint_in_common_is_a_node_unless_the_host_names_nodes(void **state)
{
    const nbcoll_loopback_config plain[3] = {{.size = sizeof *plain}, {.size = sizeof *plain}, {.size = sizeof *plain}};
    (void)state;
    for (int is_named = 0; is_named < 2; is_named++) {
        nbcoll_nodes *nodes = joined_placement(6, RANKS, 4);
        nbcoll_request request[RANKS];
        racks k;
        open_racks(&k, nodes, plain, NULL);
        create(&k, NULL, 0);
        for (int r = 0; r < RANKS; r++) {
            nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
            config.node = is_named ? 1 + (uint64_t)nbcoll_node_of(nodes, r) : 0;
            EXPECT(OK, nbcoll_comm_idup_with(k.j.w.comm[r], &config, &k.j.w.comm[r], &request[r]));
        }
        world_finish(&k.j.w, RANKS, request);
        for (int r = 0; r < RANKS; r++)
            for (int peer = 0; peer < RANKS; peer++) {
                const nbcoll_nodes *seen = nbcoll_comm_nodes(k.j.w.comm[r]);
                assert_int_equal(nbcoll_node_of(seen, r) == nbcoll_node_of(seen, peer),
                                 is_named ? nbcoll_node_of(nodes, r) == nbcoll_node_of(nodes, peer)
                                          : rack_of(nodes, r) == rack_of(nodes, peer));
            }
        close_racks(&k);
        nbcoll_nodes_free(nodes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_has_its_values_over_three_endpoints),
        cmocka_unit_test(a_pair_talks_by_the_first_endpoint_that_both_have_as_the_lower_one_names_them),
        cmocka_unit_test(what_has_any_endpoint_in_common_is_a_node_unless_the_host_names_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
