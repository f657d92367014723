/* SPDX-License-Identifier: BSD-3-Clause
 * Relays of a node, as agents have them: three nodes in a line, the middle one passes on. A store that is full holds
 * back who sends to it, and the one before that; nothing is lost, and all goes on in order when ranks copy. What the
 * agent reads in a store it checks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/offload/node_relays.h"
#include "nbcoll/loopback.h"
#include "world.h"

enum { NODES = 3, CREDITS = 3, OWN = 4, BYTES = 24, MESSAGES = 40, LOOKS = 200 };

typedef struct line {
    nbcoll_loopback *loopback;
    nbcoll_endpoint *endpoint[NODES];
    nbcoll_agent *agent[NODES];
    nbcolli_node_relays *relays[NODES];
    nbcolli_node_store store[NODES];
    _Alignas(64) char memory[NODES][8192];
    uint64_t handed, read[NODES];
} line;

/* Node 0 sends by relay 0 to relay 1 of node 1, and that to relay 1 of node 2. Each node has a rank. */
static void line_open(line *l)
{
    static const nbcolli_node_relays_end to[] = {{1, 0, CREDITS}, {2, 0, CREDITS}};
    static const nbcolli_node_relays_end from[] = {{0, 0, CREDITS}, {1, 0, CREDITS}};
    static const nbcolli_node_relays_relay relay[NODES][2] = {{{0, 1, NULL, &to[0]}},
                                                              {{0, 0, NULL, NULL}, {1, 1, &from[0], &to[1]}},
                                                              {{0, 0, NULL, NULL}, {1, 0, &from[1], NULL}}};
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = NODES, .pairs = nbcoll_loopback_pairs()};
    nbcoll_agent_config agent = {.size = sizeof agent};
    nbcoll_host host = {.size = sizeof host};
    memset(l, 0, sizeof *l);
    EXPECT(OK, nbcoll_loopback_create(&config, &l->loopback));
    for (int n = 0; n < NODES; n++) {
        const nbcolli_node_store_shape shape = {1, OWN, n ? CREDITS : 0, BYTES};
        size_t bytes = nbcolli_node_store_bytes(&shape);
        assert_true(bytes <= sizeof l->memory[n]);
        l->store[n] = nbcolli_node_store_at(l->memory[n], &shape);
        EXPECT(OK, nbcoll_loopback_open(l->loopback, n, &l->endpoint[n]));
        EXPECT(OK, nbcoll_agent_open(l->endpoint[n], &agent, &l->agent[n]));
        const nbcolli_node_relays_config c = {.host = &host,
                                              .set = 7u + (uint32_t)n,
                                              .relays = n ? 2 : 1,
                                              .relay = relay[n],
                                              .store = l->store[n],
                                              .memory = l->memory[n],
                                              .bytes = bytes};
        EXPECT(OK, nbcolli_node_relays_make(l->agent[n], &c, &l->relays[n]));
        for (int peer = 0; peer < NODES; peer++)
            if (peer != n)
                nbcolli_node_relays_meet(l->relays[n], peer, 7u + (uint32_t)peer);
        EXPECT(OK, nbcolli_node_relays_begin(l->relays[n]));
    }
}

static void line_close(line *l)
{
    for (int n = 0; n < NODES; n++) {
        EXPECT(OK, nbcoll_agent_close(l->agent[n]));
        assert_int_equal(l->store[n].head->state, NBCOLLI_NODE_STORE_OVER);
        nbcolli_node_relays_free(l->relays[n]);
        nbcoll_endpoint_close(l->endpoint[n]);
    }
    EXPECT(OK, nbcoll_loopback_free(l->loopback));
}

