/* SPDX-License-Identifier: BSD-3-Clause */
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

/* A channel's name in messages, not 0: it has the epoch, since messages may come late. */
static uint32_t nbcolli_channel_named(const nbcolli_pair *pair, uint32_t channel)
{
    return pair->epoch << NBCOLLI_CHANNEL_BITS | (channel + 1);
}

nbcolli_channel *nbcolli_channel_find(nbcolli_op *op)
{
    const nbcolli_run *run = op->run;
    const nbcolli_link *link = op->post.link;
    uint32_t most = link->limits.channels < NBCOLLI_CHANNELS ? link->limits.channels : NBCOLLI_CHANNELS;
    uint32_t number = run->schedule->step[op->step].number, fingerprint = run->schedule->fingerprint;
    nbcolli_channels *all;

    op->opened = 0;
    /* a tick takes no memory: the op sends a message */
    if (run->comm->context->ticks.is_under_way || !link->transport.lines || !run->comm->listed ||
        !(all = nbcolli_channels_of(run->comm->context, op->pair)))
        return NULL;
    for (op->channel = 0; op->channel < all->outs; op->channel++) {
        nbcolli_channel *c = &all->out[op->channel];
        if (c->comm == run->comm->id && c->number == number && c->fingerprint == fingerprint)
            return c;
    }
    if (all->outs >= most && !nbcolli_credits_out(link, op->pair)) {
        op->channel = all->outs = 0;
        op->pair->epoch++;
        op->pair->epoch |= !op->pair->epoch;
    }
    if (all->outs >= most)
        return NULL;
    all->out[all->outs] = (nbcolli_channel){.comm = run->comm->id, .number = number, .fingerprint = fingerprint};
    return &all->out[all->outs++];
}

uint32_t nbcolli_channel_name(nbcolli_op *op)
{
    const nbcolli_channel *c = nbcolli_channel_find(op);
    return c && !c->is_known ? nbcolli_channel_named(op->pair, op->channel) : 0;
}

void nbcolli_channel_opened(nbcoll_comm *comm, const nbcolli_header *h, uint32_t name, uint32_t fingerprint)
{
    if (comm->context->ticks.is_under_way) /* its sender will say so again */
        return;
    nbcolli_pair *pair = comm->peer[h->source].pair;
    nbcolli_channels *all = nbcolli_channels_of(comm->context, pair);
    uint32_t channel = (name & ((1u << NBCOLLI_CHANNEL_BITS) - 1)) - 1;

    if (!all || channel >= NBCOLLI_CHANNELS || !comm->listed)
        return;
    for (; all->ins <= channel; all->ins++)
        all->in[all->ins] = (nbcolli_channel_end){0};
    pair->version++;
    pair->version |= !pair->version;
    all->in[channel] = (nbcolli_channel_end){.comm = comm, .id = comm->id, .number = h->number,
                                             .fingerprint = fingerprint, .source = h->source, .to = h->to};
    if (comm->context->controls.count >= 2) /* posts remain for messages that must go */
        nbcolli_say(comm, (int)h->source, (nbcolli_header){.type = NBCOLLI_CHANNEL, .tag = h->tag, .number = h->number,
                                                           .bytes = name});
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
