/* SPDX-License-Identifier: BSD-3-Clause
 * From a call to a schedule: the ends of all edges, packed where their types ask for it, and the algorithm between. */
#include "../host/host.h"
#include "../reduce/packed.h"
#include "neighbor.h"

static const char *const nbcolli_neighbor_names[NBCOLLI_NEIGHBOR_KINDS] = {
    "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw"};

static nbcoll_status nbcolli_edge_pack(void *user, const nbcoll_memory memory[])
{
    const nbcoll_host_type *t = user;
    return t->pack(t->user, memory[0].at, memory[1].at, memory[1].bytes / t->packed);
}

static nbcoll_status nbcolli_edge_unpack(void *user, const nbcoll_memory memory[])
{
    const nbcoll_host_type *t = user;
    return t->unpack(t->user, memory[0].at, memory[1].at, memory[0].bytes / t->packed);
}

static nbcolli_edge nbcolli_edge_out(nbcoll_builder *b, const nbcolli_blocks_side *s, int i)
{
    nbcoll_region at = nbcolli_edge_at(s, NBCOLL_BUFFER_SEND, i);
    nbcoll_type type = nbcolli_edge_type(s, i);

    if (!nbcolli_packs(type))
        return (nbcolli_edge){at, NBCOLL_START};
    size_t bytes = nbcolli_count_at(s, i) * nbcolli_packed_size(type);
    nbcoll_region packed = nbcoll_span(nbcoll_add_scratch(b, bytes), bytes);
    return (nbcolli_edge){packed, nbcoll_add_call(b, nbcolli_edge_pack, (void *)type, 1, &at, 1, &packed)};
}

static void nbcolli_edges_open(nbcoll_builder *b, const nbcolli_neighbor_call *c, nbcolli_exchange *x)
{
    const nbcolli_ends *out = &x->around->out, *in = &x->around->in;

    for (int i = 0; i < out->count; i++)
        if (nbcolli_gathers(c))
            x->out[i] = i ? x->out[0] : nbcolli_edge_out(b, &c->side[0], 0);
        else if (out->peer[i] >= 0)
            x->out[i] = nbcolli_edge_out(b, &c->side[0], i);
    for (int i = 0; i < in->count; i++) {
        nbcoll_type type = nbcolli_edge_type(&c->side[1], i);
        size_t bytes = nbcolli_count_at(&c->side[1], i) * nbcolli_packed_size(type);
        if (in->peer[i] < 0)
            continue;
        x->in[i].at = nbcolli_edge_at(&c->side[1], NBCOLL_BUFFER_RECV, i);
        if (nbcolli_packs(type))
            x->in[i].at = nbcoll_span(nbcoll_add_scratch(b, bytes), bytes);
    }
}

static void nbcolli_edges_close(nbcoll_builder *b, const nbcolli_neighbor_call *c, nbcolli_exchange *x)
{
    const nbcolli_ends *in = &x->around->in;

    for (int i = 0; i < in->count; i++) {
        nbcoll_type type = nbcolli_edge_type(&c->side[1], i);
        if (in->peer[i] < 0 || !nbcolli_packs(type))
            continue;
        nbcoll_region at = nbcolli_edge_at(&c->side[1], NBCOLL_BUFFER_RECV, i);
        nbcoll_after(b, nbcoll_add_call(b, nbcolli_edge_unpack, (void *)type, 1, &x->in[i].at, 1, &at), x->in[i].there);
    }
}

/* Of what all ranks pass alike. */
static uint32_t nbcolli_neighbor_fingerprint(const nbcolli_around *a, const nbcolli_neighbor_call *c, size_t bytes)
{
    int is_equal = c->kind == NBCOLLI_NEIGHBOR_ALLGATHER || c->kind == NBCOLLI_NEIGHBOR_ALLTOALL;
    uint64_t hash = nbcolli_splitmix(((uint64_t)a->fingerprint << 8) + c->kind + 1);
    return (uint32_t)nbcolli_splitmix(hash + (is_equal ? bytes : 0)) | 1;
}

nbcoll_status nbcolli_neighbor_build(const nbcolli_around *a, const nbcolli_neighbor_call *c,
                                     nbcolli_neighbor_choice choice, const nbcoll_builder_config *config,
                                     nbcoll_schedule **out)
{
    nbcoll_builder *b;
    nbcoll_status s = nbcoll_builder_open(config, &b);

    if (s != NBCOLL_OK)
        return s;
    size_t bytes = c->side[0].count * nbcolli_packed_size(c->side[0].type);
    nbcolli_exchange x = {.around = a,
                          .gathers = nbcolli_gathers(c),
                          .bytes = bytes,
                          .joined = choice.joined,
                          .sent = choice.sent,
                          .pairs = choice.pairs};
    x.out = nbcoll_builder_memory(b, (size_t)a->out.count + (size_t)a->in.count + 1, sizeof *x.out);
    x.in = x.out ? x.out + a->out.count : NULL;
    nbcolli_neighbor_check_apart(b, a, c);
    if (x.out) {
        nbcolli_edges_open(b, c, &x);
        choice.algorithm(b, &x);
        nbcolli_edges_close(b, c, &x);
    }
    nbcoll_set_name(b, nbcolli_neighbor_names[c->kind]);
    nbcoll_set_fingerprint(b, nbcolli_neighbor_fingerprint(a, c, bytes));
    return nbcoll_builder_finish(b, out);
}
