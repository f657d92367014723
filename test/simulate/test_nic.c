/* SPDX-License-Identifier: BSD-3-Clause
 * The virtual NIC: what it gains, and what it costs, has the shape that the papers' figures have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "nbcoll/nic.h"
#include "nbcoll/verify.h"

enum { MOST = 64 };

/* One NIC a rank, of 4 GB/s. */
static const nbcoll_nic_model plain = {
    .size = sizeof plain, .post = 50, .task = 100, .latency = 1000, .gap = 100, .byte = 250, .calc = 500, .copy = 200};

typedef struct play {
    nbcoll_nic_rank rank[MOST];
    nbcoll_nic_result result;
} play;

/* A case on all ranks. */
typedef struct programs {
    nbcoll_case c;
    nbcoll_meaning meaning;
    nbcoll_program *of[MOST];
} programs;

static void programs_open(programs *p, const char *name)
{
    const nbcoll_algorithm *algorithm = nbcoll_algorithm_find(p->c.operation, name);
    p->meaning.size = sizeof p->meaning;
    assert_int_equal(nbcoll_meaning_of(&p->c, algorithm->flags, &p->meaning), NBCOLL_OK);
    assert_int_equal(nbcoll_compile_case(algorithm, &p->c, NULL, NULL, 0, p->c.ranks, p->of, NULL), NBCOLL_OK);
}

static void programs_close(programs *p)
{
    for (int rank = 0; rank < p->c.ranks; rank++)
        nbcoll_program_free(p->of[rank]);
}

static nbcoll_status programs_play(const programs *p, const nbcoll_nic_config *config, play *out)
{
    out->result = (nbcoll_nic_result){.size = sizeof out->result, .rank = out->rank};
    return nbcoll_nic_play(config, (const nbcoll_program *const *)p->of, &out->result);
}

/* What an algorithm takes; `compute` may be null. */
static nbcoll_status play_algorithm(nbcoll_operation what, const char *name, int ranks, size_t bytes,
                                    const nbcoll_nic_model *model, const uint64_t *compute, play *out)
{
    programs p = {.c = {.size = sizeof p.c,
                        .operation = what,
                        .ranks = ranks,
                        .count = bytes,
                        .reduction = {NBCOLL_UINT8, NBCOLL_MAX}}};
    nbcoll_nic_config config = {.size = sizeof config, .ranks = ranks, .model = model, .compute = compute};
    programs_open(&p, name);
    nbcoll_status status = programs_play(&p, &config, out);
    programs_close(&p);
    return status;
}

static uint64_t time_of(nbcoll_operation what, const char *name, int ranks, size_t bytes,
                        const nbcoll_nic_model *model)
{
    play p;
    assert_int_equal(play_algorithm(what, name, ranks, bytes, model, NULL, &p), NBCOLL_OK);
    return p.result.last;
}

/* 8 bytes: the sender posts a send and what enables it, the receiver a receive and a wait, and it copies. */
static void one_eager_message_is_counted_to_the_nanosecond(void **state)
{
    play p;
    (void)state;
    assert_int_equal(play_algorithm(NBCOLL_OPERATION_BCAST, "binomial", 2, 8, &plain, NULL, &p), NBCOLL_OK);
    assert_int_equal(p.rank[0].posted, 2 * 50);
    assert_int_equal(p.result.tasks, 3); /* receives are no work of a NIC's */
    uint64_t came = 100 + 2 * 100 + 1000 + 100; /* it keeps the port for a gap */
    assert_int_equal(p.rank[0].ended, came + 1000);
    assert_int_equal(p.rank[1].ended, came + 100);
    assert_int_equal(p.rank[1].finished, came + 100 + 1); /* 8 bytes at 200 ps are copied */
}

/* 4 ranks of a node copy what 8 ranks have sent each of them, out of eager buffers: 7 KB, since one's own block is the
 * NIC's. */