/* Node 0 hands over what it has room for, and reads its own; agents move. */
static void look(line *l)
{
    for (int looks = 0; looks < LOOKS; looks++) {
        while (l->handed < MESSAGES && nbcolli_node_store_has_room(&l->store[0], 0, l->handed)) {
            uint32_t buffer = nbcolli_node_store_own(&l->store[0], 0, l->handed);
            memset(nbcolli_node_store_message(&l->store[0], buffer), (int)l->handed + 1, BYTES);
            nbcolli_node_store_hand(&l->store[0], 0, l->handed++);
        }
        for (; l->read[0] < nbcolli_node_store_arrived(&l->store[0]); l->read[0]++)
            nbcolli_node_store_release(&l->store[0], nbcolli_node_store_arrival(&l->store[0], l->read[0]));
        for (int n = 0; n < NODES; n++)
            nbcoll_agent_progress(l->agent[n]);
    }
}

/* The next message at that node, which is the one behind what it has read. */
static void copy(line *l, int n)
{
    unsigned char wanted[BYTES];
    assert_true(l->read[n] < nbcolli_node_store_arrived(&l->store[n]));
    uint32_t buffer = nbcolli_node_store_arrival(&l->store[n], l->read[n]++);
    memset(wanted, (int)l->read[n], BYTES);
    assert_memory_equal(nbcolli_node_store_message(&l->store[n], buffer), wanted, BYTES);
    nbcolli_node_store_release(&l->store[n], buffer);
}

static void a_full_store_holds_back_who_sends_to_it_and_goes_on(void **state)
{
    static line l;
    (void)state;
    line_open(&l);
    look(&l);
    assert_int_equal(nbcolli_node_store_arrived(&l.store[1]), CREDITS); /* which has copied none, but passed on all */
    assert_int_equal(nbcolli_node_store_arrived(&l.store[2]), CREDITS);
    assert_int_equal(l.handed, CREDITS + OWN);
    for (int i = 0; i < CREDITS; i++)
        copy(&l, 1);
    look(&l);
    assert_int_equal(nbcolli_node_store_arrived(&l.store[1]), 2 * CREDITS); /* those wait for credits of node 2 */
    assert_int_equal(nbcolli_node_store_arrived(&l.store[2]), CREDITS);
    for (int i = 0; i < CREDITS; i++)
        copy(&l, 1);
    look(&l);
    assert_int_equal(nbcolli_node_store_arrived(&l.store[1]), 2 * CREDITS); /* and keep their buffers */
    for (int i = 0; i < MESSAGES; i++) {
        copy(&l, 2);
        look(&l);
        for (; l.read[1] < nbcolli_node_store_arrived(&l.store[1]); look(&l))
            copy(&l, 1);
    }
    for (int n = 0; n < NODES; n++) {
        assert_int_equal(nbcolli_node_store_arrived(&l.store[n]), MESSAGES);
        EXPECT(OK, nbcolli_node_store_status(&l.store[n]));
    }
    line_close(&l);
}

/* At the next look of its neighbours, and of theirs. */
static void an_agent_that_goes_breaks_the_stores_of_all(void **state)
{
    static line l;
    (void)state;
    for (int gone = 0; gone < NODES; gone++) {
        line_open(&l);
        look(&l);
        nbcolli_node_store_break(&l.store[gone], NBCOLL_ERR_MISMATCH);
        for (int n = 1; n < NODES; n++)
            while (l.read[n] < nbcolli_node_store_arrived(&l.store[n]))
                copy(&l, n);
        look(&l);
        for (int n = 0; n < NODES; n++) {
            assert_int_equal(l.store[n].head->state, NBCOLLI_NODE_STORE_OVER);
            nbcoll_status s = nbcolli_node_store_status(&l.store[n]);
            assert_int_equal(s, n == gone ? NBCOLL_ERR_MISMATCH : NBCOLL_ERR_PEER_LOST);
        }
        line_close(&l);
    }
}

/* ---- numbers of which ranks have no business to write ----------------------------------------------------------- */

static void a_freed_buffer_that_is_not_there(line *l) { l->store[1].head->freed = CREDITS + OWN + 1; }
static void a_freed_buffer_that_is_a_ranks_own(line *l) { l->store[1].head->freed = CREDITS + 1; }

