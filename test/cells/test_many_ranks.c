/* SPDX-License-Identifier: BSD-3-Clause
 * The first communicator and three of its duplicates have cells, with as many ranks as there may be, and a broadcast
 * goes through them. Where memory is too short that is said, and operations work by messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../shm/ranks.h"
#include "nbcoll/select.h"
#include "works.h"
#include "world.h"

enum { DUPS = 3 };

static const int rank_counts[] = {18, 33, 64};

static nbcoll_cells cells_of(const nbcoll_comm *comm)
{
    nbcoll_cells cells = {.size = sizeof cells};
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_cells(comm, &cells));
    return cells;
}

/* Has it cells, of the size foretold, and does a broadcast use them? */
static void cells_serve(nbcoll_comm *comm)
{
    nbcoll_args a = {.size = sizeof a, .operation = NBCOLL_OPERATION_BCAST, .count = 8,
                     .reduction = {NBCOLL_BYTE, NBCOLL_SUM}};
    nbcoll_choice choice = {.size = sizeof choice};
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_cells cells = cells_of(comm);
    CHECK(cells.present && cells.lacking == -1);
    CHECK(cells.bytes == nbcoll_cells_bytes(NULL, nbcoll_comm_size(comm)));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_terms(comm, &terms));
    CHECK(terms.shared);
    CHECK_STATUS(NBCOLL_OK, nbcoll_args_complete(&a, 0, terms.ranks));
    CHECK_STATUS(NBCOLL_OK, nbcoll_select(&terms, &a, &choice));
    CHECK(!strcmp(choice.algorithm->name, "slots"));
}

/* ---- loopback -------------------------------------------------------------------------------------------------- */

static void on_loopback_many_ranks_have_cells(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rank_counts / sizeof rank_counts[0]; i++) {
        nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0);
        nbcoll_comm *first[WORLD_MOST];
        nbcoll_request q[WORLD_MOST];
        world w;
        world_open(&w, rank_counts[i], &loopback, NULL, NULL);
        memcpy(first, w.comm, sizeof first);
        for (int dup = 0; dup <= DUPS; dup++) {
            for (int r = 0; r < w.ranks; r++)
                cells_serve(w.comm[r]);
            works(&w);
            for (int r = 0; r < w.ranks; r++)
                EXPECT(OK, nbcoll_comm_idup(first[r], &w.comm[r], &q[r]));
            world_finish(&w, (size_t)w.ranks, q);
        }
        world_close(&w);
    }
}

/* ---- shared memory --------------------------------------------------------------------------------------------- */

struct said {
    nbcoll_status why;
    int lines;
    char text[200];
};

static void note(void *user, nbcoll_status why, const char *text)
{
    struct said *s = user;
    s->why = why;
    s->lines++;
    snprintf(s->text, sizeof s->text, "%s", text);
}

static void bcast_works(nbcoll_comm *comm, int root)
{
    unsigned char data[100];
    memset(data, nbcoll_comm_rank(comm) == root ? 100 + root : 0, sizeof data);
    CHECK_STATUS(NBCOLL_OK, nbcoll_bcast(data, sizeof data, NBCOLL_BYTE, root, comm, 30 * SECOND));
    for (size_t i = 0; i < sizeof data; i++)
        CHECK(data[i] == 100 + root);
}

/* With a host that logs. */
static void join(member *m, nbcoll_shm_config *config, int rank, struct said *said)
{
    nbcoll_context_config context = {.size = sizeof context,
                                     .host = {.size = sizeof context.host, .user = said, .log = note}};
    *said = (struct said){NBCOLL_OK, 0, ""};
    config->rank = rank;
    member_join(m, config, &context);
}

static void use_cells(int rank, void *user)
{
    nbcoll_shm_config config = *(const nbcoll_shm_config *)user;
    nbcoll_comm *dup[DUPS];
    struct said said;
    member m;
    join(&m, &config, rank, &said);
    cells_serve(m.comm);
    bcast_works(m.comm, config.ranks - 1);
    for (int i = 0; i < DUPS; i++) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup(m.comm, &dup[i], 30 * SECOND));
        cells_serve(dup[i]);
    }
    for (int i = 0; i < DUPS; i++)
        bcast_works(dup[i], i);
    CHECK(said.lines == 0);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND));
    member_leave(&m);
}

