/* SPDX-License-Identifier: BSD-3-Clause
 * Descriptors of the host's live as long as the requests that use them, and no longer: the next call has another one at
 * the same address, with another size, other functions or another `user`. Those that are alike share a schedule, each
 * with its own functions. Functions that are called for another descriptor than their own end the operation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/verify.h"
#include "world.h"

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON(it) __asan_poison_memory_region(&(it), sizeof(it))
#define UNPOISON(it) __asan_unpoison_memory_region(&(it), sizeof(it))
#else
#define POISON(it) memset(&(it), 0xee, sizeof(it))
#define UNPOISON(it) ((void)0)
#endif

enum { RANKS = 3, MOST = 200, WIDEST = 24, ROOT = 1 };

/* What a descriptor is made of. */
typedef struct shape {
    size_t extent, packed;
    int version; /* of the functions */
} shape;

/* What its functions get: one of a call. */
typedef struct owner {
    shape is;
    int live, calls;
    unsigned char adds;
} owner;

static nbcoll_status move(owner *o, int version, char *to, size_t to_step, const char *from, size_t from_step, size_t n)
{
    if (!o->live || o->is.version != version)
        return NBCOLL_ERR_CALL;
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * to_step, from + i * from_step, o->is.packed);
    o->calls++;
    return NBCOLL_OK;
}

static nbcoll_status combine_as(owner *o, int version, unsigned char *to, const unsigned char *left,
                                const unsigned char *right, size_t n)
{
    if (!o->live || o->is.version != version)
        return NBCOLL_ERR_CALL;
    for (size_t i = 0; i < n * (o->is.packed ? o->is.packed : o->is.extent); i++)
        to[i] = version == 2 ? right[i] : (unsigned char)(left[i] + right[i] + o->adds);
    o->calls++;
    return NBCOLL_OK;
}

/* The functions of each version; those of version 2 combine without commuting. */
#define FUNCTIONS(v)                                                                                                   \
    static nbcoll_status pack_##v(void *user, const void *elements, void *packed, size_t n)                            \
    {                                                                                                                  \
        owner *o = user;                                                                                               \
        return move(o, v, packed, o->is.packed, elements, o->is.extent, n);                                            \
    }                                                                                                                  \
    static nbcoll_status unpack_##v(void *user, const void *packed, void *elements, size_t n)                          \
    {                                                                                                                  \
        owner *o = user;                                                                                               \
        return move(o, v, elements, o->is.extent, packed, o->is.packed, n);                                            \
    }                                                                                                                  \
    static nbcoll_status combine_##v(void *user, void *result, const void *left, const void *right, size_t n,          \
                                     nbcoll_type type)                                                                 \
    {                                                                                                                  \
        owner *o = user;                                                                                               \
        size_t bytes = o->is.extent;                                                                                   \
        return nbcoll_type_size(type) == bytes ? combine_as(user, v, result, left, right, n) : NBCOLL_ERR_CALL;        \
    }
FUNCTIONS(0)
FUNCTIONS(1)
FUNCTIONS(2)

static nbcoll_host_type type_of(owner *o)
{
    return (nbcoll_host_type){.size = sizeof(nbcoll_host_type),
                              .extent = o->is.extent,
                              .packed = o->is.packed,
                              .user = o,
                              .pack = (nbcoll_status(*[])(void *, const void *, void *, size_t)){
                                  pack_0, pack_1, pack_2}[o->is.version],
                              .unpack = (nbcoll_status(*[])(void *, const void *, void *, size_t)){
                                  unpack_0, unpack_1, unpack_2}[o->is.version]};
}

static nbcoll_host_op op_of(owner *o)
{
    return (nbcoll_host_op){.size = sizeof(nbcoll_host_op),
                            .user = o,
                            .combine = o->is.version == 0 ? combine_0 : o->is.version == 1 ? combine_1 : combine_2,
                            .commutative = o->is.version != 2};
}

/* ---- one call of each collective ------------------------------------------------------------------------------- */

