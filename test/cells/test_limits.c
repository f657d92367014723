/* SPDX-License-Identifier: BSD-3-Clause
 * The limits of native operations, and what becomes of communicators that get no shared memory: they work by messages,
 * on all ranks, and those made later, when there is memory again, do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../shm/ranks.h"
#include "nbcoll/select.h"
#include "operation.h"
#include "works.h"

/* ---- refusals -------------------------------------------------------------------------------------------------- */

/* Rank 0's: so many exposures to rank 1, of so many parts each, or growing by so many pieces. */
static nbcoll_schedule *exposes(nbcoll_comm *comm, int exposures, size_t parts, size_t pieces)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = 0, .ranks = nbcoll_comm_size(comm),
                                    .shares = nbcoll_comm_shares, .shares_user = comm};
    nbcoll_builder *b;
    nbcoll_schedule *s;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    nbcoll_part *part = nbcoll_builder_parts(b, parts);
    for (size_t i = 0; i < parts; i++)
        part[i] = (nbcoll_part){1, 0, nbcoll_span((nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, pieces ? pieces : 1)};
    for (int i = 0; i < exposures; i++)
        if (pieces)
            nbcoll_add_expose_growing(b, parts, part, 1);
        else
            nbcoll_add_expose(b, parts, part);
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    return s;
}

static void a_start_beyond_the_limits_is_refused_and_takes_no_tag(void **state)
{
    static const struct {
        int exposures;
        size_t parts, pieces;
    } cases[] = {{3, 1, 0}, {1, 7, 0}, {2, 4, 0}, {3, 1, 2}, {1, 1, 65535}};
    static unsigned char data[70000];
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0);
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_request q = NBCOLL_REQUEST_NULL;
    world w;
    (void)state;
    config.cells = 2;
    world_open(&w, 3, &loopback, NULL, &config);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        nbcoll_schedule *s = exposes(w.comm[0], cases[i].exposures, cases[i].parts, cases[i].pieces);
        EXPECT(ERR_LIMIT, nbcoll_schedule_start(s, data, NULL, w.comm[0], &q));
        EXPECT(ERR_LIMIT, nbcoll_schedule_init(s, data, NULL, w.comm[0], &q));
        assert_null(q.at);
        assert_int_equal(nbcoll_comm_active(w.comm[0]), 0);
        EXPECT(OK, nbcoll_schedule_free(s));
        works(&w);
    }
    world_close(&w);
}

/* Rank 0 shows rank 1 more than twice as many parts as there are ranks. */
static void show_too_much(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_part part[7];
    for (int i = 0; i < 7; i++)
        part[i] = (nbcoll_part){1, 0, nbcoll_span((nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, a->bytes)};
    if (b->rank == 0)
        nbcoll_add_expose(b, 7, part);
}

static void an_algorithm_beyond_the_limits_is_refused_where_a_rule_names_it(void **state)
{
    static const nbcoll_algorithm algorithm = {.size = sizeof algorithm, .name = "too_much", .build = show_too_much,
                                               .operation = NBCOLL_OPERATION_BCAST};
    static const nbcoll_rule rule = {.algorithm = &algorithm};
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0);
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_request q = NBCOLL_REQUEST_NULL;
    char data = 0;
    world w;
    (void)state;
    config.rules = &rule;
    config.rule_count = 1;
    world_open(&w, 3, &loopback, NULL, &config);
    EXPECT(ERR_LIMIT, nbcoll_ibcast(&data, 1, NBCOLL_BYTE, 0, w.comm[0], &q));
    assert_null(q.at);
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 0);
    world_close(&w);
}

static void a_native_schedule_is_refused_where_nothing_is_shared(void **state)
{
    nbcoll_loopback_config shared = world_variant(WORLD_SHARED, 0), not_shared = world_variant(0, 0);
    static unsigned char data[1];
    nbcoll_request q;
    world w, other;
    (void)state;
    world_open(&w, 3, &shared, NULL, NULL);
    world_open(&other, 3, &not_shared, NULL, NULL);
    nbcoll_schedule *s = exposes(w.comm[0], 1, 1, 0);
    EXPECT(ERR_UNSUPPORTED, nbcoll_schedule_start(s, data, NULL, other.comm[0], &q));
    EXPECT(OK, nbcoll_schedule_free(s));
    works(&other);
    world_close(&other);
    world_close(&w);
}

