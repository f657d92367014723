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
 * A small exposure needs no table. Its cell names the part and its readers, and has the bytes: once, if all readers get
 * the same. If each other rank gets as many bytes of its own, these stand in order of the ranks, also in the payloads
 * of as many following cells as needed. Other parts have entries.
 *
 * If only the leaders of nodes show anything, the same to all others of their node (create.h), a part is smaller. A row
 * is two words, for the leader and for the rank itself; rows overlap, so that each word is found as always, at its
 * owner's place. All rows come first. Only a leader's part has slots behind them: one cell each, whose payload is the
 * table, of one entry for all.
 *
 * An owner fills a cell, then writes its generation; a reader that finds the generation of its tag reads the payload,
 * or gets it by its key, then writes its word. Before the owner writes for tag t it looks whether the readers of the
 * last tag that used the slot are through: reuse is paid for when the slot comes round. The words in brackets at the
 * functions are the transitions of the model in test/model. What is read from shared memory is read once and checked.
 * All generations, counts and words are seq_cst, as a poster's stores are for a sleeper (transport.h). Inline: where
 * things are, and what every exposure and fetch looks at. */
#ifndef NBCOLLI_ENGINE_EXPOSURES_CELLS_H
#define NBCOLLI_ENGINE_EXPOSURES_CELLS_H

#include "../state/context.h"

#define NBCOLLI_APART 128 /* bytes between words that different ranks write: two cache lines, fetched together */
#define NBCOLLI_ALL_FETCHED 0xffffu
#define NBCOLLI_SHOWN_ALL 0xffffu /* all others read one part each */

typedef enum nbcolli_cell_kind {
    NBCOLLI_REFERRED, /* the parts are to be got by their keys in the table */
    NBCOLLI_INLINED,  /* they lie in the payload of this cell, and of those behind it: no table is needed */
    NBCOLLI_STAGED,   /* as REFERRED, but they lie in the owner's staging buffer, which is read also when the owner has
                         left */
    NBCOLLI_STREAMED  /* they go through rings in the owner's staging buffer (staging.h): the keys are those of its
                         place there */
} nbcolli_cell_kind;

/* Alone on its lines: 128 bytes, for what different ranks write. */
struct nbcolli_cell {
    _Alignas(NBCOLLI_APART) _Atomic uint64_t stamp; /* tag + 1 of its exposure */
    _Atomic uint64_t ready;                         /* pieces that may be read; grows */
    uint64_t piece;                                 /* bytes of each but the last one */
    uint32_t mark; /* its exposure's operation: the stamp of that (history.h) */
    uint32_t first, parts; /* entries of the owner's table; INLINED: the part's number, and its bytes */
    uint32_t kind;         /* nbcolli_cell_kind */
    uint64_t readers;      /* INLINED: whose part the payload is (nbcolli_alike); 0: each other rank has its own */
    _Alignas(16) unsigned char payload[NBCOLLI_CELL_INLINE];
};

#define NBCOLLI_CELL_KEY 2 /* words of a key: transports with longer ones have no cells */

/* What one reader may fetch. The table's `readers` name that reader; fetchers search them. */
typedef struct nbcolli_cell_part {
    uint64_t extent; /* bytes of all pieces, 48 bits, then the number of the first piece */
    uint64_t key[NBCOLLI_CELL_KEY];
} nbcolli_cell_part;

typedef uint16_t nbcolli_cell_reader; /* rank in the communicator */

#define NBCOLLI_CELL_RANKS 65535        /* at most */
#define NBCOLLI_EVERY_READER UINT16_MAX /* the entry is that of all others of the leader's node */

_Static_assert(sizeof(nbcolli_cell) == NBCOLLI_APART, "a cell fills its lines");

_Static_assert(NBCOLLI_STARTED * sizeof(uint64_t) % NBCOLLI_APART == 0, "what a rank has started fills its lines");

/* Of one reader, at the beginning of a STREAMED exposure's place in the staging buffer: see staging.h. */
struct nbcolli_stream {
    _Alignas(NBCOLLI_APART) _Atomic uint64_t ready; /* the owner: bytes of the part that it has written */
    uint64_t window; /* the owner: bytes of the ring, whole elements, */
    uint64_t at;     /* and its offset from the first reader's stream */
    _Alignas(NBCOLLI_APART) _Atomic uint64_t through; /* the reader: bytes of the part that it needs no more */
};

/* Where a FETCH finds its bytes. */
typedef struct nbcolli_found {
    const unsigned char *payload; /* in the cell; null: they are to be got from `place` */
    nbcolli_remote place;
    nbcolli_cell_kind kind; /* STREAMED: that is of its nbcolli_stream */
} nbcolli_found;

static inline size_t nbcolli_apart(size_t bytes)
{
    return (bytes + NBCOLLI_APART - 1) / NBCOLLI_APART * NBCOLLI_APART;
}

/* For `ranks` ranks: who has left the part, what its rank has started, then the slots. */
nbcolli_layout nbcolli_layout_of(size_t ranks, size_t cells);

