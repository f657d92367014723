/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Agents: a further thread of each rank executes the programs of the first communicator. Their queue pairs are
 * loopback's, behind calls that take their time, are refused, and say late what has come. Of a rank that dies all are
 * closed. */
#include "rank.h"
#include "wire.h"
#include "nbcoll/loopback.h"
#include "nbcoll/offload.h"
#include "nbcoll/select.h"

static const nbcoll_offload *group(const actor *a)
{
    return a->queues->transport->offload;
}

static actor *enter(nbcoll_endpoint *ep)
{
    actor *a = ((end *)ep)->actor;
    storm_step(a->storm, a);
    return a;
}

/* Who has died has no queue pairs any more. */
static nbcoll_status refuses(actor *a)
{
    if (a->is_dead)
        return NBCOLL_ERR_TRANSPORT;
    if (!storm_fault(a->storm, a, FAULT_REGISTER, &a->registers))
        return NBCOLL_OK;
    storm_note(a->storm, a->rank, NOTE_FAULT, FAULT_REGISTER, 0);
    storm_cause(a->storm, a->rank, BAD_MEMORY);
    return NBCOLL_ERR_MEMORY;
}

static nbcoll_status open_cq(nbcoll_endpoint *ep, uint32_t depth, nbcoll_completion_queue **out)
{
    actor *a = enter(ep);
    nbcoll_status status = refuses(a);
    return status == NBCOLL_OK ? group(a)->open_cq(a->queues, depth, out) : status;
}

static nbcoll_status open_queue(nbcoll_endpoint *ep, const nbcoll_queue_config *config, nbcoll_queue_pair **out)
{
    actor *a = enter(ep);
    nbcoll_status status = refuses(a);
    if (status == NBCOLL_OK && a->n_pairs == PAIRS_MOST)
        status = NBCOLL_ERR_MEMORY;
    if (status == NBCOLL_OK)
        status = group(a)->open_queue(a->queues, config, out);
    if (status == NBCOLL_OK)
        a->pair[a->n_pairs++] = *out;
    return status;
}

static nbcoll_status post(nbcoll_endpoint *ep, nbcoll_queue_pair *pair, const nbcoll_posting *posting)
{
    actor *a = enter(ep);
    a->has_closed = false;
    return a->is_dead ? NBCOLL_ERR_TRANSPORT : group(a)->post(a->queues, pair, posting);
}

static void enable(nbcoll_endpoint *ep, nbcoll_queue_pair *pair, uint32_t sends, uint32_t receives)
{
    actor *a = enter(ep);
    if (!a->is_dead)
        group(a)->enable(a->queues, pair, sends, receives);
}

static nbcoll_status wait(nbcoll_endpoint *ep, nbcoll_completion_queue *completions, uint32_t count)
{
    actor *a = enter(ep);
    if (a->is_dead)
        return NBCOLL_ERR_PEER_LOST;
    bool is_late = storm_chance(a->storm, a->storm->plan.net[HOME].refused);
    if (is_late && !a->has_closed)
        return NBCOLL_PENDING;
    return group(a)->wait(a->queues, completions, count);
}

static void close_pair(actor *a, nbcoll_queue_pair *pair)
{
    for (int k = 0; k < a->n_pairs; k++)
        if (a->pair[k] == pair) {
            group(a)->close(a->queues, pair, NULL);
            a->pair[k] = a->pair[--a->n_pairs];
            return;
        }
}

static void close_either(nbcoll_endpoint *ep, nbcoll_queue_pair *pair, nbcoll_completion_queue *completions)
{
    actor *a = enter(ep);
    a->has_closed = pair != NULL;
    if (pair)
        close_pair(a, pair);
    if (completions)
        group(a)->close(a->queues, NULL, completions);
}

const nbcoll_offload agents_offload = {.size = sizeof agents_offload,
                                       .open_cq = open_cq,
                                       .open_queue = open_queue,
                                       .post = post,
                                       .enable = enable,
                                       .wait = wait,
                                       .close = close_either};

/* ---- queue pairs of the world ------------------------------------------------------------------------------------ */

void agents_make(storm *s)
{
    nbcoll_loopback_config config = {
        .size = sizeof config, .ranks = s->plan.ranks + 1, .pairs = nbcoll_loopback_pairs()};
    s->queues = NULL;
    if (!s->plan.has_agents)
        return;
    nbcoll_status status = nbcoll_loopback_create(&config, &s->queues);
    if (status == NBCOLL_OK) /* of the dead: closed last */
        status = nbcoll_loopback_open(s->queues, s->plan.ranks, &s->spare);
    for (int r = 0; r < s->plan.ranks && status == NBCOLL_OK; r++)
        status = nbcoll_loopback_open(s->queues, r, &s->queue[r]);
    if (status != NBCOLL_OK)
        storm_find(s, "no queue pairs: %s", nbcoll_status_name(status));
}

