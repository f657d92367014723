/* SPDX-License-Identifier: BSD-3-Clause
 * Strided elements: columns, faces and tiles travel, and are combined, between buffers of different strides, in place
 * or not; every operation; nothing between their numbers is written. Large ones are packed in pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crew.h"
#include "nbcoll/select.h"
#include "nbcoll/message.h"
#include "nbcoll/strided.h"
#include "nbcoll/sums.h"
#include "world.h"

enum { RANKS = 9, WHOLE = 60000 };

/* A shape of elements, in numbers; `per` of them travel of an element. */
typedef struct shape {
    size_t block;
    nbcoll_steps inner, outer;
    size_t extent, per;
} shape;

static shape random_shape(size_t per, uint64_t *random)
{
    shape s = {.per = per};
    size_t parts = per;
    s.block = world_random(random) % 2 ? 1 : per % 3 == 0 ? 3 : per;
    parts /= s.block;
    s.inner.count = parts % 2 == 0 && world_random(random) % 2 ? 2 : parts;
    s.outer.count = parts / s.inner.count;
    s.inner.stride = s.block + world_random(random) % 3;
    s.outer.stride = s.inner.count * s.inner.stride + world_random(random) % 3;
    s.extent = s.outer.count * s.outer.stride + world_random(random) % 3;
    return s;
}

/* Where number k of element i lies. */
static size_t place_of(const shape *s, size_t i, size_t k)
{
    size_t block = k / s->block;
    return i * s->extent + block / s->inner.count * s->outer.stride + block % s->inner.count * s->inner.stride +
           k % s->block;
}

static nbcoll_strided make(nbcoll_strided *at, nbcoll_type of, const shape *s)
{
    EXPECT(OK, nbcoll_strided_make(at, of, s->block, s->inner, s->outer, s->extent));
    assert_int_equal(at->type.packed, s->per * nbcoll_type_size(of));
    return *at;
}

/* ---- every operation --------------------------------------------------------------------------------------------- */

static int32_t sent[RANKS][WHOLE], received[RANKS][WHOLE], before[RANKS][WHOLE];

static int32_t value(int rank, size_t n)
{
    return (int32_t)((uint32_t)(rank + 1) * 10007u + (uint32_t)n * 31u);
}

/* What the number n of this rank's result is, of `count` elements of `per` numbers a block. */
static int32_t result(nbcoll_operation what, int rank, int ranks, size_t n, size_t each)
{
    int32_t sum = 0;
    int last = what == NBCOLL_OPERATION_SCAN ? rank : what == NBCOLL_OPERATION_EXSCAN ? rank - 1 : ranks - 1;
    switch (what) {
    case NBCOLL_OPERATION_BCAST: return value(0, n);
    case NBCOLL_OPERATION_SCATTER: return value(0, (size_t)rank * each + n);
    case NBCOLL_OPERATION_GATHER:
    case NBCOLL_OPERATION_ALLGATHER: return value((int)(n / each), n % each);
    case NBCOLL_OPERATION_ALLTOALL: return value((int)(n / each), (size_t)rank * each + n % each);
    case NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK: n += (size_t)rank * each; /* fall through */
    default:
        for (int r = 0; r <= last; r++)
            sum += value(r, n);
        return sum;
    }
}

