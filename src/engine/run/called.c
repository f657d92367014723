/* SPDX-License-Identifier: BSD-3-Clause */
#include "called.h"

#include "../state/caller.h"
#include "../wire/control.h"
#include "../../arguments/arguments.h"

#define NBCOLLI_HEARS 3         /* rounds that a failing operation waits, at most, to hear the others' calls */
#define NBCOLLI_COUNT_BITS 48   /* see nbcolli_called */
#define NBCOLLI_COUNT ((UINT64_C(1) << NBCOLLI_COUNT_BITS) - 1)
#define NBCOLLI_OF_PROGRAM 255u /* no predefined type or operation */

/* ---- this rank's calls ------------------------------------------------------------------------------------------- */

static uint8_t nbcolli_number_of(uintptr_t number, uintptr_t count)
{
    return number < count ? (uint8_t)number : NBCOLLI_OF_PROGRAM;
}

void nbcolli_called_note(nbcoll_comm *comm, const nbcoll_schedule *s, const nbcoll_args *a)
{
    const nbcolli_kind *kind = nbcolli_kind_of(a->operation);
    int counts = kind->blocks == NBCOLLI_EQUAL || a->counts; /* as all ranks do */
    uint64_t op = kind->reduces ? nbcolli_number_of(a->reduction.op, NBCOLL_OP_COUNT) : NBCOLLI_OF_PROGRAM;
    uint64_t type = nbcolli_number_of(a->reduction.type, NBCOLL_TYPE_COUNT);

    comm->calls[s->fingerprint % NBCOLLI_CALLS] =
        (nbcolli_called){.fingerprint = s->fingerprint,
                         .what = ((counts ? (uint64_t)a->count : 0) & NBCOLLI_COUNT) | op << NBCOLLI_COUNT_BITS |
                                 type << (NBCOLLI_COUNT_BITS + 8),
                         .root = kind->has_root ? (uint32_t)a->root : UINT32_MAX,
                         .kind = (uint8_t)a->operation};
}

/* The call of an operation with this fingerprint. The caller's side is held. */
static nbcolli_called nbcolli_called_as(const nbcoll_comm *comm, uint64_t tag, uint32_t before, uint32_t fingerprint)
{
    nbcolli_called c = comm->calls[fingerprint % NBCOLLI_CALLS];

    if (c.fingerprint != fingerprint || !fingerprint)
        c = (nbcolli_called){.kind = NBCOLLI_CALLED_OWN, .root = UINT32_MAX, .fingerprint = fingerprint};
    c.tag = tag + 1;
    c.before = before;
    return c;
}

void nbcolli_called_refuse(nbcoll_comm *comm, const nbcoll_schedule *s)
{
    if (comm->refused.tag != comm->next_tag + 1) /* the first refused call counts */
        comm->refused = nbcolli_called_as(comm, comm->next_tag, (uint32_t)(comm->history >> 32), s->fingerprint);
}

static nbcolli_called nbcolli_called_here(nbcoll_comm *comm, uint64_t tag)
{
    nbcolli_called c = {.tag = tag + 1, .kind = NBCOLLI_CALLED_LONG_AGO, .root = UINT32_MAX};
    uint32_t before = 0, behind;

    nbcolli_caller_lock(comm->context);
    if (tag >= comm->taken && comm->refused.tag == tag + 1)
        c = comm->refused;
    else if (tag >= comm->taken)
        c.kind = NBCOLLI_CALLED_NOTHING;
    else if (nbcolli_history_recall(comm->started, tag, &behind) == 0 &&
             (!tag || nbcolli_history_recall(comm->started, tag - 1, &before) == 0))
        c = nbcolli_called_as(comm, tag, before, nbcolli_history_fingerprint(before, behind, tag));
    nbcolli_caller_unlock(comm->context);
    return c;
}

/* ---- the messages ------------------------------------------------------------------------------------------------ */

static void nbcolli_called_say(nbcoll_comm *comm, int rank, const nbcolli_called *c)
{
    const nbcolli_peer *peer = &comm->peer[rank];

    if (peer->given_up || !nbcolli_control_may(comm->context))
        return;
    comm->told[rank].spoken = c->tag;
    nbcolli_say(comm, rank, (nbcolli_header){.type = NBCOLLI_CALL, .tag = c->tag - 1, .stamp = c->before,
                                             .number = c->fingerprint, .count = c->root, .status = c->kind,
                                             .bytes = c->what});
}

