/* SPDX-License-Identifier: BSD-3-Clause
 * The conjugate gradient, plain and pipelined, for the five-point Laplacian of N x N points. Each rank has some rows,
 * and gets those of its neighbours by a schedule of the program's own, which is started persistently.
 * bench/mpi/conjugate.c is the same for an MPI. In each iteration the plain form waits for two sums, the pipelined one
 * (Ghysels, Vanroose, "Hiding global synchronization latency in the preconditioned conjugate gradient algorithm", 2014)
 * for one, which travels while the rank applies the matrix; for that it updates six vectors instead of three.
 *
 *     nbcoll run -n 4 conjugate [N] */
#include <stdio.h>
#include <nbcoll/launch.h>
#include <nbcoll/schedule.h>

enum { X, R, P, W, Q, S, Z, VECTORS }; /* W and Q are A times R and A times W, or, in the plain form, Q is A times P */

static int rank, ranks, rows; /* of this rank; they stand between two others */
static size_t width, points;  /* of a row, with a zero at each end; of all rows */
static double *v[VECTORS], mine[2], sum[2];
static nbcoll_request halo[VECTORS], sums; /* of a vector; of two numbers */
static nbcoll_comm *comm;

static nbcoll_status build_halo(nbcoll_schedule **out)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = ranks};
    size_t row = width * sizeof(double), last = (size_t)rows * row;
    nbcoll_builder *b;
    nbcoll_status s = nbcoll_builder_open(&config, &b);

    for (int peer = rank - 1; s == NBCOLL_OK && peer <= rank + 1; peer += 2)
        if (peer >= 0 && peer < ranks) {
            nbcoll_add_send(b, peer, (nbcoll_addr){NBCOLL_BUFFER_RECV, peer > rank ? last : row}, row);
            nbcoll_add_recv(b, peer, (nbcoll_addr){NBCOLL_BUFFER_RECV, peer > rank ? last + row : 0}, row);
        }
    return s == NBCOLL_OK ? nbcoll_builder_finish(b, out) : s;
}

static void apply_rows(double *to, const double *x, int from, int below)
{
    for (int i = from; i < below; i++)
        for (size_t k = (size_t)i * width + 1; k < (size_t)i * width + width - 1; k++)
            to[k] = 4 * x[k] - (x[k - 1] + x[k + 1]) - (x[k - width] + x[k + width]);
}

/* to = A x; the rows that need no others come first. */
static nbcoll_status apply(int to, int x)
{
    nbcoll_status s = nbcoll_start(&halo[x]);
    apply_rows(v[to], v[x], 2, rows);
    s = s == NBCOLL_OK ? nbcoll_wait(&halo[x], NBCOLL_FOREVER) : s;
    for (int i = 1; i <= rows; i = i < rows ? rows : rows + 1)
        apply_rows(v[to], v[x], i, i + 1);
    return s;
}

static double dot(int a, int b)
{
    double all = 0;
    for (size_t k = width; k < width + points; k++)
        all += v[a][k] * v[b][k];
    return all;
}

static void update(int to, int a, double by, int b) /* to = a + by b */
{
    for (size_t k = width; k < width + points; k++)
        v[to][k] = v[a][k] + by * v[b][k];
}

static nbcoll_status add_up(double number) /* of all ranks; to sum[0] */
{
    return nbcoll_allreduce(&number, sum, 1, NBCOLL_DOUBLE, NBCOLL_SUM, comm, NBCOLL_FOREVER);
}

static nbcoll_status plain(double least, int *iterations)
{
    nbcoll_status s;
    for (double before = 0; (s = add_up(dot(R, R))) == NBCOLL_OK && sum[0] > least; ++*iterations) {
        update(P, R, before > 0 ? sum[0] / before : 0, P);
        before = sum[0];
        if ((s = apply(Q, P)) != NBCOLL_OK || (s = add_up(dot(P, Q))) != NBCOLL_OK)
            break;
        update(X, X, before / sum[0], P);
        update(R, R, -before / sum[0], Q);
    }
    return s;
}

static nbcoll_status pipelined(double least, int *iterations)
{
    double before = 0, alpha = 1;
    for (nbcoll_status s = apply(W, R);; ++*iterations) {
        mine[0] = dot(R, R), mine[1] = dot(W, R);
        if (s != NBCOLL_OK || (s = nbcoll_start(&sums)) != NBCOLL_OK || (s = apply(Q, W)) != NBCOLL_OK ||
            (s = nbcoll_wait(&sums, NBCOLL_FOREVER)) != NBCOLL_OK || sum[0] <= least)
            return s;
        double beta = before > 0 ? sum[0] / before : 0;
        alpha = sum[0] / (sum[1] - beta * sum[0] / alpha);
        before = sum[0];
        update(Z, Q, beta, Z), update(S, W, beta, S), update(P, R, beta, P);
        update(X, X, alpha, P), update(R, R, -alpha, S), update(W, W, -alpha, Z);
    }
}

/* The right side is 1 everywhere; the length of what is left of it falls by 10^8. */
static nbcoll_status solve(int n, int is_pipelined)
{
    int iterations = 0;
    memset(v[0], 0, VECTORS * (points + 2 * width) * sizeof(double));
    for (size_t k = width; k < width + points; k++)
        v[R][k] = k % width != 0 && k % width != width - 1;
    nbcoll_status s = (is_pipelined ? pipelined : plain)((double)n * n * 1e-16, &iterations);
    if (s == NBCOLL_OK && (s = add_up(dot(X, X))) == NBCOLL_OK && rank == 0)
        printf("%s: %d iterations, |x|^2 = %.6e\n", is_pipelined ? "pipelined" : "plain", iterations, sum[0]);
    return s;
}

int main(int argc, char **argv)
{
    nbcoll_context *context;
    nbcoll_schedule *schedule = NULL;
    int n = argc > 1 ? atoi(argv[1]) : 64;
    nbcoll_status s = nbcoll_launch_join_or_alone(&context, &comm);
    if (s == NBCOLL_OK) {
        rank = nbcoll_comm_rank(comm), ranks = nbcoll_comm_size(comm), rows = n / ranks + (rank < n % ranks);
        width = (size_t)n + 2, points = (size_t)rows * width;
        v[0] = n < ranks ? NULL : malloc(VECTORS * (points + 2 * width) * sizeof(double));
        s = v[0] ? build_halo(&schedule) : NBCOLL_ERR_COUNT;
    }
    for (int i = 0; i < VECTORS && s == NBCOLL_OK; i++) {
        v[i] = v[0] + (size_t)i * (points + 2 * width);
        s = nbcoll_schedule_init(schedule, NULL, v[i], comm, &halo[i]);
    }
    if (s == NBCOLL_OK)
        s = nbcoll_allreduce_init(mine, sum, 2, NBCOLL_DOUBLE, NBCOLL_SUM, comm, &sums);
    for (int is_pipelined = 0; is_pipelined < 2 && s == NBCOLL_OK; is_pipelined++)
        s = solve(n, is_pipelined);
    nbcoll_launch_leave(context, s);
    nbcoll_schedule_free(schedule);
    free(v[0]);
    return s != NBCOLL_OK && fprintf(stderr, "conjugate: %s\n", nbcoll_status_text(s));
}
