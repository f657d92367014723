/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that were opened with different flags, so that one lends its memory to another that cannot get it: sequences of
 * operations of any kind, several under way at a time, end on all of them with the right values. Their buffers are the
 * program's own, or of nbcoll_mem_alloc, which a rank without bulk data is told of all the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "layout.h"
#include "operation.h"
#include "ranks.h"

enum {
    RANKS = 3,
    OPERATIONS = 60,
    UNDER_WAY = 4,
    MOST = 3000,
    QUOTA = 8 << 20,
    NEITHER = NBCOLL_SHM_NO_CMA | NBCOLL_SHM_NO_BULK
};

struct plan {
    nbcoll_shm_config config;
    uint32_t flags[RANKS];
    uint64_t seed;
};

/* An operation under way. */
struct call {
    nbcoll_request request;
    operation what;
    share own, used; /* its buffers: of malloc, and those that it works with */
};

/* The buffer, or for every other one memory of nbcoll_mem_alloc with the same in it. */
static void *lend(nbcoll_comm *comm, const struct call *c, void *own, int rank, side which, int is_shared)
{
    size_t bytes = extent(&c->what, rank, which, RANKS) * nbcoll_type_size(c->what.how.type);
    void *memory = own;

    if (which == RECV && is_in_place(&c->what, rank) && in_place_side(c->what.what) == SEND && combines(c->what.what))
        bytes = extent(&c->what, rank, SEND, RANKS) * nbcoll_type_size(c->what.how.type);
    if (!own || own == NBCOLL_IN_PLACE || !bytes || !is_shared)
        return own;
    nbcoll_status status = nbcoll_mem_alloc(comm, bytes, &memory);
    if (status == NBCOLL_ERR_UNSUPPORTED) /* this rank has no bulk data itself */
        return own;
    CHECK_STATUS(NBCOLL_OK, status);
    return memcpy(memory, own, bytes);
}

static void start(nbcoll_comm *comm, struct call *c, int rank, uint64_t *random)
{
    c->what = operation_random(random, RANKS, MOST);
    c->own = c->used = share_make(&c->what, rank, RANKS);
    uint64_t shared = random_of(random);
    c->used.send = lend(comm, c, c->own.send, rank, SEND, shared & 1);
    c->used.recv = lend(comm, c, c->own.recv, rank, RECV, shared & 2 ? 1 : 0);
    CHECK_STATUS(NBCOLL_OK, operation_start(&c->what, &c->used, comm, &c->request));
}

static void end(nbcoll_comm *comm, struct call *c, int rank)
{
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&c->request, 10 * SECOND));
    operation_check(&c->what, &c->used, rank, RANKS);
    if (c->used.send != c->own.send)
        CHECK_STATUS(NBCOLL_OK, nbcoll_mem_free(comm, c->used.send));
    if (c->used.recv != c->own.recv)
        CHECK_STATUS(NBCOLL_OK, nbcoll_mem_free(comm, c->used.recv));
    share_free(&c->own);
}

static void run_rank(int rank, void *user)
{
    const struct plan *p = user;
    nbcoll_shm_config config = p->config;
    uint64_t random = p->seed; /* the same on all ranks */
    struct call calls[UNDER_WAY];
    member m;

    config.rank = rank;
    config.flags = p->flags[rank];
    member_join(&m, &config, NULL);
    for (int i = 0; i < OPERATIONS + UNDER_WAY; i++) {
        struct call *c = &calls[i % UNDER_WAY];
        if (i >= UNDER_WAY)
            end(m.comm, c, rank);
        if (i < OPERATIONS)
            start(m.comm, c, rank, &random);
    }
    member_leave(&m);
}

static void run_all(const crew *c)
{
    static const uint32_t flags[][RANKS] = {
        {NEITHER, 0, NEITHER},
        {0, NEITHER, 0},
        {NBCOLL_SHM_NO_BULK, NBCOLL_SHM_NO_PIECES, NBCOLL_SHM_NO_CMA},
        {NBCOLL_SHM_NO_CMA | NBCOLL_SHM_NO_PIECES, 0, NBCOLL_SHM_PIECES},
        {NBCOLL_SHM_NO_STAGING, 0, NBCOLL_SHM_BOTH_SIDES},
    };
    struct plan p = {.seed = seed_of_test()};

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++, p.seed++) {
        p.config = (nbcoll_shm_config){.size = sizeof p.config, .id = fresh_id(), .ranks = RANKS, .quota = QUOTA};
        for (int r = 0; r < RANKS; r++)
            p.flags[r] = flags[i][r];
        crew_succeeds(c, run_rank, &p);
    }
}

static void processes_with_different_flags_end_all_operations(void **state)
{
    (void)state;
    run_all(&PROCESSES_3);
}

static void threads_with_different_flags_end_all_operations(void **state)
{
    (void)state;
    run_all(&CREW(3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_with_different_flags_end_all_operations),
        cmocka_unit_test(threads_with_different_flags_end_all_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