static void nbcolli_called_say_all(nbcoll_comm *comm, uint64_t tag)
{
    nbcolli_called own = nbcolli_called_here(comm, tag);

    for (int i = 1; i < comm->size; i++)
        nbcolli_called_say(comm, (comm->rank + i) % comm->size, &own);
}

static int nbcolli_is_called(const nbcolli_called *c)
{
    return c->tag && c->kind <= NBCOLLI_CALLED_OWN;
}

/* ---- whose call differs ------------------------------------------------------------------------------------------ */

typedef enum nbcolli_likeness { NBCOLLI_UNHEARD, NBCOLLI_ALIKE_SO_FAR, NBCOLLI_DIFFERS, NBCOLLI_DIFFERS_BEFORE }
    nbcolli_likeness;

/* This rank tells itself nothing. */
static nbcolli_likeness nbcolli_called_compare(nbcoll_comm *comm, int rank)
{
    const nbcolli_called *theirs = &comm->told[rank].called;

    if (!nbcolli_is_called(theirs))
        return NBCOLLI_UNHEARD;
    nbcolli_called own = nbcolli_called_here(comm, theirs->tag - 1);
    if (!nbcolli_is_called(&own))
        return NBCOLLI_UNHEARD;
    return own.before != theirs->before             ? NBCOLLI_DIFFERS_BEFORE
           : own.fingerprint != theirs->fingerprint ? NBCOLLI_DIFFERS
                                                    : NBCOLLI_ALIKE_SO_FAR;
}

/* Which ranks called what, in the first operation in which one is known to differ from this rank. */
typedef struct nbcolli_split_minds {
    uint64_t tag;      /* 1 + the first operation in which one differs; 0: none does */
    int mine;          /* ranks, this one included, known to have made this rank's call there */
    int most, most_at; /* the largest number of other ranks with equal calls; the lowest of these */
    int lowest;        /* of those that differ */
    int before;        /* the lowest that differed before anything that is remembered, or -1 */
} nbcolli_split_minds;

static int nbcolli_called_alike(const nbcoll_comm *comm, uint64_t tag, uint32_t fingerprint)
{
    int alike = 0;
    for (int rank = 0; rank < comm->size; rank++) {
        const nbcolli_called *c = &comm->told[rank].called;
        alike += c->tag == tag && nbcolli_is_called(c) && c->fingerprint == fingerprint;
    }
    return alike;
}

static nbcolli_split_minds nbcolli_called_sides(nbcoll_comm *comm)
{
    nbcolli_split_minds s = {.mine = 1, .lowest = -1, .most_at = -1, .before = -1};

    for (int rank = comm->size - 1; rank >= 0; rank--) {
        nbcolli_likeness is = nbcolli_called_compare(comm, rank);
        uint64_t tag = comm->told[rank].called.tag;
        if (is == NBCOLLI_DIFFERS_BEFORE)
            s.before = rank;
        if (is == NBCOLLI_DIFFERS && (!s.tag || tag <= s.tag)) {
            s.lowest = rank;
            s.tag = tag;
        }
    }
    for (int rank = comm->size - 1; rank >= 0; rank--) {
        const nbcolli_called *c = &comm->told[rank].called;
        nbcolli_likeness is = nbcolli_called_compare(comm, rank);
        if ((is != NBCOLLI_ALIKE_SO_FAR && is != NBCOLLI_DIFFERS) || c->tag < s.tag) /* perhaps not there yet */
            continue;
        if (is == NBCOLLI_ALIKE_SO_FAR || c->tag > s.tag) {
            s.mine++;
            continue;
        }
        int alike = nbcolli_called_alike(comm, s.tag, c->fingerprint);
        if (alike >= s.most) {
            s.most = alike;
            s.most_at = rank;
        }
    }
    return s;
}

static nbcoll_call nbcolli_call_of(const nbcolli_called *c)
{
    nbcoll_call call = {.root = c->root <= INT32_MAX ? (int)c->root : -1, .count = c->what & NBCOLLI_COUNT};
    uint8_t type = (uint8_t)(c->what >> (NBCOLLI_COUNT_BITS + 8)), op = (uint8_t)(c->what >> NBCOLLI_COUNT_BITS);

    if (c->kind >= NBCOLLI_CALLED_OWN)
        return (nbcoll_call){.root = -1};
    call.operation = nbcoll_operation_name((nbcoll_operation)c->kind);
    call.type = type < NBCOLL_TYPE_COUNT ? nbcoll_type_name(type) : NULL;
    call.op = op < NBCOLL_OP_COUNT ? nbcoll_op_name(op) : NULL;
    return call;
}

