/* SPDX-License-Identifier: BSD-3-Clause
 * What sums cost beside the predefined one: allreduces of DOUBLE, and the wide one of FLOAT beside the sum of as many
 * FLOAT, by two ranks over shm that one thread steps, which take turns. Microseconds of one operation, of both ranks,
 * the least of rounds; and the ratio. Then what a rank takes to add up numbers of its own, and what a strided element
 * takes beside one without strides. */
#include "nbcoll/strided.h"
#include "nbcoll/sums.h"
#include "stepped.h"

enum { MOST = 1 << 20, ROUNDS = 100, STRIDE = 8 };

static double mine[2][MOST * STRIDE], sum[2][MOST * STRIDE];

typedef struct call {
    const char *name;
    nbcoll_type type;
    nbcoll_op op;
    const nbcoll_strided *strided;
} call;

static double timed(stepped *const rank[], const call *c, size_t n)
{
    size_t times = n < 1024 ? 1024 / n : 1; /* short enough to run undisturbed now and then */
    double at = now();
    for (size_t i = 0; i < times; i++) {
        for (int r = 0; r < 2; r++)
            must(nbcoll_iallreduce(mine[r], sum[r], n, c->strided ? nbcoll_type_of(&c->strided->type) : c->type, c->op,
                                   rank[r]->comm, &rank[r]->request));
        stepped_finish(rank, 2);
    }
    return (now() - at) / (double)times / 1000;
}

/* Beside the first of them. */
static void compare(stepped *const rank[], const call calls[], size_t n_calls, size_t n)
{
    double least[8];
    for (int round = 0; round <= (n < MOST ? ROUNDS : ROUNDS / 10); round++)
        for (size_t k = 0; k < n_calls; k++) {
            double us = timed(rank, &calls[k], n);
            least[k] = round < 2 || us < least[k] ? us : least[k];
        }
    for (size_t k = 0; k < n_calls; k++)
        printf("%8zu %-7s %-14s %10.2f us %6.2f\n", n, nbcoll_type_name(calls[k].type), calls[k].name, least[k],
               least[k] / least[0]);
}

/* The bins are not known before the run, nor is the sum read by nobody. */
static void add_up(void)
{
    enum { NUMBERS = 1 << 16, TIMES = 20 };
    volatile double kept = 0;
    double least[2] = {1e30, 1e30};
    for (int i = 0; i < TIMES; i++) {
        nbcoll_bins bins = {{0}, 0, 0};
        double all = 0, at = now();
        for (size_t k = 0; k < NUMBERS; k++)
            all += mine[0][k];
        kept = all;
        double between = now();
        nbcoll_bins_add(&bins, mine[0], NUMBERS);
        kept = nbcoll_bins_value(&bins);
        double end = now();
        least[0] = between - at < least[0] ? between - at : least[0];
        least[1] = end - between < least[1] ? end - between : least[1];
    }
    (void)kept;
    printf("adding up: %.2f ns a number, %.2f ns in bins\n", least[0] / NUMBERS, least[1] / NUMBERS);
}

int main(void)
{
    static stepped ranks[2];
    static nbcoll_strided column;
    stepped *const rank[] = {&ranks[0], &ranks[1]};
    const double factor = 0.5;
    const nbcoll_host_op scaled = nbcoll_sum_scaled(&factor);
    const call doubles[] = {{"sum", NBCOLL_DOUBLE, NBCOLL_SUM, NULL},
                            {"average", NBCOLL_DOUBLE, nbcoll_average(), NULL},
                            {"scaled", NBCOLL_DOUBLE, nbcoll_op_of(&scaled), NULL},
                            {"reproducible", NBCOLL_DOUBLE, nbcoll_sum_reproducible(), NULL},
                            {"sum, strided", NBCOLL_DOUBLE, NBCOLL_SUM, &column}};
    const call floats[] = {{"sum", NBCOLL_FLOAT, NBCOLL_SUM, NULL}, {"wide", NBCOLL_FLOAT, nbcoll_sum_wide(), NULL}};
    const call halves[] = {{"sum", NBCOLL_HALF, NBCOLL_SUM, NULL}, {"wide", NBCOLL_HALF, nbcoll_sum_wide(), NULL}};

    for (size_t i = 0; i < MOST * STRIDE; i++)
        mine[0][i] = mine[1][i] = 1 + (double)(i * 2654435761u % 1000003) / 1000003;
    must(nbcoll_strided_make(&column, NBCOLL_DOUBLE, 1, NBCOLL_ONCE, NBCOLL_ONCE, STRIDE));
    stepped_open(rank, 2);
    for (size_t n = 1; n <= MOST; n *= 32) {
        compare(rank, doubles, sizeof doubles / sizeof *doubles, n);
        compare(rank, floats, sizeof floats / sizeof *floats, n);
        compare(rank, halves, sizeof halves / sizeof *halves, n);
    }
    add_up();
    return 0;
}
