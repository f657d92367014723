/* SPDX-License-Identifier: BSD-3-Clause
 * Cells: exposures in memory that the ranks of a communicator share (Ramos et al., section 3.4: slots, tag modulo K).
 * Everything here has one writer, and nothing is compared and swapped. Each rank gives the memory for what it writes,
 * its part. There it has, for each of the K slots,
 *
 *     a row                  as a reader. A word for each owner: generation, and how many of the owner's parts it has
 *                            fetched, in the order of their numbers
 *     a table                as an owner. One entry for each reader, shared by its cells
 *     L cells                as an owner. A generation (tag + 1), the entries, how many pieces are readable, a small
 *                            payload
 *
 * An owner fills a cell, then writes its generation; a reader that finds the generation of its tag reads the payload,
 * or gets it by its key, then writes its word. Before the owner writes for tag t it looks whether the readers of the
 * last tag that used the slot are through: reuse is paid for when the slot comes round. The words in brackets at the
 * functions are the transitions of the model in test/model. What is read from shared memory is read once and checked.
 * All generations, counts and words are seq_cst: they are the posters' side of the sleeper's bargain (transport.h). */
#ifndef NBCOLL_INLINE_CELLS_H
#define NBCOLL_INLINE_CELLS_H

#include "../1_state/core.h"

#define NBCOLLI_CELL_INLINE 80 /* bytes of payload in a cell */
#define NBCOLLI_ALL_FETCHED 0xffffu

/* Alone on its lines: 128 bytes, for what different ranks write. */
struct nbcolli_cell {
    _Alignas(NBCOLLI_APART) _Atomic uint64_t stamp; /* tag + 1 of its exposure */
    _Atomic uint64_t ready;                         /* pieces that may be read; grows */
    uint64_t piece;                                 /* bytes of each but the last one */
    uint32_t fingerprint;
    uint32_t first, parts; /* entries of the owner's table */
    uint32_t inlined;      /* the payload is here: keys are offsets in it */
    _Alignas(16) unsigned char payload[NBCOLLI_CELL_INLINE];
};

/* What one reader may fetch. Who that is stands beside: `readers` of the table, looked through by those who fetch. */
typedef struct nbcolli_cell_part {
    uint64_t extent; /* bytes of all pieces, 48 bits, then the number of the first piece */
    nbcoll_key key;
} nbcolli_cell_part;

typedef uint16_t nbcolli_cell_reader; /* rank in the communicator */

#define NBCOLLI_CELL_RANKS 65536 /* at most */
#define NBCOLLI_CELL_BYTES 48    /* bits of a part's length */

_Static_assert(sizeof(nbcolli_cell) == NBCOLLI_APART, "a cell fills its lines");
_Static_assert(NBCOLLI_STARTED * sizeof(uint64_t) == NBCOLLI_APART, "what a rank has started fills its lines");

/* ---- where things are ------------------------------------------------------------------------------------------ */

static inline size_t nbcolli_apart(size_t bytes)
{
    return (bytes + NBCOLLI_APART - 1) / NBCOLLI_APART * NBCOLLI_APART;
}

/* Of a communicator of `ranks` ranks. */
static inline nbcolli_layout nbcolli_layout_of(size_t ranks, size_t cells)
{
    nbcolli_layout l = {.slots = nbcolli_apart(ranks * sizeof(uint32_t)) + NBCOLLI_APART,
                        .parts = nbcolli_apart(ranks * sizeof(uint64_t))};
    l.readers = l.parts + ranks * sizeof(nbcolli_cell_part);
    l.cells = nbcolli_apart(l.readers + ranks * sizeof(nbcolli_cell_reader));
    l.stride = l.cells + cells * NBCOLLI_APART;
    return l;
}

/* Bytes of a rank's part: who has left it, what this rank has started, then the slots. */
static inline size_t nbcolli_area_bytes(size_t ranks, size_t slots, size_t cells)
{
    nbcolli_layout l = nbcolli_layout_of(ranks, cells);
    return l.slots + slots * l.stride;
}

/* Has `rank` left the owner's part? */
static inline _Atomic uint32_t *nbcolli_area_departed(const nbcoll_comm *comm, int owner, int rank)
{
    return (_Atomic uint32_t *)(void *)comm->area[owner] + rank;
}

/* The last operations that `rank` has started: see ask.h. */
static inline _Atomic uint64_t *nbcolli_area_started(const nbcoll_comm *comm, int rank)
{
    return (_Atomic uint64_t *)(void *)(comm->area[rank] + comm->layout.slots - NBCOLLI_APART);
}

