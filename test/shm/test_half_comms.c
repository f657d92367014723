/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks over shm of which one gives up a creation, by cancelling or at its deadline, often when another has made the
 * communicator: either all have it, and it works, or those that have it are refused at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "ranks.h"

enum { ROUNDS = 100, MILLISECOND = 1000000 };

struct tally {
    nbcoll_shm_config config;
    uint64_t seed;
    atomic_int *made;    /* communicators, by all ranks */
    atomic_int *refused; /* rounds in which a rank had a communicator that not all had; of rank 0 */
};

/* How many ranks have it, as all of them learn. */
static int count(nbcoll_comm *parent, int has)
{
    int all;
    CHECK_STATUS(NBCOLL_OK, nbcoll_allreduce(&has, &all, 1, NBCOLL_INT32, NBCOLL_SUM, parent, 30 * SECOND));
    return all;
}

/* Casts its vote, does not look for the others' before one of them has made the communicator or some time is over, and
 * cancels. */
static nbcoll_status make_and_cancel(struct tally *t, nbcoll_comm *parent, nbcoll_comm **out)
{
    int before = atomic_load(t->made);
    uint64_t begin = clock_ns();
    nbcoll_request q;

    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_idup(parent, out, &q));
    while (atomic_load(t->made) == before && clock_ns() - begin < MILLISECOND)
        ;
    CHECK_STATUS(NBCOLL_OK, nbcoll_cancel(q));
    return nbcoll_wait(&q, 30 * SECOND);
}

static void give_up(int rank, void *user)
{
    struct tally *t = user;
    nbcoll_shm_config config = t->config;
    uint64_t random = t->seed; /* of all alike */
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        int hasty = (int)(random_of(&random) % (uint64_t)config.ranks), by_deadline = i % 4 == 0;
        uint64_t timeout = random_of(&random) % 60000;
        nbcoll_status bad = rank != hasty || !by_deadline ? NBCOLL_ERR_CANCELLED : NBCOLL_ERR_TIMEOUT, s;
        nbcoll_comm *made = NULL;
        if (rank == hasty && !by_deadline)
            s = make_and_cancel(t, m.comm, &made);
        else
            s = nbcoll_comm_dup(m.comm, &made, rank == hasty ? timeout : 30 * SECOND);
        if (s != NBCOLL_OK)
            CHECK_STATUS(bad, s);
        CHECK((s == NBCOLL_OK) == (made != NULL));
        atomic_fetch_add(t->made, made != NULL);
        uint64_t begin = clock_ns();
        nbcoll_status worked = made && i % 2 ? nbcoll_barrier(made, 30 * SECOND) : NBCOLL_OK; /* before it is told */
        int have = count(m.comm, made != NULL);
        if (made && i % 2 == 0)
            worked = nbcoll_barrier(made, 30 * SECOND);
        CHECK_STATUS(!made || have == config.ranks ? NBCOLL_OK : NBCOLL_ERR_CANCELLED, worked);
        CHECK(clock_ns() - begin < 10 * SECOND);
        while (nbcoll_comm_active(m.comm)) /* what was given up */
            nbcoll_progress(m.context);
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(made));
        if (rank == 0)
            atomic_fetch_add(t->refused, have > 0 && have < config.ranks);
    }
    member_leave(&m);
}

static void what_not_all_ranks_have_made_is_refused(void **state)
{
    static const crew crews[] = {{{1, 1}}, {{1, 1, 1}}, {{1, 2}}, {{3}}};
    struct tally t = {.seed = seed_of_test(), .made = shared_memory(sizeof(atomic_int)),
                      .refused = shared_memory(sizeof(atomic_int))};
    (void)state;
    for (int i = 0; i < 4; i++) {
        t.config = (nbcoll_shm_config){.size = sizeof t.config, .id = fresh_id(), .ranks = crew_ranks(&crews[i])};
        crew_succeeds(&crews[i], give_up, &t);
    }
    print_message("%d of %d creations left half a communicator\n", *t.refused, 4 * ROUNDS);
    assert_true(*t.refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_not_all_ranks_have_made_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
