/* SPDX-License-Identifier: BSD-3-Clause
 * Message numbers. Four families are numbered apart, each by peer: sends, receives, exposed parts, fetches. Numbers
 * that the builder was given stand; the others are, in order of creation, the free ones from 0 on. Sends and receives
 * that stand for parts and fetches go from 2^31 on: they match each other in whatever order plain ones lie between.
 *
 * With groups (nbcoll_within) each peer has a channel for each group, which is numbered like this by itself. Behind the
 * numbers of what is in no group then come those of one group after the other, in their order: the two ends of a pair
 * have the same groups in the same order, whatever others each of them is in. */
#include "builder.h"

#define NBCOLLI_NUMBER_LOWERED (UINT32_C(1) << 31) /* first number, and mark of the position, of a lowered message */

/* Appends the steps of `kind` that have, or have not, a number of their own. Key: channel, and number or position. */
static uint32_t nbcolli_number_steps(const nbcolli_builder *b, nbcoll_kind kind, int is_numbered,
                                     nbcolli_entry *entries)
{
    uint32_t n = 0;
    for (nbcoll_step i = 0; i < b->drafts.used; i++) {
        const nbcolli_draft *draft = &nbcolli_drafts(b)[i];
        const nbcoll_step_view *v = &draft->view;
        nbcoll_kind family = v->kind == NBCOLL_FETCH_REDUCE ? NBCOLL_FETCH : v->kind;
        uint32_t position = draft->is_lowered ? NBCOLLI_NUMBER_LOWERED | i : i;
        if (family == kind && draft->is_numbered == is_numbered)
            entries[n++] = (nbcolli_entry){nbcolli_key(draft->channel, is_numbered ? v->number : position), i};
    }
    return n;
}

/* Their numbers still are channels. */
static uint32_t nbcolli_number_parts(const nbcoll_part *parts, size_t count, nbcolli_entry *entries)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        if (parts[i].peer >= 0) /* else of a CALL */
            entries[n++] = (nbcolli_entry){nbcolli_key(parts[i].number, i), i};
    return n;
}

/* Replaces the positions in the keys of `loose` by numbers that `given` leaves free. Both are sorted. */
static void nbcolli_number_loose(const nbcolli_entry *given, uint32_t givens, nbcolli_entry *loose, uint32_t n)
{
    uint32_t taken = 0;
    for (uint32_t i = 0; i < n; i++) {
        /* The first number of the channel's plain or lowered ones, else the one after the last. */
        uint64_t key = loose[i].key & ~(uint64_t)(NBCOLLI_NUMBER_LOWERED - 1);
        if (i && (loose[i - 1].key & ~(uint64_t)(NBCOLLI_NUMBER_LOWERED - 1)) == key)
            key = loose[i - 1].key + 1;
        for (; taken < givens && given[taken].key <= key; taken++)
            key += given[taken].key == key;
        loose[i].key = key;
    }
}

/* From the numbers of each channel, by which the entries are sorted, to those of the peers. */
static nbcoll_status nbcolli_number_settle(nbcolli_builder *b, nbcolli_entry *entries, uint32_t n, nbcolli_entry *spare)
{
    uint64_t next[2] = {0}; /* of the peer: plain, and lowered */
    int peer = -1;
    for (uint32_t i = 0; b->groups && i < n; i++) { /* else channels are peers */
        const nbcolli_builder_channel *c = &b->channel[entries[i].key >> 32];
        uint64_t number = (uint32_t)entries[i].key, family = number / NBCOLLI_NUMBER_LOWERED;
        if (c->peer != peer) {
            peer = c->peer;
            next[0] = 0;
            next[1] = NBCOLLI_NUMBER_LOWERED;
        }
        number = c->group ? next[family] : number;
        if (number / NBCOLLI_NUMBER_LOWERED != family) {
            nbcolli_builder_refuse(b, NBCOLL_ERR_LIMIT, entries[i].value, "its group has no numbers left for rank %d",
                                   peer);
            return b->status;
        }
        next[family] = number + 1;
        entries[i].key = nbcolli_key((uint32_t)peer, (uint32_t)number);
    }
    if (b->groups)
        nbcolli_sort(entries, spare, n);
    return NBCOLL_OK;
}

/* Numbers the first `givens` entries (by key: channel, number) and the rest (by key: channel, position) of one family,
 * and leaves all of them sorted by peer and number. */
