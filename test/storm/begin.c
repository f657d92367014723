/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a rank begins: its context, and the first communicator; what of both may differ by rank, and does in half of the
 * worlds. */
#include "counters.h"
#include "rank.h"
#include "wire.h"

/* ---- what differs by rank ---------------------------------------------------------------------------------------- */

static void observe(void *user, const nbcoll_event *event)
{
    rank *r = user;
    storm_not_in_tick(r->actor, "an observer");
    r->told[event->moment]++;
    if (r->storm->plan.is_mixed)
        rank_calls_inside(r->actor);
}

static void watch(void *user, const nbcoll_event *event)
{
    rank *r = user;
    (void)event;
    r->watched++;
    storm_not_in_tick(r->actor, "a watcher");
    rank_calls_inside(r->actor);
}

/* Without `now` it has the system's clock, which is the world's. Ticks are for one thread, and without an observer. */
static void mix_context(rank *r, nbcoll_context_config *config)
{
    const plan *p = &r->storm->plan;
    uint64_t own = mix(mix(p->seed, 13), 1 + (uint64_t)r->actor->rank);

    r->watcher = (nbcoll_observer){sizeof r->watcher, r, watch};
    if (next_random(&own) % 3 == 0 && !p->ticks)
        config->flags |= NBCOLL_ANY_THREAD;
    if (next_random(&own) % 4 == 0 && !p->ticks)
        config->observer = &r->observer;
    if (next_random(&own) % 4 == 0)
        config->watcher = &r->watcher;
    r->has_watcher = config->watcher;
    if (next_random(&own) % 4 == 0)
        config->host.now = NULL;
    if (next_random(&own) % 4 == 0)
        config->host.log = NULL;
}

static uint64_t own_terms(const plan *p, int number)
{
    return mix(mix(p->seed, 14), 1 + (uint64_t)number);
}

static void mix_tables(uint64_t *own, nbcoll_comm_config *terms)
{
    terms->slots = (uint32_t)ONE_OF(own, 1, 2, 3, 8, 32, 64);
    terms->cells = (uint32_t)ONE_OF(own, 1, 2, 8, 8, 16);
    terms->schedules = (uint32_t)ONE_OF(own, 1, 2, 8, 128);
}

uint32_t begin_cells(const plan *p)
{
    uint32_t least = p->cells;
    for (int r = 0; r < p->ranks && p->is_mixed; r++) {
        uint64_t own = own_terms(p, r);
        nbcoll_comm_config terms;
        (void)next_random(&own);
        mix_tables(&own, &terms);
        least = !r || terms.cells < least ? terms.cells : least;
    }
    return least;
}

/* The fewest slots, cells and cores count, and the largest `large`. One rank asks for what holds if any does, and does
 * not promise what all must: so the flags are the plan's. */
static void mix_terms(const rank *r, nbcoll_comm_config *terms)
{
    const plan *p = &r->storm->plan;
    uint64_t all = mix(p->seed, 14), own = own_terms(p, r->actor->rank);
    bool decides = next_random(&all) % (uint64_t)p->ranks == (uint64_t)r->actor->rank;
    uint32_t says = (uint32_t)next_random(&own);

    mix_tables(&own, terms);
    terms->schedule_bytes = ONE_OF(&own, 0, 1, 5000, 1 << 20);
    terms->eager = ONE_OF(&own, 0, 8, 64, 255, 4096, 65536);
    terms->large = next_random(&all) % 2 ? ONE_OF(&own, 0, 64, 2000) : NBCOLL_BY_COST;
    if (!decides)
        terms->flags = (p->flags & (says | NBCOLL_COUNTS_KNOWN)) | (says & NBCOLL_COUNTS_KNOWN);
    terms->node = next_random(&all) % 3 ? 0 : 1 + next_random(&own) % 3;
    terms->domain = next_random(&all) % 3 ? 0 : 1 + next_random(&own) % 2;
    terms->progress_cores = next_random(&all) % 3 ? 0 : 1 + (uint32_t)(next_random(&own) % 4);
}

void begin_terms(const rank *r, nbcoll_comm_config *terms)
{
    const plan *p = &r->storm->plan;
    *terms = (nbcoll_comm_config)NBCOLL_COMM_DEFAULTS;
    terms->slots = p->slots;
    terms->cells = p->cells;
    terms->schedules = p->schedules;
    terms->eager = p->eager;
    terms->flags = p->flags;
    if (p->is_mixed)
        mix_terms(r, terms);
}

/* ---- counters ---------------------------------------------------------------------------------------------------- */

static bool are_at(const storm *s, int stage)
{
    for (int q = 0; q < s->plan.ranks; q++)
        if (s->actor[q].stage < stage && !s->actor[q].is_dead && !s->actor[q].is_over)
            return false;
    return true;
}

