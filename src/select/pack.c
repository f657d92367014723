/* SPDX-License-Identifier: BSD-3-Clause
 * Any algorithm for types that pack: what this rank contributes is packed into scratch memory, the algorithm moves and
 * combines packed elements there, and what arrived is unpacked. Of bound blocks the run knows place, length, type. */
#include <string.h>

#include "../reduce/packed.h"
#include "select.h"

static const nbcoll_host_type *nbcolli_pack_type(void *user, const nbcoll_memory memory[])
{
    const nbcoll_host_type *type = user ? user : nbcolli_host_type(memory[0].type);
    return type && type->packed ? type : NULL;
}

size_t nbcolli_pack_unit(nbcoll_host_call *call, void *user, const nbcoll_memory memory[])
{
    if (call != nbcolli_pack_call && call != nbcolli_unpack_call)
        return 0;
    const nbcoll_host_type *t = nbcolli_pack_type(user, memory);
    return !t ? 1 : nbcolli_has_units(t) ? nbcoll_type_size(t->of) : t->packed;
}

nbcoll_status nbcolli_pack_piece(void *user, const nbcoll_memory memory[], int unpacks, size_t place, size_t bytes)
{
    const nbcoll_host_type *t = nbcolli_pack_type(user, memory);
    char *loose = memory[unpacks].at, *tight = (char *)memory[!unpacks].at + place;
    size_t unit = nbcolli_pack_unit(nbcolli_pack_call, user, memory), first = place / unit, count = bytes / unit;

    if (!bytes)
        return NBCOLL_OK;
    if (t && nbcolli_has_units(t))
        return unpacks ? t->unpack_units(t->user, tight, loose, first, count)
                       : t->pack_units(t->user, loose, tight, first, count);
    loose += first * (t ? t->extent : 1);
    if (t)
        return unpacks ? t->unpack(t->user, tight, loose, count) : t->pack(t->user, loose, tight, count);
    memcpy(unpacks ? loose : tight, unpacks ? tight : loose, bytes);
    return NBCOLL_OK;
}

nbcoll_status nbcolli_pack_call(void *user, const nbcoll_memory memory[])
{
    return nbcolli_pack_piece(user, memory, 0, 0, memory[1].bytes);
}

nbcoll_status nbcolli_unpack_call(void *user, const nbcoll_memory memory[])
{
    return nbcolli_pack_piece(user, memory, 1, 0, memory[0].bytes);
}

static nbcoll_step nbcolli_pack_step(nbcoll_builder *b, const nbcoll_host_type *type, nbcoll_region loose,
                                     nbcoll_region tight, int unpacks)
{
    return nbcoll_add_call(b, unpacks ? nbcolli_unpack_call : nbcolli_pack_call, (void *)(uintptr_t)type, 1,
                           unpacks ? &tight : &loose, 1, unpacks ? &loose : &tight);
}

/* `count` elements between a buffer of the caller's, from element `first` on, and packed ones. */
static nbcoll_step nbcolli_pack_part(nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr buffer, size_t first,
                                     size_t count, nbcoll_addr packed, int unpacks)
{
    const nbcoll_host_type *type = nbcolli_host_type(a->reduction.type);
    nbcoll_region loose = nbcoll_span(nbcoll_at(buffer, first * type->extent), count * type->extent);
    return nbcolli_pack_step(b, type, loose, nbcoll_span(packed, count * type->packed), unpacks);
}

/* The elements of `part`, packed ones all together. */
static size_t nbcolli_pack_elements(const nbcoll_builder *b, const nbcoll_args *a, nbcolli_part part)
{
    if (part == NBCOLLI_ALL)
        return a->counts ? a->count : a->count * (size_t)b->ranks;
    return part == NBCOLLI_NONE ? 0 : nbcolli_block_count(a, b->rank);
}

/* The whole of `part` of a buffer, each step after `after`. */
static void nbcolli_pack_buffer(nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr buffer, size_t first,
                                nbcolli_part part, nbcoll_addr packed, nbcoll_step after, int unpacks)
{
    if (part != NBCOLLI_ALL || !a->displs) {
        nbcoll_after(b, nbcolli_pack_part(b, a, buffer, first, nbcolli_pack_elements(b, a, part), packed, unpacks),
                     after);
        return;
    }
    for (int i = 0; i < b->ranks; i++) {
        size_t count = nbcolli_block_count(a, i);
        nbcoll_after(b, nbcolli_pack_part(b, a, buffer, nbcolli_block_place(a, i), count, packed, unpacks), after);
        packed = nbcoll_at(packed, count * a->element);
    }
}