/* Node 1 has nothing else that waits for ranks, once it has copied all. */
static void a_freed_buffer_whose_message_has_not_come(line *l)
{
    for (int i = 0; i < CREDITS; i++)
        copy(l, 1);
    l->handed = MESSAGES; /* no more come */
    look(l);
    while (l->read[1] < nbcolli_node_store_arrived(&l->store[1]))
        copy(l, 1);
    while (l->read[2] < nbcolli_node_store_arrived(&l->store[2])) {
        copy(l, 2);
        look(l);
    }
    assert_int_equal(l->store[1].head->freed, 0);
    l->store[1].head->freed = 1;
}

/* Credits of node 2 are what it waits for. */
static void a_freed_buffer_that_is_still_to_be_sent(line *l)
{
    for (int i = 0; i < CREDITS; i++)
        copy(l, 1);
    look(l);
    l->store[1].head->freed = 1 + nbcolli_node_store_arrival(&l->store[1], l->read[1]);
}

static void freed_buffers_in_a_circle(line *l)
{
    copy(l, 1);
    uint32_t freed = l->store[1].head->freed;
    assert_int_not_equal(freed, 0);
    nbcolli_node_store_buffer_at(&l->store[1], freed - 1)->next = freed;
}

static void more_handed_over_than_there_are(line *l)
{
    atomic_store(nbcolli_node_store_handed(&l->store[1], 0), OWN + 1);
}

static void less_handed_over_than_before(line *l)
{
    atomic_store(nbcolli_node_store_handed(&l->store[0], 0), l->handed - 1);
}

static void handed_over_while_it_is_still_to_be_sent(line *l)
{
    atomic_store(nbcolli_node_store_handed(&l->store[0], 0), l->handed + 1);
}

static void nonsense_in_a_store_ends_its_relays(void **state)
{
    static void (*const nonsense[])(line *) = {a_freed_buffer_that_is_not_there,
                                               a_freed_buffer_that_is_a_ranks_own,
                                               a_freed_buffer_whose_message_has_not_come,
                                               a_freed_buffer_that_is_still_to_be_sent,
                                               freed_buffers_in_a_circle,
                                               more_handed_over_than_there_are,
                                               less_handed_over_than_before,
                                               handed_over_while_it_is_still_to_be_sent};
    static line l;
    (void)state;
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        line_open(&l);
        look(&l);
        nonsense[i](&l);
        l.handed = MESSAGES;
        look(&l);
        for (int n = 0; n < NODES; n++) {
            assert_int_equal(l.store[n].head->state, NBCOLLI_NODE_STORE_OVER);
            nbcoll_status s = nbcolli_node_store_status(&l.store[n]);
            assert_int_equal(s, n == (i < 6) ? NBCOLL_ERR_ARGUMENT : NBCOLL_ERR_PEER_LOST);
        }
        line_close(&l);
    }
}

/* Its queue pairs are there already. */
static void an_agent_opens_once_whatever_the_store_says(void **state)
{
    static line l;
    (void)state;
    line_open(&l);
    look(&l);
    atomic_store(&l.store[1].head->state, NBCOLLI_NODE_STORE_OPENING);
    look(&l);
    for (int i = 0; i < CREDITS; i++) {
        copy(&l, 1);
        copy(&l, 2);
    }
    look(&l);
    assert_int_equal(nbcolli_node_store_arrived(&l.store[2]), 2 * CREDITS);
    EXPECT(OK, nbcolli_node_store_status(&l.store[1]));
    line_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_store_holds_back_who_sends_to_it_and_goes_on),
        cmocka_unit_test(an_agent_that_goes_breaks_the_stores_of_all),
        cmocka_unit_test(nonsense_in_a_store_ends_its_relays),
        cmocka_unit_test(an_agent_opens_once_whatever_the_store_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
