/* SPDX-License-Identifier: BSD-3-Clause
 * An operation of your own, with a context pointer, for which order matters: each rank has two 2 x 2 matrices, and a
 * scan multiplies those of the ranks up to it, in rank order, modulo a number that the context pointer leads to. The
 * first product holds the Fibonacci numbers. Start it by
 *
 *     nbcoll run -n 4 own_op
 */
#include <stdio.h>

#include <nbcoll/launch.h>
#include <nbcoll/nbcoll.h>

typedef struct matrix {
    uint64_t a, b, c, d;
} matrix;

/* `user` is what the descriptor says; result may be left or right. */
static nbcoll_status multiply(void *user, void *result, const void *left, const void *right, size_t count,
                              nbcoll_type type)
{
    const uint64_t modulus = *(const uint64_t *)user;
    const matrix *l = left, *r = right;
    matrix *out = result;

    (void)type; /* this one knows its type */
    for (size_t i = 0; i < count; i++)
        out[i] = (matrix){(l[i].a * r[i].a + l[i].b * r[i].c) % modulus, (l[i].a * r[i].b + l[i].b * r[i].d) % modulus,
                          (l[i].c * r[i].a + l[i].d * r[i].c) % modulus, (l[i].c * r[i].b + l[i].d * r[i].d) % modulus};
    return NBCOLL_OK;
}

/* Both descriptors must stay as long as the communicator that has met them. */
static uint64_t thousand = 1000;
static const nbcoll_host_type matrices = {.size = sizeof matrices, .extent = sizeof(matrix)};
static const nbcoll_host_op product = {.size = sizeof product, .user = &thousand, .combine = multiply};

static nbcoll_status run(nbcoll_comm *comm)
{
    int rank = nbcoll_comm_rank(comm);
    matrix step = {1, 1, 1, 0}, swap = {0, 1, 1, 0}, mine[2], walk[2];

    mine[0] = step;
    mine[1] = rank % 2 ? swap : step; /* here another order would be another walk */
    nbcoll_status status = nbcoll_scan(mine, walk, 2, nbcoll_type_of(&matrices), nbcoll_op_of(&product), comm,
                                       NBCOLL_FOREVER);
    if (status == NBCOLL_OK)
        printf("rank %d: Fibonacci number %d is %d; with swaps: %d %d, %d %d\n", rank, rank + 1, (int)walk[0].b,
               (int)walk[1].a, (int)walk[1].b, (int)walk[1].c, (int)walk[1].d);
    return status;
}

int main(void)
{
    nbcoll_context *context;
    nbcoll_comm *comm;

    nbcoll_status status = nbcoll_launch_join(&context, &comm);
    if (status == NBCOLL_OK)
        status = run(comm);
    if (status != NBCOLL_OK)
        fprintf(stderr, "own_op: %s\n", nbcoll_status_text(status));
    nbcoll_launch_leave(context, status);
    return status != NBCOLL_OK;
}
