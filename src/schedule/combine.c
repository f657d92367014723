/* SPDX-License-Identifier: BSD-3-Clause
 * The calls that add steps which combine. Only these bring the kernels into a program: see reduce/reduce.h. */
#include "../reduce/packed.h"
#include "builder.h"
#include "require.h"

/* Are these elements that a step can combine, *bytes of them? */
static int nbcolli_builder_elements(nbcolli_builder *b, size_t count, nbcoll_reduction how, size_t *bytes)
{
    size_t size = nbcolli_packed_size(how.type);
    b->reducers = nbcolli_reducers;
    return NBCOLLI_BUILDER_REQUIRE(b, nbcolli_is_type(how.type), NBCOLL_ERR_TYPE, "unknown data type %zu",
                                   (size_t)how.type) &&
           NBCOLLI_BUILDER_REQUIRE(b, nbcolli_combines(how.op, how.type), NBCOLL_ERR_OP,
                                   "%s (%zu) is no reduction of %s", nbcoll_op_name(how.op), (size_t)how.op,
                                   nbcoll_type_name(how.type)) &&
           NBCOLLI_BUILDER_REQUIRE(b, !__builtin_mul_overflow(count, size, bytes), NBCOLL_ERR_COUNT,
                                   "%zu elements of %zu bytes overflow", count, size);
}

/* A receive into scratch memory, which nothing holds back, and a REDUCE after it. The peer is one of the group. */
static nbcoll_step nbcolli_builder_lower_fetch_reduce(nbcolli_builder *b, const nbcoll_step_view *fetch)
{
    size_t bytes = fetch->write.bytes;
    nbcoll_region arrived = nbcoll_span(nbcolli_builder_take_scratch(b, bytes), bytes);
    nbcoll_step_view reduce = *fetch;
    reduce.kind = NBCOLL_REDUCE;
    reduce.peer = -1;
    reduce.side = NBCOLL_LEFT;
    reduce.read[fetch->side] = arrived;
    nbcoll_step receive = nbcolli_builder_add_recv(b, fetch->peer, arrived);
    nbcoll_step step = nbcolli_builder_add(b, &reduce);
    if (b->status != NBCOLL_OK)
        return NBCOLL_START;
    nbcolli_builder_edge(b, step, receive);
    nbcolli_drafts(b)[receive].is_lowered = 1;
    nbcolli_drafts(b)[step].members = 1;
    return step;
}

nbcoll_step nbcoll_add_fetch_reduce(nbcoll_builder *builder, int peer, nbcoll_addr acc, nbcoll_side side, size_t count,
                                    nbcoll_reduction how)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_add_fetch_reduce");
    size_t bytes;
    if (!b || !nbcolli_builder_peer(b, peer) || !nbcolli_builder_elements(b, count, how, &bytes) ||
        !nbcolli_builder_region(b, nbcoll_span(acc, bytes), 1) ||
        !NBCOLLI_BUILDER_REQUIRE(b, side == NBCOLL_LEFT || side == NBCOLL_RIGHT, NBCOLL_ERR_ARGUMENT,
                                 "there is no side %d", (int)side))
        return NBCOLL_START;
    nbcoll_step_view view = {
        .kind = NBCOLL_FETCH_REDUCE, .peer = peer, .write = nbcoll_span(acc, bytes), .side = side, .reduction = how};
    view.read[side ^ 1] = view.write;
    if (!nbcolli_builder_shares(b, peer))
        return nbcolli_builder_lower_fetch_reduce(b, &view);
    view.peer = nbcolli_builder_member(b, peer);
    return nbcolli_builder_add(b, &view);
}

/* May a REDUCE write `result` while it reads `operand`? Element by element: yes, if they are the same or apart. */
static int nbcolli_builder_may_read(nbcoll_region result, nbcoll_region operand)
{
    return result.at.offset == operand.at.offset || !nbcolli_builder_overlap(result, operand);
}

nbcoll_step nbcoll_add_combine(nbcoll_builder *builder, nbcoll_addr result, nbcoll_addr left, nbcoll_addr right,
                               size_t count, nbcoll_reduction how)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_add_combine");
    size_t bytes;
    if (!b || !nbcolli_builder_elements(b, count, how, &bytes))
        return NBCOLL_START;
    nbcoll_step_view view = {.kind = NBCOLL_REDUCE,
                             .peer = -1,
                             .write = nbcoll_span(result, bytes),
                             .read = {nbcoll_span(left, bytes), nbcoll_span(right, bytes)},
                             .reduction = how};
    if (!nbcolli_builder_region(b, view.write, 1) || !nbcolli_builder_region(b, view.read[0], 0) ||
        !nbcolli_builder_region(b, view.read[1], 0) ||
        !NBCOLLI_BUILDER_REQUIRE(
            b, nbcolli_builder_may_read(view.write, view.read[0]) && nbcolli_builder_may_read(view.write, view.read[1]),
            NBCOLL_ERR_ARGUMENT, "an operand overlaps the result without being it"))
        return NBCOLL_START;
    return nbcolli_builder_add(b, &view);
}
