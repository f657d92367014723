/* SPDX-License-Identifier: BSD-3-Clause
 * What a rank knows of its neighbours, in one block of memory. */
#include "../host/host.h"
#include "neighbor.h"
#include "nbcoll/pattern.h"

static size_t nbcolli_around_bytes(int outs, int ins, int dims)
{
    size_t numbers = (size_t)outs * (size_t)(2 + dims + (dims > 0)) + (size_t)ins * 2;
    return sizeof(nbcolli_around) + numbers * sizeof(int);
}

nbcolli_around *nbcolli_around_open(const nbcoll_host *host, int rank, int ranks, int outs, int ins, int dims)
{
    size_t bytes = nbcolli_around_bytes(outs, ins, dims);
    nbcolli_around *a = nbcolli_alloc(host, bytes, 64);
    int *at = (int *)(a + 1);

    if (!a)
        return NULL;
    memset(a, 0, bytes);
    a->rank = rank;
    a->ranks = ranks;
    a->dims = dims;
    a->out = (nbcolli_ends){outs, at, at + outs};
    a->in = (nbcolli_ends){ins, at + 2 * outs, at + 2 * outs + ins};
    a->offset = at + 2 * (outs + ins);
    a->opposite = a->offset + (size_t)outs * (size_t)dims;
    return a;
}

void nbcolli_around_close(const nbcoll_host *host, nbcolli_around *a)
{
    if (a)
        nbcolli_free(host, a, nbcolli_around_bytes(a->out.count, a->in.count, a->dims));
}

/* Counts, then deals: `order`, if not null, is the order of the edges of one peer. */
static void nbcolli_ends_sort(nbcolli_ends *ends, int rank, int ranks, const int *order, int *begins)
{
    memset(begins, 0, ((size_t)ranks + 2) * sizeof *begins);
    for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < ends->count; k++) {
            int i = order ? order[k] : k, peer = ends->peer[i];
            int place = peer < 0 ? ranks : nbcoll_relative(peer, (rank + 1) % ranks, ranks);
            if (pass)
                ends->sorted[begins[place]++] = i;
            else
                begins[place + 1]++;
        }
        for (int place = 0; !pass && place <= ranks; place++)
            begins[place + 1] += begins[place];
    }
}

nbcoll_status nbcolli_around_sort(const nbcoll_host *host, nbcolli_around *a, nbcolli_around **out)
{
    size_t bytes = ((size_t)a->ranks + 2) * sizeof(int);
    int *begins = nbcolli_alloc(host, bytes, 64);

    if (!begins) {
        nbcolli_around_close(host, a);
        return NBCOLL_ERR_MEMORY;
    }
    nbcolli_ends_sort(&a->out, a->rank, a->ranks, NULL, begins);
    nbcolli_ends_sort(&a->in, a->rank, a->ranks, a->dims ? a->opposite : NULL, begins);
    nbcolli_free(host, begins, bytes);
    *out = a;
    return NBCOLL_OK;
}

int nbcolli_same_peer(const nbcolli_ends *ends, int from)
{
    int n = 0;
    while (from + n < ends->count && ends->peer[ends->sorted[from]] >= 0 &&
           ends->peer[ends->sorted[from + n]] == ends->peer[ends->sorted[from]])
        n++;
    return n;
}
