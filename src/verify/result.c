/* SPDX-License-Identifier: BSD-3-Clause
 * Compares what receive buffers hold in the end with what the meaning claims. */
#include "proof.h"

#include "../reduce/packed.h"
#include "nbcoll/pattern.h"

typedef struct nbcolli_result_check {
    nbcolli_proof *p;
    int rank;
    nbcoll_claim claim;
    nbcolli_map held;   /* the claimed bytes */
    nbcolli_map agreed; /* by offset in the inputs: the bracketing that the ranks before have; for same_bits */
    nbcolli_map other;
    uint8_t *times; /* [ranks]: how often a reduction contains this input */
} nbcolli_result_check;

static nbcoll_place nbcolli_result_place(const nbcolli_result_check *c, const nbcolli_piece *piece)
{
    nbcoll_addr at = {NBCOLL_BUFFER_RECV, c->claim.offset + piece->begin};
    return nbcolli_place(c->rank, NBCOLL_END, nbcoll_span(at, piece->end - piece->begin));
}

/* An input stands at the start of its rank. */
static nbcoll_place nbcolli_result_input(const nbcolli_result_check *c, int rank, const nbcolli_piece *piece)
{
    nbcoll_place place = c->p->values.value[1 + rank].maker;
    place.bytes = nbcoll_span(nbcoll_at(place.bytes.at, piece->from), piece->end - piece->begin);
    return place;
}

static nbcoll_status nbcolli_result_refute(const nbcolli_result_check *c, nbcoll_flaw flaw, const nbcolli_piece *piece,
                                           const nbcoll_place *about)
{
    nbcoll_place places[] = {nbcolli_result_place(c, piece), about ? *about : nbcolli_result_place(c, piece)};
    return nbcolli_refute(c->p, flaw, about ? 2 : 1, places);
}

static nbcoll_status nbcolli_result_refute_input(const nbcolli_result_check *c, nbcoll_flaw flaw,
                                                 const nbcolli_piece *piece, int rank)
{
    nbcoll_place about = nbcolli_result_input(c, rank, piece);
    return nbcolli_result_refute(c, flaw, piece, &about);
}

static nbcoll_status nbcolli_result_wrong(const nbcolli_result_check *c, const nbcolli_piece *piece)
{
    const nbcolli_value *v = &c->p->values.value[piece->value];
    nbcoll_place about = v->left || !v->groups ? v->maker : nbcolli_result_input(c, v->group[0].first, piece);
    return nbcolli_result_refute(c, NBCOLL_FLAW_WRONG, piece, &about);
}

/* Exactly the inputs first..last, each once, in order? */
static nbcoll_status nbcolli_result_check_inputs(const nbcolli_result_check *c, const nbcolli_piece *piece)
{
    const nbcolli_value *v = &c->p->values.value[piece->value];
    int first = c->claim.first, last = c->claim.last, missing = -1, twice = -1;
    memset(c->times, 0, (size_t)c->p->ranks);
    for (uint32_t i = 0; i < v->groups; i++) {
        if (v->group[i].first < first || v->group[i].last > last)
            return nbcolli_result_wrong(c, piece);
        for (int rank = v->group[i].first; rank <= v->group[i].last; rank++)
            if (c->times[rank] < 2)
                c->times[rank]++;
    }
    for (int rank = last; rank >= first; rank--) {
        missing = c->times[rank] == 0 ? rank : missing;
        twice = c->times[rank] == 2 ? rank : twice;
    }
    if (missing >= 0)
        return nbcolli_result_refute_input(c, NBCOLL_FLAW_MISSING, piece, missing);
    if (twice >= 0)
        return nbcolli_result_refute_input(c, NBCOLL_FLAW_TWICE, piece, twice);
    if (v->groups > 1 && !c->p->meaning.any_order)
        return nbcolli_result_refute(c, NBCOLL_FLAW_ORDER, piece, NULL);
    return NBCOLL_OK;
}

/* Have the ranks before made these elements in the same way? */
static nbcoll_status nbcolli_result_check_bits(nbcolli_result_check *c, const nbcolli_piece *piece)
{
    nbcolli_proof *p = c->p;
    size_t bytes = piece->end - piece->begin;
    nbcoll_status status = nbcolli_map_cut(p, &c->agreed, piece->from, bytes, &c->other);
    for (size_t i = 0; i < c->other.used && status == NBCOLL_OK; i++) {
        if (c->other.pieces[i].value == piece->value)
            continue;
        nbcoll_place places[] = {nbcolli_result_place(c, piece), p->values.value[piece->value].maker,
                                 p->values.value[c->other.pieces[i].value].maker};
        return nbcolli_refute(p, NBCOLL_FLAW_BITS, 3, places);
    }
    c->other.used = 0;
    if (status == NBCOLL_OK)
        status = nbcolli_map_push(p, &c->other, (nbcolli_piece){0, bytes, piece->from, piece->value});
    return status == NBCOLL_OK ? nbcolli_map_put(p, &c->agreed, piece->from, bytes, &c->other) : status;
}

