/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Large data in pieces: owners that are late, give up or die; receivers that cancel or die; a pool that is too small
 * for all at once. Where an order matters, the ranks are opened by threads and then stepped by one.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ranks.h"
#include "../../transports/shm/shm.h"

enum { MOST = 4, BYTES = 1000003, STEPS = 20000, FEW = 40 };

static unsigned char byte(int rank, size_t i)
{
    return (unsigned char)(i * 31 + i / 4096 + (size_t)rank * 77);
}

static unsigned char *filled(int rank)
{
    unsigned char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < BYTES; i++)
        memory[i] = byte(rank, i);
    return memory;
}

static bool is_whole(const unsigned char *to, int rank, size_t offset, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (to[i] != byte(rank, offset + i))
            return false;
    return true;
}

/* ---- ranks that are stepped -------------------------------------------------------------------------------------- */

/* Rank 0 gets from the others. */
struct world {
    int ranks;
    nbcoll_endpoint *end[MOST];
    unsigned char *from[MOST], *to[MOST];
    nbcoll_key key[MOST];
    nbcoll_work work[MOST];
    int done; /* gets that came back in all */
};

struct opening {
    nbcoll_shm_config config;
    nbcoll_endpoint **end;
    bool bound;
};

static void *open_one(void *user)
{
    struct opening *o = user;
    cpu_set_t first;

    CPU_ZERO(&first);
    CPU_SET(0, &first);
    if (o->bound)
        sched_setaffinity(0, sizeof first, &first);
    assert_int_equal(nbcoll_shm_open(&o->config, o->end), NBCOLL_OK);
    return NULL;
}

static void world_open(struct world *w, int ranks, uint32_t flags, size_t pool, bool bound)
{
    struct opening o[MOST];
    pthread_t thread[MOST];
    nbcoll_shm_id id = fresh_id();

    *w = (struct world){.ranks = ranks};
    for (int r = 0; r < ranks; r++) {
        o[r] = (struct opening){{.size = sizeof o[r].config, .id = id, .rank = r, .ranks = ranks, .flags = flags,
                                 .pool = pool}, &w->end[r], bound};
        assert_int_equal(pthread_create(&thread[r], NULL, open_one, &o[r]), 0);
    }
    for (int r = 0; r < ranks; r++)
        pthread_join(thread[r], NULL);
    for (int r = 1; r < ranks; r++) {
        nbcoll_registration lent;
        w->from[r] = filled(r);
        w->to[r] = calloc(1, BYTES);
        assert_int_equal(w->end[r]->transport->bulk->register_memory(w->end[r], 0, w->from[r], BYTES,
                                                                     NBCOLL_PEER_READS, &lent), NBCOLL_OK);
        w->key[r] = lent.key;
    }
}

static void world_close(struct world *w)
{
    for (int r = 0; r < w->ranks; r++) {
        nbcoll_endpoint_close(w->end[r]);
        if (w->from[r])
            munmap(w->from[r], BYTES);
        free(w->to[r]);
    }
}

static void world_get(struct world *w, int from)
{
    const nbcoll_bulk *bulk = w->end[0]->transport->bulk;
    w->work[from].status = NBCOLL_PENDING;
    assert_int_equal(bulk->get(w->end[0], from, &w->key[from], 0, NULL, w->to[from], BYTES, &w->work[from]),
                     NBCOLL_POST_IN_FLIGHT);
}

/* One progress; what comes back to rank 0 shows in the work requests. */
static void step(struct world *w, int rank)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
    w->end[rank]->transport->progress(w->end[rank], &found);
    for (nbcoll_work *work = found.completed; work; work = work->next)
        w->done++;
}

/* Has the get ended well, within so many steps of its two ranks, or of rank 0 alone? */
static bool ends_well(struct world *w, int from, bool with_owner, int steps)
{
    for (int i = 0; i < steps && w->work[from].status == NBCOLL_PENDING; i++) {
        if (with_owner)
            step(w, from);
        step(w, 0);
    }
    return w->work[from].status == NBCOLL_OK && is_whole(w->to[from], from, 0, BYTES);
}

static void close_pending(struct world *w, int from)
{
    w->end[0]->transport->cancel(w->end[0], &w->work[from]);
    step(w, 0);
    assert_int_equal(w->work[from].status, NBCOLL_ERR_CANCELLED);
}

