/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of the bulk group: what is registered can be read, in any part, by anyone, and by nobody else's key.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "player.h"

#define EXPOSED 100000
#define MARGIN 64
#define BLANK 0x5a

/* Ends the case when the transport has no get and need not have one. */
static struct world *bulk_world(const nbcoll_conformance *c, int ranks)
{
    struct world *w = world_open(c, ranks);
    const nbcoll_bulk *bulk = w->player[0].ep->transport->bulk;
    world_needs(w, bulk && bulk->get, "it has no get", bulk ? 0 : NBCOLL_CONFORMANCE_BULK);
    return w;
}

static bool player_reaches(const struct player *p, int peer)
{
    const nbcoll_bulk *bulk = p->ep->transport->bulk;
    return !bulk->reaches || bulk->reaches(p->ep, peer);
}

static void player_register(struct player *p, int peer, void *memory, size_t bytes, uint32_t access,
                            nbcoll_registration *out)
{
    const nbcoll_bulk *bulk = p->ep->transport->bulk;
    const nbcoll_key none = {{0}};
    *out = (nbcoll_registration){{{0}}, {0}};
    if (access == NBCOLL_LOCAL_END && bulk->flags & NBCOLL_BULK_ANY_LOCAL)
        return;
    nbcoll_status s = bulk->register_memory(p->ep, peer, memory, bytes, access, out);
    if (s != NBCOLL_OK)
        player_is_wrong(p, "registering for access %u is answered %d", (unsigned)access, (int)s);
    else if (access != NBCOLL_LOCAL_END && memcmp(&out->key, &none, p->ep->limits.key_bytes) == 0)
        player_is_wrong(p, "a key is all zero");
}

static const nbcoll_registration *player_local(const struct player *p, const nbcoll_registration *r)
{
    return p->ep->transport->bulk->flags & NBCOLL_BULK_ANY_LOCAL ? NULL : r;
}

static void player_deregister(struct player *p, nbcoll_registration *r)
{
    const nbcoll_bulk *bulk = p->ep->transport->bulk;
    if (bulk->deregister_memory && memcmp(r, &(nbcoll_registration){{{0}}, {0}}, sizeof *r) != 0)
        bulk->deregister_memory(p->ep, r);
}

void transfer_open(struct player *p, int peer, const nbcoll_registration *r, void *memory, size_t bytes,
                   struct transfer *out)
{
    memset(out, 0, sizeof *out);
    memcpy(&out->key, &r->key, p->ep->limits.key_bytes);
    out->loan.work.owner = OWNER;
    player_register(p, peer, memory, bytes, NBCOLL_LOCAL_END, &out->mine);
}

void transfer_begins(struct player *p, struct loan *loan, nbcoll_posted said)
{
    CHECK(said == NBCOLL_POST_DONE || said == NBCOLL_POST_IN_FLIGHT);
    loan->lent = said == NBCOLL_POST_IN_FLIGHT;
    p->lent += loan->lent;
}

static nbcoll_posted get_post(struct player *p, int peer, size_t offset, void *to, size_t bytes, struct transfer *t)
{
    return p->ep->transport->bulk->get(p->ep, peer, &t->key, offset, player_local(p, &t->mine), to, bytes,
                                       &t->loan.work);
}

static void get_start(struct player *p, int peer, const nbcoll_registration *r, size_t offset, void *to, size_t bytes,
                      struct transfer *t)
{
    nbcoll_posted said;
    transfer_open(p, peer, r, to, bytes, t);
    while ((said = get_post(p, peer, offset, to, bytes, t)) == NBCOLL_POST_NOT_NOW) {
        world_progress(p->world);
        case_waits("a get that is not answered NOT_NOW");
    }
    transfer_begins(p, &t->loan, said);
}

static void get(struct player *p, int peer, const nbcoll_registration *r, size_t offset, void *to, size_t bytes)
{
    struct transfer t;
    get_start(p, peer, r, offset, to, bytes, &t);
    player_await_works(p);
    CHECK_EQUAL(t.loan.work.status, NBCOLL_OK);
    player_deregister(p, &t.mine);
}

static void both_ranks_say_the_same_of_their_reach(const nbcoll_conformance *c)
{
    struct world *w = bulk_world(c, MAX_RANKS);
    for (int i = 0; i < w->ranks; i++)
        for (int k = 0; k < w->ranks; k++)
            for (int again = 0; again < 2; again++)
                CHECK_EQUAL(player_reaches(&w->player[i], k), player_reaches(&w->player[k], i));
    world_close(w);
}

