/* SPDX-License-Identifier: BSD-3-Clause
 * What relays need is not freed before they are closed: their context, their communicator where it must outlive them,
 * the agent that is still to get them. Then it is. Likewise a context that has the endpoint of an open agent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "party.h"

static const int shape[] = {2, 1, 0};

static void begin(party *p, int rank, nbcoll_relays_config config)
{
    for (int n = 0; n < p->nodes; n++)
        if (p->leader[n] == rank)
            config.agent = p->agent[n];
    EXPECT(OK, nbcoll_relays_open(p->w.comm[rank], &config, &p->relays[rank]));
}

static void hold(nbcoll_relays_config config, int needs_comm)
{
    static party p;
    party_open(&p, shape, NULL);
    begin(&p, 0, config);
    EXPECT(ERR_BUSY, nbcoll_context_free(p.w.context[0]));
    EXPECT(ERR_BUSY, nbcoll_context_abandon(p.w.context[0], NULL, NULL));
    EXPECT(ERR_BUSY, nbcoll_comm_free(p.w.comm[0]));
    if (config.by_agents)
        EXPECT(ERR_BUSY, nbcoll_agent_close(p.agent[0]));
    for (int r = 1; r < p.w.ranks; r++)
        begin(&p, r, config);
    for (int looks = 0; looks < 50; looks++) /* it is over, but for a look of the relays' */
        world_step(&p.w);
    EXPECT(ERR_BUSY, nbcoll_context_free(p.w.context[0]));
    for (int r = 0; r < p.w.ranks; r++)
        for (int looks = 0; nbcoll_relays_test(p.relays[r], 0) != NBCOLL_OK; looks++) {
            world_watchdog(&p.w, looks < PARTY_LOOKS);
            party_step(&p);
        }
    EXPECT(ERR_BUSY, nbcoll_context_free(p.w.context[0]));
    if (needs_comm)
        EXPECT(ERR_BUSY, nbcoll_comm_free(p.w.comm[0]));
    party_close_relays(&p);
    EXPECT(OK, nbcoll_comm_free(p.w.comm[0]));
    p.w.comm[0] = NULL;
    if (config.by_agents)
        EXPECT(ERR_BUSY, nbcoll_context_free(p.w.context[0])); /* it would close the agent's endpoint */
    party_close(&p);
}

static nbcoll_relays_config by(uint32_t nodes, uint32_t agents, size_t carries)
{
    nbcoll_relays_config config = party_config(NBCOLL_TOPOLOGY_DIRECT);
    config.hierarchical = nodes;
    config.by_agents = agents;
    config.carries = carries;
    return config;
}

static void relays_hold_their_context(void **state)
{
    (void)state;
    hold(by(0, 0, 0), 0);
}

static void relays_by_nodes_hold_their_communicator(void **state)
{
    (void)state;
    hold(by(1, 0, 0), 1);
}

static void relays_that_carry_calls_hold_their_communicator(void **state)
{
    (void)state;
    hold(by(0, 0, 16), 1);
}

static void relays_by_agents_hold_an_agent_that_is_to_get_them(void **state)
{
    (void)state;
    hold(by(0, 1, 0), 1);
}

static void an_agent_of_a_communicator_holds_its_context(void **state)
{
    nbcoll_agent_config config = {.size = sizeof config};
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    nbcoll_request request;
    world w;
    (void)state;
    for (int is_dup = 0; is_dup < 2; is_dup++) {
        world_open_contexts(&w, 1, NULL, NULL);
        EXPECT(OK, nbcoll_agent_open(w.endpoint[0], &config, &comm.agent));
        EXPECT(OK, nbcoll_comm_icreate(w.context[0], w.endpoint[0], is_dup ? NULL : &comm, &w.comm[0], &request));
        world_finish(&w, 1, &request);
        nbcoll_comm *first = w.comm[0];
        if (is_dup) {
            EXPECT(OK, nbcoll_comm_idup_with(first, &comm, &w.comm[0], &request));
            world_finish(&w, 1, &request);
            EXPECT(OK, nbcoll_comm_free(first));
        }
        EXPECT(ERR_BUSY, nbcoll_context_free(w.context[0]));
        EXPECT(OK, nbcoll_comm_free(w.comm[0]));
        EXPECT(ERR_BUSY, nbcoll_context_free(w.context[0]));
        EXPECT(ERR_BUSY, nbcoll_context_abandon(w.context[0], NULL, NULL));
        EXPECT(OK, nbcoll_agent_close(comm.agent));
        w.comm[0] = NULL;
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relays_hold_their_context),
        cmocka_unit_test(relays_by_nodes_hold_their_communicator),
        cmocka_unit_test(relays_that_carry_calls_hold_their_communicator),
        cmocka_unit_test(relays_by_agents_hold_an_agent_that_is_to_get_them),
        cmocka_unit_test(an_agent_of_a_communicator_holds_its_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
