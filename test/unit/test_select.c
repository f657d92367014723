/* SPDX-License-Identifier: BSD-3-Clause
 * From a call to a schedule: arguments, fingerprints, the table of algorithms, the choice among them, and building. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algorithms.h"
#include "../../src/schedule/schedule.h"
#include "nbcoll/select.h"
#include "nbcoll/verify.h"

/* ---- arguments ------------------------------------------------------------------------------------------------- */

static void check_at(nbcoll_addr at, nbcoll_buffer buffer, size_t offset)
{
    assert_int_equal(at.buffer, buffer);
    assert_int_equal(at.offset, offset);
}

/* What the operations with blocks of different lengths need beside a count, for 3 ranks, or up to 9. */
static nbcoll_args with_arrays(nbcoll_args a)
{
    static const size_t counts[9] = {2, 3, 4, 1, 0, 2, 5, 1, 3}, displs[9] = {0, 16, 40, 72, 80, 80, 96, 136, 144};
    static const nbcoll_type types[9] = {NBCOLL_INT64,  NBCOLL_DOUBLE, NBCOLL_UINT64, NBCOLL_INT64, NBCOLL_INT64,
                                         NBCOLL_DOUBLE, NBCOLL_UINT64, NBCOLL_INT64,  NBCOLL_INT64};
    a.counts = is_one_of(a.operation, known | rows) ? counts : NULL;
    a.displs = a.operation == NBCOLL_OPERATION_ALLTOALLW ? displs : NULL;
    a.types = a.operation == NBCOLL_OPERATION_ALLTOALLW ? types : NULL;
    return a;
}

static void plain_arguments_begin_where_the_buffers_do(void **state)
{
    (void)state;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        nbcoll_args a = with_arrays(args_of(small_one(operation), 6, 0));
        assert_int_equal(nbcoll_args_complete(&a, 2, 3), NBCOLL_OK);
        int is_bound = is_one_of((nbcoll_operation)operation, rows);
        check_at(a.send, is_bound ? NBCOLL_BUFFER_SEND_BLOCK : NBCOLL_BUFFER_SEND, 0);
        check_at(a.recv, is_bound ? NBCOLL_BUFFER_RECV_BLOCK : NBCOLL_BUFFER_RECV, 0);
        size_t count = operation == NBCOLL_OPERATION_BARRIER || is_one_of((nbcoll_operation)operation, rows) ? 0
                       : is_one_of((nbcoll_operation)operation, known)                                       ? 9
                                                                                                             : 6;
        assert_int_equal(a.bytes, 8 * count);
    }
}

/* Completes arguments in place, with root 2, of 3 ranks. */
static nbcoll_args in_place_at(nbcoll_operation operation, int rank)
{
    nbcoll_args a = with_arrays(args_of(small_one((int)operation), 6, has_root(operation) ? 2 : 0));
    a.in_place = 7;
    assert_int_equal(nbcoll_args_complete(&a, rank, 3), NBCOLL_OK);
    return a;
}

static void in_place_the_send_address_lies_in_the_receive_buffer(void **state)
{
    (void)state;
    check_at(in_place_at(NBCOLL_OPERATION_GATHER, 2).send, NBCOLL_BUFFER_RECV, 96);
    check_at(in_place_at(NBCOLL_OPERATION_ALLGATHER, 1).send, NBCOLL_BUFFER_RECV, 48);
    check_at(in_place_at(NBCOLL_OPERATION_REDUCE, 2).send, NBCOLL_BUFFER_RECV, 0);
    check_at(in_place_at(NBCOLL_OPERATION_ALLREDUCE, 1).send, NBCOLL_BUFFER_RECV, 0);
    check_at(in_place_at(NBCOLL_OPERATION_GATHERV, 2).send, NBCOLL_BUFFER_RECV, 40);
    check_at(in_place_at(NBCOLL_OPERATION_ALLGATHERV, 1).send, NBCOLL_BUFFER_RECV, 16);
    check_at(in_place_at(NBCOLL_OPERATION_ALLTOALL, 1).send, NBCOLL_BUFFER_RECV, 0);
    check_at(in_place_at(NBCOLL_OPERATION_ALLTOALLW, 1).send, NBCOLL_BUFFER_RECV, 0);
    check_at(in_place_at(NBCOLL_OPERATION_REDUCE_SCATTER, 1).send, NBCOLL_BUFFER_RECV, 0);
    check_at(in_place_at(NBCOLL_OPERATION_SCAN, 1).send, NBCOLL_BUFFER_RECV, 0);
}

