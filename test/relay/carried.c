/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "carried.h"
#include "nbcoll/select.h"

int carried_by_agents;

nbcoll_relays_config carried_config(nbcoll_topology_kind kind)
{
    nbcoll_relays_config c = NBCOLL_RELAYS_DEFAULTS;
    c.topology = kind;
    c.at_once = AT_ONCE;
    c.fragments = 2;
    c.fragment = 8;
    c.carries = 16;
    c.by_agents = (uint32_t)carried_by_agents;
    return c;
}

void carried_step(carried *p)
{
    int first = (int)(world_random(&p->w.random) % (unsigned)p->w.ranks);
    for (int i = 0; i < p->w.ranks; i++) {
        int r = (first + i) % p->w.ranks;
        if (!(p->late >> r & 1))
            nbcoll_progress(p->w.context[r]);
        nbcoll_agent_progress(p->agent[r]);
    }
}

void carried_steps(carried *p, int many)
{
    for (int looks = 0; looks < many; looks++)
        carried_step(p);
}

void carried_settle(carried *p, size_t n, nbcoll_request q[], nbcoll_status s[])
{
    size_t left = n;
    memset(s, 0, n * sizeof *s);
    for (int looks = 0; left; looks++) {
        world_watchdog(&p->w, looks < LOOKS);
        carried_step(p);
        for (size_t i = left = 0; i < n; i++) {
            s[i] = q[i].at ? nbcoll_test(&q[i]) : s[i];
            left += s[i] == NBCOLL_PENDING;
        }
    }
}

void carried_finish_all(carried *p, size_t n, nbcoll_request q[])
{
    nbcoll_status s[RANKS * AT_ONCE];
    carried_settle(p, n, q, s);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(s[i], NBCOLL_OK);
}

void carried_open_ranks(carried *p, int ranks, const nbcoll_context_config *context, const nbcoll_comm_config *config)
{
    nbcoll_loopback_config loopback = world_variant(0, 1);
    nbcoll_agent_config agent = {.size = sizeof agent};
    nbcoll_request q[RANKS];
    memset(p, 0, sizeof *p);
    loopback.flags |= carried_by_agents ? NBCOLL_LOOPBACK_SHARED : 0;
    world_open_contexts(&p->w, ranks, &loopback, context);
    for (int r = 0; r < ranks; r++) {
        nbcoll_comm_config comm = *config;
        comm.node = carried_by_agents ? 1 + (uint64_t)(r / NEAR) : 0;
        EXPECT(OK, nbcoll_comm_icreate(p->w.context[r], p->w.endpoint[r], &comm, &p->w.comm[r], &q[r]));
    }
    world_finish(&p->w, (size_t)ranks, q);
    for (int r = 0; carried_by_agents && r < ranks; r += NEAR)
        EXPECT(OK, nbcoll_agent_open(p->w.endpoint[r], &agent, &p->agent[r]));
}

nbcoll_status carried_open_relays(carried *p, int rank, nbcoll_relays_config config)
{
    config.agent = p->agent[rank];
    return nbcoll_relays_open(p->w.comm[rank], &config, &p->relays[rank]);
}

void carried_open(carried *p, int ranks, nbcoll_relays_config config, const nbcoll_context_config *context)
{
    nbcoll_rule rules[] = {{.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "relays")},
                           {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "chain_pipelined")}};
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    comm.rules = rules;
    comm.rule_count = 2;
    carried_open_ranks(p, ranks, context, &comm);
    for (int r = 0; r < ranks; r++)
        EXPECT(OK, carried_open_relays(p, r, config));
    for (int r = 0; r < ranks; r++)
        for (int o = 0; o < MANY; o++)
            for (int i = 0; i < BYTES; i++)
                p->send[r][o][i] = (unsigned char)(r * 31 + o * 7 + i + 1);
}

void carried_close_relays(carried *p)
{
    unsigned left = (1u << p->w.ranks) - 1;
    for (int looks = 0; left; looks++) {
        world_watchdog(&p->w, looks < LOOKS);
        for (int r = 0; r < p->w.ranks; r++)
            if (left >> r & 1 && nbcoll_relays_close(p->relays[r], 0) == NBCOLL_OK)
                left &= ~(1u << r);
            else
                nbcoll_progress(p->w.context[r]);
        for (int r = 0; r < p->w.ranks; r++)
            nbcoll_agent_progress(p->agent[r]);
    }
}

void carried_close_ranks(carried *p)
{
    for (int r = 0; r < p->w.ranks; r++)
        if (p->agent[r])
            EXPECT(OK, nbcoll_agent_close(p->agent[r]));
    world_close(&p->w);
}

void carried_close(carried *p)
{
    carried_close_relays(p);
    carried_close_ranks(p);
}

void carried_await(carried *p)
{
    for (int r = 0; r < p->w.ranks; r++)
        for (int looks = 0; nbcoll_relays_test(p->relays[r], 0) == NBCOLL_PENDING; looks++) {
            world_watchdog(&p->w, looks < LOOKS);
            carried_step(p);
        }
    for (int r = 0; r < p->w.ranks; r++)
        EXPECT(OK, nbcoll_relays_test(p->relays[r], 0));
}

void carried_gather(carried *p, int rank, int o)
{
    EXPECT(OK, nbcoll_iallgather(p->send[rank][o], p->recv[rank][o], BYTES, NBCOLL_BYTE, p->w.comm[rank],
                                 &p->request[rank][o]));
}

void carried_has_gathered(const carried *p, int rank, int o)
{
    for (int of = 0; of < p->w.ranks; of++)
        assert_memory_equal(&p->recv[rank][o][of * BYTES], p->send[of][o], BYTES);
}

void carried_finish(carried *p, int o)
{
    nbcoll_request q[RANKS];
    for (int r = 0; r < p->w.ranks; r++)
        q[r] = p->request[r][o];
    carried_finish_all(p, (size_t)p->w.ranks, q);
}