static void an_owner_that_comes_late_is_read_without_it_where_that_is_allowed(void **state)
{
    struct world w;
    (void)state;
    world_open(&w, 2, NBCOLL_SHM_PIECES, 0, false);
    world_get(&w, 1);
    assert_true(ends_well(&w, 1, false, 100 * STEPS));
    for (int i = 0; i < FEW; i++)
        step(&w, 1);
    world_close(&w);
}

static void an_owner_that_comes_late_is_waited_for_elsewhere(void **state)
{
    struct world w;
    (void)state;
    world_open(&w, 2, NBCOLL_SHM_PIECES | NBCOLL_SHM_NO_CMA, 0, false);
    world_get(&w, 1);
    assert_false(ends_well(&w, 1, false, FEW));
    assert_true(ends_well(&w, 1, true, STEPS));
    assert_int_equal(w.done, 1);
    world_close(&w);
}

/* The last piece is read by the receiver, wherever the owner stops. */
static void owner_and_receiver_meet_anywhere(void **state)
{
    static const uint32_t flags[] = {NBCOLL_SHM_PIECES, NBCOLL_SHM_BOTH_SIDES};
    (void)state;
    for (int i = 0; i < 2 * 8; i++) {
        struct world w;
        world_open(&w, 2, flags[i % 2], 0, false);
        world_get(&w, 1);
        for (int k = 0; k < i / 2; k++) {
            step(&w, 1);
            step(&w, 0);
        }
        assert_true(ends_well(&w, 1, false, 100 * STEPS));
        assert_int_equal(w.done, 1);
        world_close(&w);
    }
}

/* If the owner still copied, or the receiver still read, they would find no memory there. */
static void a_cancelled_get_moves_nothing_more(void **state)
{
    (void)state;
    for (int steps = 0; steps < 6; steps++) {
        struct world w;
        world_open(&w, 2, NBCOLL_SHM_PIECES | NBCOLL_SHM_NO_CMA, 0, false);
        world_get(&w, 1);
        for (int i = 0; i < steps; i++)
            step(&w, i % 2);
        close_pending(&w, 1);
        munmap(w.from[1], BYTES);
        memset(w.to[1], 0, BYTES);
        for (int i = 0; i < FEW; i++)
            step(&w, i % 2);
        for (size_t i = 0; i < BYTES; i++)
            assert_int_equal(w.to[1][i], 0);
        w.from[1] = NULL;
        world_close(&w);
    }
}

static void who_gives_a_receiver_up_copies_nothing_more_for_it(void **state)
{
    (void)state;
    for (int steps = 0; steps < 6; steps++) {
        struct world w;
        world_open(&w, 2, NBCOLL_SHM_PIECES, 0, false);
        world_get(&w, 1);
        for (int i = 0; i < steps; i++)
            step(&w, i % 2);
        w.end[1]->transport->give_up(w.end[1], 0);
        munmap(w.from[1], BYTES);
        assert_false(ends_well(&w, 1, true, FEW));
        assert_int_equal(w.work[1].status, NBCOLL_PENDING);
        close_pending(&w, 1);
        w.from[1] = NULL;
        world_close(&w);
    }
}

/* One window: who is late loses it to those that wait. */
static void a_late_owner_keeps_no_window_that_others_wait_for(void **state)
{
    struct world w;
    (void)state;
    world_open(&w, 4, NBCOLL_SHM_PIECES | NBCOLL_SHM_NO_CMA, 32768, false);
    for (int r = 1; r < 4; r++)
        world_get(&w, r);
    assert_true(ends_well(&w, 2, true, 100 * STEPS));
    assert_true(ends_well(&w, 3, true, 100 * STEPS));
    assert_int_equal(w.work[1].status, NBCOLL_PENDING);
    assert_true(ends_well(&w, 1, true, 100 * STEPS));
    assert_int_equal(w.done, 3);
    world_close(&w);
}

