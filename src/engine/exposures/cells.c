/* SPDX-License-Identifier: BSD-3-Clause */
#include "cells.h"

#define NBCOLLI_CELL_BYTES 48    /* bits of a part's length */

/* ---- where things are -------------------------------------------------------------------------------------------- */

nbcolli_layout nbcolli_layout_of(size_t ranks, size_t cells)
{
    nbcolli_layout l = {.slots = nbcolli_apart(ranks * sizeof(uint32_t)) + NBCOLLI_STARTED * sizeof(uint64_t),
                        .parts = nbcolli_apart(ranks * sizeof(uint64_t))};
    l.words = l.slots;
    l.readers = l.parts + nbcolli_table_parts(ranks) * sizeof(nbcolli_cell_part);
    l.cells = nbcolli_apart(l.readers + nbcolli_table_parts(ranks) * sizeof(nbcolli_cell_reader));
    l.row = l.stride = l.cells + cells * NBCOLLI_APART;
    return l;
}

nbcolli_layout nbcolli_layout_led(size_t ranks, size_t slots, int leader)
{
    nbcolli_layout l = {.words = nbcolli_apart(ranks * sizeof(uint32_t)) + NBCOLLI_STARTED * sizeof(uint64_t),
                        .row = 2 * sizeof(uint64_t),
                        .stride = sizeof(nbcolli_cell),
                        .parts = offsetof(nbcolli_cell, payload),
                        .readers = offsetof(nbcolli_cell, payload) + sizeof(nbcolli_cell_part)};
    l.slots = nbcolli_apart(l.words + slots * l.row + (size_t)leader * sizeof(uint64_t));
    return l;
}

int nbcolli_cells_suffice(const nbcoll_comm *comm, const nbcoll_schedule *s)
{
    return s->cells <= comm->config.cells && s->shown <= nbcolli_table_parts((size_t)comm->size) &&
           s->widest < NBCOLLI_ALL_FETCHED;
}

int nbcolli_area_is_left(const nbcolli_link *link, const nbcolli_area *area)
{
    const _Atomic uint32_t *left = (const _Atomic uint32_t *)(const void *)area->base;

    for (int rank = 0; rank < area->ranks; rank++)
        if (area->address[rank] != UINT32_MAX &&
            !atomic_load_explicit(&left[rank], memory_order_acquire) && /* acquire: after its last access */
            !(link->loss[area->address[rank]] & NBCOLLI_OVER))
            return 0;
    return 1;
}

