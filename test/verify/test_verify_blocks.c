/* SPDX-License-Identifier: BSD-3-Clause
 * Blocks of different lengths, bound and known, in place and not: builders that put one thing wrong, and what the
 * verifier says of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/verify.h>

/* ---- judging --------------------------------------------------------------------------------------------------- */

static nbcoll_case case_of(nbcoll_operation operation, int ranks)
{
    return (nbcoll_case){.size = sizeof(nbcoll_case),
                         .operation = operation,
                         .ranks = ranks,
                         .count = 5,
                         .reduction = {NBCOLL_FLOAT, NBCOLL_SUM},
                         .spread = NBCOLL_SPREAD_RISING};
}

static void judged(nbcoll_build *build, const nbcoll_case *c, nbcoll_flaw flaw)
{
    nbcoll_algorithm algorithm = {sizeof algorithm, "tried", c->operation, build, 0, NULL};
    nbcoll_refutation why = {.size = sizeof why};
    nbcoll_status status = nbcoll_verify_algorithm(&algorithm, c, NULL, &why);
    print_message("%s%s\n", nbcoll_operation_name(c->operation), why.flaw ? "" : ": proved");
    if (why.flaw)
        print_message("    %s\n", why.text);
    assert_string_equal(nbcoll_flaw_name(why.flaw), nbcoll_flaw_name(flaw));
    assert_int_equal(status, flaw == NBCOLL_FLAW_NONE ? NBCOLL_OK : NBCOLL_ERR_VERIFY);
}

/* ---- alltoallv: bound, and in place known ---------------------------------------------------------------------- */

/* Right when all four are 0. `turn`: which block goes to a peer; `stay`: the rank's own block stays away; `hasty`: in
 * place, it is not waited until what leaves is aside; `even`: in place, all blocks are taken as long as the first. */
static struct {
    int turn, stay, hasty, even;
} alltoall_mistake;

static void alltoall(nbcoll_builder *b, const nbcoll_args *a)
{
    for (int peer = 0; peer < b->ranks; peer++) {
        nbcoll_region from = nbcoll_send_block(b, a, (peer + alltoall_mistake.turn) % b->ranks);
        nbcoll_region to = nbcoll_recv_block(b, a, peer);
        nbcoll_step aside = NBCOLL_START;
        if (alltoall_mistake.even && a->in_place)
            from.bytes = to.bytes = nbcoll_send_block(b, a, 0).bytes;
        if (peer == b->rank) {
            if (!a->in_place && !alltoall_mistake.stay)
                nbcoll_add_copy(b, to.at, from.at, from.bytes);
            continue;
        }
        if (a->in_place) {
            nbcoll_addr room = nbcoll_add_scratch(b, from.bytes);
            aside = nbcoll_add_copy(b, room, from.at, from.bytes);
            from.at = room;
        }
        nbcoll_after(b, nbcoll_add_send(b, peer, from.at, from.bytes), aside);
        nbcoll_step take = nbcoll_add_recv(b, peer, to.at, to.bytes);
        if (!alltoall_mistake.hasty)
            nbcoll_after(b, take, aside);
    }
}

static void test_bound_blocks_go_where_they_belong(void **state)
{
    (void)state;
    nbcoll_case c = case_of(NBCOLL_OPERATION_ALLTOALLV, 5);
    for (c.apart = 0; c.apart <= 1; c.apart++)
        for (c.in_place = 0; c.in_place <= 2; c.in_place++) {
            memset(&alltoall_mistake, 0, sizeof alltoall_mistake);
            judged(alltoall, &c, NBCOLL_FLAW_NONE);
            alltoall_mistake.turn = 1;
            judged(alltoall, &c, NBCOLL_FLAW_LENGTH);
        }
    c.in_place = 0;
    c.spread = NBCOLL_SPREAD_EQUAL; /* lengths do not tell */
    judged(alltoall, &c, NBCOLL_FLAW_WRONG);
    alltoall_mistake.turn = 0;
    alltoall_mistake.stay = 1;
    judged(alltoall, &c, NBCOLL_FLAW_UNWRITTEN);
}

static void test_blocks_in_place_leave_before_others_come(void **state)
{
    (void)state;
    nbcoll_case c = case_of(NBCOLL_OPERATION_ALLTOALLW, 4);
    c.in_place = 1;
    memset(&alltoall_mistake, 0, sizeof alltoall_mistake);
    judged(alltoall, &c, NBCOLL_FLAW_NONE);
    alltoall_mistake.hasty = 1;
    judged(alltoall, &c, NBCOLL_FLAW_RACE);
    alltoall_mistake.hasty = 0;
    alltoall_mistake.even = 1;
    judged(alltoall, &c, NBCOLL_FLAW_LENGTH);
}