/* For so many slots, if only leaders show anything, to their nodes. */
nbcolli_layout nbcolli_layout_led(size_t ranks, size_t slots, int leader);

/* Bytes of a rank's part, with room for what it shows or without. */
static inline size_t nbcolli_area_bytes(const nbcolli_layout *l, size_t slots, int shows)
{
    return l->slots + (shows ? slots * l->stride : 0);
}

/* Is there room in a slot for all that the schedule exposes? */
int nbcolli_cells_suffice(const nbcoll_comm *comm, const nbcoll_schedule *s);

/* The memory of nbcoll_mem_alloc in which the region lies, or null. */
const nbcolli_area *nbcolli_area_around(const nbcolli_link *link, nbcoll_memory region);

/* Has each rank left the part of a freed communicator, or is it dead for certain? */
int nbcolli_area_is_left(const nbcolli_link *link, const nbcolli_area *area);

/* Has `rank` left the owner's part? */
static inline _Atomic uint32_t *nbcolli_area_departed(const nbcoll_comm *comm, int owner, int rank)
{
    return (_Atomic uint32_t *)(void *)comm->area[owner] + rank;
}

/* The last operations that `rank` has started: see ask.h. */
static inline _Atomic uint64_t *nbcolli_area_started(const nbcoll_comm *comm, int rank)
{
    return (_Atomic uint64_t *)(void *)(comm->area[rank] + comm->layout.words - NBCOLLI_STARTED * sizeof(uint64_t));
}

static inline _Atomic uint64_t *nbcolli_word(const nbcoll_comm *comm, const nbcolli_slot *slot, int reader, int owner)
{
    return (_Atomic uint64_t *)(void *)(comm->area[reader] + slot->row) + owner;
}

/* The word of `rank` for its own parts: it tells what that rank has ended (nbcolli_mark_end). */
static inline _Atomic uint64_t *nbcolli_own_word(const nbcoll_comm *comm, const nbcolli_slot *slot, int rank)
{
    return nbcolli_word(comm, slot, rank, comm->leader < 0 ? rank : comm->leader + 1);
}

/* What `owner` writes in a slot: its table, the readers of the entries, its cells. */
static inline nbcolli_cell_part *nbcolli_table(const nbcoll_comm *comm, const nbcolli_slot *slot, int owner)
{
    return (nbcolli_cell_part *)(void *)(comm->area[owner] + slot->at + comm->layout.parts);
}

static inline nbcolli_cell_reader *nbcolli_readers(const nbcoll_comm *comm, const nbcolli_slot *slot, int owner)
{
    return (nbcolli_cell_reader *)(void *)(comm->area[owner] + slot->at + comm->layout.readers);
}

static inline nbcolli_cell *nbcolli_cell_at(const nbcoll_comm *comm, const nbcolli_slot *slot, int owner, uint32_t cell)
{
    return (nbcolli_cell *)(void *)(comm->area[owner] + slot->at + comm->layout.cells) + cell;
}

/* Where each reader's own part of an INLINED exposure lies, from its cell on. */
static inline size_t nbcolli_spread_at(int owner, int reader, size_t bytes)
{
    size_t i = (size_t)(reader - (reader > owner)), shift = nbcolli_spread_shift(bytes);
    return (i >> shift) * sizeof(nbcolli_cell) + offsetof(nbcolli_cell, payload) +
           (i & (((size_t)1 << shift) - 1)) * (64u >> shift);
}

/* May runs spread exposures over several cells? [WRITE] Then none writes the payload of a cell that another one
 * takes. */
static inline int nbcolli_spreads(const nbcoll_comm *comm, const nbcoll_schedule *s)
{
    return s->wide <= comm->config.cells;
}

/* A reader's word: the tag's turn in its slot, 48 bits (tags that need more are refused), then the count. */
static inline uint64_t nbcolli_word_of(const nbcoll_comm *comm, uint64_t tag, uint64_t count)
{
    return tag / comm->config.slots << 16 | count;
}

/* Has the reader fetched this part, or failed in the operation, or gone on to later ones of the slot? */
static inline int nbcolli_has_fetched(const nbcolli_run *run, const nbcoll_part *part)
{
    return atomic_load(nbcolli_word(run->comm, run->slot, part->peer, run->comm->rank)) > run->none + part->number;
}

static inline void nbcolli_shared_wake(const nbcoll_comm *comm, int rank)
{
    const nbcolli_peer *peer = &comm->peer[rank];
    peer->link->transport.shared->wake(peer->link->endpoint, peer->address);
}

/* [ACK] Says how many of the owner's parts this rank has read. Parts read out of order count once the gap closes. */
void nbcolli_acknowledge(nbcolli_run *run, int owner);

/* This rank's word for its own parts tells which operations it has ended well: in that slot, the one of the turn
 * written, and as many turns back as the count says. A rank that waits for this one in one of these is out of step. An
 * operation that failed here may still be about to fail there. */