static nbcoll_status start(nbcoll_operation what, const void *send, void *recv, size_t n, nbcoll_type type,
                           nbcoll_comm *comm, nbcoll_request *request)
{
    switch (what) {
    case NBCOLL_OPERATION_BCAST: return nbcoll_ibcast(recv, n, type, 0, comm, request);
    case NBCOLL_OPERATION_SCATTER: return nbcoll_iscatter(send, recv, n, type, 0, comm, request);
    case NBCOLL_OPERATION_GATHER: return nbcoll_igather(send, recv, n, type, 0, comm, request);
    case NBCOLL_OPERATION_ALLGATHER: return nbcoll_iallgather(send, recv, n, type, comm, request);
    case NBCOLL_OPERATION_ALLTOALL: return nbcoll_ialltoall(send, recv, n, type, comm, request);
    case NBCOLL_OPERATION_REDUCE: return nbcoll_ireduce(send, recv, n, type, NBCOLL_SUM, 0, comm, request);
    case NBCOLL_OPERATION_ALLREDUCE: return nbcoll_iallreduce(send, recv, n, type, NBCOLL_SUM, comm, request);
    case NBCOLL_OPERATION_SCAN: return nbcoll_iscan(send, recv, n, type, NBCOLL_SUM, comm, request);
    case NBCOLL_OPERATION_EXSCAN: return nbcoll_iexscan(send, recv, n, type, NBCOLL_SUM, comm, request);
    default: return nbcoll_ireduce_scatter_block(send, recv, n, type, NBCOLL_SUM, comm, request);
    }
}

static int is_tested(int what)
{
    return what == NBCOLL_OPERATION_BCAST || what == NBCOLL_OPERATION_SCATTER || what == NBCOLL_OPERATION_GATHER ||
           what == NBCOLL_OPERATION_ALLGATHER || what == NBCOLL_OPERATION_ALLTOALL || what == NBCOLL_OPERATION_REDUCE ||
           what == NBCOLL_OPERATION_ALLREDUCE || what == NBCOLL_OPERATION_SCAN || what == NBCOLL_OPERATION_EXSCAN ||
           what == NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK;
}

static int is_in_place(nbcoll_operation what, int rank)
{
    return what == NBCOLL_OPERATION_REDUCE ? rank == 0
           : what == NBCOLL_OPERATION_ALLTOALL || what == NBCOLL_OPERATION_ALLREDUCE || what == NBCOLL_OPERATION_SCAN ||
               what == NBCOLL_OPERATION_EXSCAN || what == NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK;
}

/* Puts `count` elements of a rank's numbers where they lie. */
static void put(int32_t *at, const shape *s, int rank, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < s->per; k++)
            at[place_of(s, i, k)] = value(rank, i * s->per + k);
}

static void run(world *w, nbcoll_operation what, size_t count, int in_place, uint64_t *random)
{
    nbcoll_strided type[RANKS];
    nbcoll_request request[RANKS];
    shape s[RANKS];
    size_t per = 1 + world_random(random) % 12, ranks = (size_t)w->ranks;
    int gives_all = what == NBCOLL_OPERATION_SCATTER || what == NBCOLL_OPERATION_ALLTOALL ||
                    what == NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK;
    int gets_all = what == NBCOLL_OPERATION_GATHER || what == NBCOLL_OPERATION_ALLGATHER ||
                   what == NBCOLL_OPERATION_ALLTOALL;

    memset(received, 0x5a, sizeof received);
    memset(sent, 0x5a, sizeof sent);
    for (int r = 0; r < w->ranks; r++) {
        int place = in_place && is_in_place(what, r);
        s[r] = random_shape(per, random);
        make(&type[r], NBCOLL_INT32, &s[r]);
        put(place || (what == NBCOLL_OPERATION_BCAST && r == 0) ? received[r] : sent[r], &s[r], r,
            gives_all ? ranks * count : count);
        memcpy(before[r], received[r], sizeof before[r]);
        EXPECT(OK, start(what, place ? NBCOLL_IN_PLACE : sent[r], received[r], count, nbcoll_type_of(&type[r].type),
                         w->comm[r], &request[r]));
    }
    world_finish(w, ranks, request);
    for (int r = 0; r < w->ranks; r++) {
        int has = !((what == NBCOLL_OPERATION_GATHER || what == NBCOLL_OPERATION_REDUCE) && r) &&
                  !(what == NBCOLL_OPERATION_EXSCAN && r == 0);
        for (size_t i = 0; has && i < (gets_all ? ranks * count : count); i++)
            for (size_t k = 0; k < per; k++)
                before[r][place_of(&s[r], i, k)] = result(what, r, w->ranks, i * per + k, count * per);
        for (size_t i = 0; i < WHOLE; i++)
            if (received[r][i] != before[r][i]) {
                printf("%s, %zu elements of %zu, in place %d, rank %d of %d: [%zu] is %d, not %d\n",
                       nbcoll_operation_name(what), count, per, in_place, r, w->ranks, i, received[r][i], before[r][i]);
                fail();
            }
    }
}