typedef struct buffers {
    unsigned char send[RANKS * MOST * WIDEST], recv[RANKS * MOST * WIDEST];
} buffers;

static world w;
static buffers data[4][RANKS];
static const nbcoll_comm_config small = {.size = sizeof small, .slots = 4, .cells = 8, .schedules = 64, .eager = 256,
                                         .large = NBCOLL_BY_COST};

static unsigned char value(int rank, size_t element, size_t byte)
{
    return (unsigned char)(rank * 31 + (int)(element * 7 + byte * 3) + 1);
}

static void fill(buffers *b, int rank, const owner *o)
{
    memset(b->recv, 0xaa, sizeof b->recv);
    for (size_t i = 0; i < RANKS * MOST; i++)
        for (size_t k = 0; k < o->is.extent; k++)
            b->send[i * o->is.extent + k] = value(rank, i, k);
}

static nbcoll_status start(nbcoll_operation what, buffers *b, size_t n, nbcoll_type t, nbcoll_op op, nbcoll_comm *comm,
                           nbcoll_request *request)
{
    static size_t counts[RANKS], displs[RANKS], places[RANKS]; /* alike on all ranks */
    nbcoll_type types[RANKS];
    int r = nbcoll_comm_rank(comm);

    for (size_t i = 0; i < RANKS; i++) {
        counts[i] = n;
        displs[i] = i * n;
        places[i] = i * n * nbcoll_type_size(t);
        types[i] = t;
    }
    switch (what) {
    case NBCOLL_OPERATION_BCAST:
        return nbcoll_ibcast(r == ROOT ? b->send : b->recv, n, t, ROOT, comm, request);
    case NBCOLL_OPERATION_SCATTER:
        return nbcoll_iscatter(b->send, b->recv, n, t, ROOT, comm, request);
    case NBCOLL_OPERATION_SCATTERV:
        return nbcoll_iscatterv(b->send, counts, displs, b->recv, n, t, ROOT, comm, request);
    case NBCOLL_OPERATION_GATHER:
        return nbcoll_igather(b->send, b->recv, n, t, ROOT, comm, request);
    case NBCOLL_OPERATION_GATHERV:
        return nbcoll_igatherv(b->send, n, b->recv, counts, displs, t, ROOT, comm, request);
    case NBCOLL_OPERATION_ALLGATHER:
        return nbcoll_iallgather(b->send, b->recv, n, t, comm, request);
    case NBCOLL_OPERATION_ALLGATHERV:
        return nbcoll_iallgatherv(b->send, b->recv, counts, displs, t, comm, request);
    case NBCOLL_OPERATION_ALLTOALL:
        return nbcoll_ialltoall(b->send, b->recv, n, t, comm, request);
    case NBCOLL_OPERATION_ALLTOALLV:
        return nbcoll_ialltoallv(b->send, counts, displs, b->recv, counts, displs, t, comm, request);
    case NBCOLL_OPERATION_ALLTOALLW: { /* the array lives as long as the request, too */
        static nbcoll_type kept[4][RANKS][RANKS];
        nbcoll_type *mine = kept[(b - data[0]) / RANKS][r];
        memcpy(mine, types, sizeof types);
        return nbcoll_ialltoallw(b->send, counts, places, mine, b->recv, counts, places, mine, comm, request);
    }
    case NBCOLL_OPERATION_REDUCE:
        return nbcoll_ireduce(b->send, b->recv, n, t, op, ROOT, comm, request);
    case NBCOLL_OPERATION_ALLREDUCE:
        return nbcoll_iallreduce(b->send, b->recv, n, t, op, comm, request);
    case NBCOLL_OPERATION_REDUCE_SCATTER:
        return nbcoll_ireduce_scatter(b->send, b->recv, counts, t, op, comm, request);
    case NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK:
        return nbcoll_ireduce_scatter_block(b->send, b->recv, n, t, op, comm, request);
    case NBCOLL_OPERATION_SCAN:
        return nbcoll_iscan(b->send, b->recv, n, t, op, comm, request);
    default:
        return nbcoll_iexscan(b->send, b->recv, n, t, op, comm, request);
    }
}