static void copies_that_no_cache_holds_share_the_nodes_memory(void **state)
{
    enum { NODE = 4, RANKS = 8, COPIED = 7 * 1024 };
    nbcoll_nic_model alone = plain, held = plain, shared = plain, idle = plain;
    play p;
    (void)state;
    alone.node = held.node = shared.node = idle.node = NODE;
    held.memory = shared.memory = 100; /* 400 ps a byte, copy 200 */
    held.cache = NODE * COPIED;
    shared.cache = NODE * COPIED - NODE;
    idle.memory = plain.copy / NODE;
    uint64_t least = time_of(NBCOLL_OPERATION_ALLGATHER, "flat", RANKS, 1024, &alone);
    assert_int_equal(time_of(NBCOLL_OPERATION_ALLGATHER, "flat", RANKS, 1024, &held), least);
    assert_int_equal(time_of(NBCOLL_OPERATION_ALLGATHER, "flat", RANKS, 1024, &idle), least);
    uint64_t more = time_of(NBCOLL_OPERATION_ALLGATHER, "flat", RANKS, 1024, &shared) - least;
    assert_int_equal(more, COPIED * 400 / 1000 - COPIED * 200 / 1000);
    shared.memory = NBCOLL_SIM_MOST_PS / NODE + 1;
    assert_int_equal(play_algorithm(NBCOLL_OPERATION_ALLGATHER, "flat", RANKS, 1024, &shared, NULL, &p),
                     NBCOLL_ERR_LIMIT);
}

/* Figure 3.8: 98% at 512 KB between two ranks. */
static void a_rendezvous_is_overlapped_with_computing(void **state)
{
    uint64_t compute[2], alone;
    play p;
    (void)state;
    alone = time_of(NBCOLL_OPERATION_BCAST, "binomial", 2, 512 * 1024, &plain);
    compute[0] = compute[1] = alone;
    assert_int_equal(play_algorithm(NBCOLL_OPERATION_BCAST, "binomial", 2, 512 * 1024, &plain, compute, &p), NBCOLL_OK);
    uint64_t lost = p.result.last - alone;
    assert_true(lost * 100 <= alone * 2);
    assert_true(p.rank[0].cpu + p.rank[1].cpu < alone / 100); /* the hosts post, and copy nothing */
}

/* Table 3.1: of a pause of the receiver's, after it has posted, the sender sees nothing, for small and large. */
static void a_receiver_that_pauses_delays_nobody(void **state)
{
    static const size_t sizes[] = {64, 64 * 1024};
    const uint64_t pause[2] = {0, 1000000000};
    (void)state;
    for (int i = 0; i < 2; i++) {
        play with, without;
        assert_int_equal(play_algorithm(NBCOLL_OPERATION_BCAST, "binomial", 2, sizes[i], &plain, NULL, &without),
                         NBCOLL_OK);
        assert_int_equal(play_algorithm(NBCOLL_OPERATION_BCAST, "binomial", 2, sizes[i], &plain, pause, &with),
                         NBCOLL_OK);
        assert_int_equal(with.rank[0].finished, without.rank[0].finished);
        assert_true(with.rank[1].finished >= pause[1]);
    }
}

static void queue_pairs_beyond_those_at_hand_cost_time(void **state)
{
    nbcoll_nic_model few = plain;
    (void)state;
    few.cached = 16;
    few.miss = 500;
    /* 63 peers, and 6 or 2 */
    uint64_t flat = time_of(NBCOLL_OPERATION_ALLTOALL, "flat", 64, 8, &plain);
    uint64_t flat_few = time_of(NBCOLL_OPERATION_ALLTOALL, "flat", 64, 8, &few);
    uint64_t ring = time_of(NBCOLL_OPERATION_ALLGATHER, "ring", 64, 8, &plain);
    uint64_t ring_few = time_of(NBCOLL_OPERATION_ALLGATHER, "ring", 64, 8, &few);
    assert_true(flat_few > flat + flat / 2);
    assert_int_equal(ring_few, ring);
}

/* 16 are at hand. In parts of a thousand of what it takes where all are. */
static void the_more_queue_pairs_are_in_use_the_dearer_is_each_task(void **state)
{
    nbcoll_nic_model few = plain;
    uint64_t before = 1000;
    (void)state;
    few.cached = 16;
    few.miss = 500;
    for (int ranks = 4; ranks <= 64; ranks *= 2) { /* 9, 21, ... of them: three for each peer */
        uint64_t all = time_of(NBCOLL_OPERATION_ALLTOALL, "flat", ranks, 8, &plain);
        uint64_t now = time_of(NBCOLL_OPERATION_ALLTOALL, "flat", ranks, 8, &few) * 1000 / all;
        assert_true(ranks == 4 ? now == before : now > before);
        before = now;
    }
}