static void in_place_the_receive_address_of_a_scatter_lies_in_the_send_buffer(void **state)
{
    (void)state;
    check_at(in_place_at(NBCOLL_OPERATION_SCATTER, 2).recv, NBCOLL_BUFFER_SEND, 96);
    check_at(in_place_at(NBCOLL_OPERATION_SCATTER, 2).send, NBCOLL_BUFFER_SEND, 0);
}

static void in_place_away_from_the_root_is_the_plain_form(void **state)
{
    static const nbcoll_operation operations[] = {NBCOLL_OPERATION_SCATTER, NBCOLL_OPERATION_GATHER,
                                                  NBCOLL_OPERATION_REDUCE, NBCOLL_OPERATION_SCATTERV,
                                                  NBCOLL_OPERATION_GATHERV};
    (void)state;
    for (size_t i = 0; i < LENGTH(operations); i++) {
        nbcoll_args a = in_place_at(operations[i], 1);
        assert_int_equal(a.in_place, 0);
        check_at(a.send, NBCOLL_BUFFER_SEND, 0);
        check_at(a.recv, NBCOLL_BUFFER_RECV, 0);
    }
}

/* Member by member: what lies between them may be anything. */
static void check_same(const nbcoll_args *x, const nbcoll_args *y)
{
    assert_int_equal(x->size, y->size);
    assert_int_equal(x->operation, y->operation);
    assert_int_equal(x->root, y->root);
    assert_int_equal(x->count, y->count);
    assert_int_equal(x->bytes, y->bytes);
    assert_int_equal(x->reduction.type, y->reduction.type);
    assert_int_equal(x->reduction.op, y->reduction.op);
    check_at(x->send, y->send.buffer, y->send.offset);
    check_at(x->recv, y->recv.buffer, y->recv.offset);
    assert_int_equal(x->in_place, y->in_place);
    assert_int_equal(x->segment, y->segment);
    assert_int_equal(x->arity, y->arity);
    assert_int_equal(x->ports, y->ports);
    assert_ptr_equal(x->counts, y->counts);
    assert_ptr_equal(x->displs, y->displs);
    assert_ptr_equal(x->types, y->types);
    assert_int_equal(x->element, y->element);
    assert_int_equal(x->packs, y->packs);
}

static void completing_again_changes_nothing(void **state)
{
    (void)state;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++)
        for (int rank = 0; rank < 3; rank++) {
            nbcoll_args once = in_place_at((nbcoll_operation)operation, rank), twice;
            twice = once;
            assert_int_equal(nbcoll_args_complete(&twice, rank, 3), NBCOLL_OK);
            check_same(&once, &twice);
        }
}

static void a_barrier_needs_neither_type_nor_count(void **state)
{
    nbcoll_args a = {.size = sizeof a,
                     .operation = NBCOLL_OPERATION_BARRIER,
                     .count = SIZE_MAX,
                     .reduction = {(nbcoll_type)99, (nbcoll_op)99}};
    (void)state;
    assert_int_equal(nbcoll_args_complete(&a, 0, 3), NBCOLL_OK);
    assert_int_equal(a.bytes, 0);
}

/* Completes arguments for `rank` of 3: refused with that status, and left as they were. */
static void check_refused(nbcoll_args a, int rank, nbcoll_status status)
{
    nbcoll_args before;
    memcpy(&before, &a, sizeof before);
    assert_int_equal(nbcoll_args_complete(&a, rank, 3), status);
    assert_memory_equal(&a, &before, sizeof a);
}