/* What `rank` writes in the slot of `tag`: its row, its table, its cells. */
static inline unsigned char *nbcolli_cells_of(const nbcoll_comm *comm, uint64_t tag, int rank)
{
    return comm->area[rank] + comm->layout.slots + tag % comm->config.slots * comm->layout.stride;
}

static inline _Atomic uint64_t *nbcolli_word(const nbcoll_comm *comm, uint64_t tag, int reader, int owner)
{
    return (_Atomic uint64_t *)(void *)nbcolli_cells_of(comm, tag, reader) + owner;
}

static inline nbcolli_cell_part *nbcolli_table(const nbcoll_comm *comm, uint64_t tag, int owner)
{
    return (nbcolli_cell_part *)(void *)(nbcolli_cells_of(comm, tag, owner) + comm->layout.parts);
}

static inline nbcolli_cell_reader *nbcolli_readers(const nbcoll_comm *comm, uint64_t tag, int owner)
{
    return (nbcolli_cell_reader *)(void *)(nbcolli_cells_of(comm, tag, owner) + comm->layout.readers);
}

static inline nbcolli_cell *nbcolli_cell_at(const nbcoll_comm *comm, uint64_t tag, int owner, uint32_t cell)
{
    return (nbcolli_cell *)(void *)(nbcolli_cells_of(comm, tag, owner) + comm->layout.cells) + cell;
}

/* ---- words ----------------------------------------------------------------------------------------------------- */

/* A reader's word: the tag's turn in its slot, 48 bits (tags that need more are refused), then the count. */
static inline uint64_t nbcolli_word_of(const nbcoll_comm *comm, uint64_t tag, uint64_t count)
{
    return tag / comm->config.slots << 16 | count;
}

/* Has `reader` fetched the first `count` parts that we exposed to it under `tag`, or gone on to later tags? */
static inline int nbcolli_has_fetched(const nbcoll_comm *comm, uint64_t tag, int reader, uint64_t count)
{
    return atomic_load(nbcolli_word(comm, tag, reader, comm->rank)) >= nbcolli_word_of(comm, tag, count);
}

static inline void nbcolli_shared_wake(const nbcoll_comm *comm, int rank)
{
    const nbcolli_peer *peer = &comm->peer[rank];
    peer->link->transport.shared->wake(peer->link->endpoint, peer->address);
}

/* [ACK] Says how far this rank has come with the owner's parts. Only the last one of a gap shows what is behind it. */
static inline void nbcolli_acknowledge(nbcolli_run *run, int owner)
{
    const nbcoll_schedule *s = run->schedule;
    nbcoll_comm *comm = run->comm;
    _Atomic uint64_t *word = nbcolli_word(comm, run->tag, comm->rank, owner);
    uint64_t now = atomic_load_explicit(word, memory_order_relaxed); /* only we write it */
    uint64_t next = now < nbcolli_word_of(comm, run->tag, 0) ? nbcolli_word_of(comm, run->tag, 0) : now;
    uint32_t i = nbcolli_message_index(s->fetch, s->fetches, owner, (uint32_t)(next & NBCOLLI_ALL_FETCHED));

    for (; i < s->fetches && s->fetch[i].peer == owner &&
           run->op[s->op[s->fetch[i].step]].phase == NBCOLLI_SETTLED; i++)
        next++;
    if (next == now)
        return;
    atomic_store(word, next);
    nbcolli_shared_wake(comm, owner);
}

/* What this rank would acknowledge to itself says which operations it has ended well: in its slot that of the turn
 * written, and those of the turns before, as many as the count says. Whoever waits for it in one of those is out of
 * step with it; what failed here may be on its way to fail there, too. */
static inline void nbcolli_mark_end(nbcoll_comm *comm, uint64_t tag)
{
    uint64_t turn = tag / comm->config.slots, since = nbcolli_slot_of(comm, tag)->well_since;
    uint64_t turns = turn < since ? 1 : turn - since < NBCOLLI_ALL_FETCHED ? turn - since + 1 : NBCOLLI_ALL_FETCHED;

    /* release: its acknowledgements come before */
    atomic_store_explicit(nbcolli_word(comm, tag, comm->rank, comm->rank), nbcolli_word_of(comm, tag, turns),
                          memory_order_release);
}

