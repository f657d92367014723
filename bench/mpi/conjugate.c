/* SPDX-License-Identifier: BSD-3-Clause
 * examples/conjugate for an MPI. Errors end an MPI's program, so that nothing is handed on here; the halo's requests
 * are persistent, the sum's is not (MPI 3.1 has none).
 *
 *     mpirun.openmpi -n 4 conjugate_openmpi [N] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X, R, P, W, Q, S, Z, VECTORS }; /* W and Q are A times R and A times W, or, in the plain form, Q is A times P */

static int rank, ranks, rows; /* of this rank; they stand between two others */
static size_t width, points;  /* of a row, with a zero at each end; of all rows */
static double *v[VECTORS], mine[2], sum[2];
static MPI_Request halo[VECTORS][4], sums; /* of a vector; of two numbers */

static void init_halo(int x)
{
    int below = rank > 0 ? rank - 1 : MPI_PROC_NULL, above = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL,
        n = (int)width;
    MPI_Send_init(v[x] + width, n, MPI_DOUBLE, below, x, MPI_COMM_WORLD, &halo[x][0]);
    MPI_Send_init(v[x] + points, n, MPI_DOUBLE, above, x, MPI_COMM_WORLD, &halo[x][1]);
    MPI_Recv_init(v[x], n, MPI_DOUBLE, below, x, MPI_COMM_WORLD, &halo[x][2]);
    MPI_Recv_init(v[x] + points + width, n, MPI_DOUBLE, above, x, MPI_COMM_WORLD, &halo[x][3]);
}

static void apply_rows(double *to, const double *x, int from, int below)
{
    for (int i = from; i < below; i++)
        for (size_t k = (size_t)i * width + 1; k < (size_t)i * width + width - 1; k++)
            to[k] = 4 * x[k] - (x[k - 1] + x[k + 1]) - (x[k - width] + x[k + width]);
}

/* to = A x; the rows that need no others come first. */
static void apply(int to, int x)
{
    MPI_Status status[4];
    MPI_Startall(4, halo[x]);
    apply_rows(v[to], v[x], 2, rows);
    MPI_Waitall(4, halo[x], status);
    for (int i = 1; i <= rows; i = i < rows ? rows : rows + 1)
        apply_rows(v[to], v[x], i, i + 1);
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

static double add_up(double number) /* of all ranks */
{
    double all;
    MPI_Allreduce(&number, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void plain(double least, int *iterations)
{
    double before = 0, now;
    for (; (now = add_up(dot(R, R))) > least; ++*iterations) {
        update(P, R, before > 0 ? now / before : 0, P);
        before = now;
        apply(Q, P);
        now = add_up(dot(P, Q));
        update(X, X, before / now, P);
        update(R, R, -before / now, Q);
    }
}

static void pipelined(double least, int *iterations)
{
    double before = 0, alpha = 1;
    for (apply(W, R);; ++*iterations) {
        mine[0] = dot(R, R), mine[1] = dot(W, R);
        MPI_Iallreduce(mine, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &sums);
        apply(Q, W);
        MPI_Wait(&sums, MPI_STATUS_IGNORE);
        if (sum[0] <= least)
            return;
        double beta = before > 0 ? sum[0] / before : 0;
        alpha = sum[0] / (sum[1] - beta * sum[0] / alpha);
        before = sum[0];
        update(Z, Q, beta, Z), update(S, W, beta, S), update(P, R, beta, P);
        update(X, X, alpha, P), update(R, R, -alpha, S), update(W, W, -alpha, Z);
    }
}

/* The right side is 1 everywhere; the length of what is left of it falls by 10^8. */
static void solve(int n, int is_pipelined)
{
    int iterations = 0;
    memset(v[0], 0, VECTORS * (points + 2 * width) * sizeof(double));
    for (size_t k = width; k < width + points; k++)
        v[R][k] = k % width != 0 && k % width != width - 1;
    (is_pipelined ? pipelined : plain)((double)n * n * 1e-16, &iterations);
    sum[0] = add_up(dot(X, X));
    if (rank == 0)
        printf("%s: %d iterations, |x|^2 = %.6e\n", is_pipelined ? "pipelined" : "plain", iterations, sum[0]);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 64;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    rows = n / ranks + (rank < n % ranks), width = (size_t)n + 2, points = (size_t)rows * width;
    v[0] = n < ranks ? NULL : malloc(VECTORS * (points + 2 * width) * sizeof(double));
    if (!v[0])
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < VECTORS; i++) {
        v[i] = v[0] + (size_t)i * (points + 2 * width);
        init_halo(i);
    }
    solve(n, 0);
    solve(n, 1);
    free(v[0]);
    return MPI_Finalize();
}
