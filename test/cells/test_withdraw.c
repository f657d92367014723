/* SPDX-License-Identifier: BSD-3-Clause
 * What a cell lends by reference is exposed for each reader and withdrawn when the operation is over, well or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/trace.h"
#include "world.h"

enum { RANKS = 3, BYTES = 100000 };

/* Of one endpoint. */
typedef struct tally {
    int exposed, withdrawn;
    uint64_t keys; /* exclusive or of those exposed and not withdrawn */
} tally;

static void count(void *user, const nbcoll_trace_event *e)
{
    tally *t = user;
    int exposes = e->call == NBCOLL_TRACE_EXPOSE && e->status == NBCOLL_OK;
    int withdraws = e->call == NBCOLL_TRACE_WITHDRAW;
    t->exposed += exposes;
    t->withdrawn += withdraws;
    if (exposes || withdraws)
        t->keys ^= e->key.word[0] * 3 ^ e->key.word[1];
}

static void open_traced(world *w, tally t[])
{
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 1);
    nbcoll_request q[RANKS];

    memset(t, 0, RANKS * sizeof *t);
    world_open_contexts(w, RANKS, &loopback, NULL);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_trace_config config = {.size = sizeof config, .user = &t[r], .event = count};
        nbcoll_endpoint *inner = w->endpoint[r];
        EXPECT(OK, nbcoll_trace_open(&config, inner, &w->endpoint[r]));
        EXPECT(OK, nbcoll_comm_icreate(w->context[r], w->endpoint[r], NULL, &w->comm[r], &q[r]));
    }
    world_finish(w, RANKS, q);
}

static void check(const tally t[], int exposed)
{
    int all = 0;
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(t[r].exposed, t[r].withdrawn);
        assert_int_equal(t[r].keys, 0);
        all += t[r].exposed;
    }
    assert_int_equal(all, exposed);
}

/* Starts that broadcast on all ranks. */
static void start(world *w, const char *name, nbcoll_schedule *s[], void *data[], nbcoll_request q[])
{
    nbcoll_args a = {.size = sizeof a, .operation = NBCOLL_OPERATION_BCAST, .count = BYTES, .segment = 30000,
                     .reduction = {NBCOLL_BYTE, NBCOLL_SUM}};
    for (int r = 0; r < RANKS; r++) {
        nbcoll_builder_config config = {.size = sizeof config, .rank = r, .ranks = RANKS, .shares = nbcoll_comm_shares,
                                        .shares_user = w->comm[r]};
        data[r] = malloc(BYTES);
        memset(data[r], r, BYTES);
        EXPECT(OK, nbcoll_build_schedule(nbcoll_algorithm_find(a.operation, name), &a, &config, &s[r]));
        EXPECT(OK, nbcoll_schedule_start(s[r], NULL, data[r], w->comm[r], &q[r]));
    }
}

/* How many keys each broadcast needs: one for each reader, but not for each piece. */
static void each_key_is_withdrawn_at_the_end(void **state)
{
    static const char *const names[] = {"slots", "slots_chain"};
    (void)state;
    for (int cancels = 0; cancels < 2; cancels++)
        for (int i = 0; i < 2; i++) {
            nbcoll_schedule *s[RANKS];
            nbcoll_request q[RANKS];
            nbcoll_status status[RANKS];
            void *data[RANKS];
            tally t[RANKS];
            world w;
            open_traced(&w, t);
            start(&w, names[i], s, data, q);
            if (cancels)
                EXPECT(OK, nbcoll_cancel(q[1]));
            world_settle(&w, RANKS, q, status);
            check(t, cancels && i == 1 ? t[0].exposed + t[1].exposed : 2);
            assert_true(t[0].exposed > 0);
            for (int r = 0; r < RANKS; r++) {
                free(data[r]);
                EXPECT(OK, nbcoll_schedule_free(s[r]));
            }
            world_close(&w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_key_is_withdrawn_at_the_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
