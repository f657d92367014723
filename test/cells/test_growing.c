/* SPDX-License-Identifier: BSD-3-Clause
 * Exposures that grow. Rank 0 brings piece after piece into its buffer, each only when every reader has told it that it
 * has the one before: so a reader sees a piece while the next one is not there yet, or nothing would ever end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crew.h"
#include "world.h"

/* With rank `lowered` nobody shares memory. */
typedef struct mixed {
    nbcoll_comm *comm;
    int rank, lowered;
} mixed;

static int mixed_shares(void *user, int peer)
{
    const mixed *m = user;
    return m->rank != m->lowered && peer != m->lowered && nbcoll_comm_shares(m->comm, peer);
}

typedef struct growth {
    size_t whole, piece;
    int ranks, lowered;
    int backwards; /* nothing is held back, and readers fetch the last piece first */
} growth;

static size_t pieces_of(const growth *g)
{
    return g->whole ? (g->whole - 1) / g->piece + 1 : 1;
}

static size_t piece_bytes(const growth *g, size_t i)
{
    return g->whole - i * g->piece < g->piece ? g->whole - i * g->piece : g->piece;
}

static void owner_builds(nbcoll_builder *b, const growth *g)
{
    nbcoll_addr shown = nbcoll_add_scratch(b, g->whole);
    nbcoll_part parts[WORLD_MOST];
    nbcoll_step have[WORLD_MOST] = {NBCOLL_START};

    for (int r = 1; r < g->ranks; r++)
        parts[r - 1] = (nbcoll_part){r, 0, nbcoll_span(shown, g->whole)};
    nbcoll_step grown = nbcoll_add_expose_growing(b, (size_t)g->ranks - 1, parts, g->piece);
    for (size_t i = 0; i < pieces_of(g); i++) {
        nbcoll_step copy = nbcoll_add_copy(b, nbcoll_at(shown, i * g->piece),
                                       (nbcoll_addr){NBCOLL_BUFFER_SEND, i * g->piece}, piece_bytes(g, i));
        nbcoll_after(b, nbcoll_add_grow(b, grown, i), copy);
        for (int r = 1; r < g->ranks && !g->backwards; r++) {
            nbcoll_after(b, copy, have[r]);
            have[r] = nbcoll_add_recv(b, r, (nbcoll_addr){NBCOLL_BUFFER_SCRATCH, 0}, 0);
        }
    }
}

static void reader_builds(nbcoll_builder *b, const growth *g)
{
    nbcoll_step fetch[1000];
    size_t n = pieces_of(g);
    for (size_t i = 0; i < n; i++) {
        nbcoll_addr place = {NBCOLL_BUFFER_RECV, i * g->piece};
        fetch[i] = nbcoll_add_fetch(b, 0, place, piece_bytes(g, i));
        if (!g->backwards)
            nbcoll_after(b, nbcoll_add_send(b, 0, place, 0), fetch[i]);
    }
    for (size_t i = 0; g->backwards && i + 1 < n; i++)
        nbcoll_after(b, fetch[i], fetch[i + 1]);
}

