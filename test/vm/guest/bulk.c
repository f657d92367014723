/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Large data over verbs: pieces larger than the device moves at once; registrations that are kept, and forgotten;
 * memory that is registered once. And small data: without a buffer, where the device can do that. What devices take is
 * measured and agreed, and ranks that have two are joined by both. Runs in a guest with two devices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include <nbcoll/select.h>

#include "board.h"
#include "crew.h"
#include "operation.h"

enum { RANKS = 2, KEPT = 8, BYTES = 256 << 10, LARGE = (20 << 20) + 3, TIMES = 10 };

typedef struct member {
    nbcoll_endpoint *end;
    nbcoll_context *context;
    nbcoll_comm *comm;
} member;

/* Broadcasts are whole, whatever the measured prices say. */
static member join(int rank, board *b, uint32_t registrations)
{
    const nbcoll_rule whole = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "flat")};
    nbcoll_comm_config how = NBCOLL_COMM_DEFAULTS;
    const nbcoll_verbs_config config = {
        .size = sizeof config, .rank = rank, .ranks = RANKS, .registrations = registrations};
    member m;

    m.end = board_open(b, &config);
    CHECK(m.end);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &m.context));
    how.rules = &whole;
    how.rule_count = 1;
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(m.context, m.end, &how, &m.comm, 30 * SECOND));
    return m;
}

static nbcoll_verbs_count count_of(const member *m)
{
    nbcoll_verbs_count c = {.size = sizeof c};
    CHECK_STATUS(NBCOLL_OK, nbcoll_verbs_counts(m->end, &c));
    return c;
}

/* Rank 0 sends what is filled with `value`. */
static void pass(const member *m, int rank, unsigned char *memory, size_t bytes, int value)
{
    memset(memory, rank == 0 ? value : 0, bytes);
    CHECK_STATUS(NBCOLL_OK, nbcoll_bcast(memory, bytes, NBCOLL_UINT8, 0, m->comm, 60 * SECOND));
    for (size_t i = 0; i < bytes; i++)
        CHECK(memory[i] == (unsigned char)value);
}

static void *map(void *at, size_t bytes)
{
    void *memory = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

/* ---- registrations ----------------------------------------------------------------------------------------------- */

static void register_again_and_again(int rank, void *user)
{
    member m = join(rank, user, KEPT);
    unsigned char *memory = map(NULL, BYTES);

    for (int i = 0; i < TIMES; i++)
        pass(&m, rank, memory, BYTES, i);
    CHECK(count_of(&m).misses == 1 && count_of(&m).hits == TIMES - 1);
    pass(&m, rank, memory + BYTES / 2, BYTES / 2, 50); /* lies in it */
    CHECK(count_of(&m).misses == 1 && count_of(&m).hits == TIMES);

    CHECK_STATUS(NBCOLL_OK, nbcoll_verbs_forget(m.end, memory + BYTES / 2, 1));
    CHECK(count_of(&m).kept == 0);
    map(memory, BYTES); /* other memory, at the same place */
    pass(&m, rank, memory, BYTES, 51);
    CHECK(count_of(&m).misses == 2 && count_of(&m).kept == 1);

    unsigned char *many = map(NULL, 3 * KEPT * BYTES);
    for (int i = 0; i < 3 * KEPT; i++) {
        pass(&m, rank, many + i * BYTES, BYTES, i);
        CHECK(count_of(&m).kept <= KEPT);
    }
    CHECK(count_of(&m).misses == 2 + 3 * KEPT);
    pass(&m, rank, memory, BYTES, 52); /* was used longest ago */
    CHECK(count_of(&m).misses == 3 + 3 * KEPT);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(m.context));
}

static void registrations_are_kept_bounded_and_forgotten(void **state)
{
    (void)state;
    crew_succeeds(&PROCESSES_2, register_again_and_again, shared_memory(sizeof(board)));
}

