/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that agents move are opened: sets that agents have in common have queue pairs of other numbers, whichever is
 * opened first where; what they will open the transport is asked before; what one leader lacks is known to all before
 * any agent opens a queue pair; and there are receives for each rank, as many as it has credits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "party.h"

enum { RANKS = 4, SETS = 4, BYTES = 8 };

static const int apart[] = {1, 1, 1, 1, 0};

/* ---- what agents open -------------------------------------------------------------------------------------------- */

static const nbcoll_offload *loopbacks;
static nbcoll_offload watched;
static nbcoll_transport table;

static struct opened {
    int rank, peer;
    uint32_t number, depth;
    const nbcoll_queue_pair *pair;
    const nbcoll_shared_receives *shared;
} opened[200];
static int count;

/* Receives for what comes to such shared ones from a rank, which nothing has taken. */
static struct posted {
    const nbcoll_shared_receives *shared;
    int from;
    long left;
} posted[200];
static int kinds;

/* Of each rank: what it asks for, and opens; who is refused, or -1. */
static nbcoll_queue_demand asked[RANKS], taken[RANKS];
static int refused;
static int scarce; /* whose transport has one queue pair, and no more; or -1 */

static nbcoll_status note_pair(nbcoll_endpoint *ep, const nbcoll_queue_config *config, nbcoll_queue_pair **out)
{
    if (ep->rank == scarce && taken[scarce].pairs) {
        *out = NULL;
        return NBCOLL_ERR_LIMIT;
    }
    assert_in_range(count, 0, sizeof opened / sizeof *opened - 1);
    struct opened *o = &opened[count++];
    *o = (struct opened){ep->rank, config->peer, config->number, config->depth, NULL, config->shared};
    nbcoll_queue_demand *t = &taken[ep->rank];
    t->pairs++;
    t->depth = config->depth > t->depth ? config->depth : t->depth;
    nbcoll_status status = loopbacks->open_queue(ep, config, out);
    o->pair = *out;
    return status;
}

static long *left_of(const nbcoll_shared_receives *shared, int from)
{
    int i = 0;
    while (i < kinds && (posted[i].shared != shared || posted[i].from != from))
        i++;
    assert_in_range(i, 0, sizeof posted / sizeof *posted - 1);
    if (i == kinds)
        posted[kinds++] = (struct posted){shared, from, 0};
    return &posted[i].left;
}

static nbcoll_status note_receive(nbcoll_endpoint *ep, nbcoll_shared_receives *shared, const nbcoll_posting *posting)
{
    ++*left_of(shared, posting->from - 1);
    return loopbacks->post_shared(ep, shared, posting);
}

static nbcoll_status note_arrival(nbcoll_endpoint *ep, nbcoll_completion_queue *received, nbcoll_shared_arrival *out)
{
    nbcoll_status status = loopbacks->take(ep, received, out);
    int i = count - 1;
    while (status == NBCOLL_OK && opened[i].pair != out->pair)
        assert_int_not_equal(i--, 0);
    if (status == NBCOLL_OK)
        assert_true(--*left_of(opened[i].shared, opened[i].peer) >= 0);
    return status;
}

static nbcoll_status note_shared(nbcoll_endpoint *ep, uint32_t depth, nbcoll_completion_queue *received,
                                 nbcoll_shared_receives **out)
{
    nbcoll_queue_demand *t = &taken[ep->rank];
    t->shared++;
    t->shared_depth = depth > t->shared_depth ? depth : t->shared_depth;
    return loopbacks->open_shared(ep, depth, received, out);
}

static nbcoll_status note_demand(nbcoll_endpoint *ep, const nbcoll_queue_demand *demand)
{
    asked[ep->rank] = *demand;
    return ep->rank == refused ? NBCOLL_ERR_LIMIT : NBCOLL_OK;
}

/* All agents open their queue pairs so. */
static void watch_pairs(party *p)
{
    count = kinds = 0;
    refused = scarce = -1;
    memset(asked, 0, sizeof asked);
    memset(taken, 0, sizeof taken);
    memcpy(&table, p->w.endpoint[0]->transport, sizeof table);
    loopbacks = table.offload;
    memcpy(&watched, loopbacks, sizeof watched);
    watched.open_queue = note_pair;
    watched.open_shared = note_shared;
    watched.post_shared = note_receive;
    watched.take = note_arrival;
    watched.admits = note_demand;
    table.offload = &watched;
    for (int n = 0; n < p->nodes; n++) {
        const nbcoll_agent_config agent = {.size = sizeof agent};
        nbcoll_endpoint *ep = p->w.endpoint[p->leader[n]];
        EXPECT(OK, nbcoll_agent_close(p->agent[n]));
        ep->transport = &table;
        EXPECT(OK, nbcoll_agent_open(ep, &agent, &p->agent[n]));
    }
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Communicators: of all ranks; of all but rank 0; of those but rank 1; of all. */
typedef struct scene {
    party p;
    nbcoll_comm *comm[SETS][RANKS];
    nbcoll_relays *relays[SETS][RANKS]; /* null: the rank has no part there */
    uint64_t number;
    unsigned char all[SETS][RANKS][RANKS * BYTES];
} scene;

static void make_comms(scene *s)
{
    nbcoll_request q[RANKS];
    for (int r = 0; r < RANKS; r++)
        s->comm[0][r] = s->p.w.comm[r];
    for (int set = 1; set < SETS; set++) {
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_comm_isplit(s->p.w.comm[r], set == 3 || r >= set ? 1 : -1, 0, &s->comm[set][r], &q[r]));
        world_finish(&s->p.w, RANKS, q);
    }
}

