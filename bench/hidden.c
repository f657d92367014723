/* SPDX-License-Identifier: BSD-3-Clause
 * What a driver hides of an allreduce between two machines: network namespaces SPACE0 and SPACE1, joined by a link of
 * which the caller has limited the rate (bench/hosts.py). One rank in each, bound to a core with its driver, multiplies
 * matrices between start and wait and calls nothing else; openblas, one thread.
 *
 *     hidden SPACE [BYTES [ROUNDS]]
 *
 *     pure      start and wait
 *     compute   the products alone, as many as take twice as long
 *     total     start, products, wait
 *     hidden    1 - (total - compute) / pure
 *
 * Each is from the first rank's beginning to the last one's end; they take turns. The least of all rounds, since what
 * else runs on the machine only adds, and the median. */
#include <cblas.h>

#include "nbcoll/cluster.h"
#include "nbcoll/driver.h"

#include "spaces.h"

enum { RANKS = 2, MATRIX = 96, ROUNDS_MOST = 1000 };
typedef enum form { PURE, COMPUTE, TOTAL, FORMS } form;

typedef struct shared {
    const char *space;
    size_t bytes;
    int rounds;
    nbcoll_tcp_id id;
    atomic_uint here; /* ranks that have come to a meeting, of all meetings */
    double from[RANKS], to[RANKS];
} shared;

typedef struct rank {
    shared *s;
    int number, products;
    meeting meets;
    nbcoll_comm *comm;
    double *mine, *sum;
} rank;

static double a[MATRIX * MATRIX], b[MATRIX * MATRIX], c[MATRIX * MATRIX];

static void multiply(int times)
{
    while (times-- > 0)
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, MATRIX, MATRIX, MATRIX, 1e-3, a, MATRIX, b, MATRIX, 1, c,
                    MATRIX);
}

static double once(rank *me, form f)
{
    shared *s = me->s;
    nbcoll_request q = NBCOLL_REQUEST_NULL;

    meet(&me->meets);
    s->from[me->number] = now();
    if (f != COMPUTE)
        must(nbcoll_iallreduce(me->mine, me->sum, s->bytes / sizeof(double), NBCOLL_DOUBLE, NBCOLL_SUM, me->comm, &q));
    if (f != PURE)
        multiply(me->products);
    must(nbcoll_wait(&q, NBCOLL_FOREVER));
    s->to[me->number] = now();
    meet(&me->meets);
    double took = span_of(s->from, s->to, RANKS);
    meet(&me->meets);
    return took;
}

static void measure(rank *me)
{
    static double took[FORMS][ROUNDS_MOST];
    int n = me->s->rounds;

    for (int i = 0; i < 5; i++)
        took[PURE][i] = once(me, PURE);
    double pure = median(took[PURE], 5), at = now();
    multiply(100);
    me->products = (int)(2 * pure / ((now() - at) / 100));
    for (int i = 0; i < n; i++)
        for (int f = 0; f < FORMS; f++)
            took[f][i] = once(me, (form)f);
    for (int i = 0; i < 2 && me->number == 0; i++) {
        double us[FORMS];
        for (int f = 0; f < FORMS; f++)
            us[f] = (i ? median(took[f], n) : (median(took[f], n), took[f][0])) / 1e3;
        printf("%s: pure %.0f us, compute %.0f, total %.0f: %.0f%% hidden\n", i ? "median" : "least", us[PURE],
               us[COMPUTE], us[TOTAL], 100 * (1 - (us[TOTAL] - us[COMPUTE]) / us[PURE]));
    }
}

static nbcoll_context *open_rank(rank *me)
{
    const nbcoll_context_config threads = {.size = sizeof threads, .flags = NBCOLL_ANY_THREAD};
    nbcoll_context *context;
    nbcoll_endpoint *end[2];
    int n = open_cluster(&me->meets, &me->s->id, me->number, NULL, end);

    must(nbcoll_context_create(NBCOLL_ABI, &threads, &context));
    must(nbcoll_comm_create_over(context, n, end, NULL, &me->comm, NBCOLL_FOREVER));
    return context;
}

static void run_rank(void *memory, int number)
{
    shared *s = memory;
    rank me = {.s = s, .number = number, .meets = {&s->here, RANKS, 0, 50}};
    const nbcoll_driver_config config = {.size = sizeof config, .cores = &number, .core_count = 1};
    nbcoll_driver *driver;

    enter(s->space, number);
    bind_to(number);
    nbcoll_context *context = open_rank(&me);
    must(nbcoll_driver_create(&config, &driver));
    must(nbcoll_driver_add(driver, context));
    must(nbcoll_driver_start(driver));
    me.mine = calloc(1, s->bytes);
    me.sum = calloc(1, s->bytes);
    measure(&me);
    must(nbcoll_driver_free(driver));
    close_context(context);
}

int main(int argc, char *argv[])
{
    shared *s = share(sizeof *s);

    s->space = argc > 1 ? argv[1] : "";
    s->bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : 4u << 20;
    s->rounds = argc > 3 ? atoi(argv[3]) : 15;
    if (argc < 2 || s->bytes < sizeof(double) || s->rounds < 5 || s->rounds > ROUNDS_MOST) {
        fputs("usage: hidden SPACE [BYTES [ROUNDS]]\n", stderr);
        return 2;
    }
    return run_ranks(RANKS, run_rank, s);
}
