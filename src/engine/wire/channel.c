/* SPDX-License-Identifier: BSD-3-Clause
 * Channels: see channel.h. */
#include "channel.h"

#include "control.h"
#include "../../host/host.h"

#define NBCOLLI_CHANNEL_BITS 9 /* of 1 + a channel; above them its epoch */

static nbcolli_channels *nbcolli_channels_of(nbcoll_context *c, nbcolli_pair *pair)
{
    if (!pair->channels && (pair->channels = nbcolli_alloc(&c->host, sizeof *pair->channels, 64)))
        pair->channels->outs = pair->channels->ins = 0;
    return pair->channels;
}

/* The channel's number, found or new; `outs` if there is no room. */
static uint32_t nbcolli_channel_look_up(nbcolli_link *link, nbcolli_pair *pair, const nbcolli_channel *wanted)
{
    nbcolli_channels *all = pair->channels;
    uint32_t most = link->limits.channels < NBCOLLI_CHANNELS ? link->limits.channels : NBCOLLI_CHANNELS;

    for (uint32_t i = 0; i < all->outs; i++) {
        const nbcolli_channel *c = &all->out[i];
        if (c->comm == wanted->comm && c->number == wanted->number && c->fingerprint == wanted->fingerprint)
            return i;
    }
    if (all->outs >= most && !nbcolli_credits_out(link, pair)) {
        all->outs = 0;
        pair->epoch++;
        pair->epoch |= !pair->epoch;
    }
    if (all->outs >= most)
        return all->outs;
    all->out[all->outs] = *wanted;
    return all->outs++;
}

/* A channel's name in messages, not 0: it has the epoch, since messages may come late. */
static uint32_t nbcolli_channel_named(const nbcolli_pair *pair, uint32_t channel)
{
    return pair->epoch << NBCOLLI_CHANNEL_BITS | (channel + 1);
}

void nbcolli_channel_find(nbcolli_op *op)
{
    const nbcolli_run *run = op->run;
    nbcolli_channel wanted = {.comm = run->comm->id, .number = run->schedule->step[op->step].number,
                              .fingerprint = run->schedule->fingerprint};

    op->epoch = op->opened = 0; /* no channel so far */
    if (run->comm->context->ticks.is_under_way) /* a tick takes no memory: the op sends a message */
        return;
    if (!op->post.link->transport.lines || !run->comm->listed || !nbcolli_channels_of(run->comm->context, op->pair))
        return;
    op->channel = nbcolli_channel_look_up(op->post.link, op->pair, &wanted);
    if (op->channel < op->pair->channels->outs)
        op->epoch = op->pair->epoch;
}

uint32_t nbcolli_channel_name(const nbcolli_op *op)
{
    int is_new = op->epoch == op->pair->epoch && !op->pair->channels->out[op->channel].is_known;
    return is_new ? nbcolli_channel_named(op->pair, op->channel) : 0;
}

#define NBCOLLI_CHANNEL_UNHEARD 16 /* EAGERs from one look to the next */

int nbcolli_channel_is_overdue(const nbcolli_op *op)
{
    nbcolli_channel *c = nbcolli_channel_name(op) ? &op->pair->channels->out[op->channel] : NULL;

    if (!c || ++c->unheard < NBCOLLI_CHANNEL_UNHEARD)
        return 0;
    c->unheard = 0;
    return 1;
}

/* Only if posts remain for messages that must go. */
static void nbcolli_channel_answer(nbcoll_comm *comm, const nbcolli_header *m, uint32_t name)
{
    if (comm->context->controls.count >= 2)
        nbcolli_say(comm, (int)m->source, (nbcolli_header){.type = NBCOLLI_CHANNEL, .tag = m->tag, .number = m->number,
                                                           .bytes = name});
}

void nbcolli_channel_opened(nbcoll_comm *comm, const nbcolli_header *h, uint32_t name, uint32_t fingerprint)
{
    if (comm->context->ticks.is_under_way) /* its sender will say so again */
        return;
    nbcolli_channels *all = nbcolli_channels_of(comm->context, comm->peer[h->source].pair);
    uint32_t channel = (name & ((1u << NBCOLLI_CHANNEL_BITS) - 1)) - 1;

    if (!all || channel >= NBCOLLI_CHANNELS || !comm->listed)
        return;
    for (; all->ins <= channel; all->ins++)
        all->in[all->ins] = (nbcolli_channel_end){0};
    nbcolli_pair *pair = comm->peer[h->source].pair;
    pair->version++;
    pair->version |= !pair->version;
    all->in[channel] = (nbcolli_channel_end){.comm = comm, .id = comm->id, .number = h->number,
                                             .fingerprint = fingerprint, .source = h->source, .to = h->to};
    nbcolli_channel_answer(comm, h, name);
}

void nbcolli_channel_known(nbcoll_comm *comm, nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcolli_pair *pair = comm->peer[h->source].pair;
    nbcolli_channels *all = pair->channels;

    for (uint32_t i = 0; all && i < all->outs; i++)
        if (nbcolli_channel_named(pair, i) == h->bytes)
            all->out[i].is_known = 1;
}

void nbcolli_channels_forget(nbcoll_comm *comm)
{
    for (int rank = 0; rank < comm->size; rank++) {
        nbcolli_channels *all = comm->peer[rank].pair ? comm->peer[rank].pair->channels : NULL;
        for (uint32_t i = 0; all && i < all->ins; i++)
            if (all->in[i].comm == comm) {
                all->in[i].comm = NULL;
                all->in[i].taken = comm->taken;
            }
    }
}

void nbcolli_channels_free(nbcolli_link *link)
{
    for (int peer = 0; peer < link->endpoint->ranks; peer++)
        nbcolli_free(&link->context->host, link->pair[peer].channels, sizeof *link->pair[peer].channels);
}
