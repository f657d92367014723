/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of the bulk group: what is exposed can be read, in any part, by anyone, and by nobody else's key.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>


#include "player.h"

#define EXPOSED 100000
#define MARGIN 64
#define BLANK 0x5a

/* Ends the test when the transport has no bulk group and need not have one. */
static struct world *bulk_world(const nbcoll_conformance *c, int ranks)
{
    struct world *w = world_open(c, ranks);
    if (!w->player[0].ep->transport->bulk) {
        CHECK(!(w->c->promises & NBCOLL_CONFORMANCE_BULK));
        world_close(w);
        case_is_skipped("it has no bulk group");
    }
    return w;
}

static nbcoll_key expose(struct player *p, int reader, const void *memory, size_t bytes)
{
    nbcoll_key key = {{0, 0}};
    CHECK_EQUAL(p->ep->transport->bulk->expose(p->ep, reader, memory, bytes, &key), NBCOLL_OK);
    CHECK(key.word[0] || key.word[1]);
    return key;
}

/* Starts a get; what is lent is in `loan`. */
static void get_start(struct player *p, int peer, nbcoll_key key, size_t offset, void *to, size_t bytes,
                      struct loan *loan)
{
    nbcoll_posted said;
    memset(loan, 0, sizeof *loan);
    loan->work.owner = 0x6c6f616eu;
    while ((said = p->ep->transport->bulk->get(p->ep, peer, key, offset, to, bytes, &loan->work)) ==
           NBCOLL_POST_NOT_NOW) {
        for (int i = 0; i < p->world->ranks; i++)
            player_progress(&p->world->player[i]);
        case_waits("a get that is not answered NOT_NOW");
    }
    CHECK(said == NBCOLL_POST_DONE || said == NBCOLL_POST_LENT);
    loan->lent = said == NBCOLL_POST_LENT;
    p->lent += loan->lent;
}

static void get(struct player *p, int peer, nbcoll_key key, size_t offset, void *to, size_t bytes)
{
    struct loan loan;
    get_start(p, peer, key, offset, to, bytes, &loan);
    player_await_works(p);
    CHECK_EQUAL(loan.work.status, NBCOLL_OK);
}

static bool reaches(const struct player *p, int peer)
{
    const nbcoll_bulk *bulk = p->ep->transport->bulk;
    return !bulk->reaches || bulk->reaches(p->ep, peer);
}

static void both_ranks_say_the_same_of_their_reach(const nbcoll_conformance *c)
{
    struct world *w = bulk_world(c, MAX_RANKS);
    for (int i = 0; i < w->ranks; i++)
        for (int k = 0; k < w->ranks; k++)
            for (int again = 0; again < 2; again++)
                CHECK_EQUAL(reaches(&w->player[i], k), reaches(&w->player[k], i));
    world_close(w);
}

static void get_copies_any_part_of_what_is_exposed(const nbcoll_conformance *c)
{
    struct world *w = bulk_world(c, 3);
    unsigned char *memory = malloc(EXPOSED), *to = malloc(EXPOSED + 2 * MARGIN);
    const size_t lengths[] = {1, 7, 8, 63, 4096, 70001, EXPOSED};
    for (int pair = 0; pair < 9; pair++) {
        struct player *reader = &w->player[pair % 3], *owner = &w->player[pair / 3];
        if (!reaches(reader, owner->rank))
            continue;
        expected_payload(w, owner->rank, 1, memory, EXPOSED);
        nbcoll_key key = expose(owner, reader->rank, memory, EXPOSED);
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            size_t offset = random_next(&w->random) % (EXPOSED - lengths[k] + 1);
            memset(to, BLANK, EXPOSED + 2 * MARGIN);
            get(reader, owner->rank, key, offset, to + MARGIN, lengths[k]);
            CHECK(memcmp(to + MARGIN, memory + offset, lengths[k]) == 0);
            for (size_t i = 0; i < MARGIN; i++) {
                CHECK_EQUAL(to[i], BLANK);
                CHECK_EQUAL(to[MARGIN + lengths[k] + i], BLANK);
            }
        }
        owner->ep->transport->bulk->withdraw(owner->ep, key);
    }
    world_close(w);
    free(memory);
    free(to);
}

static void exposures_have_keys_of_their_own_and_can_be_withdrawn(const nbcoll_conformance *c)
{
    enum { N = 16, BYTES = 500 };
    struct world *w = bulk_world(c, 2);
    struct player *owner = &w->player[0], *reader = &w->player[1];
    static unsigned char memory[N][BYTES], to[BYTES];
    nbcoll_key key[N];
    for (int i = 0; i < N; i++) {
        expected_payload(w, 0, (uint64_t)i, memory[i], BYTES);
        key[i] = expose(owner, 1, memory[i], BYTES);
        for (int k = 0; k < i; k++)
            CHECK(memcmp(&key[i], &key[k], sizeof key[i]) != 0);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = round % 2; i < N; i += 2)
            owner->ep->transport->bulk->withdraw(owner->ep, key[i]);
        for (int i = 1 - round % 2; i < N; i += 2) {
            get(reader, 0, key[i], 3, to, BYTES - 3);
            CHECK(memcmp(to, memory[i] + 3, BYTES - 3) == 0);
        }
        for (int i = round % 2; i < N; i += 2) {
            memory[i][7]++; /* what is read is what is there now */
            key[i] = expose(owner, 1, memory[i], BYTES);
            get(reader, 0, key[i], 0, to, BYTES);
            CHECK(memcmp(to, memory[i], BYTES) == 0);
        }
    }
    for (int i = 0; i < N; i++)
        owner->ep->transport->bulk->withdraw(owner->ep, key[i]);
    world_close(w);
}

static void a_cancelled_get_writes_nothing_more(const nbcoll_conformance *c)
{
    struct world *w = bulk_world(c, 2);
    struct player *reader = &w->player[0];
    unsigned char *memory = malloc(EXPOSED), *to = malloc(EXPOSED), *blank = malloc(EXPOSED);
    struct loan loan;
    bool lent = false;
    expected_payload(w, 1, 1, memory, EXPOSED);
    memset(blank, BLANK, EXPOSED);
    nbcoll_key key = expose(&w->player[1], 0, memory, EXPOSED);
    for (int round = 0; round < 20; round++) {
        get_start(reader, 1, key, 0, to, EXPOSED, &loan);
        if (!loan.lent)
            continue;
        lent = loan.cancelled = true;
        reader->ep->transport->cancel(reader->ep, &loan.work);
        player_await_works(reader);
        if (loan.work.status == NBCOLL_OK)
            CHECK(memcmp(to, memory, EXPOSED) == 0);
        memset(to, BLANK, EXPOSED);
        for (int k = 0; k < 100; k++)
            for (int i = 0; i < w->ranks; i++)
                player_progress(&w->player[i]);
        CHECK(memcmp(to, blank, EXPOSED) == 0);
    }
    w->player[1].ep->transport->bulk->withdraw(w->player[1].ep, key);
    if (w->c->promises & NBCOLL_CONFORMANCE_LENDS)
        CHECK(lent);
    world_close(w);
    free(memory);
    free(to);
    free(blank);
    if (!lent)
        case_is_skipped("no get was lent");
}
