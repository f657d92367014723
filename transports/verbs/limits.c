/* SPDX-License-Identifier: BSD-3-Clause
 * What the devices have of queue pairs for programs and relays, compared with what is wanted. See verbs.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "verbs.h"

/* A limit as the device names it. */
typedef struct nbcolli_verbs_bound {
    const char *name;
    int most;
    uint64_t wanted;
    uint32_t of;
    const char *what; /* so many of these want it */
} nbcolli_verbs_bound;

static nbcoll_status nbcolli_verbs_too_much(const nbcolli_verbs_end *e, const nbcolli_verbs_rail *rail,
                                            const nbcolli_verbs_bound *b)
{
    return nbcolli_log(&e->host, NBCOLL_ERR_LIMIT,
                       "the RDMA device %s has %s %d, and %" PRIu64 " are wanted for %" PRIu32 " %s",
                       ibv_get_device_name(rail->device->device), b->name, b->most, b->wanted, b->of, b->what);
}

nbcoll_status nbcolli_verbs_refused(const nbcolli_verbs_end *e, const nbcolli_verbs_rail *rail,
                                    nbcolli_verbs_thing thing, uint64_t entries)
{
    struct ibv_device_attr has = {0};
    int why = errno;
    char text[240];

    if (why != ENOMEM && why != EINVAL) /* devices say either: what was asked for is within their limits */
        return NBCOLL_ERR_TRANSPORT;
    ibv_query_device(rail->device, &has);
    const struct {
        const char *name, *in_all, *of_each;
        int most, deepest;
    } all[] = {[NBCOLLI_VERBS_COMPLETIONS] = {"completion queue", "max_cq", "max_cqe", has.max_cq, has.max_cqe},
               [NBCOLLI_VERBS_PAIR] = {"queue pair", "max_qp", "max_qp_wr", has.max_qp, has.max_qp_wr},
               [NBCOLLI_VERBS_RECEIVES] = {"shared receive queue", "max_srq", "max_srq_wr", has.max_srq,
                                           has.max_srq_wr},
               [NBCOLLI_VERBS_REGISTRATION] = {"registration", "max_mr", NULL, has.max_mr, 0}},
      *of = &all[thing];
    int at = snprintf(text, sizeof text,
                      "the RDMA device %s has no room for one more %s, where %" PRIu64
                      " %s are wanted: it has %s %d in all, which others use, too",
                      ibv_get_device_name(rail->device->device), of->name, entries, of->of_each ? "entries" : "bytes",
                      of->in_all, of->most);
    if (of->of_each && at > 0 && (size_t)at < sizeof text)
        snprintf(text + at, sizeof text - (size_t)at, ", and %s %d", of->of_each, of->deepest);
    return nbcolli_log(&e->host, NBCOLL_ERR_LIMIT, "%s", text);
}

/* Each queue pair has a completion queue and a registration of its own. Of several devices each has its part of the
 * pairs, and has all shared receives: a queue, and a completion queue, as deep as if all came by it. */
static nbcoll_status nbcolli_verbs_rail_admits(const nbcolli_verbs_end *e, const nbcolli_verbs_rail *rail,
                                               const nbcoll_queue_demand *d)
{
    static const char messages[] = "messages at a time on a queue pair", receives[] = "shared receives",
                      in_all[] = "queue pairs";
    uint64_t sends = nbcolli_verbs_sends(d->depth), pairs = ((uint64_t)d->pairs + e->rails - 1) / e->rails;
    struct ibv_device_attr has;

    if (ibv_query_device(rail->device, &has) != 0)
        return NBCOLL_ERR_TRANSPORT;
    const nbcolli_verbs_bound all[] = {{"max_qp_wr", has.max_qp_wr, sends, d->depth, messages},
                                       {"max_cqe", has.max_cqe, sends + d->depth, d->depth, messages},
                                       {"max_srq_wr", has.max_srq_wr, d->shared_depth, d->shared_depth, receives},
                                       {"max_cqe", has.max_cqe, d->shared_depth, d->shared_depth, receives},
                                       {"max_qp", has.max_qp, pairs, d->pairs, in_all},
                                       {"max_cq", has.max_cq, pairs + d->shared, d->pairs, in_all},
                                       {"max_mr", has.max_mr, pairs, d->pairs, in_all},
                                       {"max_srq", has.max_srq, d->shared, d->pairs, in_all}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].wanted > (uint64_t)(all[i].most > 0 ? all[i].most : 0))
            return nbcolli_verbs_too_much(e, rail, &all[i]);
    return NBCOLL_OK;
}

nbcoll_status nbcolli_verbs_admits(nbcoll_endpoint *ep, const nbcoll_queue_demand *demand)
{
    const nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    nbcoll_queue_demand d = {0};
    nbcoll_status status = nbcolli_copy_tagged(&d, demand, sizeof d);

    for (uint32_t i = 0; i < e->rails && status == NBCOLL_OK; i++)
        status = nbcolli_verbs_rail_admits(e, &e->rail[i], &d);
    return status;
}
