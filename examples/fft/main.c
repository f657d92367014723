/* SPDX-License-Identifier: BSD-3-Clause
 * A Fourier transform in three dimensions, whose transpose is overlapped with computation:
 *
 *     nbcoll run -n 4 fft [N [PIECES]]
 *
 * Of N * N * N points each rank has N / ranks planes of x. It transforms them in y and z, piece by piece; each piece is
 * on its way to the other ranks, by an ialltoall of its own, while the next one is computed. Then each rank has all x
 * of N / ranks lines of y, and transforms those. FFTW does what is local. Rank 0 compares the result with what it gets
 * without the others, and says how long one piece takes, and several, and how much of the transpose that hides. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fftw3.h>

#include <nbcoll/launch.h>
#include <nbcoll/nbcoll.h>

enum { MOST_PIECES = 64 };

typedef struct cube {
    nbcoll_comm *comm;
    int n, ranks, rank;
    int mine;           /* planes of x before, lines of y after */
    size_t plane, line; /* points of a plane; of the lines of y that one rank gets of it */
    fftw_complex *planes, *sent, *received, *lines;
} cube;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Any numbers, the same on all ranks. */
static fftw_complex point(const cube *c, int x, size_t in_plane)
{
    double i = (double)x * (double)c->plane + (double)in_plane;
    return sin(i * 0.7) + cos(i * i * 1e-3) * I;
}

/* ---- a transform ----------------------------------------------------------------------------------------------- */

/* Sorts the planes first..first + planes - 1 by the ranks that get their lines, and starts their way. */
static nbcoll_status send_piece(const cube *c, int first, int planes, nbcoll_request *request)
{
    size_t begin = (size_t)first * c->plane, block = (size_t)planes * c->line;
    for (int to = 0; to < c->ranks; to++)
        for (int x = 0; x < planes; x++)
            memcpy(c->sent + begin + (size_t)to * block + (size_t)x * c->line,
                   c->planes + begin + (size_t)x * c->plane + (size_t)to * c->line, c->line * sizeof *c->sent);
    return nbcoll_ialltoall(c->sent + begin, c->received + begin, block, NBCOLL_DOUBLE_COMPLEX, c->comm, request);
}

/* Puts what has come where all x of a line stand one after the other. */
static void take_piece(const cube *c, int first, int planes)
{
    size_t begin = (size_t)first * c->plane, block = (size_t)planes * c->line;
    for (int from = 0; from < c->ranks; from++)
        memcpy(c->lines + (size_t)(from * c->mine + first) * c->line, c->received + begin + (size_t)from * block,
               block * sizeof *c->lines);
}

/* Planes, transformed one after the other; meanwhile the earlier pieces go on. */
static void transform_planes(const cube *c, fftw_plan plan, int first, int planes, nbcoll_request *earlier, int n)
{
    for (int x = first; x < first + planes; x++) {
        fftw_execute_dft(plan, c->planes + (size_t)x * c->plane, c->planes + (size_t)x * c->plane);
        if (n)
            nbcoll_test_all(n, earlier, NULL);
    }
}

static nbcoll_status transform(const cube *c, fftw_plan plane, fftw_plan lines, int pieces)
{
    nbcoll_request request[MOST_PIECES];
    nbcoll_status status = NBCOLL_OK;
    int planes = c->mine / pieces, started = 0;

    for (; started < pieces && status == NBCOLL_OK; started += status == NBCOLL_OK) {
        transform_planes(c, plane, started * planes, planes, request, started);
        status = send_piece(c, started * planes, planes, &request[started]);
    }
    for (int i = 0; i < started && status == NBCOLL_OK; i++) {
        status = nbcoll_wait(&request[i], NBCOLL_FOREVER);
        take_piece(c, i * planes, planes);
    }
    if (status == NBCOLL_OK)
        fftw_execute(lines);
    return status;
}

/* ---- the program ----------------------------------------------------------------------------------------------- */

static void fill(const cube *c)
{
    for (int x = 0; x < c->mine; x++)
        for (size_t i = 0; i < c->plane; i++)
            c->planes[(size_t)x * c->plane + i] = point(c, c->rank * c->mine + x, i);
}

/* The transpose alone: of all planes at once, and nothing is computed. */
static nbcoll_status transpose(const cube *c)
{
    nbcoll_request request;
    nbcoll_status status = send_piece(c, 0, c->mine, &request);
    return status == NBCOLL_OK ? nbcoll_wait(&request, NBCOLL_FOREVER) : status;
}

/* The least of a few times, in ms; with no pieces the transpose's. */
static nbcoll_status timed(const cube *c, fftw_plan plane, fftw_plan lines, int pieces, double *least)
{
    nbcoll_status status = NBCOLL_OK;
    for (int round = 0; round < 5 && status == NBCOLL_OK; round++) {
        fill(c);
        status = nbcoll_barrier(c->comm, NBCOLL_FOREVER);
        double began = now();
        if (status == NBCOLL_OK)
            status = pieces ? transform(c, plane, lines, pieces) : transpose(c);
        double took = now() - began;
        *least = round == 0 || took < *least ? took : *least;
    }
    return status;
}