/* Names, in the communicator's failure, the rank that differs from most, or else both sides. */
static void nbcolli_called_judge(nbcoll_comm *comm)
{
    nbcoll_failure *f = &comm->failure;
    int is_last = comm->context->failure.comm == comm && comm->context->failure.status == NBCOLL_ERR_MISMATCH;
    nbcolli_split_minds s = nbcolli_called_sides(comm);

    if (s.tag || s.before >= 0) /* else a rank has freed the communicator */
        f->position = NBCOLL_POSITION_UNKNOWN;
    if (s.tag) {
        nbcolli_called own = nbcolli_called_here(comm, s.tag - 1);
        if (own.kind == NBCOLLI_CALLED_OWN && f->tag == s.tag - 1 && f->expected.operation)
            return; /* another call has displaced ours since: what the failure says of it stays */
        int is_mine = 2 * s.most > comm->size; /* most ranks agree, and this one differs */
        f->tag = s.tag - 1;
        f->rank = is_mine ? comm->rank : s.lowest;
        f->other = is_mine || 2 * s.mine > comm->size ? -1 : comm->rank;
        f->called = nbcolli_call_of(is_mine ? &own : &comm->told[s.lowest].called);
        f->expected = nbcolli_call_of(is_mine ? &comm->told[s.most_at].called : &own);
    } else if (s.before >= 0) {
        f->tag = comm->told[s.before].called.tag - 1;
        f->rank = s.before;
        f->other = comm->rank;
        f->is_before = 1;
    }
    if (is_last)
        comm->context->failure = *f;
}

/* ---- hearing ----------------------------------------------------------------------------------------------------- */

/* May the rank still say something? */
static int nbcolli_is_to_be_heard(nbcoll_comm *comm, int rank)
{
    const nbcolli_peer *peer = &comm->peer[rank];
    const nbcolli_told *told = &comm->told[rank];

    if (rank == comm->rank || peer->absent || peer->given_up || peer->link->loss[peer->address] != NBCOLLI_HERE)
        return 0;
    return !told->is_through && !told->has_freed &&
           (!told->called.tag || nbcolli_called_compare(comm, rank) == NBCOLLI_DIFFERS_BEFORE);
}

void nbcolli_called_over(nbcoll_comm *comm)
{
    if (!comm->hears)
        return;
    comm->hears = 0;
    nbcolli_called_judge(comm);
    nbcolli_failed_to_settle(comm);
}

void nbcolli_called_heard(nbcoll_comm *comm)
{
    int waits = comm->hears && comm->active, rank = 0;

    if (nbcolli_broken(comm) != NBCOLL_ERR_MISMATCH)
        return;
    while (waits && rank < comm->size && !nbcolli_is_to_be_heard(comm, rank))
        rank++;
    if (!waits)
        nbcolli_called_judge(comm);
    else if (rank == comm->size)
        nbcolli_called_over(comm);
}

void nbcolli_called_tell(nbcoll_comm *comm)
{
    if (!comm->listed)
        return;
    comm->hears = NBCOLLI_HEARS;
    nbcolli_called_say_all(comm, comm->failure.tag);
    nbcolli_called_heard(comm);
}

void nbcolli_called_late(nbcoll_comm *comm)
{
    nbcolli_caller_lock(comm->context);
    uint64_t refused = comm->refused.tag;
    nbcolli_caller_unlock(comm->context);
    if (!refused)
        return;
    nbcolli_called_say_all(comm, refused - 1);
    nbcolli_called_judge(comm);
}

void nbcolli_called_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    int rank = (int)h->source;
    nbcolli_told *told = &comm->told[rank];
    nbcolli_called own = nbcolli_called_here(comm, h->tag);
    nbcolli_called theirs = {h->tag + 1, h->bytes, h->stamp, h->number, h->count, h->status};

    told->is_through |= theirs.kind == NBCOLLI_CALLED_LONG_AGO;
    if (!told->called.tag || !nbcolli_is_called(&told->called) ||
        (nbcolli_is_called(&theirs) && theirs.tag < told->called.tag))
        told->called = theirs;
    if (!told->spoken || told->spoken > theirs.tag)
        nbcolli_called_say(comm, rank, &own);
    if (h->tag && nbcolli_is_called(&theirs) && nbcolli_is_called(&own) && theirs.before != own.before &&
        told->spoken > h->tag) {
        own = nbcolli_called_here(comm, h->tag - 1);
        nbcolli_called_say(comm, rank, &own);
        told->is_through |= !nbcolli_is_called(&own);
    }
    nbcolli_called_heard(comm);
}
