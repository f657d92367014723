/* SPDX-License-Identifier: BSD-3-Clause
 * Types and operations of the host's in every collective that takes them: elements with gaps are packed before they
 * travel, combined as packed, and unpacked without touching what is between them; operations that do not commute are
 * combined in rank order; a function that fails ends the operation on all ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "works.h"
#include "world.h"

enum { RANKS = 5, COUNT = 300 };

static const nbcoll_context_config contexts = {.size = sizeof contexts, .credits = 3};
static const nbcoll_comm_config small = {.size = sizeof small, .slots = 4, .cells = 8, .schedules = 64,
                                         .eager = 256, .large = 2048};

/* An affine map x -> a x + b. Following one after another is associative, but does not commute. */
typedef struct affine {
    uint32_t a;
    uint32_t label; /* the owner's: does not travel */
    uint32_t b;
} affine;

typedef struct packed {
    uint32_t a, b;
} packed;

static nbcoll_status pack(void *user, const void *elements, void *to, size_t count)
{
    const affine *from = elements;
    packed *p = to;
    for (size_t i = 0; i < count; i++)
        p[i] = (packed){from[i].a, from[i].b};
    return user ? NBCOLL_ERR_CALL : NBCOLL_OK;
}

static nbcoll_status unpack(void *user, const void *from, void *elements, size_t count)
{
    affine *to = elements;
    const packed *p = from;
    for (size_t i = 0; i < count; i++) {
        to[i].a = p[i].a;
        to[i].b = p[i].b;
    }
    return user ? NBCOLL_ERR_CALL : NBCOLL_OK;
}

static packed then(packed first, packed second)
{
    return (packed){first.a * second.a, first.b * second.a + second.b};
}

static nbcoll_status combine(void *user, void *result, const void *left, const void *right, size_t count,
                             nbcoll_type type)
{
    const packed *l = left, *r = right;
    packed *to = result;
    (void)type;
    for (size_t i = 0; i < count; i++)
        to[i] = then(l[i], r[i]);
    return user ? NBCOLL_ERR_CALL : NBCOLL_OK;
}

static const nbcoll_host_type affines = {.size = sizeof affines, .extent = sizeof(affine), .packed = sizeof(packed),
                                         .pack = pack, .unpack = unpack};
static const nbcoll_host_type pairs = {.size = sizeof pairs, .extent = sizeof(packed)}; /* travels as it is */
static const nbcoll_host_op following = {.size = sizeof following, .combine = combine};

static packed value(int rank, size_t i)
{
    return (packed){(uint32_t)(rank * 7 + (int)i) * 2 + 1, (uint32_t)(rank + 1) * 1000003u + (uint32_t)i};
}

/* The maps of ranks first..last, one after another. */
static packed chain(int first, int last, size_t i)
{
    packed p = value(first, i);
    for (int r = first + 1; r <= last; r++)
        p = then(p, value(r, i));
    return p;
}

typedef struct buffers {
    affine send[RANKS * COUNT], recv[RANKS * COUNT];
} buffers;

static world w;
static buffers s[RANKS];
static nbcoll_request request[RANKS];

static int open(void **state)
{
    (void)state;
    world_open(&w, RANKS, NULL, &contexts, &small);
    return 0;
}

static int close(void **state)
{
    (void)state;
    works(&w);
    world_close(&w);
    return 0;
}

/* Memory that runs out: so many allocations more. */
typedef struct scarce {
    size_t left;
} scarce;

static void *scarce_alloc(void *user, size_t bytes, size_t align)
{
    scarce *memory = user;
    if (!memory->left)
        return NULL;
    memory->left--;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void scarce_free(void *user, void *at, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(at);
}

static nbcoll_host scarce_host(scarce *memory)
{
    return (nbcoll_host){.size = sizeof(nbcoll_host), .user = memory, .alloc = scarce_alloc, .free = scarce_free};
}

static void fill(void)
{
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < RANKS * COUNT; i++) {
            packed p = value(r, i);
            s[r].send[i] = (affine){p.a, 77, p.b};
            s[r].recv[i] = (affine){1, 99, 2};
        }
}

