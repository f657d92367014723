/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The six steps of a parallel radix sort.
 */
#include "sort.h"

#include <stdlib.h>
#include <string.h>

enum { UNTESTED = 4096 }; /* keys that are moved between two looks at what is under way */

/* The first of all keys that ends up on a rank. */
static size_t first_of(const sorter *s, int rank)
{
    return s->total * (size_t)rank / (size_t)s->ranks;
}

/* Step 1: bucket count. */
static void count_buckets(sorter *s, uint64_t divisor)
{
    memset(s->own, 0, s->buckets * sizeof *s->own);
    for (size_t i = 0; i < s->count; i++)
        s->own[s->keys[i] / divisor % s->buckets]++;
}

/* Steps 2 and 3: local prefix sum, and local redistribution. Looks at step 4 now and then, and waits for its end. */
static nbcoll_status move_here(sorter *s, uint64_t divisor, nbcoll_request *histograms)
{
    nbcoll_status status = NBCOLL_PENDING;
    size_t at = 0;

    for (size_t b = 0; b < s->buckets; at += s->own[b++])
        s->begin[b] = at;
    for (size_t i = 0; i < s->count; i++) {
        s->moved[s->begin[s->keys[i] / divisor % s->buckets]++] = s->keys[i];
        if (status == NBCOLL_PENDING && i % UNTESTED == 0)
            status = nbcoll_test(histograms);
    }
    return status == NBCOLL_PENDING ? nbcoll_wait(histograms, NBCOLL_FOREVER) : status;
}

static size_t overlap_of(size_t a, size_t a_end, size_t b, size_t b_end)
{
    size_t begin = a > b ? a : b, end = a_end < b_end ? a_end : b_end;
    return begin < end ? end - begin : 0;
}

/* Step 5: global prefix sum. The buckets stand one after the other, in each of them the ranks: who sends how much to
 * whom. */
static void plan_ways(sorter *s)
{
    size_t at = 0, low = first_of(s, s->rank), high = first_of(s, s->rank + 1);
    int to = 0;

    memset(s->sends, 0, (size_t)s->ranks * sizeof *s->sends);
    memset(s->receives, 0, (size_t)s->ranks * sizeof *s->receives);
    for (size_t b = 0; b < s->buckets; b++)
        for (int r = 0; r < s->ranks; r++) {
            size_t end = at + s->all[(size_t)r * s->buckets + b];
            s->receives[r] += overlap_of(at, end, low, high);
            for (size_t mine = at; r == s->rank && mine < end;) {
                while (first_of(s, to + 1) <= mine)
                    to++;
                size_t part = overlap_of(mine, end, first_of(s, to), first_of(s, to + 1));
                s->sends[to] += part;
                mine += part;
            }
            at = end;
        }
    for (int r = 0; r < s->ranks; r++) {
        s->send_at[r] = r ? s->send_at[r - 1] + s->sends[r - 1] : 0;
        s->receive_at[r] = r ? s->receive_at[r - 1] + s->receives[r - 1] : 0;
    }
}

/* Step 6: global redistribution. Each rank's keys come in the order of their buckets. */
static nbcoll_status move_all(sorter *s)
{
    size_t at = 0, low = first_of(s, s->rank), high = first_of(s, s->rank + 1);
    uint64_t *to = s->moved;
    nbcoll_status status = nbcoll_alltoallv(s->moved, s->sends, s->send_at, s->keys, s->receives, s->receive_at,
                                            NBCOLL_UINT64, s->comm, NBCOLL_FOREVER);

    if (status != NBCOLL_OK)
        return status;
    for (size_t b = 0; b < s->buckets; b++)
        for (int r = 0; r < s->ranks; r++) {
            size_t end = at + s->all[(size_t)r * s->buckets + b], n = overlap_of(at, end, low, high);
            memcpy(to, s->keys + s->receive_at[r], n * sizeof *to);
            s->receive_at[r] += n;
            to += n;
            at = end;
        }
    s->count = high - low;
    to = s->keys;
    s->keys = s->moved;
    s->moved = to;
    return status;
}

static nbcoll_status sort_by_digit(sorter *s, uint64_t divisor)
{
    nbcoll_request request;

    count_buckets(s, divisor);
    /* Step 4: histogram allgather. */
    nbcoll_status status = nbcoll_iallgather(s->own, s->all, s->buckets, NBCOLL_UINT64, s->comm, &request);
    if (status == NBCOLL_OK && !s->overlaps)
        status = nbcoll_wait(&request, NBCOLL_FOREVER);
    if (status == NBCOLL_OK)
        status = move_here(s, divisor, &request);
    if (status != NBCOLL_OK)
        return status;
    plan_ways(s);
    return move_all(s);
}

nbcoll_status sorter_run(sorter *s)
{
    nbcoll_status status = NBCOLL_OK;
    uint64_t divisor = 1, last = UINT64_MAX / s->buckets;

    for (int is_last = 0; !is_last && status == NBCOLL_OK; divisor *= s->buckets) {
        is_last = divisor > last;
        status = sort_by_digit(s, divisor);
    }
    return status;
}

/* Memory for keys and histograms: shared, unless some rank has too little of that. */
static nbcoll_status take_memory(sorter *s, size_t bytes)
{
    int32_t lacks = nbcoll_mem_alloc(s->comm, bytes, &s->memory) != NBCOLL_OK, some = 0;

    if (lacks)
        s->memory = NULL;
    nbcoll_status status = nbcoll_allreduce(&lacks, &some, 1, NBCOLL_INT32, NBCOLL_MAX, s->comm, NBCOLL_FOREVER);

    s->is_shared = status == NBCOLL_OK && !some;
    if (status != NBCOLL_OK || s->is_shared)
        return status;
    nbcoll_mem_free(s->comm, s->memory);
    s->memory = malloc(bytes);
    return s->memory ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

nbcoll_status sorter_open(sorter *s, nbcoll_comm *comm, const uint64_t *keys, size_t count, size_t buckets)
{
    uint64_t own = count, all = 0;
    nbcoll_status status = nbcoll_allreduce(&own, &all, 1, NBCOLL_UINT64, NBCOLL_SUM, comm, NBCOLL_FOREVER);

    *s = (sorter){.comm = comm, .rank = nbcoll_comm_rank(comm), .ranks = nbcoll_comm_size(comm), .buckets = buckets,
                  .count = count, .total = all};
    size_t block = s->total / (size_t)s->ranks + 1, room = count > block ? count : block, ranks = (size_t)s->ranks;
    if (status == NBCOLL_OK)
        status = take_memory(s, (2 * room + (1 + ranks) * buckets) * sizeof *s->keys);
    if (status != NBCOLL_OK)
        return status;
    s->begin = malloc((buckets + 4 * ranks) * sizeof *s->begin);
    if (!s->begin)
        return NBCOLL_ERR_MEMORY;
    s->keys = s->memory;
    s->moved = s->keys + room;
    s->own = s->moved + room;
    s->all = s->own + buckets;
    s->sends = s->begin + buckets;
    s->send_at = s->sends + ranks;
    s->receives = s->send_at + ranks;
    s->receive_at = s->receives + ranks;
    for (size_t i = 0; i < count; i++)
        s->keys[i] = keys[i];
    return NBCOLL_OK;
}

void sorter_close(sorter *s)
{
    if (s->is_shared)
        nbcoll_mem_free(s->comm, s->memory);
    else
        free(s->memory);
    free(s->begin);
}
