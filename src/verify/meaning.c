/* SPDX-License-Identifier: BSD-3-Clause
 * What the operations of this library mean, plain and in place. Wherever blocks come from, an input is the whole send
 * side of a rank: from its beginning where it has blocks for all. */
#include "case.h"

#include "nbcoll/pattern.h"
#include "../reduce/packed.h"

/* The case was checked before. */
static nbcoll_case nbcolli_meaning_case(const nbcoll_meaning *m)
{
    nbcoll_case c = {0};
    nbcolli_copy_tagged(&c, m->user, sizeof c);
    return c;
}

static nbcoll_region nbcolli_meaning_input(const nbcoll_meaning *m, int rank)
{
    nbcoll_case c = nbcolli_meaning_case(m);
    if (c.operation != NBCOLL_OPERATION_BCAST)
        return nbcolli_case_blocks(&c, rank);
    nbcoll_region buffer = nbcolli_case_block(&c, rank, 1, rank);
    return nbcoll_span(buffer.at, rank == c.root ? buffer.bytes : 0);
}

static nbcoll_region nbcolli_meaning_block(const nbcoll_meaning *m, int rank, int is_recv, int index)
{
    nbcoll_case c = nbcolli_meaning_case(m);
    return nbcolli_case_block(&c, rank, is_recv, index);
}

static size_t nbcolli_meaning_travels(const nbcoll_meaning *m, int rank, int is_recv, int index)
{
    nbcoll_case c = nbcolli_meaning_case(m);
    size_t bytes = nbcolli_case_block(&c, rank, is_recv, index).bytes;
    return nbcoll_elements(bytes, nbcoll_type_size(c.reduction.type)) * nbcolli_packed_size(c.reduction.type);
}

/* Whose inputs the i-th block that this rank receives is made of. */
static void nbcolli_meaning_sources(const nbcoll_case *c, int rank, int i, nbcoll_claim *out)
{
    if (nbcolli_kind_of(c->operation)->reduces) {
        out->first = 0;
        out->last = c->operation == NBCOLL_OPERATION_SCAN     ? rank
                    : c->operation == NBCOLL_OPERATION_EXSCAN ? rank - 1
                                                              : c->ranks - 1;
    } else
        out->first = out->last = nbcolli_case_part(c, rank, 1) == NBCOLLI_ALL ? i : c->root;
}

static int nbcolli_meaning_claim(const nbcoll_meaning *m, int rank, size_t i, nbcoll_claim *out)
{
    nbcoll_case c = nbcolli_meaning_case(m);
    nbcolli_part receives = nbcolli_case_part(&c, rank, 1);
    size_t claims = receives == NBCOLLI_ALL ? (size_t)c.ranks : receives == NBCOLLI_ONE;
    if (i >= claims)
        return 0;
    nbcoll_region to = nbcolli_case_block(&c, rank, 1, (int)i);
    if (to.at.buffer != NBCOLL_BUFFER_RECV) /* in place in a scatter: the block stays in the send buffer */
        return 0;
    out->offset = to.at.offset;
    out->bytes = to.bytes;
    out->how = c.reduction;
    nbcolli_meaning_sources(&c, rank, (int)i, out);
    if (nbcolli_case_part(&c, out->first, 0) == NBCOLLI_ALL)
        out->from = nbcolli_case_block(&c, out->first, 0, rank).at.offset;
    if (nbcolli_packs(c.reduction.type))
        out->first = out->last + 1;
    return 1;
}

/* Integers are combined without rounding: in any order to the same bits. */
static int nbcolli_meaning_is_exact(nbcoll_reduction how)
{
#define NBCOLLI_MEANING_CLASS(name, ctype, class) NBCOLLI_MEANING_##class,
    enum { NBCOLLI_MEANING_SIGNED, NBCOLLI_MEANING_UNSIGNED, NBCOLLI_MEANING_LOGICAL, NBCOLLI_MEANING_BYTES,
           NBCOLLI_MEANING_FLOATING, NBCOLLI_MEANING_NARROW, NBCOLLI_MEANING_COMPLEX, NBCOLLI_MEANING_PAIR };
    static const uint8_t classes[] = {NBCOLL_TYPE_LIST(NBCOLLI_MEANING_CLASS)};
    return how.type < NBCOLL_TYPE_COUNT && how.op < NBCOLL_OP_COUNT && classes[how.type] <= NBCOLLI_MEANING_BYTES;
}

nbcoll_status nbcoll_meaning_of(const nbcoll_case *c, uint32_t flags, nbcoll_meaning *out)
{
    nbcoll_case taken;
    if (!c || !out)
        return NBCOLL_ERR_NULL;
    if (out->size < sizeof out->size)
        return NBCOLL_ERR_CONFIG;
    nbcoll_status status = nbcolli_case_take(c, &taken);
    if (status != NBCOLL_OK)
        return status;
    nbcoll_meaning m = {.size = out->size,
                        .user = c,
                        .ranks = taken.ranks,
                        .any_order = (flags & NBCOLL_ALGORITHM_REORDERS) != 0,
                        .same_bits = taken.operation == NBCOLL_OPERATION_ALLREDUCE &&
                                     !(flags & NBCOLL_ALGORITHM_DIFFERS) && !nbcolli_meaning_is_exact(taken.reduction),
                        .is_barrier = taken.operation == NBCOLL_OPERATION_BARRIER,
                        .input = nbcolli_meaning_input,
                        .claim = nbcolli_meaning_claim,
                        .block = nbcolli_meaning_block,
                        .same_tree = (flags & NBCOLL_ALGORITHM_REPRODUCIBLE) != 0,
                        .travels = nbcolli_meaning_travels};
    memcpy(out, &m, out->size < sizeof m ? out->size : sizeof m);
    return NBCOLL_OK;
}