/* ---- known counts: displacements and types --------------------------------------------------------------------- */

/* Takes each block to lie behind the one before, which its arguments may deny. */
static void allgatherv_together(nbcoll_builder *b, const nbcoll_args *a)
{
    size_t mine = a->counts[b->rank] * a->element, place = 0;
    for (int peer = 0; peer < b->ranks; peer++) {
        nbcoll_addr to = nbcoll_at(a->recv, place);
        place += a->counts[peer] * a->element;
        if (peer == b->rank) {
            if (!a->in_place)
                nbcoll_add_copy(b, to, a->send, mine);
            continue;
        }
        nbcoll_add_send(b, peer, a->send, mine);
        nbcoll_add_recv(b, peer, to, a->counts[peer] * a->element);
    }
}

static void test_displacements_are_heeded(void **state)
{
    (void)state;
    nbcoll_case c = case_of(NBCOLL_OPERATION_ALLGATHERV, 4);
    for (c.in_place = 0; c.in_place <= 2; c.in_place++) {
        c.apart = 0;
        judged(allgatherv_together, &c, NBCOLL_FLAW_NONE);
        c.apart = 1;
        judged(allgatherv_together, &c, NBCOLL_FLAW_STRAY);
    }
}

/* Takes all elements of an alltoallw to be of one type. */
static void alltoallw_untyped(nbcoll_builder *b, const nbcoll_args *a)
{
    for (int peer = 0; peer < b->ranks && a->in_place; peer++) {
        size_t bytes = a->counts[peer] * sizeof(float);
        nbcoll_addr at = nbcoll_at(a->recv, a->displs[peer]), room = nbcoll_add_scratch(b, bytes);
        if (peer == b->rank)
            continue;
        nbcoll_step aside = nbcoll_add_copy(b, room, at, bytes);
        nbcoll_after(b, nbcoll_add_send(b, peer, room, bytes), aside);
        nbcoll_after(b, nbcoll_add_recv(b, peer, at, bytes), aside);
    }
}

static void test_types_of_blocks_are_heeded(void **state)
{
    (void)state;
    nbcoll_case c = case_of(NBCOLL_OPERATION_ALLTOALLW, 3);
    c.in_place = 1;
    judged(alltoallw_untyped, &c, NBCOLL_FLAW_LENGTH);
}

/* ---- which ranks are in place ---------------------------------------------------------------------------------- */

/* A ring of two directions: in place it turns the other way, which is right if all do. */
static void allgather_turning(nbcoll_builder *b, const nbcoll_args *a)
{
    for (int i = 1; i < b->ranks; i++) {
        int above = (b->rank + i) % b->ranks, below = (b->rank + b->ranks - i) % b->ranks;
        int to = a->in_place ? below : above, from = a->in_place ? above : below;
        nbcoll_add_send(b, to, a->send, a->bytes);
        nbcoll_add_recv(b, from, nbcoll_at(a->recv, (size_t)from * a->bytes), a->bytes);
        if (a->in_place && i == 1)
            nbcoll_add_send(b, to, a->send, 0); /* and says that it has turned */
        if (a->in_place && i == 1)
            nbcoll_add_recv(b, from, a->recv, 0);
    }
    if (!a->in_place)
        nbcoll_add_copy(b, nbcoll_at(a->recv, (size_t)b->rank * a->bytes), a->send, a->bytes);
}

static void test_each_rank_is_in_place_for_itself(void **state)
{
    (void)state;
    nbcoll_case c = case_of(NBCOLL_OPERATION_ALLGATHER, 3);
    judged(allgather_turning, &c, NBCOLL_FLAW_NONE);
    c.in_place = 1;
    judged(allgather_turning, &c, NBCOLL_FLAW_NONE);
    c.in_place = 2;
    judged(allgather_turning, &c, NBCOLL_FLAW_NO_RECV);
}

/* ---- what must be left alone ----------------------------------------------------------------------------------- */

