/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One in ten of many random operations is cancelled somewhere on its way, by one of the ranks, which are processes
 * and threads and run at once (one at a time: test/storm). The others have their values. The memory of each is written
 * over the moment the operation has ended, and freed, or laid as a trap, which the address sanitizer guards, and which
 * must be as it was left a window of operations later. NBCOLL_FULL=1 has twenty seeds.
 */
#include <malloc.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, bytes) ((void)(memory), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(memory, bytes) ((void)(memory), (void)(bytes))
#endif

#include "operation.h"
#include "ranks.h"

enum { RANKS = 4, OPERATIONS = 1000, WINDOW = 12, FEW = 100, SOME = 3000, MANY = 50000, TRAP = 0x5a };

/* Small limits, so that small data crosses them. */
static const nbcoll_context_config contexts = {.size = sizeof contexts, .credits = 3};
static const nbcoll_comm_config limits = {.size = sizeof limits, .slots = 6, .cells = 8, .schedules = 32,
                                          .eager = 256, .large = 4096};

struct plan {
    nbcoll_shm_config config;
    uint64_t seed;
    operation operation[OPERATIONS];
    int victim[OPERATIONS];     /* the rank that cancels it, or -1 */
    atomic_int well, cancelled; /* ends of those with a victim */
};

struct trap {
    unsigned char *memory;
    size_t bytes;
};

struct runner {
    struct plan *plan;
    int rank, started, oldest; /* operations: [oldest, started) may be active */
    uint64_t random;
    member member;
    nbcoll_request request[WINDOW]; /* of operation k at k % WINDOW, as all that follows */
    share share[WINDOW];
    struct trap trap[WINDOW];
};

/* ---- memory that has been lent --------------------------------------------------------------------------------- */

static void trap_spring(struct trap *t)
{
    ASAN_UNPOISON_MEMORY_REGION(t->memory, t->bytes);
    for (size_t i = 0; i < t->bytes; i++)
        CHECK(t->memory[i] == TRAP);
    free(t->memory);
    *t = (struct trap){NULL, 0};
}

/* Writes over a buffer; with `t` it becomes a trap and is kept. What is not is freed, so that the next operation's is
 * likely to lie there. */
static void *spoil(void *memory, struct trap *t)
{
    if (!memory || memory == NBCOLL_IN_PLACE)
        return memory;
    size_t bytes = malloc_usable_size(memory);
    memset(memory, TRAP, bytes);
    if (!t)
        return memory;
    *t = (struct trap){memory, bytes};
    ASAN_POISON_MEMORY_REGION(memory, bytes);
    return NULL;
}

static void take_away(struct runner *me, int k)
{
    share *s = &me->share[k % WINDOW];
    s->send = spoil(s->send, NULL);
    s->recv = spoil(s->recv, k % 2 ? &me->trap[k % WINDOW] : NULL);
    share_free(s);
}

/* ---- a rank ---------------------------------------------------------------------------------------------------- */

static void start(struct runner *me)
{
    int k = me->started++;
    const operation *o = &me->plan->operation[k];

    if (me->trap[k % WINDOW].memory)
        trap_spring(&me->trap[k % WINDOW]);
    me->share[k % WINDOW] = share_make(o, me->rank, RANKS);
    CHECK_STATUS(NBCOLL_OK, operation_start(o, &me->share[k % WINDOW], me->member.comm, &me->request[k % WINDOW]));
}

static void look_at(struct runner *me, int k)
{
    struct plan *p = me->plan;
    nbcoll_request *q = &me->request[k % WINDOW];
    nbcoll_status s;

    if (!q->at)
        return;
    s = random_of(&me->random) % 16 ? nbcoll_test(q) : nbcoll_wait(q, 1000000);
    if (s == NBCOLL_PENDING || s == NBCOLL_ERR_TIMEOUT || s == NBCOLL_ERR_NO_SLOT)
        return;
    if (s == NBCOLL_OK)
        operation_check(&p->operation[k], &me->share[k % WINDOW], me->rank, RANKS);
    else
        CHECK_STATUS(NBCOLL_ERR_CANCELLED, s);
    CHECK(s == NBCOLL_OK || p->victim[k] >= 0);
    if (p->victim[k] >= 0)
        atomic_fetch_add(s == NBCOLL_OK ? &p->well : &p->cancelled, 1);
    take_away(me, k);
    while (me->oldest < me->started && !me->request[me->oldest % WINDOW].at)
        me->oldest++;
}

static void act(struct runner *me)
{
    int k = me->oldest + (int)(random_of(&me->random) % WINDOW);

    switch (random_of(&me->random) % 4) {
    case 0:
        if (me->started < OPERATIONS && me->started < me->oldest + WINDOW)
            start(me);
        break;
    case 1:
        if (k < me->started && me->plan->victim[k] == me->rank && me->request[k % WINDOW].at)
            CHECK_STATUS(NBCOLL_OK, nbcoll_cancel(me->request[k % WINDOW]));
        break;
    case 2:
        sched_yield();
        break;
    default:
        if (k < me->started)
            look_at(me, k);
    }
}

static void run(int rank, void *user)
{
    struct plan *p = user;
    struct runner *me = calloc(1, sizeof *me);
    nbcoll_shm_config config = p->config;
    uint64_t start_at = clock_ns();

    *me = (struct runner){.plan = p, .rank = rank, .random = p->seed + (uint64_t)rank};
    config.rank = rank;
    member_join_limited(&me->member, &config, &contexts, &limits);
    while (me->oldest < OPERATIONS) {
        act(me);
        CHECK(clock_ns() - start_at < (RANKS_SECONDS - 10) * SECOND);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(me->member.comm, 30 * SECOND)); /* others may still need our answers */
    CHECK(nbcoll_comm_active(me->member.comm) == 0);
    for (int i = 0; i < WINDOW; i++)
        if (me->trap[i].memory)
            trap_spring(&me->trap[i]);
    member_leave(&me->member);
    free(me);
}

/* ---- the test -------------------------------------------------------------------------------------------------- */

static void run_plan(const crew *c, nbcoll_shm_config config, uint64_t seed)
{
    struct plan *p = shared_memory(sizeof *p);

    p->seed = seed;
    p->config = config;
    p->config.size = sizeof p->config;
    p->config.ranks = RANKS;
    p->config.id = fresh_id();
    for (int k = 0; k < OPERATIONS; k++) {
        uint64_t dice = random_of(&seed); /* now and then so many that a get takes several looks */
        p->operation[k] = operation_random(&seed, RANKS, dice % 4 ? FEW : dice % 200 ? SOME : MANY);
        p->victim[k] = random_of(&seed) % 10 ? -1 : (int)(random_of(&seed) % RANKS);
    }
    crew_succeeds(c, run, p);
    print_message("of those to be cancelled %d ended well on a rank, %d did not\n", p->well, p->cancelled);
    assert_true(p->cancelled > 0);
    munmap(p, sizeof *p);
}

static void one_in_ten_operations_may_be_cancelled(void **state)
{
    static const crew processes_and_threads = {{1, 2, 1}};
    static const nbcoll_shm_config configs[] = {
        {.flags = 0}, {.flags = NBCOLL_SHM_NO_BULK}, {.depth = 2, .payload = 512}};
    uint64_t seed = seed_of_test();
    (void)state;
    for (int seeds = is_full() ? 20 : 1; seeds; seeds--)
        for (int k = 0; k < 3; k++)
            run_plan(&processes_and_threads, configs[k], random_of(&seed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_in_ten_operations_may_be_cancelled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