static inline int nbcolli_has_ended(const nbcoll_comm *comm, uint64_t tag, int rank)
{
    /* acquire: before what is looked at next */
    uint64_t word = atomic_load_explicit(nbcolli_word(comm, tag, rank, rank), memory_order_acquire);
    uint64_t turn = tag / comm->config.slots, last = word >> 16;
    return last >= turn && last - turn < (word & NBCOLLI_ALL_FETCHED);
}

/* [RAISE] This rank will fetch nothing more of `tag`, or of earlier ones in its slot. */
static inline void nbcolli_raise(nbcoll_comm *comm, uint64_t tag)
{
    uint64_t all = nbcolli_word_of(comm, tag, NBCOLLI_ALL_FETCHED);

    for (int owner = 0; owner < comm->size; owner++) {
        _Atomic uint64_t *word = nbcolli_word(comm, tag, comm->rank, owner);
        if (owner == comm->rank || atomic_load_explicit(word, memory_order_relaxed) >= all) /* only we write it */
            continue;
        atomic_store(word, all);
        nbcolli_shared_wake(comm, owner);
    }
}

/* [RAISE] for those that failed while others had the slot, as far as the slot has now come. */
static inline void nbcolli_raise_failed(nbcoll_comm *comm, nbcolli_slot *slot)
{
    uint64_t tag = slot->failed - 1, next = slot->next - 1;

    if (!slot->failed || slot->active || (slot->next && next < comm->config.slots))
        return;
    if (slot->next && next - comm->config.slots < tag)
        tag = next - comm->config.slots;
    else
        slot->failed = 0;
    nbcolli_raise(comm, tag);
}

/* What ended well here begins anew behind `tag`, which failed. */
static inline void nbcolli_well_since(nbcolli_slot *slot, uint64_t turn)
{
    if (slot->well_since <= turn)
        slot->well_since = turn + 1;
}

/* An operation failed that never had the slot: it is raised when that is free. */
static inline void nbcolli_cells_missed(nbcoll_comm *comm, uint64_t tag)
{
    nbcolli_slot *slot = nbcolli_slot_of(comm, tag);

    if (slot->failed <= tag)
        slot->failed = tag + 1;
}

/* [REUSE] May this rank write for `tag`? Else *reader is one that is not through with *before, and has not left. */
static inline int nbcolli_may_reuse(nbcoll_comm *comm, uint64_t tag, uint64_t *before, int *reader)
{
    nbcolli_slot *slot = nbcolli_slot_of(comm, tag);
    uint16_t *exposed = comm->exposed + tag % comm->config.slots * (size_t)comm->size;

    if (slot->exposed == tag + 1)
        return 1;
    if (slot->exposed) {
        *before = slot->exposed - 1;
        for (*reader = 0; *reader < comm->size; ++*reader)
            if (exposed[*reader] && !nbcolli_has_fetched(comm, *before, *reader, exposed[*reader]) &&
                !nbcolli_has_departed(comm, *reader))
                return 0;
    }
    memset(exposed, 0, (size_t)comm->size * sizeof *exposed);
    slot->exposed = tag + 1;
    return 1;
}

/* ---- watching -------------------------------------------------------------------------------------------------- */

/* The op waits for a change of shared memory: each pass looks again. */
static inline void nbcolli_watch(nbcolli_op *op)
{
    nbcoll_context *c = op->run->comm->context;

    if (op->watch_at)
        return;
    op->watch_at = &c->watched;
    op->watch_next = c->watched;
    if (op->watch_next)
        op->watch_next->watch_at = &op->watch_next;
    c->watched = op;
}

static inline void nbcolli_unwatch(nbcolli_op *op)
{
    if (!op->watch_at)
        return;
    *op->watch_at = op->watch_next;
    if (op->watch_next)
        op->watch_next->watch_at = op->watch_at;
    op->watch_at = NULL;
}

/* ---- owners ---------------------------------------------------------------------------------------------------- */

/* The part of the cell's first piece is that of all: the bytes that its readers will get in the end. */
static inline size_t nbcolli_part_bytes(const nbcoll_step_view *v, uint32_t i)
{
    return v->grows ? v->whole : v->parts[i].region.bytes;
}

static inline size_t nbcolli_inline_up(size_t bytes)
{
    return (bytes + 15) / 16 * 16; /* what a kernel may want */
}