const nbcolli_area *nbcolli_area_around(const nbcolli_link *link, nbcoll_memory region)
{
    for (const nbcolli_area *area = link->memory; area; area = area->next) {
        size_t offset = (uintptr_t)region.at - (uintptr_t)area->base;
        if (offset <= area->bytes && region.bytes <= area->bytes - offset)
            return area;
    }
    return NULL;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

void nbcolli_acknowledge(nbcolli_run *run, int owner)
{
    const nbcoll_schedule *s = run->schedule;
    nbcoll_comm *comm = run->comm;
    _Atomic uint64_t *word = nbcolli_word(comm, run->slot, comm->rank, owner);
    uint64_t now = atomic_load_explicit(word, memory_order_relaxed); /* only we write it */
    uint64_t next = now < run->none ? run->none : now;
    uint32_t i = nbcolli_message_index(s->fetch, s->fetches, owner, (uint32_t)(next & NBCOLLI_ALL_FETCHED));

    for (; i < s->fetches && s->fetch[i].peer == owner &&
           run->op[s->op[s->fetch[i].step]].phase == NBCOLLI_SETTLED; i++)
        next++;
    if (next == now)
        return;
    atomic_store(word, next);
    nbcolli_shared_wake(comm, owner);
}

int nbcolli_has_ended(const nbcoll_comm *comm, uint64_t tag, int rank)
{
    /* acquire: before the next loads */
    _Atomic uint64_t *own = nbcolli_own_word(comm, nbcolli_slot_of(comm, tag), rank);
    uint64_t word = atomic_load_explicit(own, memory_order_acquire);
    uint64_t turn = tag / comm->config.slots, last = word >> 16;
    return last >= turn && last - turn < (word & NBCOLLI_ALL_FETCHED);
}

void nbcolli_raise_to(nbcoll_comm *comm, int owner, uint64_t tag, uint64_t count)
{
    _Atomic uint64_t *word = nbcolli_word(comm, nbcolli_slot_of(comm, tag), comm->rank, owner);
    uint64_t raised = nbcolli_word_of(comm, tag, count);

    if (owner == comm->rank || !comm->area[owner] || (comm->leader >= 0 && owner != comm->leader) ||
        atomic_load_explicit(word, memory_order_relaxed) >= raised) /* only we write it */
        return;
    atomic_store(word, raised);
    nbcolli_shared_wake(comm, owner);
}

void nbcolli_raise(nbcoll_comm *comm, uint64_t tag, uint64_t count)
{
    for (int owner = 0; owner < comm->size; owner++)
        nbcolli_raise_to(comm, owner, tag, count);
}

/* Of those that `exposed` names. */
static int nbcolli_first_counted(const nbcoll_comm *comm, const nbcolli_slot *slot, uint64_t none, size_t word)
{
    const uint16_t *exposed = slot->shown_to - comm->rank;

    for (int reader = 0; reader < comm->size; reader++)
        if (exposed[reader] &&
            atomic_load((_Atomic uint64_t *)(void *)(comm->area[reader] + word)) < none + exposed[reader] &&
            !nbcolli_reads_no_more(comm, reader))
            return reader;
    return -1;
}

int nbcolli_first_reading(const nbcoll_comm *comm, const nbcolli_slot *slot, uint64_t tag)
{
    int shown_to = *slot->shown_to, only = shown_to == NBCOLLI_SHOWN_ALL ? -1 : shown_to - 1;
    uint64_t none = nbcolli_word_of(comm, tag, 0);
    size_t word = slot->row + (size_t)comm->rank * sizeof(uint64_t); /* as far into each part */

    if (!shown_to)
        return nbcolli_first_counted(comm, slot, none, word);
    for (int reader = only < 0 ? 0 : only, end = only < 0 ? comm->size : only + 1; reader < end; reader++)
        if (atomic_load((_Atomic uint64_t *)(void *)(comm->area[reader] + word)) <= none && reader != comm->rank &&
            !nbcolli_reads_no_more(comm, reader))
            return reader;
    return -1;
}

/* From now on `exposed` has the readers of the slot's cells. */
static void nbcolli_count_readers(const nbcoll_comm *comm, const nbcolli_slot *slot)
{
    uint16_t shown_to = *slot->shown_to, *exposed = slot->shown_to - comm->rank;

    if (!shown_to)
        return;
    for (int reader = 0; reader < comm->size; reader++)
        exposed[reader] = reader != comm->rank && (shown_to == NBCOLLI_SHOWN_ALL || shown_to == reader + 1);
}

int nbcolli_may_reuse(nbcoll_comm *comm, uint64_t tag, uint64_t *before, int *reader)
{
    nbcolli_slot *slot = nbcolli_slot_of(comm, tag);

    if (slot->exposed == tag + 1) {
        nbcolli_count_readers(comm, slot);
        return 1;
    }
    if (slot->exposed) {
        *before = slot->exposed - 1;
        *reader = nbcolli_first_reading(comm, slot, *before);
        if (*reader >= 0)
            return 0;
    }
    memset(slot->shown_to - comm->rank, 0, (size_t)comm->size * sizeof(uint16_t));
    slot->exposed = tag + 1;
    return 1;
}

/* ---- owners ------------------------------------------------------------------------------------------------------ */

size_t nbcolli_copy_at(const nbcoll_step_view *v, uint32_t i, size_t *end)
{
    const nbcoll_region *r = &v->parts[i].region;
    size_t bytes = nbcolli_lines(r->bytes);

    if (i && nbcolli_is_region(r, &v->parts[i - 1].region))
        return *end - bytes; /* the same for several readers */
    size_t at = *end;
    *end = bytes <= SIZE_MAX / 2 - at ? at + bytes : SIZE_MAX / 2;
    return at;
}

uint32_t nbcolli_copy_group(const nbcoll_step_view *v, uint32_t i)
{
    uint32_t end = i + 1;

    while (end < v->part_count && nbcolli_is_region(&v->parts[end].region, &v->parts[i].region))
        end++;
    return end;
}

void nbcolli_copy_in(const nbcolli_op *op, uint32_t i, uint32_t end, size_t to, size_t from, size_t bytes)
{
    const nbcolli_run *run = op->run;
    const nbcolli_link *link = run->comm->link->first;
    const nbcoll_part *part = &run->schedule->step[op->step].parts[i];
    const unsigned char *memory = nbcolli_resolve(run, part->region).at;

    if (link->shared.copy_in)
        link->shared.copy_in(link->endpoint, end == i + 1 ? run->comm->peer[part->peer].address : -1, op->copy + to,
                             memory + from, bytes);
    else
        memcpy(op->copy + to, memory + from, bytes);
}

uint32_t nbcolli_inline_cells(const nbcolli_run *run, const nbcoll_step_view *v, uint64_t *readers)
{
    const nbcoll_schedule *s = run->schedule;

    *readers = nbcolli_alike(v, s->rank, s->ranks);
    return *readers ? 1 : nbcolli_spreads(run->comm, s) ? nbcolli_spread(v, s->rank, s->ranks) : 0;
}

void nbcolli_cell_spread(const nbcolli_run *run, nbcolli_cell *cell, const nbcoll_step_view *v)
{
    size_t bytes = v->parts->region.bytes;

    for (const nbcoll_part *p = v->parts; bytes && p < v->parts + v->part_count; p++)
        nbcolli_small_copy((unsigned char *)cell + nbcolli_spread_at(run->comm->rank, p->peer, bytes),
                           run->base[p->region.at.buffer] + p->region.at.offset, bytes);
}

/* With entries of the table. */
static nbcoll_status nbcolli_write_parts(nbcolli_op *op, nbcolli_cell *cell)
{
    nbcolli_run *run = op->run;
    nbcoll_comm *comm = run->comm;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    nbcolli_cell_part *part = nbcolli_table(comm, run->slot, comm->rank) + run->parts;
    nbcolli_cell_reader *reader = nbcolli_readers(comm, run->slot, comm->rank) + run->parts;
    int is_led = comm->leader >= 0;
    uint32_t entries = is_led ? 1 : v->part_count;
    size_t end = 0;

    for (uint32_t i = 0; i < entries; i++) {
        const nbcolli_peer *peer = &comm->peer[v->parts[i].peer];
        size_t bytes = nbcolli_part_bytes(v, i);
        void *memory = nbcolli_resolve(run, v->parts[i].region).at;
        reader[i] = is_led ? NBCOLLI_EVERY_READER : (nbcolli_cell_reader)v->parts[i].peer;
        part[i] = (nbcolli_cell_part){(uint64_t)bytes << (64 - NBCOLLI_CELL_BYTES) | v->parts[i].number, {0}};
        if (!bytes)
            continue; /* perhaps without memory, too */
        if (bytes >> NBCOLLI_CELL_BYTES)
            return NBCOLL_ERR_LIMIT;
        nbcoll_registration lent;
        if (op->stream) { /* the place of all */
            memory = op->copy;
            bytes = op->stream[v->part_count - 1].at + op->window;
        } else if (op->copy)
            memory = op->copy + nbcolli_copy_at(v, i, &end);
        nbcoll_status s = peer->link->transport.bulk->register_memory(peer->link->endpoint, peer->address, memory,
                                                                      bytes, NBCOLL_PEER_READS, &lent);
        if (s != NBCOLL_OK)
            return s;
        memcpy(part[i].key, &lent.key, sizeof part[i].key); /* such keys need no deregistration */
        op->keys = op->copy ? 0 : i + 1;
    }
    cell->mark = nbcolli_run_stamp(run);
    cell->kind = op->stream ? NBCOLLI_STREAMED : op->copy ? NBCOLLI_STAGED : NBCOLLI_REFERRED;
    cell->first = run->parts;
    cell->parts = entries;
    run->parts += entries;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_cell_write(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    nbcoll_comm *comm = run->comm;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    nbcolli_cell *cell = nbcolli_cell_at(comm, run->slot, comm->rank, run->cells);
    uint64_t readers;
    uint32_t cells = nbcolli_inline_cells(run, v, &readers);

    if (cells) {
        nbcoll_memory first = nbcolli_resolve(run, v->parts->region);
        nbcolli_cell_inline(run, cell, v, readers, first.at, (uint32_t)first.bytes);
    } else {
        nbcoll_status s = nbcolli_write_parts(op, cell);
        if (s != NBCOLL_OK)
            return s;
    }
    cell->piece = v->grows ? v->piece : 0;
    atomic_store_explicit(&cell->ready, 1, memory_order_relaxed); /* shown by the stamp */
    op->cell = run->cells;
    run->cells += cells ? cells : 1;
    return NBCOLL_OK;
}

void nbcolli_cell_promise(const nbcolli_run *run, const nbcoll_step_view *v)
{
    uint16_t *exposed = run->slot->shown_to - run->comm->rank;

    for (const nbcoll_part *p = v->parts; p < v->parts + v->part_count; p++)
        if (exposed[p->peer] <= p->number)
            exposed[p->peer] = (uint16_t)(p->number + 1);
}

void nbcolli_cell_show(nbcolli_op *op, uint32_t cell, uint64_t piece)
{
    nbcolli_run *run = op->run;
    nbcoll_comm *comm = run->comm;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    nbcolli_cell *at = nbcolli_cell_at(comm, run->slot, comm->rank, cell);

    nbcolli_cell_promise(run, v); /* before it is shown: readers may acknowledge it at once */
    if (piece)
        atomic_store(&at->ready, piece + 1);
    else
        atomic_store(&at->stamp, run->tag + 1);
    for (uint32_t i = 0; i < v->part_count; i++)
        nbcolli_shared_wake(comm, v->parts[i].peer);
}

void nbcolli_cells_failed(nbcolli_run *run)
{
    nbcoll_comm *comm = run->comm;
    int shows = run->slot->exposed == run->tag + 1;

    if (shows)
        nbcolli_count_readers(comm, run->slot);
    for (nbcoll_step i = NBCOLL_END + 1; shows && i < run->schedule->steps; i++)
        if (run->schedule->step[i].kind == NBCOLL_EXPOSE)
            nbcolli_cell_promise(run, &run->schedule->step[i]);
    nbcolli_raise(comm, run->tag, NBCOLLI_ALL_FETCHED);
}

int nbcolli_exposure_is_held(const nbcolli_op *op, int *reader)
{
    const nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];

    for (uint32_t i = 0; i < v->part_count; i++) {
        *reader = v->parts[i].peer;
        /* It has left, or freed the communicator: it reads nothing more. seq_cst: the sleeper's second look */
        int excused = run->status != NBCOLL_OK &&
                      (nbcolli_has_departed(run->comm, *reader) ||
                       atomic_load(nbcolli_area_departed(run->comm, run->comm->rank, *reader)));
        if (!excused && !nbcolli_has_fetched(run, &v->parts[i]))
            return 1;
        uint64_t word = atomic_load(nbcolli_word(run->comm, run->slot, *reader, run->comm->rank));
        if (run->status == NBCOLL_OK && word == run->none + NBCOLLI_ALL_FETCHED) /* that reader has failed */
            return 1;
    }
    return 0;
}

/* ---- readers ----------------------------------------------------------------------------------------------------- */

nbcoll_status nbcolli_look(nbcolli_op *op, size_t bytes, nbcolli_found *found)
{
    nbcolli_run *run = op->run;
    nbcoll_comm *comm = run->comm;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    nbcolli_cell *cells = nbcolli_cell_at(comm, run->slot, v->peer, 0);
    uint32_t ranks = (uint32_t)comm->size, most = nbcolli_table_parts(ranks);

    for (; op->cell < comm->config.cells; op->cell++) {
        nbcolli_cell *cell = &cells[op->cell];
        if (atomic_load(&cell->stamp) != run->tag + 1)
            return NBCOLL_PENDING;
        uint32_t first = cell->first, parts = cell->parts, kind = cell->kind;
        uint64_t grows = cell->piece;
        if (cell->mark != nbcolli_run_stamp(run))
            return NBCOLL_ERR_MISMATCH;
        if (kind == NBCOLLI_INLINED) {
            uint64_t readers = cell->readers;
            uint32_t more = readers ? 0 : (ranks - 2) >> nbcolli_spread_shift(parts);
            if (parts > NBCOLLI_CELL_INLINE || more >= comm->config.cells - op->cell)
                return NBCOLL_ERR_MISMATCH;
            found->payload = readers ? cell->payload
                                     : (unsigned char *)cell + nbcolli_spread_at(v->peer, comm->rank, parts);
            if (first == v->number && (!readers || readers & comm->reader_bit))
                return bytes == parts ? NBCOLL_OK : NBCOLL_ERR_MISMATCH;
            op->cell += more;
            continue;
        }
        if (first > most || parts > most - first)
            return NBCOLL_ERR_MISMATCH;
        const nbcolli_cell_reader *reader = nbcolli_readers(comm, run->slot, v->peer);
        for (uint32_t i = first; i < first + parts; i++) {
            nbcolli_cell_reader whose = reader[i];
            if (whose != comm->rank && whose != NBCOLLI_EVERY_READER)
                continue;
            nbcolli_cell_part part = nbcolli_table(comm, run->slot, v->peer)[i];
            uint64_t all = part.extent >> (64 - NBCOLLI_CELL_BYTES), number = part.extent & NBCOLLI_ALL_FETCHED;
            uint64_t n = v->number - number, piece = grows ? grows : all, offset = n * piece;
            if (v->number < number || (n && offset >= all))
                continue;
            if (atomic_load(&cell->ready) <= n)
                return NBCOLL_PENDING;
            if (bytes != (all - offset < piece ? all - offset : piece))
                return NBCOLL_ERR_MISMATCH;
            found->payload = NULL;
            found->kind = bytes ? (nbcolli_cell_kind)kind : NBCOLLI_INLINED; /* an empty part lies nowhere */
            offset = kind == NBCOLLI_STREAMED ? (i - first) * sizeof(nbcolli_stream) : offset;
            found->place = (nbcolli_remote){offset, {{part.key[0], part.key[1]}}};
            return NBCOLL_OK;
        }
    }
    return NBCOLL_ERR_MISMATCH;
}
