/* SPDX-License-Identifier: BSD-3-Clause
 * Collectives on types and with operations of the host's: elements that are pieces of a line, which can only be joined
 * with their neighbours, so that every combination out of rank order is noticed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "works.h"
#include "world.h"

enum { MOST = 40 };

/* The ranks from..to. */
typedef struct piece {
    int from, to;
    char note[16];
} piece;

/* A rank's descriptors and what its operation is told. */
typedef struct joiner {
    nbcoll_host_type type;
    nbcoll_host_op op;
    int fails;
    int gaps; /* pairs that were no neighbours */
} joiner;

static nbcoll_status join(void *user, void *result, const void *left, const void *right, size_t count,
                          nbcoll_type type)
{
    joiner *j = user;
    if (type != nbcoll_type_of(&j->type) || j->fails)
        return NBCOLL_ERR_LIMIT;
    for (size_t i = 0; i < count; i++) {
        piece l = ((const piece *)left)[i], r = ((const piece *)right)[i];
        j->gaps += l.to + 1 != r.from || strcmp(l.note, r.note) != 0;
        l.to = r.to;
        ((piece *)result)[i] = l;
    }
    return NBCOLL_OK;
}

/* Each rank has descriptors of its own, as processes do. */
static void make_joiners(joiner j[], int ranks)
{
    for (int r = 0; r < ranks; r++)
        j[r] = (joiner){.type = {.size = sizeof(nbcoll_host_type), .extent = sizeof(piece)},
                        .op = {sizeof(nbcoll_host_op), &j[r], join, 0}};
}

static void fill(piece p[], int rank)
{
    for (int i = 0; i < MOST; i++)
        p[i] = (piece){rank, rank, "on a line"};
}

static void check_whole(const piece p[], size_t count, int ranks)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(p[i].from, 0);
        assert_int_equal(p[i].to, ranks - 1);
        assert_string_equal(p[i].note, "on a line");
    }
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static void an_operation_that_does_not_commute_gets_its_operands_in_rank_order(void **state)
{
    (void)state;
    static piece in[9][MOST], out[9][MOST];
    joiner j[9];
    nbcoll_request request[9];
    for (int ranks = 1; ranks <= 9; ranks++)
        for (int root = -1; root < ranks; root++) { /* -1: allreduce */
            world w;
            size_t count = root % 2 ? MOST : 1;
            world_open(&w, ranks, NULL, NULL, NULL);
            make_joiners(j, ranks);
            for (int r = 0; r < ranks; r++) {
                nbcoll_type type = nbcoll_type_of(&j[r].type);
                nbcoll_op op = nbcoll_op_of(&j[r].op);
                fill(in[r], r);
                if (root < 0)
                    EXPECT(OK, nbcoll_iallreduce(in[r], out[r], count, type, op, w.comm[r], &request[r]));
                else
                    EXPECT(OK, nbcoll_ireduce(in[r], out[r], count, type, op, root, w.comm[r], &request[r]));
            }
            world_finish(&w, (size_t)ranks, request);
            for (int r = 0; r < ranks; r++) {
                assert_int_equal(j[r].gaps, 0);
                if (root < 0 || r == root)
                    check_whole(out[r], count, ranks);
            }
            world_close(&w);
        }
}

/* Where the result does not depend on the rank that fails any more, the operation may have ended well before. Rank 0
 * needs what that rank would send after it has combined. */
static void an_operation_that_fails_ends_with_err_call_wherever_it_is_still_needed(void **state)
{
    (void)state;
    enum { RANKS = 4, BAD = 2 };
    static piece in[RANKS][MOST], out[RANKS][MOST];
    joiner j[RANKS];
    nbcoll_request request[RANKS];
    nbcoll_status status[RANKS];
    nbcoll_failure failure;
    world w;
    world_open(&w, RANKS, NULL, NULL, NULL);
    make_joiners(j, RANKS);
    j[BAD].fails = 1;
    for (int r = 0; r < RANKS; r++) {
        fill(in[r], r);
        EXPECT(OK, nbcoll_iallreduce(in[r], out[r], MOST, nbcoll_type_of(&j[r].type), nbcoll_op_of(&j[r].op),
                                     w.comm[r], &request[r]));
    }
    world_settle(&w, RANKS, request, status);
    assert_int_equal(status[0], NBCOLL_ERR_CALL);
    assert_int_equal(status[BAD], NBCOLL_ERR_CALL);
    for (int r = 0; r < RANKS; r++)
        if (status[r] == NBCOLL_OK)
            check_whole(out[r], MOST, RANKS);
        else {
            assert_int_equal(status[r], NBCOLL_ERR_CALL);
            EXPECT(OK, nbcoll_last_failure(w.context[r], &failure));
            assert_int_equal(failure.status, NBCOLL_ERR_CALL);
            assert_int_equal(failure.rank, BAD);
        }
    works(&w);
    world_close(&w);
}

static void contiguous_types_move_as_they_are(void **state)
{
    (void)state;
    enum { RANKS = 5 };
    static piece in[RANKS][MOST], all[RANKS][RANKS * MOST];
    joiner j[RANKS];
    nbcoll_request request[RANKS];
    world w;
    world_open(&w, RANKS, NULL, NULL, NULL);
    make_joiners(j, RANKS);
    for (int r = 0; r < RANKS; r++) {
        fill(in[r], r);
        EXPECT(OK, nbcoll_iallgather(in[r], all[r], MOST, nbcoll_type_of(&j[r].type), w.comm[r], &request[r]));
    }
    world_finish(&w, RANKS, request);
    for (int r = 0; r < RANKS; r++)
        for (int from = 0; from < RANKS; from++)
            assert_memory_equal(&all[r][from * MOST], in[from], sizeof in[from]);
    world_close(&w);
}

static void incomplete_descriptors_are_refused(void **state)
{
    (void)state;
    piece in[1] = {{0, 0, ""}}, out[1];
    joiner j[1];
    nbcoll_request request;
    world w;
    world_open(&w, 2, NULL, NULL, NULL);
    make_joiners(j, 1);
    nbcoll_type type = nbcoll_type_of(&j->type);
    nbcoll_op op = nbcoll_op_of(&j->op);

    EXPECT(ERR_OP, nbcoll_iallreduce(in, out, 1, type, NBCOLL_SUM, w.comm[0], &request));
    j->op.combine = NULL;
    EXPECT(ERR_OP, nbcoll_iallreduce(in, out, 1, type, op, w.comm[0], &request));
    j->op.combine = join;
    j->op.size = 8;
    EXPECT(ERR_OP, nbcoll_iallreduce(in, out, 1, NBCOLL_INT32, op, w.comm[0], &request));
    j->type.packed = 8;
    EXPECT(ERR_TYPE, nbcoll_ibcast(in, 1, type, 0, w.comm[0], &request));
    j->type.size = offsetof(nbcoll_host_type, of) - 1;
    j->type.packed = 0;
    EXPECT(ERR_TYPE, nbcoll_ibcast(in, 1, type, 0, w.comm[0], &request));
    EXPECT(ERR_TYPE, nbcoll_ibcast(in, 1, nbcoll_type_of(NULL), 0, w.comm[0], &request));
    works(&w);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operation_that_does_not_commute_gets_its_operands_in_rank_order),
        cmocka_unit_test(an_operation_that_fails_ends_with_err_call_wherever_it_is_still_needed),
        cmocka_unit_test(contiguous_types_move_as_they_are),
        cmocka_unit_test(incomplete_descriptors_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