static void keep_nothing(int rank, void *user)
{
    member m = join(rank, user, 0);
    unsigned char *memory = malloc(BYTES);
    void *own;

    for (int i = 0; i < 3; i++)
        pass(&m, rank, memory, BYTES, i);
    CHECK(count_of(&m).misses == 3 && count_of(&m).hits == 0 && count_of(&m).kept == 0);
    CHECK_STATUS(NBCOLL_OK, nbcoll_mem_alloc(m.comm, BYTES, &own));
    for (int i = 0; i < 3; i++)
        pass(&m, rank, own, BYTES, i);
    CHECK(count_of(&m).misses == 3);
    CHECK_STATUS(NBCOLL_OK, nbcoll_mem_free(m.comm, own));
    free(memory);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(m.context));
}

static void memory_of_nbcoll_needs_no_more_registrations(void **state)
{
    (void)state;
    crew_succeeds(&PROCESSES_2, keep_nothing, shared_memory(sizeof(board)));
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static void pass_large_and_small(int rank, void *user)
{
    member m = join(rank, user, 0);
    unsigned char *memory = malloc(LARGE);

    pass(&m, rank, memory, LARGE, 77);
    uint64_t before = count_of(&m).inlined;
    for (int i = 0; i < TIMES; i++)
        pass(&m, rank, memory, 8, i);
    CHECK(rank != 0 || count_of(&m).inlined - before >= TIMES);
    CHECK(count_of(&m).peers == 1);
    printf("a peer takes %llu bytes of buffers\n", (unsigned long long)count_of(&m).peer_bytes);
    free(memory);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(m.context));
}

static void data_of_any_size_is_passed(void **state)
{
    (void)state;
    crew_succeeds(&PROCESSES_2, pass_large_and_small, shared_memory(sizeof(board)));
}

/* Until a work request comes back, and a message where one is due. */
static void finish(nbcoll_endpoint *end[], bool with_notice)
{
    nbcoll_work *work = NULL;
    bool is_told = !with_notice;
    uint64_t since = clock_ns();

    while (!work || !is_told) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY, there = NBCOLL_COMPLETIONS_EMPTY;
        end[0]->transport->progress(end[0], &found);
        end[1]->transport->progress(end[1], &there);
        work = found.completed ? found.completed : work;
        is_told |= there.arrived != NULL;
        assert_true(clock_ns() - since < 60 * SECOND);
    }
    assert_int_equal(work->status, NBCOLL_OK);
}

static void a_get_and_a_put_are_cut_into_what_the_device_moves(void **state)
{
    nbcoll_verbs_config config = {.size = sizeof config, .ranks = RANKS};
    nbcoll_verbs_address all[RANKS];
    nbcoll_endpoint *end[RANKS];
    nbcoll_registration mine, theirs;
    nbcoll_header header = {{1}};
    nbcoll_work work = {0};
    unsigned char *here = malloc(LARGE), *there = malloc(LARGE);

    (void)state;
    for (config.rank = 0; config.rank < RANKS; config.rank++)
        assert_int_equal(nbcoll_verbs_open(&config, &all[config.rank], &end[config.rank]), NBCOLL_OK);
    for (int rank = 0; rank < RANKS; rank++)
        assert_int_equal(nbcoll_verbs_meet(end[rank], all), NBCOLL_OK);
    const nbcoll_bulk *bulk = end[0]->transport->bulk;
    uint32_t peers = NBCOLL_PEER_READS | NBCOLL_PEER_WRITES;
    assert_int_equal(bulk->register_memory(end[0], 1, here, LARGE, NBCOLL_LOCAL_END, &mine), NBCOLL_OK);
    assert_int_equal(bulk->register_memory(end[1], 0, there, LARGE, peers, &theirs), NBCOLL_OK);
    while (end[0]->transport->post(end[0], 1, &header, NULL, 0, &work) == NBCOLL_POST_NOT_NOW)
        for (int rank = 0; rank < RANKS; rank++) {
            nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
            end[rank]->transport->progress(end[rank], &found);
        }
    finish(end, true);
    for (size_t i = 0; i < LARGE; i++)
        there[i] = (unsigned char)(i * 7 >> 3);
    memset(here, 0, LARGE);
    assert_int_equal(bulk->get(end[0], 1, &theirs.key, 0, &mine, here, LARGE, &work), NBCOLL_POST_IN_FLIGHT);
    finish(end, false);
    assert_memory_equal(here, there, LARGE);
    memset(there, 0, LARGE);
    assert_int_equal(bulk->put(end[0], 1, &theirs.key, 0, &mine, here, LARGE, &header, &work), NBCOLL_POST_IN_FLIGHT);
    finish(end, true);
    assert_memory_equal(here, there, LARGE);
    bulk->deregister_memory(end[0], &mine);
    bulk->deregister_memory(end[1], &theirs);
    for (int rank = 0; rank < RANKS; rank++)
        nbcoll_endpoint_close(end[rank]);
    free(here);
    free(there);
}

