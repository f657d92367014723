/* SPDX-License-Identifier: BSD-3-Clause
 * One rank has no memory for one allocation, or a few, while relays are opened: the call is refused and changes
 * nothing, or all ranks have them, or all are told that they have not. Then relays can be closed, and opened again.
 * And an opening is one operation, of any number of ranks, in which they compare their configurations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/relay/relays.h"
#include "nbcoll/schedule.h"
#include "tally.h"
#include "world.h"

enum { RANKS = 3, BYTES = 12, IN_TIME = 3000, STARVED = 40, MOST = 2000 };

static struct memory {
    int caller, victim;        /* ranks: who is inside a call; who has none */
    long taken, first, failed; /* allocations of the victim's; the first that fails; how many did, */
    long most;                 /* and how many do */
} memory;

static int lacks(void)
{
    struct memory *m = &memory;
    int is_lacking = m->caller == m->victim && m->taken++ >= m->first && m->failed < m->most;
    m->failed += is_lacking;
    return is_lacking;
}

static tally counted = {0, lacks};

/* A call of rank r. */
#define BY(r, call) (memory.caller = (r), (call))

typedef struct scene {
    world w;
    nbcoll_relays_config config;
    nbcoll_relays *relays[RANKS];
    int refused, told, well;
} scene;

static void step(scene *s)
{
    for (int r = 0; r < RANKS; r++)
        if (s->relays[r])
            BY(r, nbcoll_relays_test(s->relays[r], 0));
}

/* How it has ended at that rank. */
static nbcoll_status outcome(scene *s, int rank, uint64_t number)
{
    nbcoll_status status;
    for (int looks = 0; (status = BY(rank, nbcoll_relays_test(s->relays[rank], number))) == NBCOLL_PENDING; looks++) {
        world_watchdog(&s->w, looks < IN_TIME);
        step(s);
    }
    return status;
}

/* What a call that was refused has changed is seen by calling again. */
static nbcoll_status open_all(scene *s)
{
    nbcoll_status opened[RANKS];
    for (int r = 0; r < RANKS; r++)
        for (nbcoll_status status = NBCOLL_ERR_MEMORY; status == NBCOLL_ERR_MEMORY;) {
            status = BY(r, nbcoll_relays_open(s->w.comm[r], &s->config, &s->relays[r]));
            assert_true(status == NBCOLL_OK || status == NBCOLL_ERR_MEMORY);
            s->refused += status != NBCOLL_OK;
        }
    for (int looks = 0; looks < STARVED; looks++)
        step(s);
    memory.most = 0;
    for (int r = 0; r < RANKS; r++)
        opened[r] = outcome(s, r, 0);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(opened[r] == NBCOLL_OK, opened[0] == NBCOLL_OK);
        if (opened[r] == NBCOLL_ERR_CANCELLED)
            assert_int_not_equal(r, memory.victim);
        else
            assert_true(opened[r] == NBCOLL_OK || opened[r] == NBCOLL_ERR_MEMORY);
    }
    return opened[0];
}

static void use(scene *s)
{
    static unsigned char all[RANKS][RANKS * BYTES];
    uint64_t number[RANKS];
    for (int r = 0; r < RANKS; r++) {
        memset(&all[r][r * BYTES], r + 1, BYTES);
        EXPECT(OK, BY(r, nbcoll_relays_allgather(s->relays[r], NULL, all[r], BYTES, &number[r])));
    }
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(outcome(s, r, number[r]), NBCOLL_OK);
        for (int of = 0; of < RANKS; of++)
            assert_int_equal(all[r][of * BYTES + BYTES - 1], of + 1);
    }
}

/* All ranks can, and go on. */
static void close_all(scene *s)
{
    nbcoll_request q[RANKS];
    for (int left = RANKS, looks = 0; left; looks++) {
        world_watchdog(&s->w, looks < IN_TIME);
        for (int r = 0; r < RANKS; r++) {
            if (s->relays[r] && BY(r, nbcoll_relays_close(s->relays[r], 0)) == NBCOLL_OK) {
                s->relays[r] = NULL;
                left--;
            }
            nbcoll_progress(s->w.context[r]);
        }
    }
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibarrier(s->w.comm[r], &q[r]));
    world_finish(&s->w, RANKS, q);
}

static void open_close(scene *s)
{
    nbcoll_status opened = open_all(s);
    if (opened == NBCOLL_OK && !s->config.carries)
        use(s);
    close_all(s);
    s->told += opened != NBCOLL_OK;
    s->well += opened == NBCOLL_OK && !memory.failed;
}