/* Element i of a receive buffer is that value, or as it was; its label is the owner's in any case. */
static void check(int rank, size_t i, const packed *is)
{
    const affine *e = &s[rank].recv[i];
    assert_int_equal(e->a, is ? is->a : 1);
    assert_int_equal(e->b, is ? is->b : 2);
    assert_int_equal(e->label, 99);
}

/* Starts the call on each rank, whose number is r, and waits. */
#define ON_ALL_RANKS(call)                                                                                             \
    do {                                                                                                               \
        fill();                                                                                                        \
        for (int r = 0; r < RANKS; r++)                                                                                \
            EXPECT(OK, call);                                                                                          \
        world_finish(&w, RANKS, request);                                                                              \
    } while (0)

static void packed_elements_are_moved(void **state)
{
    static const size_t counts[] = {COUNT, 20}; /* both algorithms */
    nbcoll_type t = nbcoll_type_of(&affines);

    (void)state;
    for (int k = 0; k < 2; k++) {
        size_t n = counts[k];
        packed p;
        fill();
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_ibcast(r == 2 ? s[r].send : s[r].recv, n, t, 2, w.comm[r], &request[r]));
        world_finish(&w, RANKS, request);
        for (size_t i = 0; i < RANKS * COUNT; i++)
            check(1, i, i < n ? (p = value(2, i), &p) : NULL);
        ON_ALL_RANKS(nbcoll_iscatter(s[r].send, s[r].recv, n, t, 1, w.comm[r], &request[r]));
        for (int r = 0; r < RANKS; r++)
            for (size_t i = 0; i < RANKS * COUNT; i++)
                check(r, i, i < n ? (p = value(1, (size_t)r * n + i), &p) : NULL);
        ON_ALL_RANKS(nbcoll_igather(s[r].send, s[r].recv, n, t, 3, w.comm[r], &request[r]));
        for (size_t i = 0; i < RANKS * n; i++) {
            check(3, i, (p = value((int)(i / n), i % n), &p));
            check(0, i, NULL);
        }
        ON_ALL_RANKS(nbcoll_iallgather(s[r].send, s[r].recv, n, t, w.comm[r], &request[r]));
        for (size_t i = 0; i < RANKS * n; i++)
            check(4, i, (p = value((int)(i / n), i % n), &p));
        ON_ALL_RANKS(nbcoll_ialltoall(s[r].send, s[r].recv, n, t, w.comm[r], &request[r]));
        for (size_t i = 0; i < RANKS * n; i++)
            check(4, i, (p = value((int)(i / n), 4 * n + i % n), &p));
    }
}

static void packed_elements_move_in_place(void **state)
{
    nbcoll_type t = nbcoll_type_of(&affines);
    packed p;

    (void)state;
    fill();
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < 10; i++) {
            p = value(r, i);
            s[r].recv[(size_t)r * 10 + i] = (affine){p.a, 99, p.b};
        }
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_iallgather(NBCOLL_IN_PLACE, s[r].recv, 10, t, w.comm[r], &request[r]));
    world_finish(&w, RANKS, request);
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < RANKS * 10; i++)
            check(r, i, (p = value((int)(i / 10), i % 10), &p));
    fill();
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_iscatter(s[r].send, r == 1 ? NBCOLL_IN_PLACE : s[r].recv, 10, t, 1, w.comm[r], &request[r]));
    world_finish(&w, RANKS, request);
    for (size_t i = 0; i < 10; i++) {
        check(1, i, NULL);
        check(2, i, (p = value(1, 20 + i), &p));
    }
}

static void packed_blocks_of_known_counts_are_moved(void **state)
{
    size_t counts[RANKS] = {3, 0, 5, 1, 2}, displs[RANKS] = {20, 0, 2, 8, 10};
    nbcoll_type t = nbcoll_type_of(&affines);
    int owner[25];
    packed p;

    (void)state;
    ON_ALL_RANKS(nbcoll_iallgatherv(s[r].send, s[r].recv, counts, displs, t, w.comm[r], &request[r]));
    memset(owner, -1, sizeof owner);
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < counts[r]; i++)
            owner[displs[r] + i] = r;
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < 25; i++)
            check(r, i, owner[i] < 0 ? NULL : (p = value(owner[i], i - displs[owner[i]]), &p));
}