/* 16 ranks of a node on one NIC or two, that has one port or two. */
static void more_nics_and_ports_serve_more_at_a_time(void **state)
{
    nbcoll_nic_model one = plain;
    (void)state;
    one.node = 16;
    nbcoll_nic_model nics = one, ports = one;
    nics.nics = 2;
    ports.ports = 2;
    uint64_t small = time_of(NBCOLL_OPERATION_ALLGATHER, "ring", 32, 8, &one);
    uint64_t large = time_of(NBCOLL_OPERATION_ALLGATHER, "ring", 32, 64 * 1024, &one);
    assert_true(time_of(NBCOLL_OPERATION_ALLGATHER, "ring", 32, 8, &nics) < small);
    assert_true(time_of(NBCOLL_OPERATION_ALLGATHER, "ring", 32, 64 * 1024, &nics) < large * 2 / 3);
    assert_true(time_of(NBCOLL_OPERATION_ALLGATHER, "ring", 32, 64 * 1024, &ports) < large * 2 / 3);
}

/* What sends, what receives or both by the rank's port; the rest by the first one. */
static uint32_t by_rank(void *user, int rank, const nbcoll_queue_view *queue)
{
    const nbcoll_direction *only = user;
    return !only || queue->direction == *only ? (uint32_t)rank : 0;
}

static uint64_t ring_over(nbcoll_nic_port *port, nbcoll_direction *only, uint32_t ports)
{
    nbcoll_nic_model model = plain;
    play out;
    programs p = {.c = {.size = sizeof p.c,
                        .operation = NBCOLL_OPERATION_ALLGATHER,
                        .ranks = 32,
                        .count = 64 * 1024,
                        .reduction = {NBCOLL_UINT8, NBCOLL_MAX}}};
    nbcoll_nic_config config = {
        .size = sizeof config, .ranks = 32, .model = &model, .port = port, .port_user = only};
    model.node = 16;
    model.ports = ports;
    programs_open(&p, "ring");
    assert_int_equal(programs_play(&p, &config, &out), NBCOLL_OK);
    programs_close(&p);
    return out.result.last;
}

/* 16 ranks of a node, each with a queue pair to the next rank and one from the one before. */
static void queue_pairs_that_have_a_port_stay_there(void **state)
{
    nbcoll_direction out = NBCOLL_OUTWARD, in = NBCOLL_INWARD;
    (void)state;
    uint64_t one = ring_over(NULL, NULL, 1), most = one - one / 50; /* clear-to-sends go the other way */
    assert_true(ring_over(by_rank, &in, 2) > most);
    assert_true(ring_over(by_rank, &out, 2) > most);
    assert_true(ring_over(by_rank, NULL, 2) < one * 2 / 3);
}

static void a_slow_nic_shows_in_small_messages_alone(void **state)
{
    nbcoll_nic_model slow = plain;
    (void)state;
    slow.task = 1000;
    uint64_t small = time_of(NBCOLL_OPERATION_ALLREDUCE, "recursive_doubling", 16, 8, &plain);
    uint64_t large = time_of(NBCOLL_OPERATION_ALLREDUCE, "recursive_doubling", 16, 1 << 20, &plain);
    assert_true(time_of(NBCOLL_OPERATION_ALLREDUCE, "recursive_doubling", 16, 8, &slow) > 2 * small);
    assert_true(time_of(NBCOLL_OPERATION_ALLREDUCE, "recursive_doubling", 16, 1 << 20, &slow) < large + large / 50);
}

static void the_nic_of_a_machine_has_its_network(void **state)
{
    nbcoll_sim_model b = {.size = sizeof b};
    nbcoll_nic_model nic = {.size = sizeof nic};
    (void)state;
    assert_int_equal(nbcoll_sim_model_find("cluster_b", &b), NBCOLL_OK);
    assert_int_equal(nbcoll_nic_of(&b, &nic), NBCOLL_OK);
    assert_int_equal(nic.latency, b.between.latency);
    assert_int_equal(nic.byte, b.between.byte);
    assert_int_equal(nic.ports, 2);
    assert_int_equal(nic.node, 4);
    assert_int_equal(nic.post, b.between.o_send / 4);
    nic.size = offsetof(nbcoll_nic_model, task); /* a caller's that knows less */
    nic.task = 1;
    assert_int_equal(nbcoll_nic_of(&b, &nic), NBCOLL_OK);
    assert_int_equal(nic.task, 1);
    assert_int_equal(nbcoll_nic_of(NULL, &nic), NBCOLL_ERR_NULL);
    nic.size = 0;
    assert_int_equal(nbcoll_nic_of(&b, &nic), NBCOLL_ERR_CONFIG);
}