/* Has `algorithm` build behind all that was added; the step that waits for all that it adds. */
static nbcoll_step nbcolli_pack_around(nbcoll_builder *b, const nbcoll_algorithm *algorithm, const nbcoll_args *inner)
{
    nbcoll_end_stage(b, NBCOLL_DEPENDENT);
    nbcoll_step first = nbcoll_add_join(b);
    algorithm->build(b, inner);
    nbcoll_step done = nbcoll_add_join(b); /* also of stages on which nothing else waits */
    for (nbcoll_step step = first; step < done; step++)
        nbcoll_after(b, done, step);
    return done;
}

/* The bound blocks of one side; not the one that stays where it is at a root in place. */
static void nbcolli_pack_blocks(nbcoll_builder *b, const nbcoll_args *a, int is_recv, nbcoll_step after)
{
    int stays = a->in_place && nbcolli_kind_of(a->operation)->has_root;
    nbcolli_part part = nbcolli_part_of(a, b->rank, is_recv);
    nbcoll_region loose = {{is_recv ? NBCOLL_BUFFER_RECV_BLOCK : NBCOLL_BUFFER_SEND_BLOCK, 0}, 0};
    nbcoll_region tight = {{is_recv ? NBCOLL_BUFFER_RECV_PACKED : NBCOLL_BUFFER_SEND_PACKED, 0}, 0};

    if (part == NBCOLLI_NONE || (part == NBCOLLI_ONE && stays))
        return;
    for (int i = 0; i < (part == NBCOLLI_ONE ? 1 : b->ranks); i++) {
        loose.at.offset = tight.at.offset = (size_t)i;
        if (stays && i == b->rank)
            continue;
        nbcoll_after(b, nbcolli_pack_step(b, NULL, loose, tight, is_recv), after);
    }
}

static void nbcolli_pack_bound(nbcoll_builder *b, const nbcoll_algorithm *algorithm, const nbcoll_args *a)
{
    nbcoll_args inner = *a;

    inner.in_place = a->in_place && nbcolli_kind_of(a->operation)->has_root;
    inner.send.buffer = NBCOLL_BUFFER_SEND_PACKED;
    inner.recv.buffer = NBCOLL_BUFFER_RECV_PACKED;
    nbcolli_pack_blocks(b, a, 0, NBCOLL_START);
    nbcolli_pack_blocks(b, a, 1, nbcolli_pack_around(b, algorithm, &inner));
}

static void nbcolli_pack_known(nbcoll_builder *b, const nbcoll_algorithm *algorithm, const nbcoll_args *a)
{
    nbcoll_addr send = {a->in_place ? NBCOLL_BUFFER_RECV : NBCOLL_BUFFER_SEND, 0}, recv = {NBCOLL_BUFFER_RECV, 0};
    nbcolli_part sends = nbcolli_part_of(a, b->rank, 0), receives = nbcolli_part_of(a, b->rank, 1);
    int is_scatter = sends == NBCOLLI_ALL && receives == NBCOLLI_ONE && !nbcolli_kind_of(a->operation)->reduces;
    int gathers = sends == NBCOLLI_ONE && receives == NBCOLLI_ALL, keeps = 0;
    nbcoll_args inner = *a;

    inner.in_place = 0;
    inner.displs = NULL;
    inner.send = nbcoll_add_scratch(b, nbcolli_pack_elements(b, a, sends) * a->element);
    inner.recv = nbcoll_add_scratch(b, nbcolli_pack_elements(b, a, receives) * a->element);
    if (a->operation == NBCOLL_OPERATION_BCAST) {
        keeps = b->rank == a->root;
        if (keeps)
            nbcolli_pack_buffer(b, a, recv, 0, NBCOLLI_ONE, inner.recv, NBCOLL_START, 0);
    } else if (a->in_place && is_scatter) { /* its own block stays where it is */
        send.buffer = NBCOLL_BUFFER_SEND;
        keeps = 1;
    }
    if (sends != NBCOLLI_NONE)
        nbcolli_pack_buffer(b, a, send, a->in_place && gathers ? nbcolli_block_place(a, b->rank) : 0, sends, inner.send,
                            NBCOLL_START, 0);
    nbcoll_step done = nbcolli_pack_around(b, algorithm, &inner);
    if (receives != NBCOLLI_NONE && !keeps)
        nbcolli_pack_buffer(b, a, recv, 0, receives, inner.recv, done, 1);
}

void nbcolli_build_packed(nbcoll_builder *b, const nbcoll_algorithm *algorithm, const nbcoll_args *a)
{
    (a->send.buffer == NBCOLL_BUFFER_SEND_BLOCK ? nbcolli_pack_bound : nbcolli_pack_known)(b, algorithm, a);
}