static unsigned char folded(const owner *o, int last, size_t element, size_t byte)
{
    unsigned char sum = value(0, element, byte);
    for (int r = 1; r <= last; r++)
        sum = o->is.version == 2 ? value(r, element, byte) : (unsigned char)(sum + value(r, element, byte) + o->adds);
    return sum;
}

/* Elements that a rank receives; *from is of which element of which rank, or -1: of all up to *last. */
static size_t received(nbcoll_operation what, int rank, size_t n, size_t i, int *from, size_t *element, int *last)
{
    int is_root = rank == ROOT;
    *from = -1;
    *element = i;
    *last = RANKS - 1;
    switch (what) {
    case NBCOLL_OPERATION_BCAST:
        *from = ROOT;
        return is_root ? 0 : n;
    case NBCOLL_OPERATION_SCATTER:
    case NBCOLL_OPERATION_SCATTERV:
        *from = ROOT;
        *element = (size_t)rank * n + i;
        return n;
    case NBCOLL_OPERATION_GATHER:
    case NBCOLL_OPERATION_GATHERV:
    case NBCOLL_OPERATION_ALLGATHER:
    case NBCOLL_OPERATION_ALLGATHERV:
        *from = (int)(i / n);
        *element = i % n;
        return is_root || what == NBCOLL_OPERATION_ALLGATHER || what == NBCOLL_OPERATION_ALLGATHERV ? RANKS * n : 0;
    case NBCOLL_OPERATION_ALLTOALL:
    case NBCOLL_OPERATION_ALLTOALLV:
    case NBCOLL_OPERATION_ALLTOALLW:
        *from = (int)(i / n);
        *element = (size_t)rank * n + i % n;
        return RANKS * n;
    case NBCOLL_OPERATION_REDUCE:
        return is_root ? n : 0;
    case NBCOLL_OPERATION_REDUCE_SCATTER:
    case NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK:
        *element = (size_t)rank * n + i;
        return n;
    case NBCOLL_OPERATION_SCAN:
    case NBCOLL_OPERATION_EXSCAN:
        *last = rank - (what == NBCOLL_OPERATION_EXSCAN);
        return *last < 0 ? 0 : n;
    default:
        return n;
    }
}