/* Each rank combines the whole vector; in place it leaves more of it than its own block. */
static void reduce_scatter_untidy(nbcoll_builder *b, const nbcoll_args *a)
{
    int ranks = b->ranks;
    nbcoll_step have[16] = {NBCOLL_START};
    nbcoll_addr room[16] = {{NBCOLL_BUFFER_SCRATCH, 0}};
    nbcoll_step left = nbcoll_add_join(b);
    for (int peer = 0; peer < ranks; peer++) {
        room[peer] = nbcoll_add_scratch(b, a->bytes);
        if (peer == b->rank) {
            have[peer] = nbcoll_add_copy(b, room[peer], a->send, a->bytes);
            nbcoll_after(b, left, have[peer]);
            continue;
        }
        nbcoll_after(b, left, nbcoll_add_send(b, peer, a->send, a->bytes));
        have[peer] = nbcoll_add_recv(b, peer, room[peer], a->bytes);
    }
    nbcoll_addr sum = room[0];
    nbcoll_step since = have[0];
    for (int peer = 1; peer < ranks; peer++) {
        nbcoll_step step = nbcoll_add_combine(b, room[peer], sum, room[peer], a->count, a->reduction);
        nbcoll_after(b, step, since);
        nbcoll_after(b, step, have[peer]);
        sum = room[peer];
        since = step;
    }
    nbcoll_region mine = nbcoll_send_block(b, a, b->rank), result = nbcoll_recv_block(b, a, 0);
    size_t place = mine.at.offset - a->send.offset;
    if (!a->in_place) {
        nbcoll_after(b, nbcoll_add_copy(b, result.at, nbcoll_at(sum, place), result.bytes), since);
        return;
    }
    nbcoll_step whole = nbcoll_add_copy(b, a->recv, nbcoll_at(sum, place), a->bytes - place);
    nbcoll_after(b, whole, since);
    nbcoll_after(b, whole, left);
}

static void test_behind_the_result_nothing_is_written(void **state)
{
    (void)state;
    nbcoll_case c = case_of(NBCOLL_OPERATION_REDUCE_SCATTER, 4);
    judged(reduce_scatter_untidy, &c, NBCOLL_FLAW_NONE);
    c.in_place = 1;
    judged(reduce_scatter_untidy, &c, NBCOLL_FLAW_STRAY);
}

/* An exclusive scan whose rank 0 writes a result too. */
static void exscan_eager(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->rank == 0) {
        nbcoll_add_copy(b, (nbcoll_addr){NBCOLL_BUFFER_RECV, 0}, (nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, a->bytes);
        nbcoll_add_send(b, 1, a->send, a->bytes);
    } else
        nbcoll_add_recv(b, 0, a->recv, a->bytes);
}

static void test_an_exclusive_scan_has_no_result_at_rank_0(void **state)
{
    (void)state;
    nbcoll_case c = case_of(NBCOLL_OPERATION_EXSCAN, 2);
    judged(exscan_eager, &c, NBCOLL_FLAW_STRAY);
}

/* A scan that puts what comes from below on the wrong side. */
static void scan_turned(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_addr in = nbcoll_add_scratch(b, a->bytes);
    nbcoll_step since = NBCOLL_START;
    if (b->rank > 0) {
        nbcoll_step take = nbcoll_add_recv(b, b->rank - 1, in, a->bytes);
        since = nbcoll_add_combine(b, a->recv, a->send, in, a->count, a->reduction);
        nbcoll_after(b, since, take);
    } else
        since = nbcoll_add_copy(b, a->recv, a->send, a->bytes);
    if (b->rank + 1 < b->ranks)
        nbcoll_after(b, nbcoll_add_send(b, b->rank + 1, a->recv, a->bytes), since);
}

static void test_a_scan_combines_in_rank_order(void **state)
{
    (void)state;
    nbcoll_case c = case_of(NBCOLL_OPERATION_SCAN, 3);
    judged(scan_turned, &c, NBCOLL_FLAW_ORDER);
}

/* ---- meanings that bind ---------------------------------------------------------------------------------------- */

/* Two ranks: rank 0 copies its own block 0 and sends block 1. The blocks lie where the test says. */
typedef struct binding {
    nbcoll_meaning meaning;
    nbcoll_region send, recv;
} binding;

static nbcoll_region binding_input(const nbcoll_meaning *m, int rank)
{
    (void)m;
    return nbcoll_span((nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, rank ? 0 : 64);
}

static int binding_claim(const nbcoll_meaning *m, int rank, size_t i, nbcoll_claim *c)
{
    c->bytes = 64;
    c->first = 1; /* whatever */
    return m->ranks == 2 && rank < 2 && i == 0;
}

static nbcoll_region binding_block(const nbcoll_meaning *m, int rank, int is_recv, int index)
{
    const binding *b = (const binding *)m;
    (void)rank;
    (void)index;
    return is_recv ? b->recv : b->send;
}

static nbcoll_status bind_and_verify(const binding *at, nbcoll_refutation *why)
{
    nbcoll_schedule *schedules[2];
    nbcoll_addr from = {NBCOLL_BUFFER_SEND_BLOCK, 0}, to = {NBCOLL_BUFFER_RECV_BLOCK, 0};
    for (int rank = 0; rank < 2; rank++) {
        nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = 2};
        nbcoll_builder *b;
        assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
        if (rank == 0) {
            nbcoll_step sent = nbcoll_add_send(b, 1, (nbcoll_addr){NBCOLL_BUFFER_SEND_BLOCK, 1}, 0);
            nbcoll_after(b, nbcoll_add_copy(b, to, from, 0), sent);
        } else
            nbcoll_add_recv(b, 0, to, 0);
        assert_int_equal(nbcoll_builder_finish(b, &schedules[rank]), NBCOLL_OK);
    }
    *why = (nbcoll_refutation){.size = sizeof *why};
    nbcoll_status status = nbcoll_verify((const nbcoll_schedule *const *)schedules, &at->meaning, NULL, why);
    for (int rank = 0; rank < 2; rank++)
        nbcoll_schedule_free(schedules[rank]);
    return status;
}