static void bad_arguments_are_refused_and_unchanged(void **state)
{
    nbcoll_args good = args_of(small_one(NBCOLL_OPERATION_REDUCE), 6, 1), a = good;
    (void)state;
    assert_int_equal(nbcoll_args_complete(NULL, 0, 3), NBCOLL_ERR_NULL);
    check_refused(good, -1, NBCOLL_ERR_RANK);
    check_refused(good, 3, NBCOLL_ERR_RANK);
    a.size = 8;
    check_refused(a, 0, NBCOLL_ERR_CONFIG);
    a = good;
    a.operation = NBCOLL_OPERATION_COUNT;
    check_refused(a, 0, NBCOLL_ERR_ARGUMENT);
    a = good;
    a.root = 3;
    check_refused(a, 0, NBCOLL_ERR_ROOT);
    a = good;
    a.root = -1;
    check_refused(a, 0, NBCOLL_ERR_ROOT);
    a = args_of(small_one(NBCOLL_OPERATION_ALLREDUCE), 6, 1);
    check_refused(a, 0, NBCOLL_ERR_ROOT);
    a = good;
    a.reduction.type = NBCOLL_TYPE_COUNT;
    check_refused(a, 0, NBCOLL_ERR_TYPE);
    a = good;
    a.reduction.op = NBCOLL_OP_COUNT;
    check_refused(a, 0, NBCOLL_ERR_OP);
    a = good;
    a.reduction = (nbcoll_reduction){NBCOLL_FLOAT, NBCOLL_BXOR};
    check_refused(a, 0, NBCOLL_ERR_OP);
    a = good;
    a.count = SIZE_MAX / 8 + 1;
    check_refused(a, 0, NBCOLL_ERR_COUNT);
    a = good;
    a.count = SIZE_MAX / 8 / 3 + 1;
    check_refused(a, 0, NBCOLL_ERR_COUNT);
}

/* ---- fingerprints ---------------------------------------------------------------------------------------------- */

static uint32_t fingerprint_of(nbcoll_operation operation, int root, size_t count, nbcoll_type type, nbcoll_op op)
{
    nbcoll_args a = {.size = sizeof a, .operation = operation, .root = root, .count = count, .reduction = {type, op}};
    assert_int_equal(nbcoll_args_complete(&a, 0, 3), NBCOLL_OK);
    return nbcolli_fingerprint(&a, 3);
}

static void fingerprints_differ_where_the_ranks_must_agree(void **state)
{
    const uint32_t prints[] = {
        fingerprint_of(NBCOLL_OPERATION_REDUCE, 0, 8, NBCOLL_INT32, NBCOLL_SUM),
        fingerprint_of(NBCOLL_OPERATION_REDUCE, 1, 8, NBCOLL_INT32, NBCOLL_SUM),
        fingerprint_of(NBCOLL_OPERATION_REDUCE, 0, 9, NBCOLL_INT32, NBCOLL_SUM),
        fingerprint_of(NBCOLL_OPERATION_REDUCE, 0, 8, NBCOLL_INT32, NBCOLL_PROD),
        fingerprint_of(NBCOLL_OPERATION_REDUCE, 0, 4, NBCOLL_INT64, NBCOLL_SUM),
        fingerprint_of(NBCOLL_OPERATION_ALLREDUCE, 0, 8, NBCOLL_INT32, NBCOLL_SUM),
        fingerprint_of(NBCOLL_OPERATION_BCAST, 0, 8, NBCOLL_INT32, NBCOLL_SUM),
        fingerprint_of(NBCOLL_OPERATION_BARRIER, 0, 0, NBCOLL_INT32, NBCOLL_SUM),
    };
    (void)state;
    for (size_t i = 0; i < LENGTH(prints); i++) {
        assert_int_not_equal(prints[i], 0);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(prints[i], prints[k]);
    }
}

static void fingerprints_of_many_lengths_differ(void **state)
{
    enum { MANY = 3000 };
    static uint32_t prints[MANY];
    (void)state;
    for (size_t i = 0; i < MANY; i++) {
        prints[i] = fingerprint_of(NBCOLL_OPERATION_BCAST, 0, i, NBCOLL_BYTE, NBCOLL_SUM);
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(prints[i], prints[k]);
    }
}