static void every_operation_and_algorithm_takes_them(void **state)
{
    static const size_t counts[] = {0, 1, 2, 17};
    uint64_t random = seed_of_test();

    (void)state;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++) {
        const nbcoll_algorithm *algorithm;
        for (unsigned i = 0; is_tested(what) && (algorithm = nbcoll_algorithm_at((nbcoll_operation)what, i)); i++)
            for (int ranks = 1 + (int)(i % (unsigned)sampled(3)); ranks <= RANKS; ranks += sampled(3)) {
                nbcoll_loopback_config loopback = world_variant((int)(world_random(&random) % WORLD_VARIANTS), random);
                nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
                nbcoll_rule rule = {.algorithm = algorithm};
                world w;
                config.rules = &rule;
                config.rule_count = 1;
                config.eager = 64;
                world_open(&w, ranks, &loopback, NULL, &config);
                for (int k = 0; k < 4; k++)
                    run(&w, (nbcoll_operation)what, counts[k], (int)(world_random(&random) % 2), &random);
                world_close(&w);
            }
    }
}

/* ---- callers ----------------------------------------------------------------------------------------------------- */

/* Rank r has rows 2 r and 2 r + 1 of a matrix, then these columns of it: as in a transform of two dimensions. */
static void a_matrix_is_transposed_by_columns(void **state)
{
    enum { N = 3, EACH = 2, ALL = N * EACH };
    static double rows[N][EACH][ALL], columns[N][EACH][ALL];
    nbcoll_strided column, line;
    nbcoll_request request[N];
    size_t counts[N], send_places[N], recv_places[N];
    nbcoll_type send_types[N], recv_types[N];
    world w;

    (void)state;
    EXPECT(OK, nbcoll_strided_make(&column, NBCOLL_DOUBLE, 1, (nbcoll_steps){EACH, ALL}, NBCOLL_ONCE, 1));
    EXPECT(OK, nbcoll_strided_make(&line, NBCOLL_DOUBLE, EACH, NBCOLL_ONCE, NBCOLL_ONCE, ALL));
    world_open(&w, N, NULL, NULL, NULL);
    for (int r = 0; r < N; r++)
        for (size_t i = 0; i < EACH; i++)
            for (size_t k = 0; k < ALL; k++)
                rows[r][i][k] = (double)(((size_t)r * EACH + i) * 100 + k);
    for (size_t r = 0; r < N; r++) {
        counts[r] = EACH;
        send_places[r] = recv_places[r] = r * EACH * sizeof(double);
        send_types[r] = nbcoll_type_of(&column.type);
        recv_types[r] = nbcoll_type_of(&line.type);
    }
    for (int r = 0; r < N; r++)
        EXPECT(OK, nbcoll_ialltoallw(rows[r], counts, send_places, send_types, columns[r], counts, recv_places,
                                     recv_types, w.comm[r], &request[r]));
    world_finish(&w, N, request);
    for (int r = 0; r < N; r++)
        for (size_t i = 0; i < EACH; i++)
            for (size_t k = 0; k < ALL; k++)
                assert_true(columns[r][i][k] == (double)(k * 100 + (size_t)r * EACH + i));
    world_close(&w);
}