/* Where part `i` goes in the payload, or more than there is room for. Parts in a row that are one region share it. */
static inline size_t nbcolli_inline_at(const nbcoll_step_view *v, uint32_t i, size_t *end)
{
    const nbcoll_region *r = &v->parts[i].region, *last = i ? &v->parts[i - 1].region : NULL;

    if (last && last->at.buffer == r->at.buffer && last->at.offset == r->at.offset && last->bytes == r->bytes)
        return *end - nbcolli_inline_up(r->bytes);
    size_t at = *end;
    *end = r->bytes <= NBCOLLI_CELL_INLINE ? at + nbcolli_inline_up(r->bytes) : SIZE_MAX / 2;
    return at;
}

static inline int nbcolli_fits_inline(const nbcoll_step_view *v)
{
    size_t end = 0;
    for (uint32_t i = 0; i < v->part_count && end <= NBCOLLI_CELL_INLINE; i++)
        nbcolli_inline_at(v, i, &end);
    return v->grows == NBCOLL_START && end <= NBCOLLI_CELL_INLINE;
}

/* [WRITE] Fills the run's next cell. */
static inline nbcoll_status nbcolli_cell_write(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    nbcoll_comm *comm = run->comm;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    nbcolli_cell *cell = nbcolli_cell_at(comm, run->tag, comm->rank, run->cells);
    nbcolli_cell_part *part = nbcolli_table(comm, run->tag, comm->rank) + run->parts;
    nbcolli_cell_reader *reader = nbcolli_readers(comm, run->tag, comm->rank) + run->parts;
    size_t end = 0;

    op->part = run->parts;
    cell->inlined = (uint32_t)nbcolli_fits_inline(v);
    for (uint32_t i = 0; i < v->part_count; i++) {
        const nbcolli_peer *peer = &comm->peer[v->parts[i].peer];
        size_t bytes = nbcolli_part_bytes(v, i);
        void *memory = nbcolli_resolve(run, v->parts[i].region).at;
        reader[i] = (nbcolli_cell_reader)v->parts[i].peer;
        part[i] = (nbcolli_cell_part){(uint64_t)bytes << (64 - NBCOLLI_CELL_BYTES) | v->parts[i].number, {{0}}};
        if (cell->inlined) {
            part[i].key.word[0] = nbcolli_inline_at(v, i, &end);
            if (bytes)
                memcpy(cell->payload + part[i].key.word[0], memory, bytes);
            continue;
        }
        if (!bytes)
            continue; /* perhaps there is no memory either */
        if (bytes >> NBCOLLI_CELL_BYTES)
            return NBCOLL_ERR_LIMIT;
        nbcoll_status s = peer->link->transport.bulk->expose(peer->link->endpoint, peer->address, memory, bytes,
                                                             &part[i].key);
        if (s != NBCOLL_OK)
            return s;
        op->keys = i + 1;
    }
    cell->fingerprint = run->schedule->fingerprint;
    cell->piece = v->grows ? v->piece : 0;
    cell->first = run->parts;
    cell->parts = v->part_count;
    atomic_store_explicit(&cell->ready, 1, memory_order_relaxed); /* shown by the stamp */
    op->cell = run->cells++;
    run->parts += v->part_count;
    return NBCOLL_OK;
}

/* The run is over: what its cells lent is the program's again. */
static inline void nbcolli_cells_withdraw(nbcolli_run *run)
{
    const nbcolli_cell_part *table = nbcolli_table(run->comm, run->tag, run->comm->rank);

    for (uint32_t i = 0; i < run->schedule->ops; i++) {
        const nbcolli_op *op = &run->op[i];
        const nbcoll_step_view *v = &run->schedule->step[op->step];
        for (uint32_t k = 0; k < op->keys; k++) {
            const nbcolli_peer *peer = &run->comm->peer[v->parts[k].peer];
            nbcoll_key key = table[op->part + k].key;
            if (key.word[0] | key.word[1])
                peer->link->transport.bulk->withdraw(peer->link->endpoint, key);
        }
    }
}

/* [PUBLISH], or [GROW] when the cell is shown already. The readers are told. */
static inline void nbcolli_cell_show(nbcolli_op *op, uint32_t cell, uint64_t piece)
{
    nbcolli_run *run = op->run;
    nbcoll_comm *comm = run->comm;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    nbcolli_cell *at = nbcolli_cell_at(comm, run->tag, comm->rank, cell);
    uint16_t *exposed = comm->exposed + run->tag % comm->config.slots * (size_t)comm->size;

    for (uint32_t i = 0; i < v->part_count; i++) /* before it is shown: by then it may be acknowledged */
        if (exposed[v->parts[i].peer] <= v->parts[i].number)
            exposed[v->parts[i].peer] = (uint16_t)(v->parts[i].number + 1);
    if (piece)
        atomic_store(&at->ready, piece + 1);
    else
        atomic_store(&at->stamp, run->tag + 1);
    for (uint32_t i = 0; i < v->part_count; i++)
        nbcolli_shared_wake(comm, v->parts[i].peer);
}