static inline void nbcolli_mark_end(nbcolli_slot *slot, uint64_t turn)
{
    uint64_t turns = turn + 1 - slot->well_since;

    if (turns - 1 >= NBCOLLI_ALL_FETCHED) /* or below 1 */
        turns = turn < slot->well_since ? 1 : NBCOLLI_ALL_FETCHED;
    atomic_store_explicit(slot->own_word, turn << 16 | turns, memory_order_release); /* after its acknowledgements */
}

int nbcolli_has_ended(const nbcoll_comm *comm, uint64_t tag, int rank);

/* [RAISE] This rank has fetched `count` parts of `tag`, and will fetch nothing of earlier ones in its slot; with
 * ALL_FETCHED, `tag` failed here, and nothing more of it will be fetched, either. */
void nbcolli_raise(nbcoll_comm *comm, uint64_t tag, uint64_t count);

/* The same for the parts of one owner. */
void nbcolli_raise_to(nbcoll_comm *comm, int owner, uint64_t tag, uint64_t count);

/* [RAISE] for those that failed while others had the slot, as far as the slot has now come. */
static inline void nbcolli_raise_failed(nbcoll_comm *comm, nbcolli_slot *slot)
{
    uint64_t tag = slot->failed - 1;

    if (!slot->failed || slot->active)
        return;
    const nbcolli_request *waits = nbcolli_first_waiting(slot);
    if (waits && waits->tag < tag) {
        nbcolli_raise(comm, waits->tag, 0);
        return;
    }
    slot->failed = 0;
    nbcolli_raise(comm, tag, NBCOLLI_ALL_FETCHED);
}

/* [REUSE] May this rank write for `tag`? Else *reader is one that is not through with *before, and may still read. */
int nbcolli_may_reuse(nbcoll_comm *comm, uint64_t tag, uint64_t *before, int *reader);

/* A rank that may still read what the slot's cells last showed, under that tag; -1: none. */
int nbcolli_first_reading(const nbcoll_comm *comm, const nbcolli_slot *slot, uint64_t tag);

/* A first piece has the part of all pieces: the bytes that its readers get in the end. */
static inline size_t nbcolli_part_bytes(const nbcoll_step_view *v, uint32_t i)
{
    return v->grows ? v->whole : v->parts[i].region.bytes;
}

/* Where part `i` of an exposure lies in a copy of all its parts; *end is behind what lies there so far, and is 0 before
 * the first. Each begins on a line of its own. */
size_t nbcolli_copy_at(const nbcoll_step_view *v, uint32_t i, size_t *end);

/* The entries of an exposure from `i` on that are one region: behind the last one. */
uint32_t nbcolli_copy_group(const nbcoll_step_view *v, uint32_t i);

/* Copies bytes of the region of entries `i` to `end`, from `from` on, to `to` in the op's copy. */
void nbcolli_copy_in(const nbcolli_op *op, uint32_t i, uint32_t end, size_t to, size_t from, size_t bytes);

/* How many cells an INLINED exposure takes, and its `readers`; 0: it is not one. */
uint32_t nbcolli_inline_cells(const nbcolli_run *run, const nbcoll_step_view *v, uint64_t *readers);

/* [WRITE] Fills the payload of the run's next cell, and of those behind it, with each reader's own part. */
void nbcolli_cell_spread(const nbcolli_run *run, nbcolli_cell *cell, const nbcoll_step_view *v);

/* [WRITE] Fills the run's next cell with an INLINED exposure, whose first part has so many bytes, at `first`. */
static inline void nbcolli_cell_inline(const nbcolli_run *run, nbcolli_cell *cell, const nbcoll_step_view *v,
                                       uint64_t readers, const void *first, uint32_t bytes)
{
    cell->mark = nbcolli_run_stamp(run);
    cell->kind = NBCOLLI_INLINED;
    cell->readers = readers;
    cell->first = v->parts->number;
    cell->parts = bytes;
    if (readers)
        nbcolli_small_copy(cell->payload, first, bytes);
    else
        nbcolli_cell_spread(run, cell, v);
}

/* [WRITE] Fills the run's next cell. Without growing, and with no keys, it then holds all that its readers need. */
nbcoll_status nbcolli_cell_write(nbcolli_op *op);

/* From now on the owner waits for its readers before it writes their cells, or their place in the staging buffer,
 * again. */
void nbcolli_cell_promise(const nbcolli_run *run, const nbcoll_step_view *v);

/* [PUBLISH], or [GROW] when the cell is shown already. The readers are told. */
void nbcolli_cell_show(nbcolli_op *op, uint32_t cell, uint64_t piece);

/* [FAIL] The run failed, and reads no more. Its readers may still search its cells: each must raise its word before the
 * cells are written again. */
void nbcolli_cells_failed(nbcolli_run *run);

/* [COMPLETE] 1: *reader, the first such, still needs the memory; or has failed, and so will the run. Readers that have
 * left, or have freed the communicator, do not hold a failed run. */
int nbcolli_exposure_is_held(const nbcolli_op *op, int *reader);

/* [LOOK] PENDING; OK, with *found; or ERR_MISMATCH: there is no such part, or it is another one. */
nbcoll_status nbcolli_look(nbcolli_op *op, size_t bytes, nbcolli_found *found);

#endif