/* The face x = 0 of a field on one rank becomes the face x = NX - 1 on all others. */
static void a_face_of_a_field_is_broadcast(void **state)
{
    enum { NX = 4, NY = 3, NZ = 5 };
    static float field[3][NZ][NY][NX];
    nbcoll_strided face;
    nbcoll_request request[3];
    world w;

    (void)state;
    EXPECT(OK, nbcoll_strided_make(&face, NBCOLL_FLOAT, 1, (nbcoll_steps){NY, NX}, (nbcoll_steps){NZ, NY * NX}, 1));
    world_open(&w, 3, NULL, NULL, NULL);
    for (int r = 0; r < 3; r++) {
        for (size_t i = 0; i < NX * NY * NZ; i++)
            (&field[r][0][0][0])[i] = (float)(r * 1000 + (int)i);
        EXPECT(OK, nbcoll_ibcast(&field[r][0][0][r == 1 ? 0 : NX - 1], 1, nbcoll_type_of(&face.type), 1, w.comm[r],
                                 &request[r]));
    }
    world_finish(&w, 3, request);
    for (int r = 0; r < 3; r++)
        for (size_t i = 0; i < NX * NY * NZ; i++)
            assert_true((&field[r][0][0][0])[i] ==
                        (float)(r != 1 && i % NX == NX - 1 ? 1000 + (int)i - (NX - 1) : r * 1000 + (int)i));
    world_close(&w);
}

static void elements_at_one_place_are_sent_to_many_and_received_once(void **state)
{
    static const size_t one[2] = {1, 1}, two[2] = {2, 2}, none[2] = {0, 0}, apart[2] = {0, 2};
    static const size_t places[2] = {0, 4 * sizeof(int64_t)};
    int64_t send[2][2] = {{1, 2}, {3, 4}}, recv[2][8] = {{0}};
    nbcoll_strided same, plain;
    nbcoll_request request[2];
    world w;

    (void)state;
    EXPECT(OK, nbcoll_strided_make(&same, NBCOLL_INT64, 2, NBCOLL_ONCE, NBCOLL_ONCE, 0));
    EXPECT(OK, nbcoll_strided_make(&plain, NBCOLL_INT64, 2, NBCOLL_ONCE, NBCOLL_ONCE, 2));
    nbcoll_type type = nbcoll_type_of(&same.type), types[] = {type, type}, plains[2];
    plains[0] = plains[1] = nbcoll_type_of(&plain.type);
    world_open(&w, 2, NULL, NULL, NULL);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_ialltoallw(send[r], two, none, types, recv[r], two, places, plains, w.comm[r], &request[r]));
    world_finish(&w, 2, request);
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < 8; i++)
            assert_int_equal(recv[r][i], send[i / 4][i % 2]);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_ibcast(recv[r], 1, type, 1, w.comm[r], &request[r]));
    world_finish(&w, 2, request);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_ialltoallw(send[r], one, none, types, recv[r], one, places, types, w.comm[r], &request[r]));
    world_finish(&w, 2, request);
    assert_true(recv[1][0] == 1 && recv[1][1] == 2 && recv[1][4] == 3 && recv[1][5] == 4);
    EXPECT(ERR_TYPE, nbcoll_ibcast(recv[0], 2, type, 1, w.comm[0], &request[0]));
    EXPECT(OK, nbcoll_ibcast(send[1], 2, type, 1, w.comm[1], &request[1])); /* it sends */
    EXPECT(OK, nbcoll_ibcast(recv[0], 2, plains[0], 1, w.comm[0], &request[0]));
    world_finish(&w, 2, request);
    assert_true(recv[0][0] == 3 && recv[0][1] == 4 && recv[0][2] == 3 && recv[0][3] == 4);
    EXPECT(ERR_TYPE, nbcoll_iallgather(send[0], recv[0], 1, type, w.comm[0], &request[0]));
    EXPECT(ERR_TYPE, nbcoll_iallreduce(NBCOLL_IN_PLACE, recv[0], 2, type, NBCOLL_SUM, w.comm[0], &request[0]));
    EXPECT(ERR_TYPE, nbcoll_ialltoallw(send[0], two, none, types, recv[0], two, none, types, w.comm[0], &request[0]));
    EXPECT(ERR_TYPE, nbcoll_ialltoallv(send[0], two, apart, recv[0], two, apart, type, w.comm[0], &request[0]));
    EXPECT(OK, nbcoll_igather(send[1], NULL, 2, type, 0, w.comm[1], &request[1])); /* it sends */
    EXPECT(OK, nbcoll_igather(send[0], recv[0], 2, plains[0], 0, w.comm[0], &request[0]));
    world_finish(&w, 2, request);
    assert_true(recv[0][4] == 3 && recv[0][5] == 4 && recv[0][6] == 3 && recv[0][7] == 4);
    world_close(&w);
}

