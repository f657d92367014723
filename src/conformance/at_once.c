/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases with all ranks at once, each a thread or a process: what the transport shares between endpoints it
 * synchronises itself.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "player.h"
#include "processes.h"

/* ---- running ----------------------------------------------------------------------------------------------------- */

struct body {
    struct player *player;
    void (*main)(struct player *p);
};

static void *thread_main(void *argument)
{
    struct body *b = argument;
    b->main(b->player);
    return NULL;
}

void world_run(struct world *w, void (*main)(struct player *p))
{
    struct body body[MAX_RANKS];
    pthread_t thread[MAX_RANKS];

    if (w->in_processes) {
        processes_run(w, main);
        return;
    }
    for (int i = 0; i < w->ranks; i++) {
        body[i] = (struct body){&w->player[i], main};
        CHECK_EQUAL(pthread_create(&thread[i], NULL, thread_main, &body[i]), 0);
    }
    for (int i = 0; i < w->ranks; i++)
        pthread_join(thread[i], NULL);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

void player_talk(struct player *p)
{
    while (!player_is_done(p)) {
        player_send(p);
        if (!player_progress(p)) {
            if (case_is_late())
                player_is_wrong(p, "%zu of %zu messages arrived, %zu work requests are out", p->arrived, p->expected,
                                p->lent);
            sched_yield();
        }
    }
}

static void talk_and_close(struct player *p)
{
    player_talk(p);
    nbcoll_endpoint_close(p->ep);
    p->ep = NULL;
}

static void ranks_at_once_exchange_random_messages(const nbcoll_conformance *c)
{
    static const struct {
        int ranks, messages;
    } runs[] = {{2, 3000}, {4, 1000}, {9, 200}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct world *w = world_open(c, runs[i].ranks);
        world_write_random(w, runs[i].messages);
        world_run(w, player_talk);
        world_close(w);
    }
}

static void an_end_closes_while_others_still_talk(const nbcoll_conformance *c)
{
    for (int round = 0; round < 20; round++) {
        struct world *w = world_open(c, 4);
        for (int rank = 0; rank < w->ranks; rank++)
            for (int k = 0; k < 10 + 30 * rank; k++) /* the first ones are done early */
                player_write(&w->player[rank], 1 + (rank + k) % 3, (size_t)k);
        world_run(w, talk_and_close);
        world_close(w);
    }
}

/* All but the last rank leave; it hears of each once, which a second look would show. */
static void talk_and_close_or_stay(struct player *p)
{
    if (p->rank + 1 < p->world->ranks) {
        talk_and_close(p);
        return;
    }
    player_talk(p);
    while (!player_knows_left(p, -1)) {
        if (!player_progress(p))
            sched_yield();
        case_waits("the report that all others have left");
    }
    for (uint64_t start = now_ns(); now_ns() - start < 250000000;)
        player_progress(p);
}

static void who_stays_is_told_once_of_all_who_leave(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 4);
    world_write_random(w, 100);
    world_run(w, talk_and_close_or_stay);
    world_close(w);
}

/* ---- bulk data --------------------------------------------------------------------------------------------------- */

enum { EXPOSED_AT_ONCE = 300000 };

/* What the ranks say to each other beside the transport. */
struct board {
    nbcoll_key key[MAX_RANKS][MAX_RANKS]; /* of, for; zero where data must go another way */
    atomic_int shown, done; /* ranks that have exposed, and have read */
    atomic_int reads;
};
static struct board *board;

static void read_one(struct player *p, int from, size_t offset, size_t bytes, unsigned char *to,
                     const nbcoll_registration *local, unsigned char *wanted)
{
    struct loan loan = {.work.owner = OWNER};
    const nbcoll_bulk *bulk = p->ep->transport->bulk;
    nbcoll_posted said;

    while ((said = bulk->get(p->ep, from, &board->key[from][p->rank], offset, local, to, bytes, &loan.work)) ==
           NBCOLL_POST_NOT_NOW) {
        player_progress(p);
        case_waits("a get that is not answered NOT_NOW");
    }
    transfer_begins(p, &loan, said);
    player_await_own_works(p);
    expected_payload(p->world, from, 1, wanted, EXPOSED_AT_ONCE);
    if (memcmp(to, wanted + offset, bytes) != 0)
        player_is_wrong(p, "%zu bytes from rank %d at %zu are wrong", bytes, from, offset);
}

static void expose_and_read(struct player *p)
{
    unsigned char *memory = malloc(EXPOSED_AT_ONCE), *to = malloc(EXPOSED_AT_ONCE), *wanted = malloc(EXPOSED_AT_ONCE);
    const nbcoll_bulk *bulk = p->ep->transport->bulk && p->ep->transport->bulk->get ? p->ep->transport->bulk : NULL;
    nbcoll_registration lent[MAX_RANKS], mine[MAX_RANKS];
    uint64_t random = p->world->seed + (uint64_t)p->rank;
    int ranks = p->world->ranks;

    expected_payload(p->world, p->rank, 1, memory, EXPOSED_AT_ONCE);
    for (int peer = 0; bulk && peer < ranks; peer++)
        if (player_reaches(p, peer)) {
            player_register(p, peer, memory, EXPOSED_AT_ONCE, NBCOLL_PEER_READS, &lent[peer]);
            player_register(p, peer, to, EXPOSED_AT_ONCE, NBCOLL_LOCAL_END, &mine[peer]);
            memcpy(&board->key[p->rank][peer], &lent[peer].key, p->ep->limits.key_bytes);
        }
    await_ranks(p, &board->shown, ranks);
    if (!bulk && p->ep->transport->bulk)
        atomic_fetch_add(&board->reads, 1); /* it only puts */
    for (int k = 0; bulk && k < 40; k++) {
        int from = k % ranks;
        size_t offset = random_next(&random) % EXPOSED_AT_ONCE, most = k % 3 ? 1000 : EXPOSED_AT_ONCE;
        size_t bytes = 1 + random_next(&random) % (EXPOSED_AT_ONCE - offset < most ? EXPOSED_AT_ONCE - offset : most);
        if (player_reaches(p, from)) {
            read_one(p, from, offset, bytes, to, player_local(p, &mine[from]), wanted);
            atomic_fetch_add(&board->reads, 1);
        }
    }
    await_ranks(p, &board->done, ranks);
    for (int peer = 0; bulk && peer < ranks; peer++)
        if (player_reaches(p, peer)) {
            player_deregister(p, &lent[peer]);
            player_deregister(p, &mine[peer]);
        }
    free(memory);
    free(to);
    free(wanted);
}

static void ranks_at_once_read_what_is_exposed(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 4);
    board = processes_share(sizeof *board);
    world_run(w, expose_and_read);
    if (w->c->promises & NBCOLL_CONFORMANCE_BULK)
        CHECK(board->reads > 0);
    munmap(board, sizeof *board);
    world_close(w);
}