/* What came is right, and all else in the receive buffer is as it was. */
static void check(nbcoll_operation what, const buffers *b, int rank, size_t n, const owner *o)
{
    size_t extent = o->is.extent, there = o->is.packed ? o->is.packed : extent, element;
    int from, last;
    for (size_t i = 0; i < RANKS * MOST; i++) {
        size_t elements = received(what, rank, n, i, &from, &element, &last);
        for (size_t k = 0; k < extent; k++) {
            unsigned char is = b->recv[i * extent + k], wanted = 0xaa;
            if (i < elements && k < there)
                wanted = from >= 0 ? value(from, element, k) : folded(o, last, element, k);
            if (is != wanted)
                print_error("%s, rank %d of %d: byte %zu of element %zu is %d, not %d (extent %zu, packed %zu)\n",
                            nbcoll_operation_name(what), rank, RANKS, k, i, is, wanted, extent, o->is.packed);
            assert_int_equal(is, wanted);
        }
    }
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static int open(void **state)
{
    const int *variant = *state;
    nbcoll_loopback_config loopback = world_variant(variant ? *variant : 0, 7);
    world_open(&w, RANKS, &loopback, NULL, &small);
    return 0;
}

static int close(void **state)
{
    (void)state;
    world_close(&w);
    return 0;
}

/* One call of all ranks with descriptors at the same addresses as all others have, which are gone after it. */
static void call(nbcoll_operation what, size_t n, const shape *is, unsigned char adds)
{
    static nbcoll_host_type type[RANKS];
    static nbcoll_host_op op[RANKS];
    owner o[RANKS];
    nbcoll_request request[RANKS];

    for (int r = 0; r < RANKS; r++) {
        UNPOISON(type[r]);
        UNPOISON(op[r]);
        o[r] = (owner){.is = *is, .live = 1, .adds = adds};
        type[r] = type_of(&o[r]);
        op[r] = op_of(&o[r]);
        fill(&data[0][r], r, &o[r]);
        EXPECT(OK, start(what, &data[0][r], n, nbcoll_type_of(&type[r]), nbcoll_op_of(&op[r]), w.comm[r],
                         &request[r]));
    }
    world_finish(&w, RANKS, request);
    for (int r = 0; r < RANKS; r++) {
        POISON(type[r]);
        POISON(op[r]);
        o[r].live = 0;
    }
    for (int r = 0; r < RANKS; r++)
        check(what, &data[0][r], r, n, &o[r]);
}

static const shape shapes[] = {{16, 0, 0}, {4, 0, 0},  {16, 4, 0}, {16, 12, 0}, {8, 4, 0}, {8, 4, 1},
                               {24, 0, 1}, {16, 4, 2}, {16, 0, 2}, {16, 4, 0},  {4, 0, 0}};

static void each_call_goes_by_its_own_descriptors(void **state)
{
    (void)state;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
        for (size_t n = 5; n <= MOST && what != NBCOLL_OPERATION_BARRIER; n += MOST - 5)
            for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
                call((nbcoll_operation)what, n, &shapes[i], (unsigned char)i);
}

static uint32_t kept(void)
{
    nbcoll_schedules is = {.size = sizeof is};
    EXPECT(OK, nbcoll_comm_schedules(w.comm[0], &is));
    return is.kept;
}

/* So many of each collective at once, each with descriptors of its own, by one schedule. */
static void descriptors_that_are_alike_share_a_schedule(void **state)
{
    enum { AT_ONCE = 3 };
    static nbcoll_host_type type[AT_ONCE][RANKS];
    static nbcoll_host_op op[AT_ONCE][RANKS];
    static owner o[AT_ONCE][RANKS];
    nbcoll_request request[AT_ONCE * RANKS];
    uint32_t entries = kept();

    (void)state;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++) {
        if (what == NBCOLL_OPERATION_BARRIER)
            continue;
        for (int k = 0; k < AT_ONCE; k++)
            for (int r = 0; r < RANKS; r++) {
                o[k][r] = (owner){.is = {16, 4, k % 2}, .live = 1, .adds = (unsigned char)(k * 5)};
                type[k][r] = type_of(&o[k][r]);
                op[k][r] = op_of(&o[k][r]);
                fill(&data[k][r], r, &o[k][r]);
                EXPECT(OK, start((nbcoll_operation)what, &data[k][r], 20, nbcoll_type_of(&type[k][r]),
                                 nbcoll_op_of(&op[k][r]), w.comm[r], &request[k * RANKS + r]));
            }
        world_finish(&w, AT_ONCE * RANKS, request);
        for (int k = 0; k < AT_ONCE; k++)
            for (int r = 0; r < RANKS; r++)
                check((nbcoll_operation)what, &data[k][r], r, 20, &o[k][r]);
        for (int k = 0; k < AT_ONCE; k++)
            assert_true(o[k][2].calls > 0);
        assert_int_equal(kept(), ++entries);
    }
}