static void on_shared_memory_many_ranks_have_cells_by_default(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rank_counts / sizeof rank_counts[0]; i++) {
        nbcoll_shm_config config = {.size = sizeof config, .id = fresh_id(), .ranks = rank_counts[i]};
        crew_succeeds(&CREW(rank_counts[i]), use_cells, &config);
    }
}

static void the_default_quota_has_room_at_every_number_of_ranks(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= NBCOLL_SHM_RANKS; ranks++)
        assert_true(nbcoll_shm_quota(ranks) >= (ranks <= 200 ? 4 : 3) * nbcoll_cells_bytes(NULL, ranks));
    assert_true(NBCOLL_SHM_RANKS * nbcoll_shm_quota(NBCOLL_SHM_RANKS) < (size_t)240 << 20);
    assert_int_equal(nbcoll_shm_quota(0), 0);
    assert_int_equal(nbcoll_shm_quota(NBCOLL_SHM_RANKS + 1), 0);
    assert_int_equal(nbcoll_cells_bytes(NULL, 0), 0);
}

/* The quota has room for two; rank 1 takes what the second would need, then gives it back. */
static void run_short(int rank, void *user)
{
    nbcoll_shm_config config = *(const nbcoll_shm_config *)user;
    size_t bytes = nbcoll_cells_bytes(NULL, config.ranks);
    char wanted[100];
    nbcoll_comm *dup[2];
    struct said said;
    void *memory = NULL;
    member m;
    join(&m, &config, rank, &said);
    cells_serve(m.comm);
    if (rank == 1)
        CHECK_STATUS(NBCOLL_OK, nbcoll_mem_alloc(m.comm, bytes, &memory));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup(m.comm, &dup[0], 30 * SECOND));
    nbcoll_cells cells = cells_of(dup[0]);
    CHECK(!cells.present && cells.lacking == 1 && cells.bytes == bytes);
    CHECK(said.lines == 1 && said.why == NBCOLL_ERR_MEMORY);
    snprintf(wanted, sizeof wanted, "rank 1 has no %zu bytes", bytes);
    CHECK(strstr(said.text, wanted));
    bcast_works(dup[0], 2);
    CHECK_STATUS(NBCOLL_OK, nbcoll_mem_free(m.comm, memory));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup(m.comm, &dup[1], 30 * SECOND));
    cells_serve(dup[1]);
    bcast_works(dup[1], 0);
    CHECK(said.lines == 1);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND));
    member_leave(&m);
}

static void a_communicator_without_memory_says_so_and_works(void **state)
{
    nbcoll_shm_config config = {.size = sizeof config, .id = fresh_id(), .ranks = 3};
    (void)state;
    config.quota = 2 * nbcoll_cells_bytes(NULL, config.ranks);
    crew_succeeds(&PROCESSES_3, run_short, &config);
}

static void the_query_refuses_bad_arguments(void **state)
{
    nbcoll_loopback_config loopback = world_variant(0, 0);
    nbcoll_cells cells = {.size = sizeof cells};
    world w;
    (void)state;
    world_open(&w, 2, &loopback, NULL, NULL);
    EXPECT(OK, nbcoll_comm_cells(w.comm[0], &cells));
    assert_int_equal(cells.present, 0);
    assert_int_equal(cells.lacking, -1); /* nothing is shared here */
    EXPECT(ERR_NULL, nbcoll_comm_cells(NULL, &cells));
    EXPECT(ERR_NULL, nbcoll_comm_cells(w.comm[0], NULL));
    cells.size = 4;
    EXPECT(ERR_CONFIG, nbcoll_comm_cells(w.comm[0], &cells));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_loopback_many_ranks_have_cells),
        cmocka_unit_test(on_shared_memory_many_ranks_have_cells_by_default),
        cmocka_unit_test(the_default_quota_has_room_at_every_number_of_ranks),
        cmocka_unit_test(a_communicator_without_memory_says_so_and_works),
        cmocka_unit_test(the_query_refuses_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