static void a_message_is_received_into_one_place_once(void **state)
{
    nbcoll_messages *m;
    nbcoll_request request = NBCOLL_REQUEST_NULL, as_before = request;
    nbcoll_strided same;
    int64_t place[2] = {5, 6};
    world w;
    (void)state;
    EXPECT(OK, nbcoll_strided_make(&same, NBCOLL_INT64, 2, NBCOLL_ONCE, NBCOLL_ONCE, 0));
    nbcoll_type type = nbcoll_type_of(&same.type);
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_messages_open(w.comm[0], NULL, &m, NBCOLL_FOREVER));
    EXPECT(ERR_TYPE, nbcoll_irecv(place, 2, type, 0, 0, m, NULL, &request));
    EXPECT(ERR_TYPE, nbcoll_recv_init(place, 2, type, 0, 0, m, NULL, &request));
    EXPECT(ERR_TYPE, nbcoll_sendrecv(place, 1, type, 0, 0, place, 2, type, 0, 0, m, NULL, NBCOLL_FOREVER));
    assert_memory_equal(&request, &as_before, sizeof request);
    assert_true(place[0] == 5 && place[1] == 6);
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 0);
    EXPECT(OK, nbcoll_messages_close(m));
    world_close(&w);
}

static void what_is_no_such_type_is_refused(void **state)
{
    nbcoll_strided s;
    (void)state;
    EXPECT(ERR_NULL, nbcoll_strided_make(NULL, NBCOLL_INT8, 1, NBCOLL_ONCE, NBCOLL_ONCE, 1));
    EXPECT(ERR_TYPE, nbcoll_strided_make(&s, NBCOLL_TYPE_COUNT, 1, NBCOLL_ONCE, NBCOLL_ONCE, 1));
    EXPECT(ERR_COUNT, nbcoll_strided_make(&s, NBCOLL_INT64, SIZE_MAX / 4, NBCOLL_ONCE, NBCOLL_ONCE, 1));
    EXPECT(ERR_COUNT, nbcoll_strided_make(&s, NBCOLL_INT8, 1, (nbcoll_steps){SIZE_MAX, 2}, NBCOLL_ONCE, 1));
    EXPECT(OK, nbcoll_strided_make(&s, NBCOLL_DOUBLE, 2, (nbcoll_steps){3, 5}, NBCOLL_ONCE, 1));
    assert_int_equal(nbcoll_type_size(nbcoll_type_of(&s.type)), sizeof(double));
    assert_true(nbcoll_op_applies(NBCOLL_SUM, nbcoll_type_of(&s.type)));
    assert_false(nbcoll_op_applies(NBCOLL_BAND, nbcoll_type_of(&s.type)));
    EXPECT(OK, nbcoll_strided_make(&s, NBCOLL_DOUBLE, 0, (nbcoll_steps){3, 5}, NBCOLL_ONCE, 1));
    assert_int_equal(nbcoll_type_size(nbcoll_type_of(&s.type)), 0);
}