/* When all ranks have made it, or failed to, and none is inside a call. */
static void advance_counters(rank *r)
{
    storm *s = r->storm;
    r->actor->stage = 1;
    while (!are_at(s, 1)) {
        nbcoll_progress(r->context);
        storm_sleep(s, MILLISECOND);
    }
    r->actor->stage = 2;
    while (!are_at(s, 2))
        storm_stay(s, 10 * MICROSECOND);
    counters_advance(r->comm[0], s->plan.late_tags);
}

/* ---- the first communicator -------------------------------------------------------------------------------------- */

static void refuse_stray(rank *r, nbcoll_endpoint *other, const nbcoll_comm_config *terms)
{
    end stray;
    nbcoll_endpoint *two[] = {wire_stray(r->actor, &stray), other};
    nbcoll_request request;
    nbcoll_status status = nbcoll_comm_icreate_over(r->context, 2, two, terms, &r->comm[0], &request);
    if (status != NBCOLL_ERR_UNSUPPORTED && status != NBCOLL_ERR_MEMORY)
        storm_find(r->storm, "rank %d: an endpoint that does not say who has it is taken: %s", r->actor->rank,
                   nbcoll_status_name(status));
}

/* The context gets an endpoint without a descriptor, and gives it back: it does not say who has it, and is not the last
 * one. What the others can do is as before. However often that is tried, it holds no more memory than after the first
 * time. */
static void begin_with_stray(rank *r, nbcoll_endpoint *other, const nbcoll_comm_config *terms)
{
    int more = r->storm->plan.edition >= EDITION_OF_CORES ? 2 : 0;
    refuse_stray(r, other, terms);
    size_t bytes = r->actor->bytes;
    while (more--)
        refuse_stray(r, other, terms);
    if (r->actor->bytes > bytes && !(r->storm->bad[r->actor->rank] & BAD_MEMORY))
        storm_find(r->storm, "rank %d: an endpoint is refused, and %zu bytes of memory more are held each time",
                   r->actor->rank, (r->actor->bytes - bytes) / 2);
}

static bool create(rank *r)
{
    storm *s = r->storm;
    const plan *p = &s->plan;
    nbcoll_context_config config = {.size = sizeof config, .host = r->actor->host, .credits = p->credits};
    nbcoll_comm_config terms;
    nbcoll_status status;
    nbcoll_request request;
    nbcoll_endpoint *ends[NETS];
    int tries = 0, n = s->medium->endpoints(r->actor, ends);

    if (!n)
        return false;
    r->endpoint = ends[n - 1];
    r->observer = (nbcoll_observer){sizeof r->observer, r, observe};
    config.observer = p->is_observed ? &r->observer : NULL;
    begin_terms(r, &terms);
    if (p->has_drivers)
        config.flags = NBCOLL_ANY_THREAD;
    if (p->is_mixed)
        mix_context(r, &config);
    r->has_log = config.host.log;
    while ((status = nbcoll_context_create(NBCOLL_ABI, &config, &r->context)) != NBCOLL_OK && tries++ < RETRIES)
        storm_stay(s, 1000);
    if (status != NBCOLL_OK) {
        r->context = NULL;
        judge_end(r->actor, NULL, -1, status, NULL, NULL);
        return false;
    }
    if (p->has_stray)
        begin_with_stray(r, ends[n - 1], &terms);
    if ((status = agents_begin(r, &terms)) == NBCOLL_OK)
        while ((status = nbcoll_comm_icreate_over(r->context, n, ends, &terms, &r->comm[0], &request)) != NBCOLL_OK &&
               tries++ < RETRIES)
            storm_stay(s, 1000);
    r->has_endpoint = status != NBCOLL_OK;
    if (status == NBCOLL_OK)
        status = rank_wait(r, &request);
    if (status == NBCOLL_OK) {
        made_lacks(r, r->comm[0]);
        if (nbcoll_comm_flags(r->comm[0]) != p->flags && !(s->bad_anywhere & BAD_HEADER))
            storm_find(s, "rank %d: the flags are %u instead of %u", r->actor->rank, nbcoll_comm_flags(r->comm[0]),
                       p->flags);
        return true;
    }
    nbcoll_failure failure = rank_failure(r, -1);
    r->comm[0] = NULL;
    judge_end(r->actor, NULL, -1, status, &failure, NULL);
    return false;
}

bool begin_rank(rank *r)
{
    bool is_made = create(r);
    if (r->storm->plan.late_tags && is_made)
        advance_counters(r);
    if (r->storm->plan.few_serials && is_made)
        counters_leave(r->comm[0], r->storm->plan.few_serials - 1);
    r->actor->stage = 2;
    return is_made;
}
