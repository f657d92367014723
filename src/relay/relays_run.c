/* SPDX-License-Identifier: BSD-3-Clause
 * Operations over relays: what has come is taken out of the store, and stands ready again; the own block goes there
 * when there is room. */
#include "../host/sleep.h"
#include "relays.h"

/* ---- fragments ------------------------------------------------------------------------------------------------- */

static nbcolli_relays_operation *nbcolli_relays_operation_at(const nbcoll_relays *r, uint64_t number)
{
    return &r->operation[number % r->config.at_once];
}

static int nbcolli_relays_contributes(const nbcolli_relays_operation *o, int rank)
{
    return o->root < 0 || o->root == rank;
}

/* One more fragment of that rank's block has been copied. */
static void nbcolli_relays_count(nbcolli_relays_operation *o, int rank)
{
    if (++o->come[rank] == o->need)
        o->missing--;
}

/* ---- what has come --------------------------------------------------------------------------------------------- */

/* Of an operation that this rank has started. */
static void nbcolli_relays_take(nbcoll_relays *r, int origin, const nbcolli_relays_fragment *f)
{
    nbcolli_relays_operation *o = nbcolli_relays_operation_at(r, f->operation);
    if (o->number != f->operation || !nbcolli_relays_contributes(o, origin) || o->bytes != f->bytes ||
        o->come[origin] == o->need) {
        r->status = NBCOLL_ERR_MISMATCH;
        return;
    }
    char *block = o->recv + (o->root < 0 ? (size_t)origin * o->bytes : 0);
    if (f->length)
        memcpy(block + f->offset, f + 1, f->length);
    nbcolli_relays_count(o, origin);
}

/* In order, until one has not come, or is of an operation that this rank has not started. */
static void nbcolli_relays_drain(nbcoll_relays *r, int origin)
{
    nbcolli_relays_stream *s = &r->stream[origin];
    while (r->status == NBCOLL_OK && s->ends < s->fragments.places) {
        nbcolli_relays_place *at = nbcolli_relays_place_at(&s->fragments, s->next);
        if (!nbcolli_relays_place_has_ended(r, at) || r->status != NBCOLL_OK)
            return;
        int is_end = at->at->operation == NBCOLLI_RELAYS_CLOSED;
        if (is_end ? !r->is_closing : at->at->operation > r->last && !r->is_closing)
            return;
        if (!is_end && at->at->operation <= r->last)
            nbcolli_relays_take(r, origin, at->at);
        s->ends += (uint32_t)is_end;
        s->next++;
        if (!is_end && r->status == NBCOLL_OK)
            nbcolli_relays_place_start(r, at);
    }
}

/* For each batch that has been taken out, or sent. */
static void nbcolli_relays_give(nbcoll_relays *r, nbcolli_relays_stream *s)
{
    while (r->status == NBCOLL_OK && s->seen < s->given &&
           nbcolli_relays_place_has_ended(r, nbcolli_relays_place_at(&s->credits, s->seen)))
        s->seen++;
    while (r->status == NBCOLL_OK && s->given < s->next / r->batch && s->given < s->seen + s->credits.places)
        nbcolli_relays_place_start(r, nbcolli_relays_place_at(&s->credits, s->given++));
}

/* ---- the own block --------------------------------------------------------------------------------------------- */

/* The next place of the own stream; null: it has not been passed on, or others have no room. */
static nbcolli_relays_place *nbcolli_relays_room(nbcoll_relays *r)
{
    nbcolli_relays_stream *s = &r->stream[r->rank];
    nbcolli_relays_give(r, s);
    if (r->status != NBCOLL_OK || s->next / r->batch >= s->seen + NBCOLLI_RELAYS_BATCHES)
        return NULL;
    nbcolli_relays_place *at = nbcolli_relays_place_at(&s->fragments, s->next);
    return nbcolli_relays_place_has_ended(r, at) && r->status == NBCOLL_OK ? at : NULL;
}

static void nbcolli_relays_send(nbcoll_relays *r, nbcolli_relays_place *at, nbcolli_relays_fragment f, const char *from)
{
    *at->at = f;
    if (f.length)
        memcpy(at->at + 1, from, f.length);
    nbcolli_relays_place_start(r, at);
    r->stream[r->rank].next++;
}