static void without_a_reduction_only_the_bytes_count(void **state)
{
    (void)state;
    assert_int_equal(fingerprint_of(NBCOLL_OPERATION_BCAST, 0, 8, NBCOLL_INT32, NBCOLL_SUM),
                     fingerprint_of(NBCOLL_OPERATION_BCAST, 0, 4, NBCOLL_DOUBLE, NBCOLL_MAX));
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static void each_operation_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(nbcoll_operation_name(NBCOLL_OPERATION_BARRIER), "barrier");
    assert_string_equal(nbcoll_operation_name(NBCOLL_OPERATION_ALLREDUCE), "allreduce");
    assert_string_equal(nbcoll_operation_name(NBCOLL_OPERATION_COUNT), "?");
    assert_string_equal(nbcoll_operation_name((nbcoll_operation)-1), "?");
}

static void each_algorithm_is_found_by_its_name(void **state)
{
    (void)state;
    for (int k = 0; k < NBCOLL_OPERATION_COUNT; k++) {
        nbcoll_operation operation = (nbcoll_operation)k;
        unsigned n = 0;
        for (const nbcoll_algorithm *at; (at = nbcoll_algorithm_at(operation, n)); n++) {
            assert_int_equal(at->size, sizeof *at);
            assert_int_equal(at->operation, operation);
            assert_ptr_equal(nbcoll_algorithm_find(operation, at->name), at);
        }
        assert_true(n > 0);
    }
}

static void unknown_algorithms_are_null(void **state)
{
    (void)state;
    assert_null(nbcoll_algorithm_at(NBCOLL_OPERATION_BCAST, 1000));
    assert_null(nbcoll_algorithm_at(NBCOLL_OPERATION_COUNT, 0));
    assert_null(nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "bruck"));
    assert_null(nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, NULL));
}

/* The choice with a limit between small and large data. */
static const nbcoll_algorithm *chosen(const nbcoll_args *a, int ranks, size_t large, uint32_t flags, int shared)
{
    nbcoll_terms terms = {.size = sizeof terms, .ranks = ranks, .shared = shared, .flags = flags, .large = large};
    nbcoll_choice choice = {.size = sizeof choice};
    assert_int_equal(nbcoll_select(&terms, a, &choice), NBCOLL_OK);
    return choice.algorithm;
}

static unsigned selected(nbcoll_operation operation, size_t count, int ranks, size_t large)
{
    nbcoll_args a = args_of(small_one((int)operation), count, 0);
    assert_int_equal(nbcoll_args_complete(&a, 0, ranks), NBCOLL_OK);
    const nbcoll_algorithm *algorithm = chosen(&a, ranks, large, 0, 0);
    assert_true(algorithm == small_one((int)operation) || algorithm == large_one((int)operation));
    return algorithm == large_one((int)operation);
}

static void from_large_on_the_second_algorithm_is_chosen(void **state)
{
    static const nbcoll_operation vectors[] = {NBCOLL_OPERATION_BCAST, NBCOLL_OPERATION_REDUCE,
                                               NBCOLL_OPERATION_ALLREDUCE, NBCOLL_OPERATION_SCAN};
    (void)state;
    for (size_t i = 0; i < LENGTH(vectors); i++) {
        assert_int_equal(selected(vectors[i], 99, 4, 800), 0);
        assert_int_equal(selected(vectors[i], 100, 4, 800), 1);
    }
}

static void the_blocks_of_all_ranks_count(void **state)
{
    static const nbcoll_operation blocks[] = {NBCOLL_OPERATION_SCATTER, NBCOLL_OPERATION_GATHER,
                                              NBCOLL_OPERATION_ALLGATHER, NBCOLL_OPERATION_ALLTOALL,
                                              NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK};
    (void)state;
    for (size_t i = 0; i < LENGTH(blocks); i++) {
        assert_int_equal(selected(blocks[i], 24, 4, 800), 0);
        assert_int_equal(selected(blocks[i], 25, 4, 800), 1);
    }
}

