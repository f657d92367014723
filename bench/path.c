/* SPDX-License-Identifier: BSD-3-Clause
 * What an operation of 8 bytes costs each of two ranks over shm when nobody waits: both ranks live in one process, and
 * one thread steps them so that what a rank needs has come before it looks. For an instruction count of one side:
 *
 *     valgrind --tool=callgrind --collect-atstart=no "--toggle-collect=measured_0*" bench/path bcast persistent
 *
 * counts rank 0, the root, and measured_1* rank 1; a thousand operations of bcast, barrier or allreduce, and of the
 * form nonblocking, persistent or blocking (bcast only: the others need both ranks at once). Without arguments:
 * nanoseconds of both ranks' work, medians of batches of 1000. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nbcoll/shm.h"

enum { BATCH = 1000, BATCHES = 51 };

typedef enum operation { BCAST, BARRIER, ALLREDUCE, OPERATIONS } operation;
typedef enum form { NONBLOCKING, PERSISTENT, BLOCKING, FORMS } form;

static const char *const operation_name[] = {"bcast", "barrier", "allreduce"};
static const char *const form_name[] = {"nonblocking", "persistent", "blocking"};

typedef struct member {
    nbcoll_shm_config config;
    nbcoll_endpoint *endpoint;
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_request request;
    double data, result;
    operation operation;
    form form;
} member;

static void must(nbcoll_status s)
{
    if (s != NBCOLL_OK) {
        fprintf(stderr, "%s\n", nbcoll_status_text(s));
        exit(1);
    }
}

static void *open_endpoint(void *of)
{
    member *m = of;
    must(nbcoll_shm_open(&m->config, &m->endpoint));
    return NULL;
}

static void open_ranks(member m[2])
{
    nbcoll_context_config config = {.size = sizeof config};
    nbcoll_shm_id id;
    pthread_t other;

    must(nbcoll_shm_id_make(&id));
    for (int i = 0; i < 2; i++)
        m[i].config = (nbcoll_shm_config){.size = sizeof m[i].config, .id = id, .rank = i, .ranks = 2};
    if (pthread_create(&other, NULL, open_endpoint, &m[1]))
        exit(1);
    open_endpoint(&m[0]);
    pthread_join(other, NULL);
    for (int i = 0; i < 2; i++) {
        must(nbcoll_context_create(NBCOLL_ABI, &config, &m[i].context));
        must(nbcoll_comm_icreate(m[i].context, m[i].endpoint, NULL, &m[i].comm, &m[i].request));
    }
    for (nbcoll_status s[2] = {NBCOLL_PENDING, NBCOLL_PENDING}; s[0] == NBCOLL_PENDING || s[1] == NBCOLL_PENDING;)
        for (int i = 0; i < 2; i++)
            s[i] = nbcoll_test(&m[i].request);
}

static void initialise(member *m)
{
    switch (m->operation) {
    case BCAST:
        must(nbcoll_bcast_init(&m->data, 1, NBCOLL_DOUBLE, 0, m->comm, &m->request));
        break;
    case BARRIER:
        must(nbcoll_barrier_init(m->comm, &m->request));
        break;
    default:
        must(nbcoll_allreduce_init(&m->data, &m->result, 1, NBCOLL_DOUBLE, NBCOLL_SUM, m->comm, &m->request));
    }
}

static inline void start(member *m)
{
    if (m->form == PERSISTENT) {
        must(nbcoll_start(&m->request));
        return;
    }
    switch (m->operation) {
    case BCAST:
        must(m->form == BLOCKING ? nbcoll_bcast(&m->data, 1, NBCOLL_DOUBLE, 0, m->comm, NBCOLL_FOREVER)
                                 : nbcoll_ibcast(&m->data, 1, NBCOLL_DOUBLE, 0, m->comm, &m->request));
        break;
    case BARRIER:
        must(nbcoll_ibarrier(m->comm, &m->request));
        break;
    default:
        must(nbcoll_iallreduce(&m->data, &m->result, 1, NBCOLL_DOUBLE, NBCOLL_SUM, m->comm, &m->request));
    }
}

static __attribute__((noinline)) void measured_0_start(member *m)
{
    __asm__ volatile("# rank 0"); /* so that it is not made one with the other rank's */
    start(m);
}

static __attribute__((noinline)) void measured_1_start(member *m)
{
    __asm__ volatile("# rank 1"); /* so that it is not made one with the other rank's */
    start(m);
}

static __attribute__((noinline)) void measured_0_wait(member *m)
{
    __asm__ volatile("# rank 0"); /* so that it is not made one with the other rank's */
    must(nbcoll_wait(&m->request, NBCOLL_FOREVER));
}

static __attribute__((noinline)) void measured_1_wait(member *m)
{
    __asm__ volatile("# rank 1"); /* so that it is not made one with the other rank's */
    must(nbcoll_wait(&m->request, NBCOLL_FOREVER));
}

static void batch(member m[2])
{
    int waits = m->form != BLOCKING, first_is_alone = m->operation == BCAST;

    for (int i = 0; i < BATCH; i++) {
        m[0].data = i;
        measured_0_start(&m[0]);
        if (waits && first_is_alone)
            measured_0_wait(&m[0]);
        measured_1_start(&m[1]);
        if (waits)
            measured_1_wait(&m[1]);
        if (waits && !first_is_alone)
            measured_0_wait(&m[0]);
        if (m->operation == BCAST && m[1].data != i)
            exit(2);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Prepares both ranks, and warms up. */
static void choose(member m[2], operation o, form f)
{
    for (int i = 0; i < 2; i++) {
        m[i].operation = o;
        m[i].form = f;
        m[i].data = 0;
        if (f == PERSISTENT)
            initialise(&m[i]);
    }
}

static void done_with(member m[2])
{
    for (int i = 0; m->form == PERSISTENT && i < 2; i++)
        must(nbcoll_request_free(&m[i].request));
}

static void report(member m[2], operation o, form f)
{
    double took[BATCHES];

    choose(m, o, f);
    batch(m);
    for (int b = 0; b < BATCHES; b++) {
        double at = now();
        batch(m);
        took[b] = (now() - at) / BATCH;
    }
    qsort(took, BATCHES, sizeof *took, by_value);
    printf("%-10s %-12s %8.1f ns (min %.1f, max %.1f)\n", operation_name[o], form_name[f], took[BATCHES / 2], took[0],
           took[BATCHES - 1]);
    done_with(m);
}

int main(int argc, char **argv)
{
    static member m[2];

    open_ranks(m);
    for (operation o = 0; o < OPERATIONS; o++)
        for (form f = 0; f < FORMS; f++) {
            if (f == BLOCKING && o != BCAST)
                continue;
            if (argc < 3)
                report(m, o, f);
            else if (strcmp(argv[1], operation_name[o]) == 0 && strcmp(argv[2], form_name[f]) == 0) {
                choose(m, o, f);
                for (int b = argc > 3 ? atoi(argv[3]) : 1; b > 0; b--)
                    batch(m);
                done_with(m);
            }
        }
    return 0;
}