static nbcoll_status nbcolli_number_family(nbcolli_builder *b, nbcolli_entry *entries, uint32_t givens, uint32_t n,
                                           nbcolli_entry *spare)
{
    nbcolli_entry *loose = entries + givens;
    nbcolli_sort(entries, spare, givens);
    nbcolli_sort(loose, spare, n - givens);
    for (uint32_t i = 1; i < givens; i++)
        if (entries[i].key == entries[i - 1].key) {
            b->call = "nbcoll_set_number";
            nbcolli_builder_refuse(b, NBCOLL_ERR_ARGUMENT, entries[i].value,
                                   "step %u has the number %u for rank %d, too", entries[i - 1].value,
                                   (uint32_t)entries[i].key, nbcolli_drafts(b)[entries[i].value].view.peer);
            return b->status;
        }
    nbcolli_number_loose(entries, givens, loose, n - givens);
    nbcolli_sort(entries, spare, n);
    return nbcolli_number_settle(b, entries, n, spare);
}

/* Numbers the steps of one kind. `index`: where to leave them sorted by peer and number. */
static nbcoll_status nbcolli_number_kind(nbcolli_builder *b, nbcoll_schedule *s, nbcoll_kind kind, nbcolli_entry *work,
                                         nbcolli_message *index)
{
    uint32_t givens = nbcolli_number_steps(b, kind, 1, work);
    uint32_t n = givens + nbcolli_number_steps(b, kind, 0, work + givens);
    nbcoll_status status = nbcolli_number_family(b, work, givens, n, work + n);
    for (uint32_t i = 0; i < n && status == NBCOLL_OK; i++) {
        uint32_t number = (uint32_t)work[i].key;
        nbcoll_step step = work[i].value;
        s->step[step].number = number;
        index[i] = (nbcolli_message){s->step[step].peer, number, step};
        if (kind == NBCOLL_FETCH && s->widest <= number)
            s->widest = number + 1;
    }
    return status;
}

/* Without groups each peer is a channel. */
static void nbcolli_number_peers(const nbcolli_builder *b, nbcoll_part *parts)
{
    for (size_t i = 0; i < b->drafts.used; i++)
        nbcolli_drafts(b)[i].channel = (uint32_t)nbcolli_drafts(b)[i].view.peer;
    for (size_t i = 0; i < b->parts.used; i++)
        if (parts[i].peer >= 0)
            parts[i].number = (uint32_t)parts[i].peer;
}

/* Puts drafts and parts into channels: by peer, then by group. `work` has room for each twice. */
static nbcoll_status nbcolli_number_channels(nbcolli_builder *b, nbcoll_part *parts, nbcolli_entry *work)
{
    uint32_t n = 0, steps = (uint32_t)b->drafts.used;
    for (uint32_t i = 0; i < steps; i++) {
        const nbcolli_draft *draft = &nbcolli_drafts(b)[i];
        if (draft->view.peer >= 0)
            work[n++] = (nbcolli_entry){nbcolli_key((uint32_t)draft->view.peer, draft->group), i};
        for (uint32_t p = draft->part; draft->view.kind == NBCOLL_EXPOSE && p < draft->part + draft->view.part_count;
             p++)
            work[n++] = (nbcolli_entry){nbcolli_key((uint32_t)parts[p].peer, draft->group), steps + p};
    }
    nbcolli_sort(work, work + n, n);
    b->channel = nbcolli_builder_room(b, n, sizeof *b->channel);
    if (!b->channel)
        return b->status;
    for (uint32_t i = 0, channel = 0; i < n; i++) {
        channel += i && work[i].key != work[i - 1].key;
        b->channel[channel] = (nbcolli_builder_channel){(int)(work[i].key >> 32), (uint32_t)work[i].key};
        if (work[i].value < steps)
            nbcolli_drafts(b)[work[i].value].channel = channel;
        else
            parts[work[i].value - steps].number = channel;
    }
    return NBCOLL_OK;
}

nbcoll_status nbcolli_number(nbcolli_builder *b, nbcoll_schedule *s, nbcoll_part *parts, nbcolli_entry *work)
{
    nbcoll_status status = NBCOLL_OK;
    if (b->groups)
        status = nbcolli_number_channels(b, parts, work);
    else
        nbcolli_number_peers(b, parts);
    if (status == NBCOLL_OK)
        status = nbcolli_number_kind(b, s, NBCOLL_SEND, work, s->send);
    if (status == NBCOLL_OK)
        status = nbcolli_number_kind(b, s, NBCOLL_RECV, work, s->recv);
    if (status == NBCOLL_OK)
        status = nbcolli_number_kind(b, s, NBCOLL_FETCH, work, s->fetch);
    uint32_t n = nbcolli_number_parts(parts, b->parts.used, work);
    if (status == NBCOLL_OK)
        status = nbcolli_number_family(b, work, 0, n, work + n);
    for (uint32_t i = 0; status == NBCOLL_OK && i < n; i++) {
        uint32_t number = (uint32_t)work[i].key;
        parts[work[i].value].number = number;
        if (s->widest <= number)
            s->widest = number + 1;
    }
    return status;
}