static void bound_blocks_go_directly_at_any_size(void **state)
{
    (void)state;
    for (size_t large = 0; large < 2; large++) {
        nbcoll_args a = args_of(small_one(NBCOLL_OPERATION_GATHERV), 9, 0);
        assert_int_equal(nbcoll_args_complete(&a, 0, 4), NBCOLL_OK);
        assert_string_equal(chosen(&a, 4, large, 0, 0)->name, "flat");
    }
}

static void a_reproducible_algorithm_is_chosen_where_one_is_asked_for(void **state)
{
    (void)state;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++)
        for (size_t large = 0; large < 1000; large += 999) {
            nbcoll_args a = with_arrays(args_of(small_one(operation), 9, 0));
            assert_int_equal(nbcoll_args_complete(&a, 0, 3), NBCOLL_OK);
            const nbcoll_algorithm *algorithm = chosen(&a, 3, large, NBCOLL_REPRODUCIBLE, 0);
            assert_non_null(algorithm);
            assert_true(!reduces((nbcoll_operation)operation) || (algorithm->flags & NBCOLL_ALGORITHM_REPRODUCIBLE));
        }
}

static void the_only_algorithm_that_needs_no_shared_memory_is_chosen(void **state)
{
    (void)state;
    assert_int_equal(selected(NBCOLL_OPERATION_BARRIER, 0, 4, 0), 0);
}

/* ---- from an algorithm to a schedule --------------------------------------------------------------------------- */

static nbcoll_args received; /* by the algorithm below */
static nbcoll_status refusal;

static void remember(nbcoll_builder *b, const nbcoll_args *a)
{
    received = *a;
    nbcoll_builder_fail(b, refusal);
}

static const nbcoll_algorithm remembering = {sizeof remembering, "remember", NBCOLL_OPERATION_GATHER, remember, 0,
                                             NULL};

/* Builds for the last of 3 ranks. */
static nbcoll_status build(const nbcoll_algorithm *algorithm, nbcoll_args args, nbcoll_schedule **out)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = 2, .ranks = 3};
    return nbcoll_build_schedule(algorithm, &args, &config, out);
}

static void an_algorithm_gets_complete_arguments(void **state)
{
    nbcoll_args args = args_of(&remembering, 6, 2);
    nbcoll_schedule *s = NULL;
    (void)state;
    refusal = NBCOLL_OK;
    args.in_place = 1;
    args.segment = 17;
    assert_int_equal(build(&remembering, args, &s), NBCOLL_OK);
    assert_int_equal(received.bytes, 48);
    assert_int_equal(received.segment, 17);
    check_at(received.send, NBCOLL_BUFFER_RECV, 96);
    nbcoll_schedule_free(s);
}

static void arguments_beyond_their_size_take_their_defaults(void **state)
{
    nbcoll_args args = args_of(&remembering, 6, 2);
    nbcoll_schedule *s = NULL;
    (void)state;
    refusal = NBCOLL_OK;
    args.segment = 17;
    args.size = offsetof(nbcoll_args, segment);
    assert_int_equal(build(&remembering, args, &s), NBCOLL_OK);
    assert_int_equal(received.segment, 0);
    nbcoll_schedule_free(s);
}

static void a_schedule_has_the_names_of_operation_and_algorithm(void **state)
{
    static const char longest[] = "an-algorithm-with-a-name-that-does-not-fit-into-that-of-a-schedule";
    nbcoll_algorithm wordy = {sizeof wordy, longest, NBCOLL_OPERATION_GATHER, remember, 0, NULL};
    nbcoll_schedule_info info = {.size = sizeof info};
    nbcoll_schedule *s = NULL;
    (void)state;
    refusal = NBCOLL_OK;
    assert_int_equal(build(&remembering, args_of(&remembering, 6, 0), &s), NBCOLL_OK);
    nbcoll_schedule_query(s, &info);
    assert_string_equal(info.name, "gather/remember");
    nbcoll_schedule_free(s);
    assert_int_equal(build(&wordy, args_of(&wordy, 6, 0), &s), NBCOLL_OK);
    nbcoll_schedule_query(s, &info);
    assert_int_equal(strlen(info.name), 63);
    assert_memory_equal(info.name, "gather/an-algorithm", 19);
    nbcoll_schedule_free(s);
}

