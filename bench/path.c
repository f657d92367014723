/* SPDX-License-Identifier: BSD-3-Clause
 * What an operation of 8 bytes costs each of two ranks over shm when nobody waits: both ranks live in one process, and
 * one thread steps them so that what a rank needs has come before it looks. For an instruction count of one side:
 *
 *     valgrind --tool=callgrind --collect-atstart=no "--toggle-collect=measured_0*" bench/path bcast persistent
 *
 * counts rank 0, the root, and measured_1* rank 1; a thousand operations of bcast, barrier or allreduce, and of the
 * form nonblocking, persistent or blocking. A blocking barrier or allreduce comes last: the other rank, which is not
 * counted then, has started its own without blocking. Without arguments: nanoseconds of both ranks' work, medians of
 * batches of 1000, without those two. */
#include "calls.h"
#include "stepped.h"

enum { BATCH = 1000, BATCHES = 51 };

typedef enum operation { BCAST, BARRIER, ALLREDUCE, OPERATIONS } operation;
typedef enum form { NONBLOCKING, PERSISTENT, BLOCKING, FORMS } form;

static const char *const operation_name[] = {"bcast", "barrier", "allreduce"};
static const char *const form_name[] = {"nonblocking", "persistent", "blocking"};

typedef struct member {
    stepped at;
    double data, result;
    operation operation;
    form form;
} member;

static void initialise(member *m)
{
    static const nbcoll_operation of[] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_BARRIER, NBCOLL_OPERATION_ALLREDUCE};
    const call c = {of[m->operation], &m->data, m->operation == BCAST ? &m->data : &m->result, 1, NBCOLL_DOUBLE,
                    m->at.comm};
    must(call_init(&c, &m->at.request));
}

static inline void start(member *m)
{
    if (m->form == PERSISTENT) {
        must(nbcoll_start(&m->at.request));
        return;
    }
    switch (m->operation) {
    case BCAST:
        must(nbcoll_ibcast(&m->data, 1, NBCOLL_DOUBLE, 0, m->at.comm, &m->at.request));
        break;
    case BARRIER:
        must(nbcoll_ibarrier(m->at.comm, &m->at.request));
        break;
    default:
        must(nbcoll_iallreduce(&m->data, &m->result, 1, NBCOLL_DOUBLE, NBCOLL_SUM, m->at.comm, &m->at.request));
    }
}

static inline void call_it(member *m)
{
    switch (m->operation) {
    case BCAST:
        must(nbcoll_bcast(&m->data, 1, NBCOLL_DOUBLE, 0, m->at.comm, NBCOLL_FOREVER));
        break;
    case BARRIER:
        must(nbcoll_barrier(m->at.comm, NBCOLL_FOREVER));
        break;
    default:
        must(nbcoll_allreduce(&m->data, &m->result, 1, NBCOLL_DOUBLE, NBCOLL_SUM, m->at.comm, NBCOLL_FOREVER));
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
    must(nbcoll_wait(&m->at.request, NBCOLL_FOREVER));
}

static __attribute__((noinline)) void measured_1_wait(member *m)
{
    __asm__ volatile("# rank 1"); /* so that it is not made one with the other rank's */
    must(nbcoll_wait(&m->at.request, NBCOLL_FOREVER));
}

static __attribute__((noinline)) void measured_0_call(member *m)
{
    __asm__ volatile("# rank 0"); /* so that it is not made one with the other rank's */
    call_it(m);
}

static __attribute__((noinline)) void measured_1_call(member *m)
{
    __asm__ volatile("# rank 1"); /* so that it is not made one with the other rank's */
    call_it(m);
}

/* Each rank comes last in its turn, when the other one has started. */
static void call_in_turn(member m[2])
{
    start(&m[0]);
    measured_1_call(&m[1]);
    must(nbcoll_wait(&m[0].at.request, NBCOLL_FOREVER));
    start(&m[1]);
    measured_0_call(&m[0]);
    must(nbcoll_wait(&m[1].at.request, NBCOLL_FOREVER));
}

static void started_and_awaited(member m[2])
{
    int first_is_alone = m->operation == BCAST;

    measured_0_start(&m[0]);
    if (first_is_alone)
        measured_0_wait(&m[0]);
    measured_1_start(&m[1]);
    measured_1_wait(&m[1]);
    if (!first_is_alone)
        measured_0_wait(&m[0]);
}

static void batch(member m[2])
{
    for (int i = 0; i < BATCH; i++) {
        m[0].data = i;
        if (m->form != BLOCKING) {
            started_and_awaited(m);
        } else if (m->operation != BCAST) {
            call_in_turn(m);
        } else {
            measured_0_call(&m[0]);
            measured_1_call(&m[1]);
        }
        if (m->operation == BCAST && m[1].data != i)
            exit(2);
    }
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
        must(nbcoll_request_free(&m[i].at.request));
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
    double usual = median(took, BATCHES);
    printf("%-10s %-12s %8.1f ns (min %.1f, max %.1f)\n", operation_name[o], form_name[f], usual, took[0],
           took[BATCHES - 1]);
    done_with(m);
}

int main(int argc, char **argv)
{
    static member m[2];

    stepped_open((stepped *[]){&m[0].at, &m[1].at}, 2);
    for (operation o = 0; o < OPERATIONS; o++)
        for (form f = 0; f < FORMS; f++) {
            if (argc < 3 && (f != BLOCKING || o == BCAST))
                report(m, o, f);
            if (argc >= 3 && strcmp(argv[1], operation_name[o]) == 0 && strcmp(argv[2], form_name[f]) == 0) {
                choose(m, o, f);
                for (int b = argc > 3 ? atoi(argv[3]) : 1; b > 0; b--)
                    batch(m);
                done_with(m);
            }
        }
    return 0;
}