static void ranks_agree_on_the_smallest_of_their_limits(void **state)
{
    enum { RANKS = 3 };
    nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0);
    nbcoll_request q[RANKS], started[3];
    static unsigned char data[1];
    int value[3] = {0};
    world w;
    (void)state;
    world_open_contexts(&w, RANKS, &loopback, NULL);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
        config.slots = (uint32_t)(4 - r);
        config.cells = (uint32_t)(2 + r);
        EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], &config, &w.comm[r], &q[r]));
    }
    world_finish(&w, RANKS, q);
    works(&w);
    nbcoll_schedule *three = exposes(w.comm[0], 3, 1, 0);
    EXPECT(ERR_LIMIT, nbcoll_schedule_start(three, data, NULL, w.comm[0], &started[0]));
    EXPECT(OK, nbcoll_schedule_free(three));
    for (int i = 0; i < 3; i++)
        EXPECT(OK, nbcoll_ibcast(&value[i], 1, NBCOLL_INT32, 1, w.comm[0], &started[i]));
    EXPECT(ERR_TIMEOUT, nbcoll_wait(&started[1], 0));
    EXPECT(ERR_NO_SLOT, nbcoll_wait(&started[2], 0)); /* though this rank would have had four */
    for (int i = 0; i < 3; i++)
        EXPECT(OK, nbcoll_cancel(started[i]));
    nbcoll_status s[3];
    world_settle(&w, 3, started, s);
    world_close(&w);
}

/* ---- without memory -------------------------------------------------------------------------------------------- */

static void someone_without_the_group_makes_all_exchange_messages(void **state)
{
    enum { RANKS = 3 };
    (void)state;
    for (int odd = 0; odd < RANKS; odd++) {
        nbcoll_loopback_config loopback = world_variant(WORLD_SHARED, 0);
        nbcoll_request q[RANKS];
        nbcoll_transport table;
        world w;
        world_open_contexts(&w, RANKS, &loopback, NULL);
        table = *w.endpoint[odd]->transport;
        table.shared = NULL;
        w.endpoint[odd]->transport = &table;
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], NULL, &w.comm[r], &q[r]));
        world_finish(&w, RANKS, q);
        for (int r = 0; r < RANKS; r++)
            for (int peer = 0; peer < RANKS; peer++)
                assert_false(nbcoll_comm_shares(w.comm[r], peer));
        works(&w);
        world_close(&w);
    }
}

struct plan {
    nbcoll_shm_config config;
    nbcoll_comm_config limits;
};

static void sum_works(nbcoll_comm *comm)
{
    operation o = {.what = NBCOLL_OPERATION_ALLREDUCE, .count = 300, .how = {NBCOLL_INT32, NBCOLL_SUM}};
    share s = share_make(&o, nbcoll_comm_rank(comm), nbcoll_comm_size(comm));
    CHECK_STATUS(NBCOLL_OK, operation_call(&o, &s, comm, 30 * SECOND));
    operation_check(&o, &s, nbcoll_comm_rank(comm), nbcoll_comm_size(comm));
    share_free(&s);
}

/* Do exposures run in place here, among all? */
static int is_shared(nbcoll_comm *comm)
{
    int all = 1;
    for (int peer = 0; peer < nbcoll_comm_size(comm); peer++)
        all &= nbcoll_comm_shares(comm, peer);
    return all;
}

static nbcoll_comm *dup_of(nbcoll_comm *comm, int shared)
{
    nbcoll_comm *made;
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_dup(comm, &made, 30 * SECOND));
    CHECK(is_shared(made) == shared);
    for (int peer = 0; !shared && peer < nbcoll_comm_size(comm); peer++)
        CHECK(!nbcoll_comm_shares(made, peer));
    sum_works(made);
    return made;
}

static void meet(nbcoll_comm *comm)
{
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(comm, 30 * SECOND));
}

/* Without memory of any rank a communicator has no cells. */
static void use_up_quotas(int rank, void *user)
{
    struct plan p = *(const struct plan *)user;
    nbcoll_comm *made;
    void *memory;
    member m;

    p.config.rank = rank;
    member_join_limited(&m, &p.config, NULL, &p.limits);
    CHECK(is_shared(m.comm));
    for (int owner = 0; owner < 2; owner++) {
        size_t most = p.config.quota;
        while (rank == owner && nbcoll_mem_alloc(m.comm, most, &memory) != NBCOLL_OK)
            most -= 128;
        meet(m.comm);
        made = dup_of(m.comm, 0);
        if (rank == owner)
            CHECK_STATUS(NBCOLL_OK, nbcoll_mem_free(m.comm, memory));
        CHECK(is_shared(m.comm));
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(made));
        meet(m.comm);
        made = dup_of(m.comm, 1);
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(made));
        meet(m.comm);
    }
    member_leave(&m);
}

