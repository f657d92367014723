/* SPDX-License-Identifier: BSD-3-Clause
 * What a message of a few bytes costs each of two ranks over shm when nobody waits: both live in one process, and one
 * thread steps them so that what the receiver needs has come before it looks. For an instruction count of one side:
 *
 *     valgrind --tool=callgrind --collect-atstart=no "--toggle-collect=measured_0*" bench/message posted 8
 *
 * counts rank 0, which sends, and measured_1* rank 1; so many thousand messages (a third argument) of so many bytes:
 *
 *   posted      the receive is posted before its message is sent; isend, irecv, wait
 *   kept        after it has come
 *   blocking    send, then recv
 *   window      64 receives are posted, 64 messages sent, and all of them waited for
 *   backlog     20,000 messages with tags of their own come, and are then received in the opposite order; a thousand
 *               stands for once
 *
 * Without arguments: nanoseconds of both ranks' work for each of them, medians of batches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nbcoll/message.h>
#include "stepped.h"

enum { BATCH = 1024, BATCHES = 51, WINDOW = 64, BYTES_MOST = 4096, BACKLOG = 20000, TAG = 7 };

typedef struct member {
    stepped at;
    nbcoll_messages *m;
    nbcoll_request q[BACKLOG];
    unsigned char data[BYTES_MOST];
} member;

static member rank[2];
static size_t bytes = 8;

#define FENCE __asm__ volatile("# rank") /* so that functions alike are not made one */

static __attribute__((noinline)) void measured_0_isend(int k, int tag)
{
    FENCE;
    must(nbcoll_isend(rank[0].data, bytes, NBCOLL_BYTE, 1, tag, rank[0].m, &rank[0].q[k]));
}

static __attribute__((noinline)) void measured_1_irecv(int k, int tag)
{
    FENCE;
    must(nbcoll_irecv(rank[1].data, bytes, NBCOLL_BYTE, 0, tag, rank[1].m, NULL, &rank[1].q[k]));
}

static __attribute__((noinline)) void measured_0_wait(int n)
{
    FENCE;
    must(n == 1 ? nbcoll_wait(rank[0].q, NBCOLL_FOREVER) : nbcoll_wait_all((size_t)n, rank[0].q, NULL, NBCOLL_FOREVER));
}

static __attribute__((noinline)) void measured_1_wait(int n)
{
    FENCE;
    must(n == 1 ? nbcoll_wait(rank[1].q, NBCOLL_FOREVER) : nbcoll_wait_all((size_t)n, rank[1].q, NULL, NBCOLL_FOREVER));
}

static __attribute__((noinline)) void measured_0_send(void)
{
    FENCE;
    must(nbcoll_send(rank[0].data, bytes, NBCOLL_BYTE, 1, TAG, rank[0].m, NBCOLL_FOREVER));
}

static __attribute__((noinline)) void measured_1_recv(void)
{
    FENCE;
    must(nbcoll_recv(rank[1].data, bytes, NBCOLL_BYTE, 0, TAG, rank[1].m, NULL, NBCOLL_FOREVER));
}

static void posted(void)
{
    measured_1_irecv(0, TAG);
    measured_0_isend(0, TAG);
    measured_0_wait(1);
    measured_1_wait(1);
}

static void kept(void)
{
    measured_0_isend(0, TAG);
    measured_0_wait(1);
    must(nbcoll_progress(rank[1].at.context));
    measured_1_irecv(0, TAG);
    measured_1_wait(1);
}

static void blocking(void)
{
    measured_0_send();
    measured_1_recv();
}

static void window(void)
{
    for (int k = 0; k < WINDOW; k++)
        measured_1_irecv(k, TAG);
    for (int k = 0; k < WINDOW; k++)
        measured_0_isend(k, TAG);
    measured_0_wait(WINDOW);
    measured_1_wait(WINDOW);
    must(nbcoll_progress(rank[1].at.context)); /* gives the ring back */
}

/* 64 at a time have credits; the others are announced. */
static void backlog(void)
{
    for (int k = 0; k < BACKLOG; k++) {
        measured_0_isend(k, k);
        if (k % 32 == 0)
            must(nbcoll_progress(rank[1].at.context));
    }
    must(nbcoll_progress(rank[1].at.context));
    for (int k = BACKLOG - 1; k >= 0; k--) {
        measured_1_irecv(k, k);
        if (k % 32 == 0)
            must(nbcoll_progress(rank[0].at.context));
    }
    for (int left = 2; left;) {
        left = 0;
        for (int i = 0; i < 2; i++)
            left += nbcoll_test_all(BACKLOG, rank[i].q, NULL) == NBCOLL_PENDING;
    }
}

static const struct form {
    const char *name;
    void (*run)(void);
    int messages;
} forms[] = {{"posted", posted, 1}, {"kept", kept, 1}, {"blocking", blocking, 1}, {"window", window, WINDOW},
             {"backlog", backlog, BACKLOG}};

static void batch(const struct form *f)
{
    for (int i = 0; i < BATCH; i += f->messages)
        f->run();
    must(nbcoll_progress(rank[0].at.context)); /* credits come back */
}

static void report(const struct form *f)
{
    double took[BATCHES];
    int batches = f->messages > BATCH ? 1 : BATCHES, of = f->messages > BATCH ? f->messages : BATCH;

    if (batches > 1)
        batch(f);
    for (int b = 0; b < batches; b++) {
        double at = now();
        batch(f);
        took[b] = (now() - at) / of;
    }
    qsort(took, (size_t)batches, sizeof *took, by_value);
    printf("%-10s %5zu bytes %8.1f ns (min %.1f, max %.1f)\n", f->name, bytes, took[batches / 2], took[0],
           took[batches - 1]);
}

int main(int argc, char **argv)
{
    nbcoll_messages_config config = {.size = sizeof config, .announced = 16384, .credits = 8192};

    stepped_open((stepped *[]){&rank[0].at, &rank[1].at}, 2);
    for (int i = 0; i < 2; i++)
        must(nbcoll_messages_iopen(rank[i].at.comm, &config, &rank[i].m, &rank[i].at.request));
    stepped_finish((stepped *[]){&rank[0].at, &rank[1].at}, 2);
    if (argc > 2)
        bytes = (size_t)atoi(argv[2]);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        if (argc < 2 || strcmp(argv[1], forms[f].name) == 0) {
            if (argc < 4)
                report(&forms[f]);
            for (int b = argc > 3 ? atoi(argv[3]) : 0; b > 0; b--)
                batch(&forms[f]);
        }
    return 0;
}
