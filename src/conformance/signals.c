/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The case of signals: what a transport promises to be safe in a signal handler is called from one that interrupts its
 * thread at any moment outside of the endpoints, most of them inside malloc, free and stdio. A call that needs memory,
 * or a lock that the interrupted code holds, then blocks or spoils it within some hundred signals.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "player.h"

enum { SIGNALS = 2000, SIGNAL_US = 40, SIGNAL_MESSAGES = 600, SIGNAL_BYTES = 3000 };

/* What the handler uses; the program touches it with the signal blocked. */
static struct {
    struct player *p; /* rank 0; all goes to rank 1 */
    uint32_t safe;
    volatile sig_atomic_t handled;
    struct transfer get;
    nbcoll_registration theirs; /* what it gets from */
    enum { GET_NONE, GET_READY, GET_GOING } getting;
    unsigned char to[SIGNAL_BYTES];
    struct line_stream lines;
} inside;

static void inside_post(struct player *p)
{
    struct message *l = p->posted < p->messages ? p->message[p->posted] : NULL;
    if (!l || player_post(p, l) == NBCOLL_POST_NOT_NOW)
        return;
    p->posted++;
    if (l->loan.lent && inside.safe & NBCOLL_SAFE_CANCEL && p->posted % 4 == 0)
        player_cancel(p, &l->loan);
}

static void inside_get(struct player *p)
{
    const nbcoll_bulk *bulk = p->ep->transport->bulk;
    struct transfer *t = &inside.get;
    if (inside.getting != GET_READY)
        return;
    if (bulk->view)
        bulk->view(p->ep, 1, &t->key, 0, SIGNAL_BYTES);
    nbcoll_posted said = get_post(p, 1, 0, inside.to, SIGNAL_BYTES, t);
    if (said == NBCOLL_POST_NOT_NOW)
        return;
    inside.getting = GET_GOING;
    transfer_begins(p, &t->loan, said);
}

static void on_alarm(int number)
{
    struct player *p = inside.p;
    (void)number;
    if (inside.safe & NBCOLL_SAFE_POST)
        inside_post(p);
    if (inside.safe & NBCOLL_SAFE_BULK)
        inside_get(p);
    if (inside.lines.posted < inside.lines.of)
        stream_post(&inside.lines);
    if (inside.safe & NBCOLL_SAFE_WAKE && p->ep->transport->shared)
        p->ep->transport->shared->wake(p->ep, 1);
    if (inside.safe & NBCOLL_SAFE_PROGRESS)
        player_progress(p);
    inside.handled++;
}

/* What is interrupted: the C library's locks are taken and given back, most of the time while it keeps no free block of
 * a small size for the thread, which it could give without a lock. */
static void churn(FILE *nowhere)
{
    enum { SIZES = 64, EACH = 8, LARGE = 500 };
    static void *block[SIZES * EACH];
    for (size_t i = 0; i < SIZES * EACH; i++)
        block[i] = malloc(8 + i / EACH * 16);
    for (size_t i = 0; i < LARGE; i++) {
        void *volatile large = malloc(3000);
        free(large);
    }
    fprintf(nowhere, "%p", block[0]);
    for (size_t i = 0; i < SIZES * EACH; i++)
        free(block[i]);
}

/* With a second thread the C library takes its locks. */
static void *be_there(void *until)
{
    sem_wait(until);
    return NULL;
}

/* Between two churns, with the signal blocked: looks at what has come, and prepares what is next. */
static void look(struct world *w, const unsigned char *from)
{
    struct player *p = inside.p;
    player_progress(p);
    if (inside.lines.of)
        stream_progress(&inside.lines);
    else
        player_progress(&w->player[1]);
    if (inside.getting == GET_GOING && !inside.get.loan.lent) {
        CHECK(memcmp(inside.to, from, SIGNAL_BYTES) == 0);
        memset(inside.to, 0, SIGNAL_BYTES);
        inside.getting = GET_READY;
    }
}

static void prepare(struct world *w, unsigned char *from)
{
    struct player *p = &w->player[0];
    memset(&inside, 0, sizeof inside);
    inside.p = p;
    inside.safe = p->ep->transport->signal_safe;
    if (inside.safe & NBCOLL_SAFE_LINES)
        inside.lines = stream_open(w, 1, SIGNALS);
    for (int k = 0; inside.safe & NBCOLL_SAFE_POST && k < SIGNAL_MESSAGES; k++)
        player_write(p, 1, (size_t)k % 200);
    expected_payload(w, 1, 1, from, SIGNAL_BYTES);
    if (!(inside.safe & NBCOLL_SAFE_BULK) || !p->ep->transport->bulk || !p->ep->transport->bulk->get ||
        !player_reaches(p, 1))
        return;
    player_register(&w->player[1], 0, from, SIGNAL_BYTES, NBCOLL_PEER_READS, &inside.theirs);
    transfer_open(p, 1, &inside.theirs, inside.to, SIGNAL_BYTES, &inside.get);
    inside.getting = GET_READY;
}

static void what_is_promised_so_works_in_a_signal_handler(const nbcoll_conformance *c)
{
    static unsigned char from[SIGNAL_BYTES];
    const struct itimerval often = {{0, SIGNAL_US}, {0, SIGNAL_US}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    pthread_t thread;
    sigset_t alarm;
    sem_t until;

    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL); /* in threads of the transport, too */
    struct world *w = world_open(c, 2);
    prepare(w, from);
    world_needs(w, inside.safe, "it promises no call to be safe in a signal handler", 0);
    FILE *nowhere = fopen("/dev/null", "w");
    sem_init(&until, 0, 0);
    CHECK(nowhere && pthread_create(&thread, NULL, be_there, &until) == 0);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (inside.handled < SIGNALS || inside.p->posted < inside.p->messages) {
        look(w, from);
        pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
        churn(nowhere);
        pthread_sigmask(SIG_BLOCK, &alarm, NULL);
        case_waits("signals, and room for messages");
    }
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_IGN); /* also one that waits */
    sem_post(&until);
    pthread_join(thread, NULL);
    fclose(nowhere);
    while (inside.p->lent || stream_arrived(&inside.lines) < inside.lines.posted) {
        look(w, from);
        case_waits("work requests that were lent in a signal handler, and lines");
    }
    free(inside.lines.arrived);
    world_settle(w);
    if (inside.getting != GET_NONE) {
        player_deregister(inside.p, &inside.get.mine);
        player_deregister(&w->player[1], &inside.theirs);
    }
    world_close(w);
}