static void the_schedules_of_all_ranks_have_the_same_fingerprint(void **state)
{
    const nbcoll_algorithm *algorithm = small_one(NBCOLL_OPERATION_REDUCE);
    nbcoll_args args = args_of(algorithm, 6, 1);
    (void)state;
    args.in_place = 1;
    for (int rank = 0; rank < 5; rank++) {
        nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = 5};
        nbcoll_schedule_info info = {.size = sizeof info};
        nbcoll_schedule *s = NULL;
        assert_int_equal(nbcoll_build_schedule(algorithm, &args, &config, &s), NBCOLL_OK);
        nbcoll_schedule_query(s, &info);
        assert_int_equal(info.fingerprint, fingerprint_of(NBCOLL_OPERATION_REDUCE, 1, 6, NBCOLL_INT64, NBCOLL_SUM));
        nbcoll_schedule_free(s);
    }
}

static void a_schedule_of_bad_arguments_is_refused(void **state)
{
    nbcoll_schedule *untouched = NULL;
    nbcoll_algorithm nameless = remembering, unbuilt = remembering, short_one = remembering;
    nbcoll_args good = args_of(&remembering, 6, 0), a = good;
    nbcoll_builder_config config = {.size = sizeof config, .rank = 2, .ranks = 3};
    (void)state;
    nameless.name = NULL;
    unbuilt.build = NULL;
    short_one.size = 8;
    refusal = NBCOLL_OK;
    assert_int_equal(build(NULL, good, &untouched), NBCOLL_ERR_NULL);
    assert_int_equal(build(&nameless, good, &untouched), NBCOLL_ERR_NULL);
    assert_int_equal(build(&unbuilt, good, &untouched), NBCOLL_ERR_NULL);
    assert_int_equal(build(&short_one, good, &untouched), NBCOLL_ERR_CONFIG);
    assert_int_equal(build(&remembering, good, NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_build_schedule(&remembering, NULL, &config, &untouched), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_build_schedule(&remembering, &good, NULL, &untouched), NBCOLL_ERR_NULL);
    a.size = 0;
    assert_int_equal(build(&remembering, a, &untouched), NBCOLL_ERR_CONFIG);
    a = good;
    a.operation = NBCOLL_OPERATION_SCATTER;
    assert_int_equal(build(&remembering, a, &untouched), NBCOLL_ERR_ARGUMENT);
    a = good;
    a.root = 3;
    assert_int_equal(build(&remembering, a, &untouched), NBCOLL_ERR_ROOT);
    a = good;
    a.count = SIZE_MAX;
    assert_int_equal(build(&remembering, a, &untouched), NBCOLL_ERR_COUNT);
    config.rank = 3;
    assert_int_equal(nbcoll_build_schedule(&remembering, &good, &config, &untouched), NBCOLL_ERR_RANK);
    assert_null(untouched);
}

static void an_algorithm_that_reads_counts_needs_all_of_them(void **state)
{
    const nbcoll_algorithm *algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_GATHERV, "binomial");
    nbcoll_schedule *s = NULL;
    (void)state;
    assert_int_equal(build(algorithm, args_of(algorithm, 6, 0), &s), NBCOLL_ERR_UNSUPPORTED);
    assert_null(s);
    assert_int_equal(build(algorithm, with_arrays(args_of(algorithm, 6, 0)), &s), NBCOLL_OK);
    nbcoll_schedule_free(s);
}

static void an_algorithms_own_error_is_reported(void **state)
{
    nbcoll_schedule *untouched = NULL;
    (void)state;
    refusal = NBCOLL_ERR_UNSUPPORTED;
    assert_int_equal(build(&remembering, args_of(&remembering, 6, 0), &untouched), NBCOLL_ERR_UNSUPPORTED);
    assert_null(untouched);
}

