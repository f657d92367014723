/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "party.h"

nbcoll_relays_config party_config(nbcoll_topology_kind kind)
{
    nbcoll_relays_config c = NBCOLL_RELAYS_DEFAULTS;
    c.topology = kind;
    c.at_once = PARTY_AT_ONCE;
    c.fragments = 2;
    c.fragment = 8;
    c.by_agents = 1;
    return c;
}

void party_open(party *p, const int sizes[], const nbcoll_host *host)
{
    party_open_without(p, sizes, host, -1);
}

void party_open_without(party *p, const int sizes[], const nbcoll_host *host, int alone)
{
    nbcoll_loopback_config loopback = {.size = sizeof loopback,
                                       .host = host,
                                       .flags = NBCOLL_LOOPBACK_SHARED,
                                       .seed = 1,
                                       .pairs = nbcoll_loopback_pairs()};
    nbcoll_context_config context = {.size = sizeof context};
    nbcoll_agent_config agent = {.size = sizeof agent, .host = host};
    nbcoll_request q[PARTY_RANKS];
    int node[PARTY_RANKS], ranks = 0;
    memset(p, 0, sizeof *p);
    p->host = host;
    if (host)
        context.host = *host;
    for (; sizes[p->nodes]; p->nodes++) {
        p->leader[p->nodes] = ranks;
        for (int i = 0; i < sizes[p->nodes]; i++)
            node[ranks++] = p->nodes;
    }
    world_open_contexts(&p->w, ranks, &loopback, &context);
    if (alone >= 0) {
        p->unshared = *p->w.endpoint[alone]->transport;
        p->unshared.shared = NULL;
        p->w.endpoint[alone]->transport = &p->unshared;
    }
    for (int r = 0; r < ranks; r++) {
        nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
        comm.node = 1 + (uint64_t)node[r];
        EXPECT(OK, nbcoll_comm_icreate(p->w.context[r], p->w.endpoint[r], &comm, &p->w.comm[r], &q[r]));
    }
    world_finish(&p->w, (size_t)ranks, q);
    for (int n = 0; n < p->nodes; n++)
        EXPECT(OK, nbcoll_agent_open(p->w.endpoint[p->leader[n]], &agent, &p->agent[n]));
    for (int r = 0; r < ranks; r++)
        for (int o = 0; o < PARTY_MANY; o++)
            for (int i = 0; i < PARTY_BYTES; i++)
                p->send[r][o][i] = (unsigned char)(r * 31 + o * 7 + i + 1);
}

void party_step(party *p)
{
    int first = (int)(world_random(&p->w.random) % (unsigned)p->w.ranks);
    for (int i = 0; i < p->w.ranks; i++) {
        int r = (first + i) % p->w.ranks;
        if (!(p->late >> r & 1) && p->relays[r])
            nbcoll_relays_test(p->relays[r], 0);
    }
    first = (int)(world_random(&p->w.random) % (unsigned)p->nodes);
    for (int i = 0; i < p->nodes; i++) {
        int n = (first + i) % p->nodes;
        if (!(p->idle >> n & 1))
            nbcoll_agent_progress(p->agent[n]);
    }
}

void party_open_relays(party *p, nbcoll_relays_config config)
{
    config.host = p->host;
    for (int r = 0; r < p->w.ranks; r++) {
        config.agent = NULL;
        for (int n = 0; n < p->nodes; n++)
            if (p->leader[n] == r)
                config.agent = p->agent[n];
        EXPECT(OK, nbcoll_relays_open(p->w.comm[r], &config, &p->relays[r]));
    }
    for (int r = 0; r < p->w.ranks; r++)
        for (int looks = 0; nbcoll_relays_test(p->relays[r], 0) == NBCOLL_PENDING; looks++) {
            world_watchdog(&p->w, looks < PARTY_LOOKS);
            party_step(p);
        }
}

void party_close_relays(party *p)
{
    unsigned left = 0;
    for (int r = 0; r < p->w.ranks; r++)
        left |= p->relays[r] && !(p->late >> r & 1) ? 1u << r : 0;
    for (int looks = 0; left; looks++) {
        world_watchdog(&p->w, looks < PARTY_LOOKS);
        for (int r = 0; r < p->w.ranks; r++)
            if (left >> r & 1 && nbcoll_relays_close(p->relays[r], 0) == NBCOLL_OK) {
                left &= ~(1u << r);
                p->relays[r] = NULL;
            } else if (!(p->late >> r & 1))
                nbcoll_progress(p->w.context[r]);
        for (int n = 0; n < p->nodes; n++)
            nbcoll_agent_progress(p->agent[n]);
    }
}

void party_close(party *p)
{
    for (int n = 0; n < p->nodes; n++)
        EXPECT(OK, nbcoll_agent_close(p->agent[n]));
    world_close(&p->w);
}

nbcoll_status party_start(party *p, int rank, int o)
{
    int at = o % PARTY_MANY;
    return nbcoll_relays_allgather(p->relays[rank], p->send[rank][at], p->recv[rank][at], PARTY_BYTES,
                                   &p->number[rank][at]);
}

int party_has_block(const party *p, int rank, int o, int of)
{
    return memcmp(&p->recv[rank][o][of * PARTY_BYTES], p->send[of][o], PARTY_BYTES) == 0;
}

int party_all_have_come(const party *p, int o)
{
    for (int r = 0; r < p->w.ranks; r++)
        for (int of = 0; of < p->w.ranks && !(p->late >> r & 1); of++)
            if (!(p->late >> of & 1) && nbcoll_relays_arrived(p->relays[r], p->number[r][o], of) != NBCOLL_OK)
                return 0;
    return 1;
}

void party_finish(party *p, int rank, uint64_t number)
{
    nbcoll_status s;
    for (int looks = 0; (s = nbcoll_relays_test(p->relays[rank], number)) == NBCOLL_PENDING; looks++) {
        world_watchdog(&p->w, looks < PARTY_LOOKS);
        party_step(p);
    }
    assert_int_equal(s, NBCOLL_OK);
}