static void packed_blocks_of_promised_counts_are_moved(void **state)
{
    size_t counts[RANKS] = {3, 0, 5, 1, 2}, displs[RANKS] = {20, 0, 2, 8, 10};
    nbcoll_comm_config promised = small;
    nbcoll_type t = nbcoll_type_of(&affines);
    packed p;

    (void)state;
    promised.flags = NBCOLL_COUNTS_KNOWN;
    world_open(&w, RANKS, NULL, &contexts, &promised);
    ON_ALL_RANKS(nbcoll_igatherv(s[r].send, 99, s[r].recv, counts, r == 1 ? displs : NULL, t, 1, w.comm[r],
                                 &request[r]));
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < counts[r]; i++)
            check(1, displs[r] + i, (p = value(r, i), &p));
    check(1, 7, NULL);
    ON_ALL_RANKS(nbcoll_iscatterv(s[r].send, counts, r == 1 ? displs : NULL, r == 1 ? NBCOLL_IN_PLACE : s[r].recv, 99,
                                  t, 1, w.comm[r], &request[r]));
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < 6; i++)
            check(r, i, r != 1 && i < counts[r] ? (p = value(1, displs[r] + i), &p) : NULL);
    world_close(&w);
}

/* The counts of each start are its own: there is one schedule for all. */
static void packed_blocks_of_bound_counts_are_gathered_and_scattered(void **state)
{
    nbcoll_type t = nbcoll_type_of(&affines);
    size_t counts[RANKS], displs[RANKS] = {250, 0, 60, 120, 180};
    packed p;

    (void)state;
    for (size_t n = 0; n < 60; n += 7) {
        for (size_t r = 0; r < RANKS; r++)
            counts[r] = n * r % 50;
        for (int in_place = 0; in_place < 2; in_place++) {
            ON_ALL_RANKS(nbcoll_igatherv(in_place && r == 2 ? NBCOLL_IN_PLACE : s[r].send,
                                         r != 2 || !in_place ? counts[r] : 99, s[r].recv, r == 2 ? counts : NULL,
                                         r == 2 ? displs : NULL, t, 2, w.comm[r], &request[r]));
            for (int r = 0; r < RANKS; r++)
                for (size_t i = 0; i < 50; i++)
                    check(2, displs[r] + i, i < counts[r] && (r != 2 || !in_place) ? (p = value(r, i), &p) : NULL);
            ON_ALL_RANKS(nbcoll_iscatterv(s[r].send, r == 3 ? counts : NULL, r == 3 ? displs : NULL,
                                          in_place && r == 3 ? NBCOLL_IN_PLACE : s[r].recv,
                                          r != 3 || !in_place ? counts[r] : 99, t, 3, w.comm[r], &request[r]));
            for (int r = 0; r < RANKS; r++)
                for (size_t i = 0; i < 50; i++)
                    check(r, i, i < counts[r] && (r != 3 || !in_place) ? (p = value(3, displs[r] + i), &p) : NULL);
        }
    }
}

/* Elements from rank f to rank t: as many as from t to f, so that it can be in place, and none within every third. */
static size_t between(int f, int t, size_t n)
{
    return (size_t)(f + t) % 3 ? n + (size_t)(f * t) : 0;
}

/* What an alltoallv leaves, where rank r sends its elements from ROOM * peer on, or has them in its receive buffer. */
static void check_all_to_all(size_t n, size_t room, int in_place)
{
    packed p;
    for (int r = 0; r < RANKS; r++)
        for (int f = 0; f < RANKS; f++)
            for (size_t i = 0; i < room; i++)
                check(r, (size_t)f * room + i, i < between(f, r, n) ? (p = value(f, (size_t)r * room + i), &p)
                                               : in_place % 2       ? (p = value(r, (size_t)f * room + i), &p)
                                                                    : NULL);
}

static void fill_in_place(size_t elements)
{
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < elements; i++) {
            packed p = value(r, i);
            s[r].recv[i] = (affine){p.a, 99, p.b};
        }
}

