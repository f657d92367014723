/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of puts: what is put lies where it belongs when its notice arrives, and nowhere else.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "player.h"

enum { PUT_ROOM = 100000, PUT_MARGIN = 64, PUT_BLANK = 0x5a };

static struct world *put_world(const nbcoll_conformance *c, int ranks)
{
    struct world *w = world_open(c, ranks);
    const nbcoll_bulk *bulk = w->player[0].ep->transport->bulk;
    world_needs(w, bulk && bulk->put, "it has no put", 0);
    return w;
}

/* Starts a put whose notice is the player's next message. */
static struct message *put_start(struct player *p, int to, const nbcoll_registration *r, size_t offset, void *from,
                                size_t bytes, struct transfer *t)
{
    struct message *l = player_write(p, to, 0);
    nbcoll_posted said;

    transfer_open(p, to, r, from, bytes, t);
    while ((said = p->ep->transport->bulk->put(p->ep, to, &t->key, offset, player_local(p, &t->mine), from, bytes,
                                               &l->header, &l->loan.work)) == NBCOLL_POST_NOT_NOW) {
        world_progress(p->world);
        case_waits("a put that is not answered NOT_NOW");
    }
    transfer_begins(p, &l->loan, said);
    l->state = MESSAGE_POSTED;
    p->posted++;
    return l;
}

static void put_one(struct player *p, struct player *owner, const nbcoll_registration *r, unsigned char *memory,
                    unsigned char *from, size_t offset, size_t bytes)
{
    struct transfer t;

    memset(memory, PUT_BLANK, PUT_ROOM);
    struct message *notice = put_start(p, owner->rank, r, offset, from, bytes, &t);
    for (; !notice->arrived; case_waits("the notice of a put")) {
        player_progress(p);
        player_progress(owner);
    }
    CHECK(memcmp(memory + offset, from, bytes) == 0); /* when the notice arrives */
    for (size_t i = 0; i < PUT_MARGIN; i++)
        CHECK((i >= offset || memory[offset - 1 - i] == PUT_BLANK) &&
              (offset + bytes + i >= PUT_ROOM || memory[offset + bytes + i] == PUT_BLANK));
    player_await_works(p);
    player_deregister(p, &t.mine);
}

static void put_writes_any_part_and_then_its_notice_arrives(const nbcoll_conformance *c)
{
    struct world *w = put_world(c, 3);
    unsigned char *memory = malloc(PUT_ROOM), *from = malloc(PUT_ROOM);
    const size_t lengths[] = {1, 7, 8, 63, 4096, 70001, PUT_ROOM};

    for (int pair = 0; pair < 9; pair++) {
        struct player *p = &w->player[pair % 3], *owner = &w->player[pair / 3];
        nbcoll_registration r;
        if (!player_reaches(p, owner->rank))
            continue;
        expected_payload(w, p->rank, 1, from, PUT_ROOM);
        player_register(owner, p->rank, memory, PUT_ROOM, NBCOLL_PEER_WRITES, &r);
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++)
            put_one(p, owner, &r, memory, from, random_next(&w->random) % (PUT_ROOM - lengths[k] + 1), lengths[k]);
        player_deregister(owner, &r);
    }
    world_settle(w);
    world_close(w);
    free(memory);
    free(from);
}

static void a_cancelled_put_writes_nothing_more(const nbcoll_conformance *c)
{
    struct world *w = put_world(c, 2);
    struct player *p = &w->player[0], *owner = &w->player[1];
    unsigned char *memory = malloc(PUT_ROOM), *from = malloc(PUT_ROOM), *blank = malloc(PUT_ROOM);
    nbcoll_registration r;

    expected_payload(w, 0, 1, from, PUT_ROOM);
    memset(blank, PUT_BLANK, PUT_ROOM);
    player_register(owner, 0, memory, PUT_ROOM, NBCOLL_PEER_WRITES, &r);
    for (int round = 0; round < 20; round++) {
        struct transfer t;
        struct message *notice = put_start(p, 1, &r, 0, from, PUT_ROOM, &t);
        if (notice->loan.lent)
            player_cancel(p, &notice->loan);
        player_await_works(p);
        player_deregister(p, &t.mine);
        bool is_over = notice->loan.work.status == NBCOLL_OK;
        for (; is_over && !notice->arrived; case_waits("the notice of a put that was not cancelled any more"))
            player_progress(owner);
        memset(memory, PUT_BLANK, PUT_ROOM);
        for (int k = 0; k < 100; k++)
            world_progress(w);
        CHECK(memcmp(memory, blank, PUT_ROOM) == 0);
        CHECK_EQUAL(notice->arrived, is_over);
        if (!is_over)
            player_revoke(p, notice);
    }
    player_deregister(owner, &r);
    world_close(w);
    free(memory);
    free(from);
    free(blank);
}