/* Also elements without bytes have the operations of their numbers, and no others. */
static void elements_without_bytes_are_combined(void **state)
{
    static const nbcoll_operation reductions[] = {NBCOLL_OPERATION_REDUCE, NBCOLL_OPERATION_ALLREDUCE,
                                                  NBCOLL_OPERATION_SCAN, NBCOLL_OPERATION_EXSCAN,
                                                  NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK};
    nbcoll_strided s;
    world w;
    (void)state;
    EXPECT(OK, nbcoll_strided_make(&s, NBCOLL_DOUBLE, 1, (nbcoll_steps){0, 5}, NBCOLL_ONCE, 1));
    nbcoll_type type = nbcoll_type_of(&s.type);
    assert_true(nbcoll_op_applies(NBCOLL_SUM, type));
    assert_false(nbcoll_op_applies(NBCOLL_BAND, type));
    world_open(&w, 3, NULL, NULL, NULL);
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
        nbcoll_request q[RANKS];
        for (int r = 0; r < w.ranks; r++)
            EXPECT(OK, start(reductions[i], NULL, NULL, 7, type, w.comm[r], &q[r]));
        world_finish(&w, (size_t)w.ranks, q);
    }
    world_close(&w);
}

/* ---- sums ---------------------------------------------------------------------------------------------------------
 * Of columns they have the bits that they have of vectors. */

enum { LENGTH = 700, COLUMNS = 3 };

/* What of `what` rank r has: in `field` every third number, in `plain` one behind the other. Reals are floats. */
static void reduce_column(world *w, nbcoll_type of, int sum, size_t length)
{
    static float field[RANKS][LENGTH * COLUMNS * 2], plain[RANKS][LENGTH * 2], wanted[RANKS][LENGTH * 2];
    size_t reals = nbcoll_type_size(of) / sizeof(float);
    const double factor = 0.3;
    const nbcoll_host_op scaled = nbcoll_sum_scaled(&factor);
    const nbcoll_op op = sum == 0   ? nbcoll_average()
                         : sum == 1 ? nbcoll_op_of(&scaled)
                         : sum == 2 ? nbcoll_sum_wide()
                                    : nbcoll_sum_reproducible();
    nbcoll_strided column;
    nbcoll_strided_sum strided[RANKS];
    nbcoll_request q[RANKS];

    memset(field, 0x5a, sizeof field);
    EXPECT(OK, nbcoll_strided_make(&column, of, 1, (nbcoll_steps){length, COLUMNS}, NBCOLL_ONCE, 1));
    for (int r = 0; r < w->ranks; r++) {
        for (size_t i = 0; i < length * reals; i++)
            plain[r][i] = field[r][i / reals * COLUMNS * reals + i % reals] = (float)value(r, i) * 0x1p-20f;
        EXPECT(OK, nbcoll_iallreduce(plain[r], wanted[r], length, of, op, w->comm[r], &q[r]));
    }
    world_finish(w, (size_t)w->ranks, q);
    for (int r = 0; r < w->ranks; r++) {
        EXPECT(OK, nbcoll_strided_sum_make(&strided[r], &column, op));
        EXPECT(OK, nbcoll_iallreduce(NBCOLL_IN_PLACE, field[r], 1, nbcoll_type_of(&column.type),
                                     nbcoll_op_of(&strided[r].op), w->comm[r], &q[r]));
    }
    world_finish(w, (size_t)w->ranks, q);
    for (int r = 0; r < w->ranks; r++)
        for (size_t i = 0; i < length * COLUMNS * reals; i++)
            if (i / reals % COLUMNS == 0)
                assert_memory_equal(&field[r][i], &wanted[r][i / (COLUMNS * reals) * reals + i % reals], sizeof(float));
            else
                assert_memory_equal(&field[r][i], "ZZZZ", sizeof(float));
}

static void columns_are_summed_as_vectors_are(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 4; ranks++) {
        world w;
        world_open(&w, ranks, NULL, NULL, NULL);
        for (int sum = 0; sum < 4; sum++)
            for (size_t length = 1; length <= LENGTH; length += length < 4 ? 1 : LENGTH - 4) {
                reduce_column(&w, NBCOLL_FLOAT, sum, length);
                reduce_column(&w, NBCOLL_FLOAT_COMPLEX, sum, length);
            }
        world_close(&w);
    }
}