static void packed_blocks_of_bound_counts_go_from_all_to_all(void **state)
{
    static const size_t most[] = {0, 1, 40}; /* nothing but what ranks differ in; eager; announced */
    nbcoll_type t = nbcoll_type_of(&affines);
    size_t counts[RANKS][RANKS], displs[RANKS];

    (void)state;
    for (int k = 0; k < 6; k++) {
        size_t n = most[k % 3], room = 60;
        for (int r = 0; r < RANKS; r++)
            for (int peer = 0; peer < RANKS; peer++) {
                counts[r][peer] = between(r, peer, n);
                displs[peer] = room * (size_t)peer;
            }
        ON_ALL_RANKS(nbcoll_ialltoallv(s[r].send, counts[r], displs, s[r].recv, counts[r], displs, t, w.comm[r],
                                       &request[r]));
        check_all_to_all(n, room, 0);
        fill();
        fill_in_place(RANKS * room);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_ialltoallv(NBCOLL_IN_PLACE, NULL, NULL, s[r].recv, counts[r], displs, t, w.comm[r],
                                         &request[r]));
        world_finish(&w, RANKS, request);
        check_all_to_all(n, room, 1);
    }
}

/* Blocks of one call are of types that pack and of types that do not: what leaves as one comes as the other. */
static void packed_blocks_mix_with_others(void **state)
{
    enum { BLOCK = 8 };
    nbcoll_type t = nbcoll_type_of(&affines), same = nbcoll_type_of(&pairs), from[RANKS], to[RANKS][RANKS];
    size_t counts[RANKS], displs[RANKS];

    (void)state;
    for (int r = 0; r < RANKS; r++) {
        from[r] = t;
        counts[r] = BLOCK;
        displs[r] = (size_t)r * BLOCK * sizeof(affine);
        for (int peer = 0; peer < RANKS; peer++)
            to[r][peer] = r <= peer ? same : t; /* of rank 0 none packs, but what it sends */
    }
    for (int in_place = 0; in_place < 2; in_place++) {
        fill();
        fill_in_place(RANKS * BLOCK);
        for (int r = 0; r < RANKS; r++)
            for (int peer = r; peer < RANKS; peer++)
                for (int i = 0; i < BLOCK; i++) /* without gaps */
                    ((packed *)&s[r].recv[peer * BLOCK])[i] = value(r, (size_t)(peer * BLOCK + i));
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_ialltoallw(in_place ? NBCOLL_IN_PLACE : s[r].send, counts, displs, from, s[r].recv,
                                         counts, displs, to[r], w.comm[r], &request[r]));
        world_finish(&w, RANKS, request);
        for (int r = 0; r < RANKS; r++)
            for (int f = 0; f < RANKS; f++)
                for (int i = 0; i < BLOCK; i++) {
                    packed p = value(f, (size_t)(r * BLOCK + i));
                    if (r <= f)
                        assert_memory_equal(&((packed *)&s[r].recv[f * BLOCK])[i], &p, sizeof p);
                    else
                        check(r, (size_t)(f * BLOCK + i), &p);
                }
    }
}

/* Of rank 0, whose last run is noted by its schedule. */
static void note_schedule(void *user, const nbcoll_event *event)
{
    if (nbcoll_comm_rank(event->comm) == 0)
        *(const nbcoll_schedule **)user = event->schedule;
}

static void one_schedule_serves_any_counts_of_packed_blocks(void **state)
{
    const nbcoll_schedule *last = NULL, *first = NULL;
    nbcoll_observer observer = {.size = sizeof observer, .user = &last, .event = note_schedule};
    nbcoll_context_config context = {.size = sizeof context, .observer = &observer, .credits = contexts.credits};
    size_t counts[RANKS], displs[RANKS];
    nbcoll_type t = nbcoll_type_of(&affines);

    (void)state;
    world_open(&w, RANKS, NULL, &context, &small);
    for (size_t n = 0; n < 40; n++) {
        for (size_t i = 0; i < RANKS; i++) {
            counts[i] = n;
            displs[i] = i * (40 + n);
        }
        ON_ALL_RANKS(nbcoll_ialltoallv(NBCOLL_IN_PLACE, NULL, NULL, s[r].recv, counts, displs, t, w.comm[r],
                                       &request[r]));
        first = first ? first : last;
        assert_ptr_equal(first, last);
    }
    world_close(&w);
}

