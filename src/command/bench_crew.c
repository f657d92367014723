/* SPDX-License-Identifier: BSD-3-Clause
 * The crew of a benchmark: its ranks over shared memory. They share a piece of memory with the command, where their
 * samples go. */
#include <string.h>

#include <nbcoll/shm.h>

#include "bench.h"
#include "crew.h"
#include "run.h"

typedef struct bench_crew {
    const bench_plan *plan;
    bench_shared *shared;
    nbcoll_shm_id id;
    const run_binding *binding;
} bench_crew;

static void live(void *user, int rank)
{
    const bench_crew *c = user;
    int ranks = c->plan->at.ranks;
    const nbcoll_nodes *nodes = c->plan->at.nodes, *domains = nodes ? nbcoll_nodes_domains(nodes) : NULL;
    nbcoll_transport_open *transport = c->plan->transport;
    nbcoll_shm_config config = {.size = sizeof config, .id = c->id, .rank = rank, .ranks = ranks,
                                .timeout = BENCH_TIMEOUT};
    nbcoll_comm_config named = NBCOLL_COMM_DEFAULTS;
    nbcoll_endpoint *end = NULL;
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_status status;
    run_bind_here(c->binding, rank); /* where it cannot be, the rank runs anywhere */
    if (nodes)
        named.node = 1 + (uint64_t)nbcoll_node_of(nodes, rank);
    if (domains)
        named.domain = 1 + (uint64_t)nbcoll_node_of(domains, rank);
    config.quota = nbcoll_shm_quota(ranks) + c->plan->entries * nbcoll_cells_bytes(NULL, ranks); /* for each entry */
    bench_must(c->shared, transport ? transport(c->id.text, rank, ranks, &end) : nbcoll_shm_open(&config, &end));
    bench_must(c->shared, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    bench_must(c->shared, nbcoll_comm_create(context, end, &named, &comm, BENCH_TIMEOUT));
    bench_rank(c->plan, c->shared, context, comm);
    bench_must(c->shared, nbcoll_barrier(comm, BENCH_TIMEOUT));
    while ((status = nbcoll_context_free(context)) == NBCOLL_ERR_BUSY)
        bench_must(c->shared, nbcoll_progress(context));
    bench_must(c->shared, status);
}

/* What the crew measures, or why it could not; `wrong`: which result, where that is ERR_VERIFY. */
static nbcoll_status run_crew(const command *self, const bench_plan *plan, bench_result results[],
                              char wrong[BENCH_WRONG])
{
    size_t bytes = bench_shared_bytes(plan);
    run_binding *binding = run_bind_find(self, plan->bind, plan->at.ranks);
    bench_crew c = {.plan = plan, .binding = binding, .shared = crew_share(bytes)};
    nbcoll_status why = c.shared ? nbcoll_shm_id_make(&c.id) : NBCOLL_ERR_MEMORY;
    if (why == NBCOLL_OK) {
        c.shared->is_crowded = bench_cores() < plan->at.ranks;
        c.shared->terms.size = sizeof c.shared->terms;
        why = crew_run(&(crew){.ranks = plan->at.ranks, .together = plan->are_threads ? plan->at.ranks : 1,
                               .live = live, .user = &c, /* nobody waits for a rank that died: */
                               .failed = &c.shared->failed});
        if (atomic_load(&c.shared->failed) != NBCOLL_OK)
            why = (nbcoll_status)atomic_load(&c.shared->failed);
        memcpy(wrong, c.shared->wrong, BENCH_WRONG);
    }
    if (why == NBCOLL_OK)
        bench_collect(plan, c.shared, results);
    crew_unshare(c.shared, bytes);
    run_bind_free(binding);
    return why;
}

void bench_run(const command *self, const bench_plan *plan, bench_result results[])
{
    char wrong[BENCH_WRONG];
    nbcoll_status why = run_crew(self, plan, results, wrong);
    if (why != NBCOLL_OK)
        command_fail(self, "%s of %d ranks, %zu elements: %s",
                     plan->is_pair ? "point-to-point" : nbcoll_operation_name(plan->at.operation), plan->at.ranks,
                     plan->at.count, why == NBCOLL_ERR_VERIFY ? wrong : nbcoll_status_text(why));
}

nbcoll_status command_terms_here(const command *self, int ranks, nbcoll_terms *out)
{
    static const command_rules none = {0};
    const bench_plan plan = {.at.ranks = ranks, .rules = &none, .rounds = 1, .iterations = 1, .terms = out};
    char wrong[BENCH_WRONG];
    return ranks > NBCOLL_SHM_RANKS ? NBCOLL_ERR_LIMIT : run_crew(self, &plan, NULL, wrong);
}