static void *alloc_until(void *user, size_t bytes, size_t align)
{
    int *left = user;
    return (*left)-- > 0 ? aligned_alloc(align, (bytes + align - 1) / align * align) : NULL;
}

static void release(void *user, void *at, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(at);
}

static void a_failed_allocation_is_reported_and_nothing_leaks(void **state)
{
    const nbcoll_algorithm *algorithm = large_one(NBCOLL_OPERATION_ALLREDUCE);
    nbcoll_args args = args_of(algorithm, 100, 0);
    nbcoll_schedule *s = NULL;
    nbcoll_status status = NBCOLL_ERR_MEMORY;
    (void)state;
    for (int allowed = 0; status != NBCOLL_OK; allowed++) {
        int left = allowed;
        nbcoll_host host = {.size = sizeof host, .user = &left, .alloc = alloc_until, .free = release};
        nbcoll_builder_config config = {.size = sizeof config, .host = &host, .rank = 1, .ranks = 9};
        assert_int_equal(status, NBCOLL_ERR_MEMORY);
        assert_null(s);
        status = nbcoll_build_schedule(algorithm, &args, &config, &s);
    }
    nbcoll_schedule_free(s);
}

/* As many ranks as there can be: the counts of steps follow the logarithm, and no arithmetic overflows. */
static void small_trees_can_be_built_for_the_most_ranks(void **state)
{
    static const nbcoll_operation operations[] = {
        NBCOLL_OPERATION_BARRIER, NBCOLL_OPERATION_BCAST,     NBCOLL_OPERATION_SCATTER, NBCOLL_OPERATION_GATHER,
        NBCOLL_OPERATION_REDUCE,  NBCOLL_OPERATION_ALLREDUCE, NBCOLL_OPERATION_SCAN,    NBCOLL_OPERATION_EXSCAN};
    static const int ranks_of_note[] = {0, 1, INT_MAX / 2, INT_MAX / 2 + 1, INT_MAX - 1};
    (void)state;
    for (size_t i = 0; i <= LENGTH(operations); i++)
        for (size_t k = 0; k < LENGTH(ranks_of_note); k++) {
            const nbcoll_algorithm *algorithm = i < LENGTH(operations)
                                                    ? small_one((int)operations[i])
                                                    : nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "groups");
            nbcoll_args args = args_of(algorithm, 3, has_root(algorithm->operation) ? 1 : 0);
            nbcoll_builder_config config = {.size = sizeof config, .rank = ranks_of_note[k], .ranks = INT_MAX};
            nbcoll_schedule *s = NULL;
            assert_int_equal(nbcoll_build_schedule(algorithm, &args, &config, &s), NBCOLL_OK);
            nbcoll_schedule_free(s);
        }
}

/* ---- shared memory --------------------------------------------------------------------------------------------- */

static void where_all_share_memory_slots_are_chosen_but_not_to_combine_long_vectors(void **state)
{
    (void)state;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        int combines = reduces((nbcoll_operation)operation);
        if (!nbcoll_algorithm_find((nbcoll_operation)operation, "slots"))
            continue;
        for (size_t count = 1; count <= 100000; count *= 10) {
            nbcoll_args a = args_of(small_one(operation), count, 0);
            assert_int_equal(nbcoll_args_complete(&a, 0, 4), NBCOLL_OK);
            const char *name = chosen(&a, 4, 800, 0, 1)->name;
            assert_int_equal(strcmp(name, "slots") == 0, !combines || count <= 100);
        }
    }
}

static int with_all(void *user, int peer)
{
    (void)user;
    (void)peer;
    return 1;
}