/* Packed elements have arrived when they are unpacked. */
static void packed_blocks_have_arrived_when_they_are_unpacked(void **state)
{
    size_t counts[RANKS] = {0, 1, 2, 3, 4}, displs[RANKS] = {20, 0, 2, 5, 10};
    nbcoll_type t = nbcoll_type_of(&affines);

    (void)state;
    fill();
    EXPECT(OK, nbcoll_igatherv(s[0].send, 0, s[0].recv, counts, displs, t, 0, w.comm[0], &request[0]));
    EXPECT(PENDING, nbcoll_arrived(request[0], 2 * sizeof(affine), 1));
    EXPECT(OK, nbcoll_arrived(request[0], 4 * sizeof(affine), sizeof(affine))); /* between the blocks */
    EXPECT(ERR_COUNT, nbcoll_arrived(request[0], 14 * sizeof(affine), 1));
    for (int r = 1; r < RANKS; r++)
        EXPECT(OK, nbcoll_igatherv(s[r].send, counts[r], NULL, NULL, NULL, t, 0, w.comm[r], &request[r]));
    world_finish(&w, RANKS, request);
}

/* Without memory for the packed blocks the start is refused: no tag is taken, and with memory it can be repeated. */
static void a_start_without_room_is_refused(void **state)
{
    scarce memory = {.left = SIZE_MAX};
    nbcoll_context_config context = {.size = sizeof context, .host = scarce_host(&memory),
                                     .credits = contexts.credits};
    size_t counts[RANKS], displs[RANKS];
    nbcoll_type t = nbcoll_type_of(&affines);
    nbcoll_request refused = NBCOLL_REQUEST_NULL;

    (void)state;
    world_open(&w, RANKS, NULL, &context, &small);
    for (size_t n = 1; n < 200; n += 150) { /* the second time the schedule is there, and its run has too little */
        for (size_t i = 0; i < RANKS; i++) {
            counts[i] = n;
            displs[i] = i * n;
        }
        fill();
        memory.left = 0;
        EXPECT(ERR_MEMORY, nbcoll_ialltoallv(s[0].send, counts, displs, s[0].recv, counts, displs, t, w.comm[0],
                                             &refused));
        assert_null(refused.at);
        assert_int_equal(nbcoll_comm_active(w.comm[0]), 0);
        memory.left = SIZE_MAX;
        ON_ALL_RANKS(nbcoll_ialltoallv(s[r].send, counts, displs, s[r].recv, counts, displs, t, w.comm[r],
                                       &request[r]));
        for (size_t i = 0; i < RANKS * n; i++) {
            packed p = value((int)(i / n), 2 * n + i % n);
            check(2, i, &p);
        }
    }
    world_close(&w);
}

static void operations_that_do_not_commute_keep_rank_order(void **state)
{
    static const size_t counts[] = {COUNT, 20, 1};
    size_t parts[RANKS] = {3, 0, 5, 1, 2};
    nbcoll_type t = nbcoll_type_of(&affines);
    nbcoll_op op = nbcoll_op_of(&following);
    packed p;

    (void)state;
    for (int k = 0; k < 3; k++) {
        size_t n = counts[k];
        ON_ALL_RANKS(nbcoll_ireduce(s[r].send, s[r].recv, n, t, op, 2, w.comm[r], &request[r]));
        for (size_t i = 0; i < n; i++)
            check(2, i, (p = chain(0, RANKS - 1, i), &p));
        ON_ALL_RANKS(nbcoll_iallreduce(s[r].send, s[r].recv, n, t, op, w.comm[r], &request[r]));
        for (size_t i = 0; i < n; i++)
            check(4, i, (p = chain(0, RANKS - 1, i), &p));
        ON_ALL_RANKS(nbcoll_iscan(s[r].send, s[r].recv, n, t, op, w.comm[r], &request[r]));
        for (int r = 0; r < RANKS; r++)
            for (size_t i = 0; i < n; i++)
                check(r, i, (p = chain(0, r, i), &p));
        ON_ALL_RANKS(nbcoll_iexscan(s[r].send, s[r].recv, n, t, op, w.comm[r], &request[r]));
        for (int r = 0; r < RANKS; r++)
            for (size_t i = 0; i < n; i++)
                check(r, i, r ? (p = chain(0, r - 1, i), &p) : NULL);
        ON_ALL_RANKS(nbcoll_ireduce_scatter_block(s[r].send, s[r].recv, n, t, op, w.comm[r], &request[r]));
        for (int r = 0; r < RANKS; r++)
            for (size_t i = 0; i < n; i++)
                check(r, i, (p = chain(0, RANKS - 1, (size_t)r * n + i), &p));
    }
    ON_ALL_RANKS(nbcoll_ireduce_scatter(s[r].send, s[r].recv, parts, t, op, w.comm[r], &request[r]));
    for (size_t i = 0; i < 6; i++)
        check(2, i, i < 5 ? (p = chain(0, RANKS - 1, 3 + i), &p) : NULL);
}