static nbcoll_region bytes_of(nbcoll_buffer buffer, size_t offset, size_t bytes)
{
    return nbcoll_span((nbcoll_addr){buffer, offset}, bytes);
}

static void test_a_meaning_binds_blocks(void **state)
{
    (void)state;
    nbcoll_refutation why;
    binding at = {.meaning = {.size = sizeof at.meaning, .ranks = 2, .input = binding_input, .claim = binding_claim},
                  .send = bytes_of(NBCOLL_BUFFER_SEND, 8, 16),
                  .recv = bytes_of(NBCOLL_BUFFER_RECV, 32, 16)};

    assert_int_equal(bind_and_verify(&at, &why), NBCOLL_ERR_UNSUPPORTED);
    at.meaning.block = binding_block;
    assert_int_equal(bind_and_verify(&at, &why), NBCOLL_OK);

    at.send.bytes = 12;
    assert_int_equal(bind_and_verify(&at, &why), NBCOLL_ERR_VERIFY);
    assert_string_equal(why.text, "the two ends of a message differ in length: "
                                  "rank 0 step 3 COPY send[8,20); rank 0 step 3 COPY recv[32,48)");
    at.send = bytes_of(NBCOLL_BUFFER_RECV, 24, 16);
    assert_int_equal(bind_and_verify(&at, &why), NBCOLL_ERR_VERIFY);
    assert_string_equal(nbcoll_flaw_name(why.flaw), "RACE");

    at.send = bytes_of(NBCOLL_BUFFER_SEND, 60, 16); /* beyond the input */
    assert_int_equal(bind_and_verify(&at, &why), NBCOLL_ERR_VERIFY);
    assert_string_equal(nbcoll_flaw_name(why.flaw), "UNDEFINED");
}

static void test_blocks_bound_to_no_place_are_refused(void **state)
{
    (void)state;
    nbcoll_refutation why;
    binding good = {.meaning = {.size = sizeof good.meaning, .ranks = 2, .input = binding_input,
                                .claim = binding_claim, .block = binding_block},
                    .send = bytes_of(NBCOLL_BUFFER_SEND, 8, 16),
                    .recv = bytes_of(NBCOLL_BUFFER_RECV, 32, 16)};
    binding bad = good;

    bad.send.at.buffer = NBCOLL_BUFFER_SCRATCH;
    assert_int_equal(bind_and_verify(&bad, &why), NBCOLL_ERR_ARGUMENT);
    bad.send.at.buffer = NBCOLL_BUFFER_SEND_BLOCK;
    assert_int_equal(bind_and_verify(&bad, &why), NBCOLL_ERR_ARGUMENT);
    bad = good;
    bad.recv.at.buffer = NBCOLL_BUFFER_SEND; /* would be written */
    assert_int_equal(bind_and_verify(&bad, &why), NBCOLL_ERR_ARGUMENT);
    bad = good;
    bad.recv.at.offset = SIZE_MAX - 4;
    assert_int_equal(bind_and_verify(&bad, &why), NBCOLL_ERR_COUNT);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_bound_blocks_go_where_they_belong),
    cmocka_unit_test(test_blocks_in_place_leave_before_others_come),
    cmocka_unit_test(test_displacements_are_heeded),
    cmocka_unit_test(test_types_of_blocks_are_heeded),
    cmocka_unit_test(test_each_rank_is_in_place_for_itself),
    cmocka_unit_test(test_behind_the_result_nothing_is_written),
    cmocka_unit_test(test_an_exclusive_scan_has_no_result_at_rank_0),
    cmocka_unit_test(test_a_scan_combines_in_rank_order),
    cmocka_unit_test(test_a_meaning_binds_blocks),
    cmocka_unit_test(test_blocks_bound_to_no_place_are_refused),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