static void sums_of_other_types_are_refused(void **state)
{
    nbcoll_strided column, integers;
    nbcoll_strided_sum sum;
    nbcoll_request q;
    double a[4] = {0};
    world w;
    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(OK, nbcoll_strided_make(&column, NBCOLL_DOUBLE, 1, (nbcoll_steps){2, 2}, NBCOLL_ONCE, 1));
    EXPECT(OK, nbcoll_strided_make(&integers, NBCOLL_INT32, 1, (nbcoll_steps){2, 2}, NBCOLL_ONCE, 1));
    EXPECT(ERR_NULL, nbcoll_strided_sum_make(NULL, &column, nbcoll_average()));
    EXPECT(ERR_NULL, nbcoll_strided_sum_make(&sum, NULL, nbcoll_average()));
    EXPECT(ERR_OP, nbcoll_strided_sum_make(&sum, &column, NBCOLL_SUM));
    EXPECT(OK, nbcoll_strided_sum_make(&sum, &integers, nbcoll_average()));
    EXPECT(ERR_OP, nbcoll_iallreduce(NBCOLL_IN_PLACE, a, 1, nbcoll_type_of(&integers.type), nbcoll_op_of(&sum.op),
                                     w.comm[0], &q));
    EXPECT(OK, nbcoll_strided_sum_make(&sum, &column, nbcoll_average()));
    EXPECT(ERR_OP, nbcoll_iallreduce(NBCOLL_IN_PLACE, a, 1, NBCOLL_DOUBLE, nbcoll_op_of(&sum.op), w.comm[0], &q));
    EXPECT(ERR_OP,
           nbcoll_iallreduce(NBCOLL_IN_PLACE, a, 1, nbcoll_type_of(&column.type), nbcoll_average(), w.comm[0], &q));
    world_close(&w);
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* One element of 8 MB: a test takes no more than a pass, so the start and each test are short; the barrier that was
 * started behind it ends on the way. */
static void a_large_element_is_packed_in_pieces(void **state)
{
    enum { ROWS = 1 << 20 };
    static double field[2][ROWS][2];
    nbcoll_strided column;
    nbcoll_request request[2], barrier[2];
    size_t passes = 0, at_barrier = 0;
    world w;

    (void)state;
    EXPECT(OK, nbcoll_strided_make(&column, NBCOLL_DOUBLE, 1, (nbcoll_steps){ROWS, 2}, NBCOLL_ONCE, 1));
    world_open(&w, 2, NULL, NULL, NULL);
    for (size_t i = 0; i < ROWS; i++)
        field[0][i][1] = (double)i;
    for (int r = 0; r < 2; r++) {
        EXPECT(OK, nbcoll_ibcast(&field[r][0][1], 1, nbcoll_type_of(&column.type), 0, w.comm[r], &request[r]));
        EXPECT(OK, nbcoll_ibarrier(w.comm[r], &barrier[r]));
    }
    while (request[0].at || request[1].at || barrier[1].at) {
        for (int r = 0; r < 2; r++) {
            nbcoll_test(&request[r]);
            nbcoll_test(&barrier[r]);
        }
        passes++;
        at_barrier = barrier[1].at ? passes : at_barrier;
    }
    assert_true(passes >= ROWS * sizeof(double) / NBCOLL_PASS_BYTES && at_barrier < passes / 4);
    for (size_t i = 0; i < ROWS; i++)
        assert_true(field[1][i][1] == (double)i && field[1][i][0] == 0);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_and_algorithm_takes_them),
        cmocka_unit_test(a_matrix_is_transposed_by_columns),
        cmocka_unit_test(a_face_of_a_field_is_broadcast),
        cmocka_unit_test(elements_at_one_place_are_sent_to_many_and_received_once),
        cmocka_unit_test(a_message_is_received_into_one_place_once),
        cmocka_unit_test(what_is_no_such_type_is_refused),
        cmocka_unit_test(elements_without_bytes_are_combined),
        cmocka_unit_test(columns_are_summed_as_vectors_are),
        cmocka_unit_test(sums_of_other_types_are_refused),
        cmocka_unit_test(a_large_element_is_packed_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