static int nbcolli_relays_send_block(nbcoll_relays *r, nbcolli_relays_operation *o)
{
    while (o->come[r->rank] < o->need) {
        nbcolli_relays_place *at = nbcolli_relays_room(r);
        size_t offset = (size_t)o->come[r->rank] * r->config.fragment, rest = o->bytes - offset;
        size_t length = rest < r->config.fragment ? rest : r->config.fragment;
        if (!at)
            return 0;
        nbcolli_relays_send(r, at, (nbcolli_relays_fragment){o->number, o->bytes, offset, length},
                            o->send ? o->send + offset : NULL);
        nbcolli_relays_count(o, r->rank);
    }
    return 1;
}

static void nbcolli_relays_send_ends(nbcoll_relays *r)
{
    nbcolli_relays_stream *s = &r->stream[r->rank];
    nbcolli_relays_place *at;
    while (s->ends < s->fragments.places && (at = nbcolli_relays_room(r))) {
        nbcolli_relays_send(r, at, (nbcolli_relays_fragment){.operation = NBCOLLI_RELAYS_CLOSED}, NULL);
        s->ends++;
    }
}

void nbcolli_relays_move(nbcoll_relays *r)
{
    if (r->status == NBCOLL_PENDING)
        nbcolli_relays_open_on(r);
    for (; r->status == NBCOLL_OK && r->sending <= r->last; r->sending++) {
        nbcolli_relays_operation *o = nbcolli_relays_operation_at(r, r->sending);
        if (o->number == r->sending && nbcolli_relays_contributes(o, r->rank) && !nbcolli_relays_send_block(r, o))
            break;
    }
    if (r->is_closing && r->status == NBCOLL_OK)
        nbcolli_relays_send_ends(r);
    for (int i = 0; i < r->ranks && r->status != NBCOLL_PENDING; i++) {
        if (i != r->rank)
            nbcolli_relays_drain(r, i);
        nbcolli_relays_give(r, &r->stream[i]);
    }
}

/* ---- operations ------------------------------------------------------------------------------------------------ */