static void a_get_waits_asleep_for_its_owner_and_an_owner_for_its_receiver(void **state)
{
    struct world w;
    int armed[2] = {0};
    (void)state;
    world_open(&w, 2, NBCOLL_SHM_PIECES | NBCOLL_SHM_NO_CMA, 0, false);
    world_get(&w, 1);
    for (int round = 0; round < 3; round++)
        for (int r = 0; r < 2; r++) { /* each as far as it goes alone, until it can sleep */
            const nbcoll_wakeup *wakeup = w.end[r]->transport->wakeup;
            nbcoll_status s = NBCOLL_AGAIN;
            for (int i = 0; i < STEPS && s == NBCOLL_AGAIN; i++) {
                step(&w, r);
                s = wakeup->arm(w.end[r]);
            }
            armed[r] += s == NBCOLL_OK;
            struct pollfd other = {wakeup->fd(w.end[!r]), POLLIN, 0};
            assert_int_equal(poll(&other, 1, 0), armed[!r] > 0);
        }
    assert_int_equal(armed[0] + armed[1], 6);
    assert_true(ends_well(&w, 1, true, STEPS));
    world_close(&w);
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static void ranks_that_share_a_core_use_smaller_pieces(void **state)
{
    (void)state;
    for (int bound = 0; bound < 2; bound++) {
        struct world w;
        world_open(&w, 2, NBCOLL_SHM_PIECES, 0, bound);
        world_get(&w, 1);
        size_t piece = nbcolli_shm_end(w.end[0])->transfer[0].piece;
        assert_int_equal(piece, bound || cores() < 2 ? 16384 : 32768);
        close_pending(&w, 1);
        world_close(&w);
    }
}

static void the_segment_of_any_number_of_ranks_is_small(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= NBCOLL_SHM_RANKS; ranks++) {
        nbcoll_shm_config c = {.size = sizeof c, .ranks = ranks};
        struct nbcolli_shm_layout l;
        assert_int_equal(nbcolli_shm_layout(&c, &l), NBCOLL_OK);
        assert_true(l.bytes <= (size_t)512 << 20);
        assert_true(l.pool >= 32768 && l.pool <= (size_t)1 << 20 && l.pool == l.windows * l.window);
        assert_true(ranks > 160 || l.pool == (size_t)1 << 20);
    }
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

struct plan {
    nbcoll_shm_config config;
    int dies;
    nbcoll_key *key; /* of each rank's memory, shared */
};

static void progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    *found = (nbcoll_completions)NBCOLL_COMPLETIONS_EMPTY;
    ep->transport->progress(ep, found);
}

static void tell(nbcoll_endpoint *ep, int peer)
{
    nbcoll_header header = {{0}};
    nbcoll_work work = {0};
    ep->transport->post(ep, peer, &header, NULL, 0, &work); /* to the dead, too */
}

/* Is inside the library until rank 0 has said so, or is lost. One that dies does so in the middle. */
static void own(nbcoll_endpoint *ep, const struct plan *p)
{
    nbcoll_completions found;
    nbcoll_registration lent;
    unsigned char *memory = filled(ep->rank);

    CHECK_STATUS(NBCOLL_OK, ep->transport->bulk->register_memory(ep, 0, memory, BYTES, NBCOLL_PEER_READS, &lent));
    p->key[ep->rank] = lent.key;
    tell(ep, 0);
    do {
        progress(ep, &found);
        if (ep->rank == p->dies && nbcolli_shm_end(ep)->serving[0])
            kill(getpid(), SIGKILL);
    } while (!found.arrived && found.lost != 0);
    if (ep->rank == p->dies) /* it never came to serve: rank 0 has read all itself */
        kill(getpid(), SIGKILL);
    munmap(memory, BYTES);
    for (int i = 0; i < FEW; i++)
        progress(ep, &found);
}