/* Persistent requests keep theirs: what others call in between with others of that shape changes nothing. */
static void a_persistent_request_keeps_its_descriptors(void **state)
{
    static nbcoll_host_type type[2][RANKS];
    static nbcoll_host_op op[2][RANKS];
    static owner o[2][RANKS];
    nbcoll_request request[2][RANKS], now[RANKS];

    (void)state;
    for (int k = 0; k < 2; k++)
        for (int r = 0; r < RANKS; r++) {
            o[k][r] = (owner){.is = {16, 4, k}, .live = 1, .adds = (unsigned char)(3 + k)};
            type[k][r] = type_of(&o[k][r]);
            op[k][r] = op_of(&o[k][r]);
            EXPECT(OK, nbcoll_allreduce_init(data[k][r].send, data[k][r].recv, 20, nbcoll_type_of(&type[k][r]),
                                             nbcoll_op_of(&op[k][r]), w.comm[r], &request[k][r]));
        }
    for (int i = 0; i < 6; i++) {
        call(NBCOLL_OPERATION_ALLREDUCE, 20, &(shape){16, 4, i % 2}, 9);
        for (int r = 0; r < RANKS; r++) {
            fill(&data[i % 2][r], r, &o[i % 2][r]);
            now[r] = request[i % 2][r];
            EXPECT(OK, nbcoll_start(&now[r]));
        }
        world_finish(&w, RANKS, now);
        for (int r = 0; r < RANKS; r++)
            check(NBCOLL_OPERATION_ALLREDUCE, &data[i % 2][r], r, 20, &o[i % 2][r]);
    }
    for (int k = 0; k < 2; k++)
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_request_free(&request[k][r]));
}

/* An alltoallw in place has this rank's counts in its schedule, and of its types the sizes. */
static void types_of_blocks_in_place_are_those_of_the_call(void **state)
{
    static nbcoll_host_type type[RANKS];
    nbcoll_type types[RANKS];
    size_t counts[RANKS], displs[RANKS];
    nbcoll_request request[RANKS];
    uint32_t entries = kept();

    (void)state;
    for (size_t extent = 4; extent <= 16; extent += 4) {
        for (int r = 0; r < RANKS; r++) {
            type[r] = (nbcoll_host_type){.size = sizeof type[r], .extent = extent};
            types[r] = nbcoll_type_of(&type[r]);
            counts[r] = 6;
            displs[r] = (size_t)r * 6 * WIDEST;
        }
        for (int r = 0; r < RANKS; r++) {
            memset(data[0][r].recv, 0xaa, sizeof data[0][r].recv);
            for (int peer = 0; peer < RANKS; peer++)
                memset(data[0][r].recv + displs[peer], 16 * r + peer, 6 * extent);
            EXPECT(OK, nbcoll_ialltoallw(NBCOLL_IN_PLACE, NULL, NULL, NULL, data[0][r].recv, counts, displs, types,
                                         w.comm[r], &request[r]));
        }
        world_finish(&w, RANKS, request);
        for (int r = 0; r < RANKS; r++)
            for (int peer = 0; peer < RANKS; peer++)
                for (size_t i = 0; i < (size_t)6 * WIDEST; i++)
                    assert_int_equal(data[0][r].recv[displs[peer] + i], i < 6 * extent ? 16 * peer + r : 0xaa);
        assert_int_equal(kept(), ++entries);
    }
}

/* ---- nothing --------------------------------------------------------------------------------------------------- */

/* Elements without bytes, of each collective: nothing moves, buffers may be null, and the ranks agree. */
static void types_may_have_no_bytes(void **state)
{
    static owner o = {.live = 1};
    static const nbcoll_host_type none = {.size = sizeof none};
    nbcoll_host_op op = op_of(&o);
    nbcoll_request request[RANKS];

    (void)state;
    assert_string_equal(nbcoll_type_name(nbcoll_type_of(&none)), "HOST");
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
        for (size_t n = 0; n <= MOST && what != NBCOLL_OPERATION_BARRIER; n += MOST / 4) {
            for (int r = 0; r < RANKS; r++) {
                memset(data[0][r].recv, 0xaa, sizeof data[0][r].recv);
                EXPECT(OK, start((nbcoll_operation)what, &data[0][r], n, nbcoll_type_of(&none), nbcoll_op_of(&op),
                                 w.comm[r], &request[r]));
            }
            world_finish(&w, RANKS, request);
            for (int r = 0; r < RANKS; r++)
                for (size_t i = 0; i < sizeof data[0][r].recv; i++)
                    assert_int_equal(data[0][r].recv[i], 0xaa);
        }
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_iallgather(NULL, NULL, 7, nbcoll_type_of(&none), w.comm[r], &request[r]));
    world_finish(&w, RANKS, request);
}