/* Where all ranks share memory, with so many cells, on nodes of four ranks with domains of two. */
static nbcoll_schedule *built_to_share(const nbcoll_algorithm *algorithm, int rank, int ranks, uint32_t cells)
{
    nbcoll_args args = with_arrays(args_of(algorithm, 100000, 0));
    nbcoll_builder_config config = {
        .size = sizeof config, .rank = rank, .ranks = ranks, .shares = with_all, .cells = cells};
    const nbcoll_placement placement = {sizeof placement, &(const int){4}, 1, NBCOLL_NUMBERING_BLOCK, 0, 2};
    nbcoll_nodes *nodes;
    nbcoll_schedule *s = NULL;
    assert_int_equal(nbcoll_nodes_place(&placement, ranks, NULL, &nodes), NBCOLL_OK);
    config.nodes = nodes;
    assert_int_equal(nbcoll_build_schedule(algorithm, &args, &config, &s), NBCOLL_OK);
    nbcoll_nodes_free(nodes);
    return s;
}

static void no_rank_makes_more_exposures_than_the_algorithm_says(void **state)
{
    const nbcoll_algorithm *algorithm;
    (void)state;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++)
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, i)); i++) {
            uint32_t most = 0;
            for (int rank = 0; rank < 9; rank++) {
                nbcoll_schedule *s = built_to_share(algorithm, rank, 9, 0);
                most = s->cells > most ? s->cells : most;
                nbcoll_schedule_free(s);
            }
            assert_int_equal(most, algorithm->flags >> 16);
        }
}

static void with_fewer_cells_an_algorithm_is_lowered(void **state)
{
    (void)state;
    nbcoll_algorithm greedy = *nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "slots");
    greedy.flags = NBCOLL_ALGORITHM_EXPOSES(3);
    for (uint32_t cells = 0; cells < 5; cells++) {
        nbcoll_schedule *s = built_to_share(&greedy, 0, 3, cells);
        assert_int_equal(s->shared, cells == 0 || cells >= 3);
        nbcoll_schedule_free(s);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(plain_arguments_begin_where_the_buffers_do),
    cmocka_unit_test(in_place_the_send_address_lies_in_the_receive_buffer),
    cmocka_unit_test(in_place_the_receive_address_of_a_scatter_lies_in_the_send_buffer),
    cmocka_unit_test(in_place_away_from_the_root_is_the_plain_form),
    cmocka_unit_test(completing_again_changes_nothing),
    cmocka_unit_test(a_barrier_needs_neither_type_nor_count),
    cmocka_unit_test(bad_arguments_are_refused_and_unchanged),
    cmocka_unit_test(fingerprints_differ_where_the_ranks_must_agree),
    cmocka_unit_test(fingerprints_of_many_lengths_differ),
    cmocka_unit_test(without_a_reduction_only_the_bytes_count),
    cmocka_unit_test(each_operation_has_a_name),
    cmocka_unit_test(each_algorithm_is_found_by_its_name),
    cmocka_unit_test(unknown_algorithms_are_null),
    cmocka_unit_test(from_large_on_the_second_algorithm_is_chosen),
    cmocka_unit_test(the_blocks_of_all_ranks_count),
    cmocka_unit_test(bound_blocks_go_directly_at_any_size),
    cmocka_unit_test(a_reproducible_algorithm_is_chosen_where_one_is_asked_for),
    cmocka_unit_test(the_only_algorithm_that_needs_no_shared_memory_is_chosen),
    cmocka_unit_test(an_algorithm_gets_complete_arguments),
    cmocka_unit_test(arguments_beyond_their_size_take_their_defaults),
    cmocka_unit_test(a_schedule_has_the_names_of_operation_and_algorithm),
    cmocka_unit_test(the_schedules_of_all_ranks_have_the_same_fingerprint),
    cmocka_unit_test(a_schedule_of_bad_arguments_is_refused),
    cmocka_unit_test(an_algorithm_that_reads_counts_needs_all_of_them),
    cmocka_unit_test(an_algorithms_own_error_is_reported),
    cmocka_unit_test(a_failed_allocation_is_reported_and_nothing_leaks),
    cmocka_unit_test(small_trees_can_be_built_for_the_most_ranks),
    cmocka_unit_test(where_all_share_memory_slots_are_chosen_but_not_to_combine_long_vectors),
    cmocka_unit_test(no_rank_makes_more_exposures_than_the_algorithm_says),
    cmocka_unit_test(with_fewer_cells_an_algorithm_is_lowered),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