/* ---- prices ------------------------------------------------------------------------------------------------------ */

static void all_ranks_have_the_dearest_prices_that_were_measured(void **state)
{
    enum { LARGEST = 65536 };
    nbcoll_verbs_config config = {.size = sizeof config, .ranks = RANKS, .payload = LARGEST};
    nbcoll_verbs_address all[RANKS];
    nbcoll_endpoint *end[RANKS];
    uint64_t name[RANKS][2];

    (void)state;
    for (config.rank = 0; config.rank < RANKS; config.rank++)
        assert_int_equal(nbcoll_verbs_open(&config, &all[config.rank], &end[config.rank]), NBCOLL_OK);
    nbcoll_limits before = end[0]->limits;
    for (int rank = 0; rank < RANKS; rank++) {
        assert_int_equal(nbcoll_verbs_meet(end[rank], all), NBCOLL_OK);
        end[rank]->transport->identify(end[rank], name[rank]);
    }
    nbcoll_limits l = end[0]->limits;
    assert_memory_equal(&l, &end[1]->limits, sizeof l);
    const nbcoll_level *now = &l.price, *then = &before.price;
    assert_int_not_equal(now->get_ns, then->get_ns);
    assert_int_not_equal(now->put_ns, then->put_ns);
    assert_int_not_equal(now->beta_ps, then->beta_ps);
    uint64_t start = now->alpha_ns + (now->get_ns < now->put_ns ? now->get_ns : now->put_ns);
    uint64_t eager = start * 1000 / now->eager_ps;
    printf("alpha %u ns, get %u, put %u; a byte %u ps; eager up to %zu\n", now->alpha_ns, now->get_ns, now->put_ns,
           now->beta_ps, l.payload);
    assert_true(l.payload == LARGEST ? eager >= LARGEST : l.payload <= eager && eager < l.payload + 8);
    assert_memory_equal(name[0], name[1], sizeof name[0]);
    assert_true(name[0][0] && name[0][1] && name[0][0] != name[0][1]);
    for (int rank = 0; rank < RANKS; rank++)
        nbcoll_endpoint_close(end[rank]);
}

/* ---- rails ------------------------------------------------------------------------------------------------------- */

enum { ON_RAILS = 4 };