/* Builders divide by the size of an element. */
static void each_algorithm_serves_elements_without_bytes(void **state)
{
    static const nbcoll_host_type none = {.size = sizeof none};
    static owner o = {.live = 1};
    nbcoll_host_op op = op_of(&o);
    const nbcoll_algorithm *algorithm;

    (void)state;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)what, i)); i++)
            for (int ranks = 4; ranks < 7; ranks++) {
                nbcoll_case c = {.size = sizeof c, .operation = (nbcoll_operation)what, .ranks = ranks, .node = 2,
                                 .count = 50, .reduction = {nbcoll_type_of(&none), nbcoll_op_of(&op)},
                                 .segment = 64};
                c.known = what == NBCOLL_OPERATION_GATHERV || what == NBCOLL_OPERATION_SCATTERV;
                nbcoll_refutation why = {.size = sizeof why};
                nbcoll_status s = nbcoll_verify_algorithm(algorithm, &c, NULL, &why);
                if (s != NBCOLL_OK && s != NBCOLL_ERR_UNSUPPORTED) /* which means relays */
                    fail_msg("%s/%s: %s %s", nbcoll_operation_name((nbcoll_operation)what), algorithm->name,
                             nbcoll_status_name(s), why.text);
            }
}

/* The type of a block without elements is not looked at, in place or not. */
static void blocks_of_an_alltoallw_without_elements_need_no_type(void **state)
{
    static const size_t counts[RANKS], displs[RANKS];
    nbcoll_type unknown[RANKS], some[RANKS];
    size_t one[RANKS] = {0};
    nbcoll_request request[RANKS];

    (void)state;
    for (int i = 0; i < RANKS; i++) {
        unknown[i] = i ? (nbcoll_type)8 << 40 : nbcoll_type_of(NULL); /* the first would be read where nothing is */
        some[i] = i ? unknown[i] : (nbcoll_type)NBCOLL_INT32;
    }
    for (int in_place = 0; in_place < 2; in_place++) {
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_ialltoallw(in_place ? NBCOLL_IN_PLACE : NULL, counts, displs, unknown, NULL, counts,
                                         displs, unknown, w.comm[r], &request[r]));
        world_finish(&w, RANKS, request);
    }
    one[0] = 1; /* rank 0 gets one element of itself */
    int32_t from = 17, to = 0;
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ialltoallw(&from, r ? counts : one, displs, some, &to, r ? counts : one, displs, some,
                                     w.comm[r], &request[r]));
    world_finish(&w, RANKS, request);
    assert_int_equal(to, 17);
    one[1] = 1;
    some[1] = nbcoll_type_of(NULL);
    EXPECT(ERR_TYPE, nbcoll_ialltoallw(&from, one, displs, some, &to, one, displs, some, w.comm[0], &request[0]));
}

int main(void)
{
    static int shared = WORLD_SHARED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_call_goes_by_its_own_descriptors, open, close),
        cmocka_unit_test_prestate_setup_teardown(each_call_goes_by_its_own_descriptors, open, close, &shared),
        cmocka_unit_test_setup_teardown(descriptors_that_are_alike_share_a_schedule, open, close),
        cmocka_unit_test_prestate_setup_teardown(descriptors_that_are_alike_share_a_schedule, open, close, &shared),
        cmocka_unit_test_setup_teardown(a_persistent_request_keeps_its_descriptors, open, close),
        cmocka_unit_test_setup_teardown(types_of_blocks_in_place_are_those_of_the_call, open, close),
        cmocka_unit_test_setup_teardown(types_may_have_no_bytes, open, close),
        cmocka_unit_test_prestate_setup_teardown(types_may_have_no_bytes, open, close, &shared),
        cmocka_unit_test(each_algorithm_serves_elements_without_bytes),
        cmocka_unit_test_setup_teardown(blocks_of_an_alltoallw_without_elements_need_no_type, open, close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