/* Gets from all others at once, several times. */
static void take_all(nbcoll_endpoint *ep, const struct plan *p)
{
    static const size_t offsets[] = {0, 1, 500000}, lengths[] = {BYTES, BYTES - 1, 8192};
    nbcoll_work work[MOST];
    unsigned char *to = malloc((size_t)ep->ranks * BYTES);
    nbcoll_completions found;
    int others = ep->ranks - 1;

    for (int come = 0; come < others;) {
        progress(ep, &found);
        for (nbcoll_arrival *a = found.arrived; a; a = a->next)
            come++;
    }
    for (int round = 0; round < 9; round++) {
        size_t offset = offsets[round % 3], bytes = lengths[round % 3];
        int back = 0;
        for (int r = 1; r <= others; r++) {
            nbcoll_posted posted = ep->transport->bulk->get(ep, r, &p->key[r], offset, NULL, to + (size_t)r * BYTES,
                                                            bytes, &work[r]);
            CHECK(posted == NBCOLL_POST_IN_FLIGHT || posted == NBCOLL_POST_DONE || (r == p->dies && round));
            if (posted != NBCOLL_POST_IN_FLIGHT)
                work[r].status = posted == NBCOLL_POST_DONE ? NBCOLL_OK : NBCOLL_ERR_PEER_LOST;
            back += posted != NBCOLL_POST_IN_FLIGHT;
        }
        while (back < others) {
            progress(ep, &found);
            for (nbcoll_work *w = found.completed; w; w = w->next)
                back++;
            if (p->dies == 0 && nbcolli_shm_end(ep)->copied)
                kill(getpid(), SIGKILL);
        }
        for (int r = 1; r <= others; r++) {
            /* where rank 0 reads itself, it may have all before the owner dies */
            bool may_be_lost = r == p->dies, may_be_good = !may_be_lost || !(p->config.flags & NBCOLL_SHM_NO_CMA);
            CHECK((may_be_lost && work[r].status == NBCOLL_ERR_PEER_LOST) ||
                  (may_be_good && work[r].status == NBCOLL_OK));
            CHECK(r == p->dies || is_whole(to + (size_t)r * BYTES, r, offset, bytes));
        }
    }
    for (int r = 1; r <= others; r++)
        tell(ep, r);
    free(to);
}

static void take_part(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = p->config;
    nbcoll_endpoint *ep;

    config.rank = rank;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &ep));
    if (rank == 0)
        take_all(ep, p);
    else
        own(ep, p);
    nbcoll_endpoint_close(ep);
}

static void run(uint32_t flags, size_t pool, int dies)
{
    struct plan p = {{.size = sizeof p.config, .id = fresh_id(), .ranks = MOST, .flags = flags, .pool = pool}, dies,
                     shared_memory(MOST * sizeof(nbcoll_key))};
    crew four = CREW(1, 1, 1, 1);
    int status[MOST];

    assert_true(crew_run(&four, take_part, &p, status));
    for (int r = 0; r < MOST; r++)
        if (r == dies)
            assert_true(WIFSIGNALED(status[r]) && WTERMSIG(status[r]) == SIGKILL);
        else
            assert_int_equal(status[r], 0);
    munmap(p.key, MOST * sizeof(nbcoll_key));
}

static void every_path_brings_the_same_bytes(void **state)
{
    static const uint32_t flags[] = {0, NBCOLL_SHM_NO_CMA, NBCOLL_SHM_NO_PIECES, NBCOLL_SHM_PIECES,
                                     NBCOLL_SHM_BOTH_SIDES};
    (void)state;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        run(flags[i], 0, -1);
}

static void a_pool_too_small_for_all_senders_serves_them_by_turns(void **state)
{
    (void)state;
    run(NBCOLL_SHM_NO_CMA, 32768, -1);
    run(NBCOLL_SHM_PIECES, 32768, -1);
}

static void the_death_of_an_owner_ends_its_transfers_alone(void **state)
{
    (void)state;
    run(NBCOLL_SHM_NO_CMA, 0, 2);
    run(NBCOLL_SHM_NO_CMA, 32768, 1);
    run(NBCOLL_SHM_BOTH_SIDES, 0, 3);
}

static void the_death_of_a_receiver_frees_the_owners(void **state)
{
    (void)state;
    run(NBCOLL_SHM_NO_CMA, 0, 0);
    run(NBCOLL_SHM_BOTH_SIDES, 32768, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_that_comes_late_is_read_without_it_where_that_is_allowed),
        cmocka_unit_test(an_owner_that_comes_late_is_waited_for_elsewhere),
        cmocka_unit_test(owner_and_receiver_meet_anywhere),
        cmocka_unit_test(a_cancelled_get_moves_nothing_more),
        cmocka_unit_test(who_gives_a_receiver_up_copies_nothing_more_for_it),
        cmocka_unit_test(a_late_owner_keeps_no_window_that_others_wait_for),
        cmocka_unit_test(a_get_waits_asleep_for_its_owner_and_an_owner_for_its_receiver),
        cmocka_unit_test(ranks_that_share_a_core_use_smaller_pieces),
        cmocka_unit_test(the_segment_of_any_number_of_ranks_is_small),
        cmocka_unit_test(every_path_brings_the_same_bytes),
        cmocka_unit_test(a_pool_too_small_for_all_senders_serves_them_by_turns),
        cmocka_unit_test(the_death_of_an_owner_ends_its_transfers_alone),
        cmocka_unit_test(the_death_of_a_receiver_frees_the_owners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
