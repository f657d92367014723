/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Relays over a communicator that is a duplicate, from its making to its end. They carry out its short allgathers and
 * broadcasts: calls like all others, which are judged like all others. */
#include "rank.h"
#include "nbcoll/relay.h"

static nbcoll_relays_config config_of(const nbcoll_host *host, uint64_t own)
{
    nbcoll_relays_config c = NBCOLL_RELAYS_DEFAULTS;
    c.host = host;
    c.topology = (nbcoll_topology_kind)(next_random(&own) % NBCOLL_TOPOLOGY_COUNT);
    c.ports = 1 + (uint32_t)(next_random(&own) % 3);
    c.at_once = 1 + (uint32_t)(next_random(&own) % 3);
    c.fragments = 1 + (uint32_t)(next_random(&own) % 3);
    c.fragment = (uint32_t)ONE_OF(&own, 1, 8, 64, 200, 1000);
    c.carries = 1 + next_random(&own) % (c.fragments * c.fragment);
    c.hierarchical = next_random(&own) % 2;
    return c;
}

void relays_open(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n];
    item opens = {.kind = ITEM_DUP, .comm = i->made};
    nbcoll_host host = host_outside(r->actor);
    nbcoll_relays_config config = config_of(&host, i->relays);
    nbcoll_status status;

    for (int tries = 0; (status = nbcoll_relays_open(r->comm[i->made], &config, &r->relays[i->made])) != NBCOLL_OK;) {
        r->relays[i->made] = NULL;
        if (status == NBCOLL_ERR_MEMORY && tries++ < RETRIES) {
            storm_stay(r->storm, 1 + rank_choose(r, 50 * MICROSECOND));
            nbcoll_progress(r->context);
            continue;
        }
        nbcoll_failure failure = rank_failure(r, i->made);
        judge_end(r->actor, &opens, n, status, &failure, NULL);
        r->is_broken[i->made] = true;
        rank_stops(r, BAD_LEFT | (status == NBCOLL_ERR_MEMORY ? BAD_MEMORY : 0u));
        return;
    }
    if (rank_choose(r, 2))
        return; /* calls wait for the opening */
    status = nbcoll_relays_wait(r->relays[i->made], 0, NBCOLL_FOREVER);
    judge_end(r->actor, &opens, n, status, NULL, NULL);
}

/* Others wait for blocks that it has not contributed, and closing waits for them: nothing ends that but a loss. */
void relays_break(rank *r)
{
    const plan *p = &r->storm->plan;
    for (int c = 0; c < COMMS_MOST; c++) {
        if (!r->relays[c])
            continue;
        place_in at = p->place[c][r->actor->rank];
        int other = (at.rank + 1) % at.size;
        storm_cause(r->storm, plan_member(p, c, r->actor->rank, other), BAD_DECLARED);
        storm_cause(r->storm, r->actor->rank, BAD_DECLARED);
        nbcoll_status status = other == at.rank ? NBCOLL_OK : nbcoll_comm_declare_lost(r->comm[c], other);
        if (status != NBCOLL_OK)
            storm_find(r->storm, "rank %d: number %d is not declared lost: %s", r->actor->rank, other,
                       nbcoll_status_name(status));
        relays_close(r, c);
    }
}

void relays_close(rank *r, int comm)
{
    nbcoll_status status;

    if (!r->relays[comm])
        return;
    if (!r->stops) /* who closes what it has not seen open gives that up, for all */
        nbcoll_relays_wait(r->relays[comm], 0, NBCOLL_FOREVER);
    while ((status = nbcoll_relays_close(r->relays[comm], rank_choose(r, 2) ? 0 : rank_choose(r, SECOND))) ==
           NBCOLL_ERR_TIMEOUT) {
        nbcoll_progress(r->context);
        chain_look(r);
        storm_sleep(r->storm, 1 + rank_choose(r, MILLISECOND));
    }
    if (status != NBCOLL_OK)
        storm_find(r->storm, "rank %d: the relays of communicator %d are not closed: %s", r->actor->rank, comm,
                   nbcoll_status_name(status));
    r->relays[comm] = NULL;
}