/* A quota with room for a communicator, and one more. Its memory is free again when all ranks have freed it, whoever is
 * the last; also for the program. */
static void free_in_any_order(int rank, void *user)
{
    struct plan p = *(const struct plan *)user;
    nbcoll_comm *made[2];
    member m;

    p.config.rank = rank;
    member_join_limited(&m, &p.config, NULL, &p.limits);
    for (int last = 0; last < p.config.ranks; last++) {
        made[0] = dup_of(m.comm, 1);
        meet(m.comm);
        if (rank != last)
            CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(made[0]));
        meet(m.comm);
        made[1] = dup_of(m.comm, 0); /* one rank is still in there */
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(made[1]));
        if (rank == last)
            CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(made[0]));
        meet(m.comm);
    }
    for (int i = 0; i < 300; i++) { /* no growth */
        made[0] = dup_of(m.comm, 1);
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(made[0]));
        meet(m.comm);
    }
    void *memory; /* of what the last one had */
    CHECK_STATUS(NBCOLL_OK, nbcoll_mem_alloc(m.comm, p.config.quota / 2 - 256, &memory));
    meet(m.comm);
    member_leave(&m);
}

/* A quota with room for so many communicators. It comes in pages, whose rest is too small for another one. */
static struct plan plan_of(int ranks, size_t communicators, uint32_t flags)
{
    struct plan p = {.config = {.size = sizeof p.config, .id = fresh_id(), .ranks = ranks, .flags = flags},
                     .limits = NBCOLL_COMM_DEFAULTS};
    p.limits.slots = 14;
    p.limits.cells = 2;
    p.config.quota = communicators * nbcoll_cells_bytes(&p.limits, ranks);
    return p;
}

static void a_communicator_without_memory_works_by_messages(void **state)
{
    struct plan p = plan_of(3, 3, 0);
    (void)state;
    crew_succeeds(&PROCESSES_3, use_up_quotas, &p);
}

static void the_memory_of_a_freed_communicator_is_used_again(void **state)
{
    struct plan p = plan_of(3, 2, 0);
    (void)state;
    crew_succeeds(&PROCESSES_3, free_in_any_order, &p);
    p = plan_of(2, 2, 0);
    crew_succeeds(&CREW(2), free_in_any_order, &p);
}

static void exchange_messages(int rank, void *user)
{
    struct plan p = *(const struct plan *)user;
    member m;
    p.config.rank = rank;
    p.config.flags = rank == 1 ? p.config.flags : 0;
    member_join_limited(&m, &p.config, NULL, &p.limits);
    for (int peer = 0; peer < p.config.ranks; peer++)
        CHECK(!nbcoll_comm_shares(m.comm, peer));
    sum_works(m.comm);
    meet(m.comm);
    member_leave(&m);
}

static void a_quota_too_small_or_a_rank_without_bulk_leaves_messages(void **state)
{
    struct plan p = plan_of(3, 1, 0);
    (void)state;
    p.limits.slots = 28;
    crew_succeeds(&PROCESSES_3, exchange_messages, &p);
    p = plan_of(3, 1, NBCOLL_SHM_NO_BULK);
    crew_succeeds(&PROCESSES_3, exchange_messages, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_beyond_the_limits_is_refused_and_takes_no_tag),
        cmocka_unit_test(an_algorithm_beyond_the_limits_is_refused_where_a_rule_names_it),
        cmocka_unit_test(a_native_schedule_is_refused_where_nothing_is_shared),
        cmocka_unit_test(ranks_agree_on_the_smallest_of_their_limits),
        cmocka_unit_test(someone_without_the_group_makes_all_exchange_messages),
        cmocka_unit_test(a_communicator_without_memory_works_by_messages),
        cmocka_unit_test(the_memory_of_a_freed_communicator_is_used_again),
        cmocka_unit_test(a_quota_too_small_or_a_rank_without_bulk_leaves_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