/* Each rank in an order of its own. */
static void open_all(scene *s)
{
    nbcoll_relays_config config = party_config(NBCOLL_TOPOLOGY_BRUCK);
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < SETS; i++) {
            int set = (i + r) % SETS;
            config.agent = s->p.agent[r];
            if (s->comm[set][r])
                EXPECT(OK, nbcoll_relays_open(s->comm[set][r], &config, &s->relays[set][r]));
        }
}

static void step(scene *s)
{
    for (int n = 0; n < RANKS; n++)
        nbcoll_agent_progress(s->p.agent[n]);
}

/* All sets have come so far. */
static void await(scene *s, uint64_t operation)
{
    for (int set = 0; set < SETS; set++)
        for (int r = 0; r < RANKS; r++) {
            nbcoll_status status = NBCOLL_OK;
            for (int looks = 0; s->relays[set][r]; looks++) {
                world_watchdog(&s->p.w, looks < PARTY_LOOKS);
                step(s);
                for (int i = 0; i < SETS * RANKS; i++)
                    if (s->relays[i / RANKS][i % RANKS])
                        nbcoll_relays_test(s->relays[i / RANKS][i % RANKS], 0);
                if ((status = nbcoll_relays_test(s->relays[set][r], operation)) != NBCOLL_PENDING)
                    break;
            }
            assert_int_equal(status, NBCOLL_OK);
        }
}

static void use_all(scene *s)
{
    unsigned char mine[BYTES];
    for (int i = 0; i < SETS * RANKS; i++) {
        nbcoll_relays *relays = s->relays[i / RANKS][i % RANKS];
        memset(mine, i + 1, BYTES);
        if (relays)
            EXPECT(OK, nbcoll_relays_allgather(relays, mine, s->all[i / RANKS][i % RANKS], BYTES, &s->number));
    }
    await(s, 1);
    for (int set = 0; set < SETS; set++)
        for (int r = 0; r < RANKS; r++)
            for (int of = 0; s->relays[set][r] && of < nbcoll_comm_size(s->comm[set][r]); of++) {
                int from = RANKS - nbcoll_comm_size(s->comm[set][r]) + of;
                assert_int_equal(s->all[set][r][of * BYTES + BYTES - 1], set * RANKS + from + 1);
            }
}

static void close_all(scene *s)
{
    for (int left = 1, looks = 0; left; looks++) {
        world_watchdog(&s->p.w, looks < PARTY_LOOKS);
        left = 0;
        for (int i = 0; i < SETS * RANKS; i++) {
            nbcoll_relays **relays = &s->relays[i / RANKS][i % RANKS];
            if (*relays && nbcoll_relays_close(*relays, 0) == NBCOLL_OK)
                *relays = NULL;
            left += *relays != NULL;
        }
        step(s);
    }
}

static int ends_of(const struct opened *o, int rank, int peer)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        found += opened[i].rank == rank && opened[i].peer == peer && opened[i].number == o->number;
    return found;
}

static void sets_in_common_have_queue_pairs_of_other_numbers(void **state)
{
    static scene s;
    (void)state;
    party_open(&s.p, apart, NULL);
    watch_pairs(&s.p);
    make_comms(&s);
    open_all(&s);
    await(&s, 0);
    use_all(&s);
    for (int i = 0; i < count; i++) {
        assert_int_equal(ends_of(&opened[i], opened[i].rank, opened[i].peer), 1);
        assert_int_equal(ends_of(&opened[i], opened[i].peer, opened[i].rank), 1);
    }
    assert_true(count > SETS * RANKS);
    close_all(&s);
    party_close(&s.p);
}

/* ---- what is lacking --------------------------------------------------------------------------------------------- */

/* `without`: the rank without an agent; -1: none. */
static void all_are_told(nbcoll_status why, int without, int beyond)
{
    static party p;
    nbcoll_relays_config config = party_config(NBCOLL_TOPOLOGY_DIRECT);
    party_open(&p, apart, NULL);
    watch_pairs(&p);
    refused = beyond;
    for (int r = 0; r < RANKS; r++) {
        config.agent = r == without ? NULL : p.agent[r];
        EXPECT(OK, nbcoll_relays_open(p.w.comm[r], &config, &p.relays[r]));
    }
    for (int r = 0; r < RANKS; r++) {
        nbcoll_status status;
        for (int looks = 0; (status = nbcoll_relays_test(p.relays[r], 0)) == NBCOLL_PENDING; looks++) {
            world_watchdog(&p.w, looks < PARTY_LOOKS);
            party_step(&p);
        }
        assert_int_equal(status, why);
    }
    assert_int_equal(count, 0);
    for (int r = 0; r < RANKS; r++) { /* before the relays, which do not need it */
        EXPECT(OK, nbcoll_agent_close(p.agent[r]));
        p.agent[r] = NULL;
    }
    party_close_relays(&p);
    party_close(&p);
}

