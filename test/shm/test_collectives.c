/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The core's collectives over shm: 2 to 8 ranks as processes, as threads and as both, small and large data, in each
 * way that large data can move.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ranks.h"

struct plan {
    nbcoll_shm_config config;
    uint32_t flags_of_odd_ranks;
    int ranks;
    size_t most; /* elements */
};

static int64_t value(int rank, size_t i)
{
    return (int64_t)rank * 7919 + (int64_t)i * 3 + 1;
}

static void fill(int64_t *at, int rank, size_t n)
{
    for (size_t i = 0; i < n; i++)
        at[i] = value(rank, i);
}

static void one_size(const member *m, const struct plan *p, size_t n)
{
    int me = nbcoll_comm_rank(m->comm), ranks = nbcoll_comm_size(m->comm), root = (int)(n % (size_t)ranks);
    int64_t *mine = malloc(n * sizeof *mine), *all = malloc(n * (size_t)ranks * sizeof *all);

    (void)p;
    fill(all, me == root ? root : 100, n);
    CHECK_STATUS(NBCOLL_OK, nbcoll_bcast(all, n, NBCOLL_INT64, root, m->comm, 30 * SECOND));
    for (size_t i = 0; i < n; i++)
        CHECK(all[i] == value(root, i));
    fill(mine, me, n);
    CHECK_STATUS(NBCOLL_OK, nbcoll_allreduce(mine, all, n, NBCOLL_INT64, NBCOLL_SUM, m->comm, 30 * SECOND));
    for (size_t i = 0; i < n; i++)
        CHECK(all[i] == (int64_t)ranks * value(0, i) + 7919 * (int64_t)(ranks * (ranks - 1) / 2));
    CHECK_STATUS(NBCOLL_OK, nbcoll_allgather(mine, all, n, NBCOLL_INT64, m->comm, 30 * SECOND));
    for (int r = 0; r < ranks; r++)
        for (size_t i = 0; i < n; i++)
            CHECK(all[(size_t)r * n + i] == value(r, i));
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m->comm, 30 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_scatter(all, mine, n, NBCOLL_INT64, root, m->comm, 30 * SECOND));
    for (size_t i = 0; i < n; i++)
        CHECK(mine[i] == value(me, i));
    free(mine);
    free(all);
}

static void take_part(int rank, void *user)
{
    const struct plan *p = user;
    nbcoll_shm_config config = p->config;
    member m;

    config.rank = rank;
    config.ranks = p->ranks;
    config.flags |= rank % 2 ? p->flags_of_odd_ranks : 0;
    member_join(&m, &config, NULL);
    one_size(&m, p, 1);
    one_size(&m, p, 513);
    for (size_t n = 9999; n <= p->most; n = n * 5 + 1)
        one_size(&m, p, n);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND));
    member_leave(&m);
}

static void all_crews(nbcoll_shm_config config, uint32_t flags_of_odd_ranks)
{
    static const crew crews[] = {{{1, 1}},    {{2}},          {{1, 1, 1}}, {{3}}, {{1, 1, 1, 1}}, {{1, 2, 2}},
                                 {{1, 4, 1}}, {{1, 1, 1, 1, 1, 1, 1, 1}}, {{8}}, {{1, 3, 2, 2}}};
    for (size_t i = 0; i < sizeof crews / sizeof crews[0]; i++) {
        struct plan p = {config, flags_of_odd_ranks, crew_ranks(&crews[i]), 60000};
        p.config.size = sizeof p.config;
        p.config.id = fresh_id();
        crew_succeeds(&crews[i], take_part, &p);
    }
}

static void collectives_over_shm(void **state)
{
    (void)state;
    all_crews((nbcoll_shm_config){.flags = 0}, 0);
}

static void collectives_without_reading_other_processes(void **state)
{
    (void)state;
    all_crews((nbcoll_shm_config){.flags = NBCOLL_SHM_NO_CMA}, 0);
}

static void collectives_without_bulk(void **state)
{
    (void)state;
    all_crews((nbcoll_shm_config){.flags = NBCOLL_SHM_NO_BULK}, 0);
}

static void collectives_where_only_some_can_read(void **state)
{
    (void)state;
    all_crews((nbcoll_shm_config){.flags = 0}, NBCOLL_SHM_NO_CMA);
    all_crews((nbcoll_shm_config){.flags = 0}, NBCOLL_SHM_NO_BULK);
}

static void collectives_with_room_for_one_small_message(void **state)
{
    (void)state;
    all_crews((nbcoll_shm_config){.depth = 1, .payload = 256}, 0);
}

/* Several megabytes: gets that take many progress calls. */
static void a_large_broadcast_arrives_whole(void **state)
{
    struct plan p = {{.size = sizeof p.config, .id = fresh_id()}, 0, 3, 1300000};
    crew both = CREW(1, 2);
    (void)state;
    crew_succeeds(&both, take_part, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_over_shm),
        cmocka_unit_test(collectives_without_reading_other_processes),
        cmocka_unit_test(collectives_without_bulk),
        cmocka_unit_test(collectives_where_only_some_can_read),
        cmocka_unit_test(collectives_with_room_for_one_small_message),
        cmocka_unit_test(a_large_broadcast_arrives_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