static nbcoll_schedule *build(const growth *g, nbcoll_comm *comm)
{
    mixed m = {comm, nbcoll_comm_rank(comm), g->lowered};
    nbcoll_builder_config config = {.size = sizeof config, .rank = m.rank, .ranks = g->ranks, .shares = mixed_shares,
                                    .shares_user = &m};
    nbcoll_builder *b;
    nbcoll_schedule *s;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    if (m.rank == 0)
        owner_builds(b, g);
    else
        reader_builds(b, g);
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

static unsigned char byte_at(size_t i, uint64_t seed)
{
    return (unsigned char)((i * 2654435761u + seed) >> 9);
}

/* What has arrived is right, and there is nothing behind it. Returns how many pieces those are. */
static size_t arrived(const growth *g, nbcoll_request q, const unsigned char *got, uint64_t seed)
{
    size_t n = 0;
    while (n < pieces_of(g) && nbcoll_arrived(q, n * g->piece, piece_bytes(g, n)) == NBCOLL_OK)
        n++;
    for (size_t i = n; i < pieces_of(g); i++)
        assert_int_equal(nbcoll_arrived(q, i * g->piece, piece_bytes(g, i)), NBCOLL_PENDING);
    for (size_t i = 0; i < n * g->piece && i < g->whole; i++)
        assert_int_equal(got[i], byte_at(i, seed));
    return n;
}

/* Steps them; returns how many pieces a reader has been seen with, at most, before it had them all. */
static size_t grow(world *w, const growth *g)
{
    nbcoll_schedule *s[WORLD_MOST];
    nbcoll_request q[WORLD_MOST];
    unsigned char *buffer[WORLD_MOST];
    uint64_t seed = world_random(&w->random);
    size_t most = 0;

    for (int r = 0; r < w->ranks; r++) {
        buffer[r] = calloc(1, g->whole + 1);
        for (size_t i = 0; r == 0 && i < g->whole; i++)
            buffer[r][i] = byte_at(i, seed);
        s[r] = build(g, w->comm[r]);
        EXPECT(OK, nbcoll_schedule_start(s[r], r ? NULL : buffer[r], r ? buffer[r] : NULL, w->comm[r], &q[r]));
    }
    for (int rounds = 0, left = w->ranks; left; rounds++) {
        world_watchdog(w, rounds < 1000000);
        nbcoll_progress(w->context[world_random(&w->random) % (uint64_t)w->ranks]);
        for (int r = left = 0; r < w->ranks; r++) {
            nbcoll_request same = q[r];
            if (q[r].at && r && !g->backwards && g->whole && nbcoll_arrived(same, 0, 1) == NBCOLL_OK) {
                size_t n = arrived(g, q[r], buffer[r], seed);
                most = n < pieces_of(g) && n > most ? n : most;
            }
        }
        int r = (int)(world_random(&w->random) % (uint64_t)w->ranks);
        if (q[r].at && nbcoll_test(&q[r]) == NBCOLL_OK)
            for (size_t i = 0; i < g->whole; i++)
                assert_int_equal(buffer[r][i], byte_at(i, seed));
        for (r = 0; r < w->ranks; r++)
            left += q[r].at != NULL;
    }
    for (int r = 0; r < w->ranks; r++) {
        free(buffer[r]);
        EXPECT(OK, nbcoll_schedule_free(s[r]));
    }
    return most;
}

/* One cell is enough: pieces share it. */
static void open_world(world *w, int ranks, int variant, uint64_t seed)
{
    nbcoll_loopback_config loopback = world_variant(variant, seed);
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    config.slots = 2;
    config.cells = 1;
    world_open(w, ranks, &loopback, NULL, &config);
}

static void readers_see_a_piece_while_the_next_is_held_back(void **state)
{
    static const struct {
        size_t whole, piece;
    } sizes[] = {{0, 1}, {1, 1}, {1, 100}, {5, 1}, {100, 40}, {1000, 1000}, {1001, 1000}, {200000, 65536}};
    uint64_t seed = seed_of_test();
    (void)state;
    for (int variant = WORLD_SHARED; variant < WORLD_VARIANTS; variant++)
        for (int ranks = 2; ranks <= 4; ranks++)
            for (int lowered = -1; lowered < ranks; lowered++) {
                world w;
                open_world(&w, ranks, variant, random_of(&seed));
                for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
                    growth g = {sizes[i].whole, sizes[i].piece, ranks, lowered, 0};
                    assert_int_equal(grow(&w, &g), pieces_of(&g) - 1);
                }
                world_close(&w);
            }
}

static void pieces_can_be_fetched_backwards(void **state)
{
    uint64_t seed = seed_of_test();
    (void)state;
    for (int variant = WORLD_SHARED; variant < WORLD_VARIANTS; variant++) {
        growth g = {1234, 100, 3, -1, 1};
        world w;
        open_world(&w, 3, variant, random_of(&seed));
        for (int i = 0; i < 5; i++)
            grow(&w, &g);
        world_close(&w);
    }
}

/* Its pieces would not be the numbers of the parts. */
static void a_growing_exposure_has_one_part_for_a_reader(void **state)
{
    nbcoll_part parts[2] = {{1, 0, {{NBCOLL_BUFFER_SEND, 0}, 8}}, {1, 0, {{NBCOLL_BUFFER_SEND, 8}, 8}}};
    nbcoll_builder_config config = {.size = sizeof config, .ranks = 2};
    nbcoll_schedule *s;
    nbcoll_builder *b;
    (void)state;
    EXPECT(OK, nbcoll_builder_open(&config, &b));
    nbcoll_add_expose_growing(b, 2, parts, 4);
    EXPECT(ERR_ARGUMENT, nbcoll_builder_finish(b, &s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_a_piece_while_the_next_is_held_back),
        cmocka_unit_test(pieces_can_be_fetched_backwards),
        cmocka_unit_test(a_growing_exposure_has_one_part_for_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