/* What the tree of reproducible reductions makes of the inputs of ranks first..first + ranks - 1. */
static nbcoll_status nbcolli_result_tree(nbcolli_result_check *c, nbcoll_place maker, int first, int ranks,
                                         uint32_t *out)
{
    uint32_t left = 0, right = 0;
    if (ranks == 1) {
        *out = 1 + (uint32_t)first;
        return NBCOLL_OK;
    }
    int low = nbcoll_power(ranks - 1);
    nbcoll_status status = nbcolli_result_tree(c, maker, first, low, &left);
    if (status == NBCOLL_OK)
        status = nbcolli_result_tree(c, maker, first + low, ranks - low, &right);
    if (status != NBCOLL_OK)
        return status;
    size_t size = nbcolli_packed_size(c->claim.how.type);
    return nbcolli_value_reduce(c->p, maker, c->claim.how, (uint32_t)(c->claim.from % size), left, right, out);
}

static nbcoll_status nbcolli_result_check_tree(nbcolli_result_check *c, const nbcolli_piece *piece)
{
    uint32_t tree = 0;
    nbcoll_status status = nbcolli_result_tree(c, nbcolli_result_place(c, piece), c->claim.first,
                                               c->claim.last - c->claim.first + 1, &tree);
    if (status != NBCOLL_OK || tree == piece->value)
        return status;
    return nbcolli_result_refute(c, NBCOLL_FLAW_TREE, piece, &c->p->values.value[piece->value].maker);
}

static nbcoll_status nbcolli_result_check_piece(nbcolli_result_check *c, const nbcolli_piece *piece)
{
    const nbcoll_claim *claim = &c->claim;
    const nbcolli_value *v = &c->p->values.value[piece->value];
    if (!v->groups || piece->from != claim->from + piece->begin)
        return nbcolli_result_wrong(c, piece);
    if (claim->first == claim->last)
        return piece->value == 1 + (uint32_t)claim->first ? NBCOLL_OK : nbcolli_result_wrong(c, piece);
    if (v->left && (v->how.type != claim->how.type || v->how.op != claim->how.op ||
                    v->phase != claim->from % nbcolli_packed_size(claim->how.type)))
        return nbcolli_result_wrong(c, piece);
    nbcoll_status status = nbcolli_result_check_inputs(c, piece);
    if (status == NBCOLL_OK && c->p->meaning.same_tree)
        status = nbcolli_result_check_tree(c, piece);
    int is_of_all = claim->first == 0 && claim->last == c->p->ranks - 1;
    return status == NBCOLL_OK && c->p->meaning.same_bits && is_of_all ? nbcolli_result_check_bits(c, piece) : status;
}

static nbcoll_status nbcolli_result_check_claim(nbcolli_result_check *c)
{
    size_t bytes = c->claim.bytes, length = 0;
    nbcoll_status status =
        nbcolli_map_cut(c->p, &c->p->memory[c->rank][NBCOLL_BUFFER_RECV], c->claim.offset, bytes, &c->held);
    size_t gap = nbcolli_map_gap(&c->held, bytes, &length);
    if (status == NBCOLL_OK && gap < bytes)
        status = nbcolli_result_refute(c, NBCOLL_FLAW_UNWRITTEN, &(nbcolli_piece){gap, gap + length, 0, 0}, NULL);
    for (size_t i = 0; i < c->held.used && status == NBCOLL_OK; i++)
        status = nbcolli_result_check_piece(c, &c->held.pieces[i]);
    return status;
}

nbcoll_status nbcolli_prove_result(nbcolli_proof *p)
{
    nbcolli_result_check c = {.p = p, .times = nbcolli_take(p, (size_t)p->ranks, 1)};
    if (!c.times)
        return NBCOLL_ERR_MEMORY;
    nbcoll_status status = NBCOLL_OK;
    for (c.rank = 0; c.rank < p->ranks; c.rank++)
        for (size_t i = 0; status == NBCOLL_OK && nbcolli_claim(p, c.rank, i, &c.claim); i++)
            if (c.claim.first <= c.claim.last)
                status = nbcolli_result_check_claim(&c);
    return status;
}