static void no_agent_opens_queue_pairs_where_one_leader_has_no_agent(void **state)
{
    (void)state;
    all_are_told(NBCOLL_ERR_UNSUPPORTED, 2, -1);
}

static void no_agent_opens_queue_pairs_where_one_transport_has_not_such(void **state)
{
    (void)state;
    for (int r = 0; r < RANKS; r++)
        all_are_told(NBCOLL_ERR_LIMIT, -1, r);
}

/* Agents move so often that all of them have ended before a rank looks. */
static void all_are_told_what_one_transport_refuses_also_where_its_end_is_heard_first(void **state)
{
    static party p;
    nbcoll_relays_config config = party_config(NBCOLL_TOPOLOGY_DIRECT);
    (void)state;
    for (int one = 0; one < RANKS; one++) {
        party_open(&p, apart, NULL);
        watch_pairs(&p);
        scarce = one;
        for (int r = 0; r < RANKS; r++) {
            config.agent = p.agent[r];
            EXPECT(OK, nbcoll_relays_open(p.w.comm[r], &config, &p.relays[r]));
        }
        for (int r = 0; r < RANKS; r++) {
            nbcoll_status status;
            for (int looks = 0; (status = nbcoll_relays_test(p.relays[r], 0)) == NBCOLL_PENDING; looks++) {
                world_watchdog(&p.w, looks < PARTY_LOOKS);
                party_step(&p);
                for (int i = 0; i < 10 * RANKS; i++)
                    nbcoll_agent_progress(p.agent[i % RANKS]);
            }
            assert_int_equal(status, NBCOLL_ERR_LIMIT);
        }
        party_close_relays(&p);
        party_close(&p);
    }
}

/* On the second node two ranks, whose blocks take twice as many. */
static void what_relays_open_is_what_they_ask_for(void **state)
{
    static const int uneven[] = {1, 2, 1, 0};
    static party p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++) {
        party_open(&p, uneven, NULL);
        watch_pairs(&p);
        party_open_relays(&p, party_config((nbcoll_topology_kind)kind));
        for (int n = 0; n < p.nodes; n++) {
            taken[p.leader[n]].size = sizeof *taken;
            assert_memory_equal(&asked[p.leader[n]], &taken[p.leader[n]], sizeof *taken);
            assert_true(asked[p.leader[n]].depth >= 2 * 2 * PARTY_AT_ONCE * 2); /* 2 F f for each of two */
        }
        party_close_relays(&p);
        party_close(&p);
    }
}

/* ---- receives ---------------------------------------------------------------------------------------------------- */

/* All of them are there: as many as all connections from the rank have credits. */
static int receives_are_there(void)
{
    for (int k = 0; k < kinds; k++) {
        long credits = 0;
        for (int i = 0; i < count; i++)
            if (opened[i].shared == posted[k].shared && opened[i].peer == posted[k].from)
                credits += opened[i].depth;
        if (!credits || posted[k].left != credits)
            return 0;
    }
    return kinds > 0;
}

/* So that devices of which each joins some ranks are never short of them. */
static void receives_are_posted_for_each_rank_and_again_for_whose_message_has_come(void **state)
{
    static const int uneven[] = {1, 2, 1, 0};
    static party p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++) {
        party_open(&p, uneven, NULL);
        watch_pairs(&p);
        party_open_relays(&p, party_config((nbcoll_topology_kind)kind));
        assert_true(receives_are_there());
        for (int o = 0; o < PARTY_MANY; o++) {
            for (int r = 0; r < RANKS; r++)
                EXPECT(OK, party_start(&p, r, o));
            for (int r = 0; r < RANKS; r++)
                party_finish(&p, r, (uint64_t)o + 1);
        }
        for (int looks = 0; !receives_are_there(); looks++) {
            world_watchdog(&p.w, looks < PARTY_LOOKS);
            party_step(&p);
        }
        party_close_relays(&p);
        party_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_in_common_have_queue_pairs_of_other_numbers),
        cmocka_unit_test(no_agent_opens_queue_pairs_where_one_leader_has_no_agent),
        cmocka_unit_test(no_agent_opens_queue_pairs_where_one_transport_has_not_such),
        cmocka_unit_test(all_are_told_what_one_transport_refuses_also_where_its_end_is_heard_first),
        cmocka_unit_test(what_relays_open_is_what_they_ask_for),
        cmocka_unit_test(receives_are_posted_for_each_rank_and_again_for_whose_message_has_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