static nbcoll_status time_all(const cube *c, fftw_plan plane, fftw_plan lines, int pieces)
{
    double alone = 0, one = 0, several = 0;
    nbcoll_status status = timed(c, plane, lines, 0, &alone);
    if (status == NBCOLL_OK)
        status = timed(c, plane, lines, 1, &one);
    if (status == NBCOLL_OK)
        status = timed(c, plane, lines, pieces, &several);
    if (status != NBCOLL_OK || c->rank != 0)
        return status;
    double hidden = one > several && alone > 0 ? 100 * (one - several) / alone : 0;
    printf("in one piece: %.3f ms, of which the transpose alone takes %.3f\n", one, alone);
    printf("in %d pieces: %.3f ms, %.0f%% of the transpose hidden\n", pieces, several, hidden > 100 ? 100 : hidden);
    return status;
}

/* The largest difference from a transform by one rank: of lines y of rank r there is [r][x][y][z]. */
static double compare(const cube *c, const fftw_complex *all)
{
    size_t points = c->plane * (size_t)c->n;
    fftw_complex *alone = fftw_alloc_complex(points);
    double worst = 0;
    for (size_t i = 0; i < points; i++)
        alone[i] = point(c, (int)(i / c->plane), i % c->plane);
    fftw_plan plan = fftw_plan_dft_3d(c->n, c->n, c->n, alone, alone, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_execute(plan);
    for (size_t i = 0; i < points; i++) {
        size_t rank = i % c->plane / c->line, x = i / c->plane;
        double apart = cabs(alone[i] - all[(rank * (size_t)c->n + x) * c->line + i % c->line]);
        worst = apart > worst ? apart : worst;
    }
    fftw_destroy_plan(plan);
    fftw_free(alone);
    return worst;
}

static nbcoll_status check(const cube *c)
{
    fftw_complex *all = c->rank == 0 ? fftw_alloc_complex(c->plane * (size_t)c->n) : NULL;
    nbcoll_status status = nbcoll_gather(c->lines, all, c->line * (size_t)c->n, NBCOLL_DOUBLE_COMPLEX, 0, c->comm,
                                         NBCOLL_FOREVER);
    if (status == NBCOLL_OK && c->rank == 0) {
        double worst = compare(c, all);
        printf("%d x %d x %d points over %d ranks: %s\n", c->n, c->n, c->n, c->ranks,
               worst < 1e-9 * (double)c->n * (double)c->plane ? "as of one rank" : "WRONG");
    }
    fftw_free(all);
    return status;
}

static nbcoll_status run(cube *c, int pieces)
{
    size_t points = (size_t)c->mine * c->plane;
    fftw_complex *memory = fftw_alloc_complex(4 * points);
    if (!memory)
        return NBCOLL_ERR_MEMORY;
    c->planes = memory;
    c->sent = memory + points;
    c->received = memory + 2 * points;
    c->lines = memory + 3 * points;
    fftw_plan plane = fftw_plan_dft_2d(c->n, c->n, c->planes, c->planes, FFTW_FORWARD, FFTW_ESTIMATE | FFTW_UNALIGNED);
    fftw_plan lines = fftw_plan_many_dft(1, &c->n, (int)c->line, c->lines, NULL, (int)c->line, 1, c->lines, NULL,
                                         (int)c->line, 1, FFTW_FORWARD, FFTW_ESTIMATE);
    nbcoll_status status = time_all(c, plane, lines, pieces);
    if (status == NBCOLL_OK)
        status = check(c);
    fftw_destroy_plan(plane);
    fftw_destroy_plan(lines);
    fftw_free(memory);
    return status;
}

int main(int argc, char **argv)
{
    cube c = {.n = argc > 1 ? atoi(argv[1]) : 64};
    int pieces = argc > 2 ? atoi(argv[2]) : 4;
    nbcoll_context *context;
    nbcoll_status status = nbcoll_launch_join_or_alone(&context, &c.comm);

    if (status == NBCOLL_OK) {
        c.rank = nbcoll_comm_rank(c.comm);
        c.ranks = nbcoll_comm_size(c.comm);
        c.mine = c.n / c.ranks;
        c.plane = (size_t)c.n * (size_t)c.n;
        c.line = (size_t)c.mine * (size_t)c.n;
        if (c.n < 1 || c.n > 1024 || c.n % c.ranks || pieces < 1 || pieces > MOST_PIECES || c.mine % pieces)
            status = NBCOLL_ERR_ARGUMENT;
    }
    if (status == NBCOLL_OK)
        status = run(&c, pieces);
    if (status != NBCOLL_OK) /* each rank, since the first one that fails ends all */
        fprintf(stderr, "fft: %s\n", status == NBCOLL_ERR_ARGUMENT
                                         ? "N is a multiple of ranks times PIECES, at most 1024"
                                         : nbcoll_status_text(status));
    while (nbcoll_context_free(context) == NBCOLL_ERR_BUSY && status == NBCOLL_OK)
        nbcoll_progress(context); /* the last message is not yet on its way */
    return status != NBCOLL_OK;
}
