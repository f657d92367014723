/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many communicators over one endpoint: a thousand that live and work at once, most of them without cells, since the
 * quota holds but some; and thousands made and freed one after the other, while the memory that the host has given
 * stays what it was. NBCOLL_FULL=1 makes 100,000.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ranks.h"

/* EARLY: what messages that come early may take besides, sooner or later: for each credit a payload and a header. */
enum { ALIVE = 1000, MADE = 2000, MADE_FULL = 100000, WARM = 200, EARLY = NBCOLL_CREDITS * 4400 };

struct tally {
    size_t bytes, most;
};

static void *take(void *user, size_t bytes, size_t align)
{
    struct tally *t = user;
    t->bytes += bytes;
    t->most = t->bytes > t->most ? t->bytes : t->most;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void give(void *user, void *memory, size_t bytes)
{
    ((struct tally *)user)->bytes -= bytes;
    free(memory);
}

static void join_counted(int rank, const nbcoll_shm_config *all, struct tally *t, member *m)
{
    nbcoll_host host = {.size = sizeof host, .user = t, .alloc = take, .free = give};
    nbcoll_context_config context = {.size = sizeof context, .host = host};
    nbcoll_shm_config config = *all;

    config.rank = rank;
    config.host = &host;
    member_join(m, &config, &context);
}

static void a_thousand(int rank, void *user)
{
    static nbcoll_comm *comm[2][ALIVE];
    static nbcoll_request q[2][ALIVE];
    static int64_t mine[2][ALIVE], sum[2][ALIVE];
    const nbcoll_shm_config *config = user;
    int64_t ranks = config->ranks;
    int set = rank % 2; /* a process has at most two */
    struct tally t = {0};
    member m;

    join_counted(rank, config, &t, &m);
    for (int i = 0; i < ALIVE; i++)
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup(m.comm, &comm[set][i], 30 * SECOND));
    for (int i = 0; i < ALIVE; i++) {
        mine[set][i] = rank * 1000 + i;
        CHECK_STATUS(NBCOLL_OK, nbcoll_iallreduce(&mine[set][i], &sum[set][i], 1, NBCOLL_INT64, NBCOLL_SUM,
                                                  comm[set][i], &q[set][i]));
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait_all(ALIVE, q[set], NULL, 30 * SECOND));
    for (int i = 0; i < ALIVE; i++)
        CHECK(sum[set][i] == 500 * ranks * (ranks - 1) + i * ranks);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND));
    for (int i = 0; i < ALIVE; i += 2) /* the others with the context */
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(comm[set][i]));
    member_leave(&m);
    CHECK(t.bytes == 0);
}

static void a_thousand_communicators_live_and_work_at_once(void **state)
{
    static const crew crews[] = {{{1, 1}}, {{1, 2, 1}}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        nbcoll_shm_config config = {.size = sizeof config, .id = fresh_id(), .ranks = crew_ranks(&crews[i])};
        crew_succeeds(&crews[i], a_thousand, &config);
    }
}

static void made_and_freed(int rank, void *user)
{
    int made = is_full() ? MADE_FULL : MADE;
    struct tally t = {0};
    size_t warm = 0;
    member m;

    join_counted(rank, user, &t, &m);
    for (int i = 0; i < made; i++) {
        nbcoll_comm *comm;
        int value = rank == i % 2 ? i : -1;
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup(m.comm, &comm, 30 * SECOND));
        CHECK_STATUS(NBCOLL_OK, nbcoll_bcast(&value, 1, NBCOLL_INT32, i % 2, comm, 30 * SECOND));
        CHECK(value == i);
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(comm)); /* the other may still work there */
        CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND)); /* nobody runs far ahead */
        if (i < WARM)
            warm = t.most;
    }
    CHECK(t.most <= warm + EARLY);
    member_leave(&m);
    CHECK(t.bytes == 0);
}

static void communicators_made_and_freed_leave_no_memory_behind(void **state)
{
    static const crew crews[] = {{{1, 1}}, {{2}}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        nbcoll_shm_config config = {.size = sizeof config, .id = fresh_id(), .ranks = 2};
        crew_succeeds(&crews[i], made_and_freed, &config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_communicators_live_and_work_at_once),
        cmocka_unit_test(communicators_made_and_freed_leave_no_memory_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