/* The same elements without gaps travel as they are, also in bound blocks. */
static void contiguous_host_types_need_no_packing(void **state)
{
    static packed send[RANKS][COUNT], recv[RANKS][RANKS * COUNT];
    size_t counts[RANKS], displs[RANKS];
    nbcoll_type t = nbcoll_type_of(&pairs);
    nbcoll_op op = nbcoll_op_of(&following);

    (void)state;
    for (int r = 0; r < RANKS; r++) {
        counts[r] = (size_t)r * 40;
        displs[r] = (size_t)r * COUNT;
        for (size_t i = 0; i < COUNT; i++)
            send[r][i] = value(r, i);
    }
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_igatherv(send[r], counts[r], recv[r], counts, displs, t, 1, w.comm[r], &request[r]));
    world_finish(&w, RANKS, request);
    for (int r = 0; r < RANKS; r++)
        assert_memory_equal(&recv[1][displs[r]], send[r], counts[r] * sizeof(packed));
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_iallreduce(send[r], recv[r], COUNT, t, op, w.comm[r], &request[r]));
    world_finish(&w, RANKS, request);
    for (size_t i = 0; i < COUNT; i++) {
        packed p = chain(0, RANKS - 1, i);
        assert_memory_equal(&recv[3][i], &p, sizeof p);
    }
}

static void expect_failure(void)
{
    nbcoll_status status[RANKS];
    world_settle(&w, RANKS, request, status);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(status[r], NBCOLL_ERR_CALL);
}

/* Of rank 3 only; no rank can end an allreduce without it. */
static void a_function_that_fails_ends_the_operation_everywhere(void **state)
{
    static nbcoll_host_type broken_type;
    static nbcoll_host_op broken_op;

    (void)state;
    broken_type = affines;
    broken_op = following;
    broken_type.user = broken_op.user = &w; /* not null */
    for (int which = 0; which < 2; which++) {
        fill();
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_iallreduce(s[r].send, s[r].recv, 4,
                                         nbcoll_type_of(which == 0 && r == 3 ? &broken_type : &affines),
                                         nbcoll_op_of(which == 1 && r == 3 ? &broken_op : &following), w.comm[r],
                                         &request[r]));
        expect_failure();
        works(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(packed_elements_are_moved, open, close),
        cmocka_unit_test_setup_teardown(packed_elements_move_in_place, open, close),
        cmocka_unit_test_setup_teardown(packed_blocks_of_known_counts_are_moved, open, close),
        cmocka_unit_test(packed_blocks_of_promised_counts_are_moved),
        cmocka_unit_test_setup_teardown(packed_blocks_of_bound_counts_are_gathered_and_scattered, open, close),
        cmocka_unit_test_setup_teardown(packed_blocks_of_bound_counts_go_from_all_to_all, open, close),
        cmocka_unit_test_setup_teardown(packed_blocks_mix_with_others, open, close),
        cmocka_unit_test(one_schedule_serves_any_counts_of_packed_blocks),
        cmocka_unit_test_setup_teardown(packed_blocks_have_arrived_when_they_are_unpacked, open, close),
        cmocka_unit_test(a_start_without_room_is_refused),
        cmocka_unit_test_setup_teardown(operations_that_do_not_commute_keep_rank_order, open, close),
        cmocka_unit_test_setup_teardown(contiguous_host_types_need_no_packing, open, close),
        cmocka_unit_test_setup_teardown(a_function_that_fails_ends_the_operation_everywhere, open, close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
