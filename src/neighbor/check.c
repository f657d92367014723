/* SPDX-License-Identifier: BSD-3-Clause
 * What can be said of a call before the ranks meet. */
#include "../host/host.h"
#include "../reduce/packed.h"
#include "../schedule/sort.h"
#include "neighbor.h"

static nbcoll_status nbcolli_sides_check(const nbcolli_blocks_side *s, int n, int is_w)
{
    if (!is_w && !nbcolli_is_type(s->type))
        return NBCOLL_ERR_TYPE;
    for (int i = 0; i < n; i++) {
        nbcoll_type type = nbcolli_edge_type(s, i);
        size_t loose = nbcoll_type_size(type), packed = nbcolli_packed_size(type), bytes, place, end;
        if (!nbcolli_is_type(type))
            return NBCOLL_ERR_TYPE;
        if (__builtin_mul_overflow(nbcolli_count_at(s, i), packed > loose ? packed : loose, &bytes) ||
            __builtin_mul_overflow(s->counts ? nbcolli_number_at(s->displs, (size_t)i) : (size_t)i * s->count,
                                   is_w ? 1 : loose, &place) ||
            __builtin_add_overflow(place, bytes, &end) || end > SIZE_MAX / 2)
            return NBCOLL_ERR_COUNT;
    }
    return NBCOLL_OK;
}

nbcoll_region nbcolli_edge_at(const nbcolli_blocks_side *s, nbcoll_buffer buffer, int i)
{
    size_t size = nbcoll_type_size(nbcolli_edge_type(s, i)), count = nbcolli_count_at(s, i);
    size_t place = !s->counts ? (size_t)i * count * size : s->displs[i] * (s->types ? 1 : size);
    return nbcoll_span((nbcoll_addr){buffer, place}, count * size);
}

void nbcolli_neighbor_check_apart(nbcoll_builder *b, const nbcolli_around *a, const nbcolli_neighbor_call *c)
{
    const nbcolli_blocks_side *s = &c->side[1];
    size_t n = (size_t)a->in.count, used = 0;
    nbcolli_entry *begin = s->counts ? nbcoll_builder_memory(b, 2 * n + 1, sizeof *begin) : NULL;

    for (int i = 0; begin && i < a->in.count; i++) {
        nbcoll_region at = nbcolli_edge_at(s, NBCOLL_BUFFER_RECV, i);
        if (a->in.peer[i] >= 0 && at.bytes && !nbcolli_packs(nbcolli_edge_type(s, i)))
            begin[used++] = (nbcolli_entry){at.at.offset, (uint32_t)i};
    }
    if (used)
        nbcolli_sort(begin, begin + n, used);
    for (size_t i = 1; i < used; i++)
        if (begin[i - 1].key + nbcolli_edge_at(s, NBCOLL_BUFFER_RECV, (int)begin[i - 1].value).bytes > begin[i].key)
            nbcoll_builder_fail(b, NBCOLL_ERR_BUFFER);
}

static size_t nbcolli_edge_travels(const nbcolli_blocks_side *s, int i)
{
    return nbcolli_count_at(s, i) * nbcolli_packed_size(nbcolli_edge_type(s, i));
}

/* Is what a rank sends to itself as long as what it receives? And are an allgatherv's blocks of one source equal? */
static int nbcolli_lengths_fit(const nbcolli_around *a, const nbcolli_neighbor_call *c)
{
    const nbcolli_ends *out = &a->out, *in = &a->in;
    int own = 0;

    while (own < out->count && out->peer[out->sorted[own]] != a->rank)
        own++;
    for (int j = 0; j < in->count; j++) {
        int edge = in->sorted[j], before = j ? in->sorted[j - 1] : -1;
        if (nbcolli_gathers(c) && before >= 0 && in->peer[edge] >= 0 && in->peer[before] == in->peer[edge] &&
            nbcolli_edge_travels(&c->side[1], edge) != nbcolli_edge_travels(&c->side[1], before))
            return 0;
        if (in->peer[edge] == a->rank && own < out->count &&
            nbcolli_edge_travels(&c->side[1], edge) !=
                nbcolli_edge_travels(&c->side[0], nbcolli_gathers(c) ? 0 : out->sorted[own++]))
            return 0;
    }
    return 1;
}

static nbcoll_status nbcolli_arrays_check(const nbcolli_blocks_side *s, int n, int is_v, int is_w)
{
    return is_v && n && (!s->counts || !s->displs || (is_w && !s->types)) ? NBCOLL_ERR_NULL : NBCOLL_OK;
}

nbcoll_status nbcolli_neighbor_check(const nbcolli_around *a, const nbcolli_neighbor_call *c)
{
    int is_w = c->kind == NBCOLLI_NEIGHBOR_ALLTOALLW;
    int is_v = is_w || c->kind == NBCOLLI_NEIGHBOR_ALLTOALLV || c->kind == NBCOLLI_NEIGHBOR_ALLGATHERV;
    int outs = nbcolli_gathers(c) ? 1 : a->out.count;
    nbcoll_status s = nbcolli_arrays_check(&c->side[0], outs, is_v && !nbcolli_gathers(c), is_w);

    if (s == NBCOLL_OK)
        s = nbcolli_arrays_check(&c->side[1], a->in.count, is_v, is_w);
    if (s == NBCOLL_OK)
        s = nbcolli_sides_check(&c->side[0], outs, is_w);
    if (s == NBCOLL_OK)
        s = nbcolli_sides_check(&c->side[1], a->in.count, is_w);
    if (s == NBCOLL_OK && !nbcolli_lengths_fit(a, c))
        s = NBCOLL_ERR_COUNT;
    return s;
}