static void lack(const nbcoll_relays_config *config)
{
    static const long bursts[] = {1, 4};
    static scene s;
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .flags = NBCOLL_LOOPBACK_SHARED, .seed = 1};
    nbcoll_host host = tally_host(&counted);
    nbcoll_context_config context = {.size = sizeof context, .host = host};
    memset(&s, 0, sizeof s);
    s.config = *config;
    s.config.host = &host;
    for (int i = 0; i < 2 * RANKS; i++)
        for (long first = s.well = 0; !s.well; first += 1 + first / 64) {
            memory = (struct memory){.caller = -1, .victim = i / 2};
            world_open(&s.w, RANKS, &loopback, &context, NULL);
            memory = (struct memory){.caller = -1, .victim = i / 2, .first = first, .most = bursts[i % 2]};
            open_close(&s);
            memory.most = 0;
            assert_int_equal(open_all(&s), NBCOLL_OK);
            close_all(&s);
            world_close(&s.w);
            assert_int_equal(counted.used, 0);
            assert_in_range(first, 0, MOST);
        }
    print_message("%d refused, %d told\n", s.refused, s.told);
    assert_true(s.refused > 20 && s.told > 20);
}

static nbcoll_relays_config small(void)
{
    nbcoll_relays_config config = NBCOLL_RELAYS_DEFAULTS;
    config.at_once = 2;
    config.fragments = 2;
    config.fragment = 8;
    return config;
}

static void what_a_rank_lacks_is_told_to_all(void **state)
{
    nbcoll_relays_config config = small();
    (void)state;
    lack(&config);
}

static void what_a_rank_of_a_node_lacks_is_told_to_all(void **state)
{
    nbcoll_relays_config config = small();
    (void)state;
    config.hierarchical = 1;
    lack(&config);
}

static void what_a_rank_lacks_whose_calls_they_carry_is_told_to_all(void **state)
{
    nbcoll_relays_config config = small();
    (void)state;
    config.carries = 16;
    lack(&config);
}

/* Ranks agree on all bits of what their configurations say. */
static void configurations_that_differ_in_a_bit_have_other_fingerprints(void **state)
{
    const nbcoll_relays_config first = NBCOLL_RELAYS_DEFAULTS;
    const uint32_t own = nbcolli_relays_fingerprint(&first);
    (void)state;
    for (int bit = 0; bit < 64; bit++) {
        nbcoll_relays_config other[6] = {first, first, first, first, first, first};
        other[0].carries ^= (size_t)1 << bit;
        other[1].ports ^= 1u << bit % 32;
        other[2].at_once ^= 1u << bit % 32;
        other[3].fragments ^= 1u << bit % 32;
        other[4].fragment ^= 1u << bit % 32;
        other[5].by_agents ^= bit % 32 ? 0u : 1u;
        other[5].hierarchical ^= bit % 32 ? 1u : 0u;
        for (int i = 0; i < 6; i++)
            assert_int_not_equal(nbcolli_relays_fingerprint(&other[i]), own);
    }
}

/* ---- votes ------------------------------------------------------------------------------------------------------- */

static void count_ends(void *user, const nbcoll_event *event)
{
    *(int *)user += event->moment == NBCOLL_STEP_ENDED && event->step == NBCOLL_END;
}

/* That all ranks take part in, until they have their relays. */
static int operations_of_an_opening(int ranks, nbcoll_relays_config config)
{
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .flags = NBCOLL_LOOPBACK_SHARED, .seed = 1};
    int ended = 0;
    const nbcoll_observer observer = {.size = sizeof observer, .user = &ended, .event = count_ends};
    nbcoll_context_config context = {.size = sizeof context, .observer = &observer};
    nbcoll_relays *relays[WORLD_MOST];
    world w;
    world_open(&w, ranks, &loopback, &context, NULL);
    ended = 0;
    for (int r = 0; r < ranks; r++)
        EXPECT(OK, nbcoll_relays_open(w.comm[r], &config, &relays[r]));
    for (int opened = 0, looks = 0; opened < ranks; looks++) {
        world_watchdog(&w, looks < IN_TIME);
        opened = 0;
        for (int r = 0; r < ranks; r++)
            opened += nbcoll_relays_test(relays[r], 0) == NBCOLL_OK;
    }
    int each = ended / ranks;
    assert_int_equal(ended, each * ranks);
    for (int left = ranks, looks = 0; left; looks++) {
        world_watchdog(&w, looks < IN_TIME);
        for (int r = 0; r < ranks; r++)
            if (relays[r] && nbcoll_relays_close(relays[r], 0) == NBCOLL_OK) {
                relays[r] = NULL;
                left--;
            }
    }
    world_close(&w);
    return each;
}

static void an_opening_is_one_operation_of_any_number_of_ranks(void **state)
{
    nbcoll_relays_config by_ranks = small(), hierarchical = small(), carried = small();
    (void)state;
    hierarchical.hierarchical = 1;
    carried.carries = 16;
    for (int ranks = 1; ranks <= 16; ranks += ranks < 4 ? 1 : 12) {
        assert_int_equal(operations_of_an_opening(ranks, by_ranks), 1);
        assert_int_equal(operations_of_an_opening(ranks, hierarchical), 1);
        assert_int_equal(operations_of_an_opening(ranks, carried), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_opening_is_one_operation_of_any_number_of_ranks),
        cmocka_unit_test(what_a_rank_lacks_is_told_to_all),
        cmocka_unit_test(configurations_that_differ_in_a_bit_have_other_fingerprints),
        cmocka_unit_test(what_a_rank_of_a_node_lacks_is_told_to_all),
        cmocka_unit_test(what_a_rank_lacks_whose_calls_they_carry_is_told_to_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