/* What rank 0 was answered that rank 1 has given up: it does not end well, and nothing arrives. */
static void put_or_get_is_in_vain(struct player *p, struct player *owner, struct loan *loan, nbcoll_posted said)
{
    loan->is_in_vain = true;
    if (said == NBCOLL_POST_IN_FLIGHT)
        transfer_begins(p, loan, said);
    CHECK(said != NBCOLL_POST_DONE);
    for (int k = 0; k < 1000; k++) {
        CHECK(!player_progress(owner));
        player_progress(p);
    }
    if (loan->lent)
        p->ep->transport->cancel(p->ep, &loan->work);
    player_await_own_works(p);
}

/* Rank 1 gives rank 0 up, which tries to put there all the same: nothing is written, and no notice arrives. */
static void who_is_given_up_writes_nothing_more(const nbcoll_conformance *c)
{
    struct world *w = put_world(c, 2);
    struct player *p = &w->player[0], *owner = &w->player[1];
    unsigned char memory[500], from[500] = {1}, blank[500];
    nbcoll_registration r;
    struct transfer t;

    world_needs(w, owner->ep->transport->give_up, "it has no give_up", 0);
    memset(memory, PUT_BLANK, sizeof memory);
    memset(blank, PUT_BLANK, sizeof blank);
    player_register(owner, 0, memory, sizeof memory, NBCOLL_PEER_WRITES, &r);
    transfer_open(p, 1, &r, from, sizeof from, &t);
    owner->ep->transport->give_up(owner->ep, 0);
    put_or_get_is_in_vain(p, owner, &t.loan,
                          p->ep->transport->bulk->put(p->ep, 1, &t.key, 0, player_local(p, &t.mine), from, sizeof from,
                                                      &(nbcoll_header){{7}}, &t.loan.work));
    CHECK(memcmp(memory, blank, sizeof memory) == 0);
    player_deregister(p, &t.mine);
    player_deregister(owner, &r);
    CHECK(memcmp(memory, blank, sizeof memory) == 0);
    world_close(w);
}

/* The same with a get: it may copy what is there, but never says so. Also one that was lent before. */
static void who_is_given_up_gets_nothing_that_counts(const nbcoll_conformance *c)
{
    for (int is_lent_before = 0; is_lent_before < 2; is_lent_before++) {
        struct world *w = bulk_world(c, 2);
        struct player *p = &w->player[0], *owner = &w->player[1];
        world_needs(w, owner->ep->transport->give_up && player_reaches(p, 1),
                    "it has no give_up, or nothing moves between two ranks", 0);
        unsigned char *memory = calloc(1, PUT_ROOM), *to = malloc(PUT_ROOM);
        nbcoll_registration r;
        struct transfer t;

        player_register(owner, 0, memory, PUT_ROOM, NBCOLL_PEER_READS, &r);
        transfer_open(p, 1, &r, to, PUT_ROOM, &t);
        if (!is_lent_before)
            owner->ep->transport->give_up(owner->ep, 0);
        nbcoll_posted said = get_post(p, 1, 0, to, PUT_ROOM, &t);
        if (is_lent_before)
            owner->ep->transport->give_up(owner->ep, 0);
        if (!is_lent_before || said == NBCOLL_POST_IN_FLIGHT)
            put_or_get_is_in_vain(p, owner, &t.loan, said);
        player_deregister(p, &t.mine);
        player_deregister(owner, &r);
        world_close(w);
        free(memory);
        free(to);
    }
}