/* `own`: what is to come to this rank's place in `recv`; null: it is there. */
static nbcoll_status nbcolli_relays_begin_operation(nbcoll_relays *r, nbcolli_relays_operation o, const void *own,
                                                    uint64_t *operation)
{
    nbcolli_relays_operation *at = nbcolli_relays_operation_at(r, r->last + 1);
    if (r->status == NBCOLL_PENDING || (r->status == NBCOLL_OK && r->is_closing))
        return NBCOLL_ERR_BUSY;
    if (r->status != NBCOLL_OK)
        return r->status;
    if (o.bytes > (size_t)r->config.fragments * r->config.fragment)
        return NBCOLL_ERR_COUNT;
    if (at->missing)
        return NBCOLL_ERR_BUSY;
    size_t mine = o.root < 0 ? (size_t)r->rank * o.bytes : 0;
    if (own && o.bytes)
        memcpy(o.recv + mine, own, o.bytes);
    o.send = o.bytes ? o.recv + mine : NULL;
    o.number = ++r->last;
    o.need = o.bytes ? (uint32_t)((o.bytes + r->config.fragment - 1) / r->config.fragment) : 1;
    o.missing = o.root < 0 ? (uint32_t)r->ranks : 1;
    o.come = at->come;
    memset(o.come, 0, (size_t)r->ranks * sizeof *o.come);
    *at = o;
    nbcolli_relays_move(r);
    *operation = o.number;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_relays_allgather(nbcoll_relays *r, const void *send, void *recv, size_t bytes, uint64_t *operation)
{
    if (!r || !operation || (bytes && !recv))
        return NBCOLL_ERR_NULL;
    return nbcolli_relays_begin_operation(r, (nbcolli_relays_operation){.recv = recv, .bytes = bytes, .root = -1}, send,
                                          operation);
}

nbcoll_status nbcoll_relays_bcast(nbcoll_relays *r, void *buffer, size_t bytes, int root, uint64_t *operation)
{
    if (!r || !operation || (bytes && !buffer))
        return NBCOLL_ERR_NULL;
    if (root < 0 || root >= r->ranks)
        return NBCOLL_ERR_ROOT;
    return nbcolli_relays_begin_operation(r, (nbcolli_relays_operation){.recv = buffer, .bytes = bytes, .root = root},
                                          NULL, operation);
}

/* How it ended; PENDING. */
static nbcoll_status nbcolli_relays_outcome(const nbcoll_relays *r, uint64_t operation)
{
    const nbcolli_relays_operation *o = nbcolli_relays_operation_at(r, operation);
    if (r->status != NBCOLL_OK)
        return operation && (o->number != operation || !o->missing) ? NBCOLL_OK : r->status;
    return operation && o->number == operation && o->missing ? NBCOLL_PENDING : NBCOLL_OK;
}

nbcoll_status nbcoll_relays_test(nbcoll_relays *r, uint64_t operation)
{
    if (!r)
        return NBCOLL_ERR_NULL;
    if (operation > r->last)
        return NBCOLL_ERR_REQUEST;
    nbcolli_relays_move(r);
    return nbcolli_relays_outcome(r, operation);
}

nbcoll_status nbcoll_relays_wait(nbcoll_relays *r, uint64_t operation, uint64_t timeout)
{
    if (!r)
        return NBCOLL_ERR_NULL;
    uint64_t deadline = nbcolli_deadline(&r->arena.host, timeout);
    nbcoll_status s;
    while ((s = nbcoll_relays_test(r, operation)) == NBCOLL_PENDING)
        if (!nbcolli_relays_pause(r, deadline))
            return NBCOLL_ERR_TIMEOUT;
    return s;
}

nbcoll_status nbcoll_relays_arrived(const nbcoll_relays *r, uint64_t operation, int rank)
{
    if (!r)
        return NBCOLL_ERR_NULL;
    if (rank < 0 || rank >= r->ranks)
        return NBCOLL_ERR_RANK;
    if (!operation || operation > r->last)
        return NBCOLL_ERR_REQUEST;
    const nbcolli_relays_operation *o = nbcolli_relays_operation_at(r, operation);
    int has_come = o->number != operation || !nbcolli_relays_contributes(o, rank) || o->come[rank] == o->need;
    return has_come ? NBCOLL_OK : NBCOLL_PENDING;
}

static void nbcolli_relays_await(nbcoll_relays *r, size_t *n, const nbcolli_relays_place *at)
{
    if (at->is_out)
        r->pending[(*n)++] = at->request;
}

/* Of other streams the next fragment, since they are taken out in order; of the own one the first that is out, and the
 * credit without which it cannot go on; of all, before they are closed. */
static size_t nbcolli_relays_await_all(nbcoll_relays *r)
{
    size_t n = 0;
    for (int i = 0; i < r->ranks; i++) {
        const nbcolli_relays_stream *s = &r->stream[i];
        const nbcolli_relays_place *at = nbcolli_relays_place_at(&s->fragments, s->next);
        for (uint32_t k = 1; k < s->fragments.places && i == r->rank && !at->is_out; k++)
            at = nbcolli_relays_place_at(&s->fragments, s->next + k);
        nbcolli_relays_await(r, &n, at);
        if (i == r->rank || r->is_closing)
            nbcolli_relays_await(r, &n, nbcolli_relays_place_at(&s->credits, s->seen));
    }
    return n;
}

static void nbcolli_relays_pause_opening(nbcoll_relays *r, uint64_t left)
{
    int i = 0;
    while (i + 1 < 2 * r->ranks && !nbcolli_relays_line_at(r, i)->opening.at)
        i++;
    nbcolli_relays_line *line = nbcolli_relays_line_at(r, i);
    nbcoll_status s = nbcoll_wait(&line->opening, left);
    if (s != NBCOLL_OK && s != NBCOLL_ERR_TIMEOUT && s != NBCOLL_ERR_NO_SLOT)
        line->opened = s;
}

int nbcolli_relays_pause(nbcoll_relays *r, uint64_t deadline)
{
    uint64_t left = nbcolli_time_left(&r->arena.host, deadline, UINT64_MAX);
    size_t index;
    if (!left)
        return 0;
    if (r->status == NBCOLL_PENDING) {
        nbcolli_relays_pause_opening(r, left);
        return 1;
    }
    nbcoll_status s = nbcoll_wait_any(nbcolli_relays_await_all(r), r->pending, &index, left);
    if (s != NBCOLL_OK && s != NBCOLL_ERR_TIMEOUT && s != NBCOLL_ERR_NO_SLOT && r->status == NBCOLL_OK)
        r->status = s; /* the end has been reported to this wait */
    return 1;
}