/* [FAIL] The run failed. Its readers may still be looking through its cells: before they are written again, each must
 * have raised its word. */
static inline void nbcolli_expose_all(nbcolli_run *run)
{
    nbcoll_comm *comm = run->comm;
    uint16_t *exposed = comm->exposed + run->tag % comm->config.slots * (size_t)comm->size;

    if (nbcolli_slot_of(comm, run->tag)->exposed != run->tag + 1)
        return;
    for (nbcoll_step i = NBCOLL_END + 1; i < run->schedule->steps; i++) {
        const nbcoll_step_view *v = &run->schedule->step[i];
        for (uint32_t p = 0; v->kind == NBCOLL_EXPOSE && p < v->part_count; p++)
            if (exposed[v->parts[p].peer] <= v->parts[p].number)
                exposed[v->parts[p].peer] = (uint16_t)(v->parts[p].number + 1);
    }
}

/* [COMPLETE] Does a reader still need the memory? Of a failed run, one that answered that it never will, or has left,
 * does not. Else *reader is the first that does. */
static inline int nbcolli_exposure_is_held(const nbcolli_op *op, int *reader)
{
    const nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];

    for (uint32_t i = 0; i < v->part_count; i++) {
        *reader = v->parts[i].peer;
        int excused = run->status != NBCOLL_OK && (run->answered[*reader] || nbcolli_has_departed(run->comm, *reader));
        if (!excused && !nbcolli_has_fetched(run->comm, run->tag, *reader, (uint64_t)v->parts[i].number + 1))
            return 1;
    }
    return 0;
}

/* ---- readers --------------------------------------------------------------------------------------------------- */

/* Where a FETCH finds its bytes. */
typedef struct nbcolli_found {
    const unsigned char *payload; /* in the cell; null: `key` is to be got */
    nbcoll_key key;
    size_t offset; /* behind the key */
} nbcolli_found;

/* [LOOK] PENDING; OK, with *found; or ERR_MISMATCH: there is no such part, or it is another one. */
static inline nbcoll_status nbcolli_look(nbcolli_op *op, size_t bytes, nbcolli_found *found)
{
    nbcolli_run *run = op->run;
    nbcoll_comm *comm = run->comm;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    const nbcolli_cell_reader *reader = nbcolli_readers(comm, run->tag, v->peer);
    uint32_t ranks = (uint32_t)comm->size;

    for (; op->cell < comm->config.cells; op->cell++) {
        nbcolli_cell *cell = nbcolli_cell_at(comm, run->tag, v->peer, op->cell);
        if (atomic_load(&cell->stamp) != run->tag + 1)
            return NBCOLL_PENDING;
        uint32_t first = cell->first, parts = cell->parts, inlined = cell->inlined;
        uint64_t grows = cell->piece;
        if (cell->fingerprint != run->schedule->fingerprint || first > ranks || parts > ranks - first)
            return NBCOLL_ERR_MISMATCH;
        for (uint32_t i = first; i < first + parts; i++) {
            if (reader[i] != comm->rank)
                continue;
            nbcolli_cell_part part = nbcolli_table(comm, run->tag, v->peer)[i];
            uint64_t all = part.extent >> (64 - NBCOLLI_CELL_BYTES), number = part.extent & NBCOLLI_ALL_FETCHED;
            uint64_t n = v->number - number, piece = grows ? grows : all, offset = n * piece;
            if (v->number < number || (n && offset >= all))
                continue;
            if (atomic_load(&cell->ready) <= n)
                return NBCOLL_PENDING;
            if (bytes != (all - offset < piece ? all - offset : piece) ||
                (inlined && (bytes > NBCOLLI_CELL_INLINE || part.key.word[0] > NBCOLLI_CELL_INLINE - bytes)))
                return NBCOLL_ERR_MISMATCH;
            *found = (nbcolli_found){inlined ? cell->payload + part.key.word[0] : NULL, part.key, offset};
            return NBCOLL_OK;
        }
    }
    return NBCOLL_ERR_MISMATCH;
}

#endif