static void get_copies_any_part_of_what_is_registered(const nbcoll_conformance *c)
{
    struct world *w = bulk_world(c, 3);
    unsigned char *memory = malloc(EXPOSED), *to = malloc(EXPOSED + 2 * MARGIN);
    const size_t lengths[] = {1, 7, 8, 63, 4096, 70001, EXPOSED};
    for (int pair = 0; pair < 9; pair++) {
        struct player *reader = &w->player[pair % 3], *owner = &w->player[pair / 3];
        if (!player_reaches(reader, owner->rank))
            continue;
        expected_payload(w, owner->rank, 1, memory, EXPOSED);
        nbcoll_registration r;
        player_register(owner, reader->rank, memory, EXPOSED, NBCOLL_PEER_READS, &r);
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            size_t offset = random_next(&w->random) % (EXPOSED - lengths[k] + 1);
            memset(to, BLANK, EXPOSED + 2 * MARGIN);
            get(reader, owner->rank, &r, offset, to + MARGIN, lengths[k]);
            CHECK(memcmp(to + MARGIN, memory + offset, lengths[k]) == 0);
            for (size_t i = 0; i < MARGIN; i++) {
                CHECK_EQUAL(to[i], BLANK);
                CHECK_EQUAL(to[MARGIN + lengths[k] + i], BLANK);
            }
        }
        player_deregister(owner, &r);
    }
    world_close(w);
    free(memory);
    free(to);
}

static void one_key_serves_every_peer_where_the_transport_says_so(const nbcoll_conformance *c)
{
    struct world *w = bulk_world(c, MAX_RANKS);
    struct player *owner = &w->player[0];
    static unsigned char memory[500], to[sizeof memory];
    nbcoll_registration r;
    for (int for_whom = 1; for_whom < w->ranks && owner->ep->transport->bulk->flags & NBCOLL_BULK_ONE_KEY; for_whom++) {
        expected_payload(w, 0, (uint64_t)for_whom, memory, sizeof memory);
        player_register(owner, for_whom, memory, sizeof memory, NBCOLL_PEER_READS, &r);
        for (int i = 1; i < w->ranks; i++) {
            if (!player_reaches(owner, for_whom) || !player_reaches(&w->player[i], 0))
                continue;
            memset(to, BLANK, sizeof to);
            get(&w->player[i], 0, &r, 0, to, sizeof to);
            CHECK(memcmp(to, memory, sizeof to) == 0);
        }
        player_deregister(owner, &r);
    }
    world_close(w);
}

static void registrations_have_keys_of_their_own_and_end(const nbcoll_conformance *c)
{
    enum { N = 16, BYTES = 500 };
    struct world *w = bulk_world(c, 2);
    struct player *owner = &w->player[0], *reader = &w->player[1];
    static unsigned char memory[N][BYTES], to[BYTES];
    nbcoll_registration r[N];
    for (int i = 0; i < N; i++) {
        expected_payload(w, 0, (uint64_t)i, memory[i], BYTES);
        player_register(owner, 1, memory[i], BYTES, NBCOLL_PEER_READS, &r[i]);
        for (int k = 0; k < i; k++)
            CHECK(memcmp(&r[i].key, &r[k].key, owner->ep->limits.key_bytes) != 0);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = round % 2; i < N; i += 2)
            player_deregister(owner, &r[i]);
        for (int i = 1 - round % 2; i < N; i += 2) {
            get(reader, 0, &r[i], 3, to, BYTES - 3);
            CHECK(memcmp(to, memory[i] + 3, BYTES - 3) == 0);
        }
        for (int i = round % 2; i < N; i += 2) {
            memory[i][7]++; /* what is read is what is there now */
            player_register(owner, 1, memory[i], BYTES, NBCOLL_PEER_READS, &r[i]);
            get(reader, 0, &r[i], 0, to, BYTES);
            CHECK(memcmp(to, memory[i], BYTES) == 0);
        }
    }
    for (int i = 0; i < N; i++)
        player_deregister(owner, &r[i]);
    world_close(w);
}

static void a_cancelled_get_writes_nothing_more(const nbcoll_conformance *c)
{
    struct world *w = bulk_world(c, 2);
    struct player *reader = &w->player[0];
    unsigned char *memory = malloc(EXPOSED), *to = malloc(EXPOSED), *blank = malloc(EXPOSED);
    struct transfer t;
    nbcoll_registration r;
    bool lent = false;
    expected_payload(w, 1, 1, memory, EXPOSED);
    memset(blank, BLANK, EXPOSED);
    player_register(&w->player[1], 0, memory, EXPOSED, NBCOLL_PEER_READS, &r);
    for (int round = 0; round < 20; round++) {
        get_start(reader, 1, &r, 0, to, EXPOSED, &t);
        if (t.loan.lent) {
            lent = true;
            player_cancel(reader, &t.loan);
            player_await_works(reader);
        }
        player_deregister(reader, &t.mine);
        if (t.loan.work.status == NBCOLL_OK)
            CHECK(memcmp(to, memory, EXPOSED) == 0);
        memset(to, BLANK, EXPOSED);
        for (int k = 0; k < 100; k++)
            world_progress(w);
        CHECK(memcmp(to, blank, EXPOSED) == 0);
    }
    player_deregister(&w->player[1], &r);
    free(memory);
    free(to);
    free(blank);
    world_needs(w, lent, "no get was lent", NBCOLL_CONFORMANCE_KEEPS);
    world_close(w);
}