static void compute_on_rails(int rank, void *user)
{
    nbcoll_verbs_config config = {
        .size = sizeof config, .rank = rank, .ranks = ON_RAILS, .device = "rxe0,rxe1:1", .registrations = KEPT};
    uint64_t random = 15;
    nbcoll_context *context;
    nbcoll_comm *comm;
    unsigned char *own;

    nbcoll_endpoint *end = board_open(user, &config);
    CHECK(end && end->limits.interfaces == 2);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(context, end, NULL, &comm, 60 * SECOND));
    for (int i = 0; i < 2 * NBCOLL_OPERATION_COUNT; i++) {
        operation o = operation_random(&random, ON_RAILS, i % 2 ? 100 : 10000);
        o.what = (nbcoll_operation)(i % NBCOLL_OPERATION_COUNT);
        o.counts_known = 0;
        share s = share_make(&o, rank, ON_RAILS);
        CHECK_STATUS(NBCOLL_OK, operation_call(&o, &s, comm, 60 * SECOND));
        operation_check(&o, &s, rank, ON_RAILS);
        share_free(&s);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_mem_alloc(comm, BYTES, (void **)&own)); /* registered with both */
    for (int root = 0; root < ON_RAILS; root++) {
        memset(own, rank == root ? root + 1 : 0, BYTES);
        CHECK_STATUS(NBCOLL_OK, nbcoll_bcast(own, BYTES, NBCOLL_UINT8, root, comm, 60 * SECOND));
        for (size_t i = 0; i < BYTES; i++)
            CHECK(own[i] == root + 1);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_mem_free(comm, own));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
}

static void ranks_are_joined_by_both_devices(void **state)
{
    const crew c = CREW(1, 1, 1, 1);
    long first = packets_sent_by("rxe0"), second = packets_sent_by("rxe1");

    (void)state;
    assert_true(first >= 0 && second >= 0);
    crew_succeeds(&c, compute_on_rails, shared_memory(sizeof(board)));
    first = packets_sent_by("rxe0") - first;
    second = packets_sent_by("rxe1") - second;
    printf("packets by rxe0 %ld, by rxe1 %ld\n", first, second);
    assert_true(first > 1000 && second > 1000);
    assert_false(a_queue_pair_is_left());
}

static void keep(void *user, nbcoll_status why, const char *text)
{
    (void)why;
    strcpy(user, text);
}

static void a_device_port_or_gid_that_is_not_there_is_refused_and_named(void **state)
{
    static const struct {
        const char *device;
        uint32_t port, gid_index;
        const char *why;
    } cases[] = {{"rxe0,rxe2", 0, 0, "no RDMA device rxe2 can be opened"},
                 {"rxe0:2", 0, 0, "the RDMA device rxe0 has no active port 2:"},
                 {"rxe0,", 0, 0, "no RDMA device"},
                 {",", 0, 0, "no RDMA device"},
                 {"rxe0,rxe1,rxe0,rxe1,rxe0", 0, 0, "more than 4 RDMA devices"},
                 {"rxe0:", 0, 0, "the RDMA device rxe0 has no active port 256:"},
                 {"rxe1", 3, 0, "the RDMA device rxe1 has no active port 3:"},
                 {NULL, 0, 1000, "entry 999 of the GIDs of the RDMA device of any name, port, is empty:"}};
    char why[300];
    nbcoll_verbs_address address;
    nbcoll_endpoint *end;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        nbcoll_verbs_config config = {.size = sizeof config,
                                      .ranks = 1,
                                      .device = cases[i].device,
                                      .port = cases[i].port,
                                      .gid_index = cases[i].gid_index,
                                      .host = {.size = sizeof config.host, .user = why, .log = keep}};
        why[0] = 0;
        assert_int_equal(nbcoll_verbs_open(&config, &address, &end), NBCOLL_ERR_UNSUPPORTED);
        why[strlen(cases[i].why)] = 0; /* what follows says where to look */
        assert_string_equal(why, cases[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registrations_are_kept_bounded_and_forgotten),
        cmocka_unit_test(memory_of_nbcoll_needs_no_more_registrations),
        cmocka_unit_test(data_of_any_size_is_passed),
        cmocka_unit_test(a_get_and_a_put_are_cut_into_what_the_device_moves),
        cmocka_unit_test(all_ranks_have_the_dearest_prices_that_were_measured),
        cmocka_unit_test(ranks_are_joined_by_both_devices),
        cmocka_unit_test(a_device_port_or_gid_that_is_not_there_is_refused_and_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
