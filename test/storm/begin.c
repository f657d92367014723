/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a rank begins: its context, and the first communicator. */
#include "rank.h"

static void is_told(void *user, const nbcoll_event *event)
{
    rank *r = user;
    r->told[event->moment]++;
}

bool begin_rank(rank *r)
{
    storm *s = r->storm;
    const plan *p = &s->plan;
    nbcoll_context_config config = {.size = sizeof config, .host = r->actor->host, .credits = p->credits};
    nbcoll_comm_config terms = NBCOLL_COMM_DEFAULTS;
    nbcoll_status status;
    nbcoll_request request;
    nbcoll_endpoint *ends[NETS];
    int tries = 0, n = wire_endpoints(r->actor, ends);

    r->observer = (nbcoll_observer){sizeof r->observer, r, is_told};
    config.observer = p->is_observed ? &r->observer : NULL;
    terms.slots = p->slots;
    terms.cells = p->cells;
    terms.schedules = p->schedules;
    terms.eager = p->eager;
    terms.flags = p->flags;
    while ((status = nbcoll_context_create(NBCOLL_ABI, &config, &r->context)) != NBCOLL_OK && tries++ < RETRIES)
        storm_stay(s, 1000);
    if (status != NBCOLL_OK) {
        r->context = NULL;
        judge_end(r->actor, NULL, -1, status, NULL, NULL);
        return false;
    }
    while ((status = nbcoll_comm_icreate_over(r->context, n, ends, &terms, &r->comm[0], &request)) != NBCOLL_OK &&
           tries++ < RETRIES)
        storm_stay(s, 1000);
    r->has_endpoint = status != NBCOLL_OK;
    if (status == NBCOLL_OK)
        status = rank_wait(r, &request);
    if (status == NBCOLL_OK)
        return true;
    nbcoll_failure failure = rank_failure(r, -1);
    r->comm[0] = NULL;
    judge_end(r->actor, NULL, -1, status, &failure, NULL);
    return false;
}
