/* SPDX-License-Identifier: BSD-3-Clause
 * Neighbours that each rank names. */
#include "../host/host.h"
#include "neighbor.h"

static nbcoll_status nbcolli_list_check(const int peer[], int n, int ranks)
{
    if (n < 0)
        return NBCOLL_ERR_ARGUMENT;
    if (n > NBCOLL_NEIGHBORS_MOST)
        return NBCOLL_ERR_LIMIT;
    if (n && !peer)
        return NBCOLL_ERR_NULL;
    for (int i = 0; i < n; i++)
        if (peer[i] < 0 || peer[i] >= ranks)
            return NBCOLL_ERR_RANK;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_graph_check(const nbcoll_neighbor_graph *graph, int ranks)
{
    nbcoll_status s = nbcolli_list_check(graph->source, graph->sources, ranks);
    return s == NBCOLL_OK ? nbcolli_list_check(graph->destination, graph->destinations, ranks) : s;
}

nbcoll_status nbcolli_graph_open(const nbcoll_neighbor_graph *graph, const nbcoll_host *host, int rank, int ranks,
                                 nbcolli_around **out)
{
    nbcolli_around *a = nbcolli_around_open(host, rank, ranks, graph->destinations, graph->sources, 0);

    if (!a)
        return NBCOLL_ERR_MEMORY;
    for (int i = 0; i < graph->destinations; i++)
        a->out.peer[i] = graph->destination[i];
    for (int i = 0; i < graph->sources; i++)
        a->in.peer[i] = graph->source[i];
    return nbcolli_around_sort(host, a, out);
}