/* A rank's blocks, by the meaning of its case; and one that is to be `longer`, or to lie elsewhere. */
typedef struct bound {
    const nbcoll_meaning *meaning;
    int rank, is_recv, index;
    size_t longer;
    nbcoll_buffer elsewhere;
} bound;

static nbcoll_region bind_block(void *user, int is_recv, int index)
{
    const bound *b = user;
    nbcoll_region r = b->meaning->block(b->meaning, b->rank, is_recv, index);
    if (is_recv == b->is_recv && index == b->index) {
        r.bytes += b->longer;
        r.at.buffer = b->elsewhere ? b->elsewhere : r.at.buffer;
    }
    return r;
}

/* As the meaning says. */
static void bind_all(const programs *p, bound of[MOST], void *user[MOST])
{
    for (int rank = 0; rank < p->c.ranks; rank++) {
        of[rank] = (bound){.meaning = &p->meaning, .rank = rank, .index = -1};
        user[rank] = &of[rank];
    }
}

static programs blocks_of(nbcoll_operation what, int ranks, size_t bytes, nbcoll_spread spread)
{
    return (programs){.c = {.size = sizeof(nbcoll_case),
                            .operation = what,
                            .ranks = ranks,
                            .count = bytes,
                            .spread = spread,
                            .reduction = {NBCOLL_UINT8, NBCOLL_MAX}}};
}

/* Of the operations that may have bound blocks, too. */
static void programs_of_all_algorithms_end(void **state)
{
    const nbcoll_algorithm *algorithm;
    void *user[MOST];
    bound of[MOST];
    play out;
    (void)state;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)what, i)); i++)
            for (int ranks = 1; ranks <= 9; ranks += 4) {
                programs p = blocks_of((nbcoll_operation)what, ranks, what == NBCOLL_OPERATION_BARRIER ? 0 : 20000,
                                       NBCOLL_SPREAD_EQUAL);
                p.c.known = (algorithm->flags & NBCOLL_ALGORITHM_COUNTS) != 0;
                nbcoll_nic_config config = {.size = sizeof config,
                                             .ranks = ranks,
                                             .model = &plain,
                                             .bind = bind_block,
                                             .bind_user = user};
                programs_open(&p, algorithm->name);
                bind_all(&p, of, user);
                assert_int_equal(programs_play(&p, &config, &out), NBCOLL_OK);
                programs_close(&p);
            }
}

/* Flat: each rank sends one message to each other one. What they bring, at a picosecond price of bytes alone, is the
 * time in which the port of the rank that gets most is busy. */
static void blocks_take_as_long_as_where_they_are_bound_they_are(void **state)
{
    const nbcoll_nic_model bytes_only = {.size = sizeof bytes_only, .byte = 1000};
    void *user[MOST];
    bound of[MOST];
    play out;
    (void)state;
    for (size_t bytes = 0; bytes <= 5000; bytes += 2500) {
        programs p = blocks_of(NBCOLL_OPERATION_GATHERV, 4, bytes, NBCOLL_SPREAD_RISING);
        nbcoll_nic_config config = {
            .size = sizeof config, .ranks = 4, .model = &bytes_only, .bind = bind_block, .bind_user = user};
        programs_open(&p, "flat");
        bind_all(&p, of, user);
        assert_int_equal(programs_play(&p, &config, &out), NBCOLL_OK);
        assert_int_equal(out.rank[0].ended, 3 * bytes + 1 + 2 + 3);
        programs_close(&p);
    }
}

