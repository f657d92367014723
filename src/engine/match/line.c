/* SPDX-License-Identifier: BSD-3-Clause
 * Lines that come: see line.h. */
#include "line.h"

#include "receive.h"
#include "valid.h"
#include "../wire/channel.h"
#include "../wire/control.h"
#include "../run/brief.h"
#include "../run/pool.h"
#include "../run/run.h"

static inline uint64_t nbcolli_line_tag(const nbcoll_line_arrival *line, const nbcolli_channel_end *end)
{
    return nbcolli_history_tag(line->turn, end->comm ? end->comm->taken : end->taken);
}

/* The run of the line's tag, if it is a brief one that goes well, of the same history, and of a schedule that has such
 * a message: end->op is its receive. */
static inline nbcolli_run *nbcolli_line_run(const nbcoll_line_arrival *line, nbcolli_channel_end *end)
{
    nbcolli_run *run = end->comm ? nbcolli_slot_of(end->comm, nbcolli_line_tag(line, end))->active : NULL;

    if (!run || (run->request->history ^ line->turn) << (64 - NBCOLLI_TURN_BITS) || run->status != NBCOLL_OK ||
        !run->is_brief)
        return NULL;
    const nbcoll_schedule *s = run->schedule;
    if (end->serial == s->serial)
        return run;
    nbcoll_step step = nbcolli_find_message(s->recv, s->recvs, (int)end->source, end->number);
    if (step == NBCOLL_START || s->fingerprint != end->fingerprint)
        return NULL;
    end->op = s->op[step];
    end->serial = s->serial;
    return run;
}

static nbcolli_incoming nbcolli_line_message(nbcolli_link *link, const nbcoll_line_arrival *line,
                                             const nbcolli_channel_end *end)
{
    return (nbcolli_incoming){.link = link,
                              .header = {.comm = end->id, .tag = nbcolli_line_tag(line, end), .source = end->source,
                                         .number = end->number, .stamp = nbcolli_stamp(end->fingerprint, line->turn),
                                         .type = NBCOLLI_EAGER, .bytes = line->bytes, .to = end->to},
                              .payload = line->payload,
                              .bytes = line->bytes,
                              .source = line->source};
}

int nbcolli_line_is_plain(nbcolli_link *link, const nbcoll_line_arrival *line)
{
    if (!nbcolli_is_valid_line(link, line))
        return nbcolli_is_given_up(link, line->source); /* then it is not heeded */
    nbcolli_incoming in = nbcolli_line_message(link, line, &link->pair[line->source].channels->in[line->channel]);
    return nbcolli_receives_plainly(&in);
}

void nbcolli_line_in(nbcolli_link *link, const nbcoll_line_arrival *line)
{
    nbcolli_pair *pair = &link->pair[line->source];
    nbcolli_channels *all = pair->channels;
    uint32_t credits = (uint32_t)(line->turn >> NBCOLLI_TURN_BITS);

    if (!nbcolli_is_valid_line(link, line)) {
        nbcolli_invalid_from(link, line->source);
        return;
    }
    nbcolli_channel_end *end = &all->in[line->channel];
    if (credits && !nbcolli_is_given_up(link, line->source))
        nbcolli_credits_in(pair, credits);
    nbcolli_run *run = nbcolli_line_run(line, end);
    nbcolli_op *op = run ? &run->op[end->op] : NULL;
    const nbcolli_move *m = op ? op->move : NULL;
    if (!op || op->phase != NBCOLLI_POSTED || m->bytes != line->bytes || link->loss[line->source]) {
        nbcolli_incoming in = nbcolli_line_message(link, line, end);
        nbcolli_receive(&in);
        return;
    }
    nbcolli_brief_copy(m->to, line->payload, line->bytes);
    if (++pair->owed > pair->most_owed)
        nbcolli_credits_send(link, line->source);
    op->channel = line->channel;
    op->opened = pair->version;
    op->phase = NBCOLLI_SETTLED;
    nbcolli_move_end(run, m);
    nbcolli_brief_advance(run);
}