void agents_shut(actor *a)
{
    storm *s = a->storm;
    if (!s->queues || a->queues == s->spare)
        return;
    while (a->n_pairs)
        close_pair(a, a->pair[0]);
    nbcoll_endpoint_close(a->queues);
    a->queues = s->spare;
}

void agents_free(storm *s)
{
    if (!s->queues)
        return;
    for (int r = 0; r < s->plan.ranks; r++)
        agents_shut(&s->actor[r]);
    nbcoll_endpoint_close(s->spare);
    nbcoll_loopback_free(s->queues);
}

/* ---- a rank's ---------------------------------------------------------------------------------------------------- */

static void run(void *user)
{
    rank *r = user;
    storm *s = r->storm;
    const plan *p = &s->plan;
    uint64_t turns = 0, idle = 0, rests = 5; /* else nothing hangs: somebody is always away */

    for (; r->runs_agent; turns++) {
        if (p->agent_fails == 1 + r->actor->rank && turns == p->agent_at && !s->ends) {
            storm_note(s, r->actor->rank, NOTE_FAULT, FAULT_CANCELS, turns);
            storm_cause(s, r->actor->rank, BAD_CANCELS);
            nbcoll_agent_cancel(r->agent);
        }
        idle = nbcoll_agent_progress(r->agent) ? 0 : idle + 1;
        if (rests && storm_chance(s, p->late / 10)) {
            rests--;
            storm_away(s, storm_random(s, p->latest));
        } else
            storm_stay(s, 1 + storm_random(s, idle < 20 ? 1000ull << idle / 2 : 20 * MILLISECOND));
    }
}

/* Where ranks of a node share memory such operations are in three parts, the middle one a program. */
static void goes_by_nodes(const rank *r, nbcoll_comm_config *terms)
{
    static nbcoll_rule rules[NBCOLL_OPERATION_COUNT];
    const plan *p = &r->storm->plan;
    uint64_t nodes = p->ranks < 3 ? 1 : 2 + p->seed % (uint64_t)(p->ranks / 2);
    terms->node = 1 + (uint64_t)r->actor->rank % nodes;
    terms->rules = rules;
    terms->rule_count = 0;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++) {
        const nbcoll_algorithm *algorithm = nbcoll_algorithm_find((nbcoll_operation)what, "hierarchical");
        if (algorithm)
            rules[terms->rule_count++].algorithm = algorithm;
    }
}

nbcoll_status agents_begin(rank *r, nbcoll_comm_config *terms)
{
    uint64_t all = mix(r->storm->plan.seed, 27);
    nbcoll_host host = host_outside(r->actor);
    nbcoll_agent_config config = {.size = sizeof config, .host = &host};
    nbcoll_status status;
    int tries = 0;

    if (!r->storm->plan.has_agents)
        return NBCOLL_OK;
    config.eager = ONE_OF(&all, 64, 256, 4096);
    config.depth = (uint32_t)ONE_OF(&all, 4, 16, 64);
    config.in_flight = (uint32_t)ONE_OF(&all, 1, 2, 3);
    while ((status = nbcoll_agent_open(&r->actor->end[HOME]->base, &config, &r->agent)) == NBCOLL_ERR_MEMORY &&
           tries++ < RETRIES)
        storm_stay(r->storm, 1000);
    if (status != NBCOLL_OK) {
        r->agent = NULL;
        return status;
    }
    terms->agent = r->agent;
    if (next_random(&all) % 2)
        goes_by_nodes(r, terms);
    r->runs_agent = true;
    storm_spawn(r->actor, EXECUTOR, run, r);
    return NBCOLL_OK;
}

void agents_end(rank *r)
{
    nbcoll_status status;

    if (!r->agent)
        return;
    r->runs_agent = false;
    while (!r->actor->strand[EXECUTOR].is_over)
        storm_stay(r->storm, MICROSECOND);
    while ((status = nbcoll_agent_close(r->agent)) == NBCOLL_ERR_BUSY) {
        nbcoll_progress(r->context);
        nbcoll_agent_progress(r->agent);
        storm_sleep(r->storm, 1 + rank_choose(r, MILLISECOND));
    }
    if (status != NBCOLL_OK)
        storm_find(r->storm, "rank %d: its agent is not closed: %s", r->actor->rank, nbcoll_status_name(status));
    r->agent = NULL;
}