/* An alltoallv of equal blocks, told only when it is played, does what an alltoall does that goes by rendezvous. */
static void bound_blocks_cost_what_known_ones_do(void **state)
{
    void *user[MOST];
    bound of[MOST];
    play out;
    (void)state;
    programs p = blocks_of(NBCOLL_OPERATION_ALLTOALLV, 8, 30000, NBCOLL_SPREAD_EQUAL);
    nbcoll_nic_config config = {
        .size = sizeof config, .ranks = 8, .model = &plain, .bind = bind_block, .bind_user = user};
    programs_open(&p, "flat");
    bind_all(&p, of, user);
    assert_int_equal(programs_play(&p, &config, &out), NBCOLL_OK);
    assert_int_equal(out.result.last, time_of(NBCOLL_OPERATION_ALLTOALL, "flat", 8, 30000, &plain));
    programs_close(&p);
}

static void blocks_that_make_no_sense_are_refused(void **state)
{
    void *user[MOST];
    bound of[MOST];
    play out;
    (void)state;
    programs p = blocks_of(NBCOLL_OPERATION_ALLTOALLV, 3, 100, NBCOLL_SPREAD_RISING);
    nbcoll_nic_config config = {.size = sizeof config, .ranks = 3, .model = &plain, .bind_user = user};
    programs_open(&p, "flat");
    bind_all(&p, of, user);
    assert_int_equal(programs_play(&p, &config, &out), NBCOLL_ERR_UNSUPPORTED); /* no bind */
    config.bind = bind_block;
    assert_int_equal(programs_play(&p, &config, &out), NBCOLL_OK);
    for (int index = 0; index < 3; index++) { /* another length than its sender's, or than that of the copy */
        of[1].is_recv = 1;
        of[1].index = index;
        of[1].longer = 1;
        assert_int_equal(programs_play(&p, &config, &out), NBCOLL_ERR_ARGUMENT);
    }
    of[1].longer = (size_t)1 << 41;
    assert_int_equal(programs_play(&p, &config, &out), NBCOLL_ERR_LIMIT);
    of[1].longer = 0;
    of[1].elsewhere = NBCOLL_BUFFER_SCRATCH;
    assert_int_equal(programs_play(&p, &config, &out), NBCOLL_ERR_ARGUMENT);
    of[1].elsewhere = 0;
    assert_int_equal(programs_play(&p, &config, &out), NBCOLL_OK);
    programs_close(&p);
}

static void what_cannot_be_played_is_refused(void **state)
{
    nbcoll_nic_model model = plain;
    nbcoll_nic_result result = {.size = sizeof result};
    nbcoll_nic_config config = {.size = sizeof config, .ranks = 1, .model = &model};
    const nbcoll_program *none[1] = {NULL};
    play p;
    (void)state;
    assert_int_equal(nbcoll_nic_play(NULL, none, &result), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_nic_play(&config, none, &result), NBCOLL_ERR_NULL);
    config.ranks = 0;
    assert_int_equal(nbcoll_nic_play(&config, none, &result), NBCOLL_ERR_RANK);
    model.task = (uint64_t)1 << 41;
    assert_int_equal(play_algorithm(NBCOLL_OPERATION_BARRIER, "dissemination", 2, 0, &model, NULL, &p),
                     NBCOLL_ERR_LIMIT);
    config.size = 0;
    assert_int_equal(nbcoll_nic_play(&config, none, &result), NBCOLL_ERR_CONFIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_eager_message_is_counted_to_the_nanosecond),
        cmocka_unit_test(copies_that_no_cache_holds_share_the_nodes_memory),
        cmocka_unit_test(a_rendezvous_is_overlapped_with_computing),
        cmocka_unit_test(a_receiver_that_pauses_delays_nobody),
        cmocka_unit_test(queue_pairs_beyond_those_at_hand_cost_time),
        cmocka_unit_test(the_more_queue_pairs_are_in_use_the_dearer_is_each_task),
        cmocka_unit_test(more_nics_and_ports_serve_more_at_a_time),
        cmocka_unit_test(queue_pairs_that_have_a_port_stay_there),
        cmocka_unit_test(a_slow_nic_shows_in_small_messages_alone),
        cmocka_unit_test(the_nic_of_a_machine_has_its_network),
        cmocka_unit_test(programs_of_all_algorithms_end),
        cmocka_unit_test(blocks_take_as_long_as_where_they_are_bound_they_are),
        cmocka_unit_test(bound_blocks_cost_what_known_ones_do),
        cmocka_unit_test(blocks_that_make_no_sense_are_refused),
        cmocka_unit_test(what_cannot_be_played_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
