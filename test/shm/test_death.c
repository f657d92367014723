/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that is killed: every survivor learns who it was within a second, also from its sleep, and nothing is left. A
 * rank that leaves is no loss. NBCOLL_FULL=1 kills 1,000.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ranks.h"

enum { ROUNDS = 40, ROUNDS_FULL = 1000, MOST = 40000 };

struct plan {
    nbcoll_shm_config config;
    int victim; /* its process dies */
    int partner; /* a rank of the same process, or the victim again */
    uint64_t seed;
    _Atomic uint64_t death; /* when */
    atomic_int here, known; /* how many survivors have joined, and have noticed */
};

static void die(struct plan *p)
{
    atomic_store(&p->death, clock_ns());
    kill(getpid(), SIGKILL);
}

static nbcoll_status start(const member *m, uint64_t random, int64_t *a, int64_t *b, nbcoll_request *request)
{
    size_t n = random % 3 ? random % 500 : MOST;
    int root = (int)((random >> 20) % (uint64_t)nbcoll_comm_size(m->comm));
    switch (random >> 40 & 3) {
    case 0: return nbcoll_ibarrier(m->comm, request);
    case 1: return nbcoll_ibcast(a, n, NBCOLL_INT64, root, m->comm, request);
    case 2: return nbcoll_ireduce(a, b, n, NBCOLL_INT64, NBCOLL_SUM, root, m->comm, request);
    default: return nbcoll_iallreduce(a, b, n, NBCOLL_INT64, NBCOLL_SUM, m->comm, request);
    }
}

/* Operations until one fails; the victim dies somewhere in one of them. The odd ranks sleep. */
static void work_until_someone_dies(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = p->config;
    uint64_t operations = p->seed, own = p->seed + (uint64_t)rank;
    int64_t *a = calloc(MOST, sizeof *a), *b = calloc(MOST, sizeof *b);
    uint64_t left = random_of(&own) % 1000;
    nbcoll_failure failure;
    nbcoll_status s = NBCOLL_OK;
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    s = nbcoll_barrier(m.comm, 10 * SECOND); /* all have joined when the victim ends it, and goes on to its death */
    while (s == NBCOLL_OK) {
        nbcoll_request request = NBCOLL_REQUEST_NULL;
        s = start(&m, random_of(&operations), a, b, &request);
        while (s == NBCOLL_OK && (s = nbcoll_test(&request)) == NBCOLL_PENDING) {
            if (rank == p->victim && left-- == 0)
                die(p);
            s = rank % 2 && rank != p->victim ? nbcoll_wait(&request, 10 * SECOND) : NBCOLL_OK;
            if (s == NBCOLL_OK && !request.at)
                break;
        }
        if (rank == p->victim && left-- == 0)
            die(p);
    }
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, s);
    CHECK(atomic_load(&p->death));
    rank_in_time(clock_ns() - atomic_load(&p->death), SECOND);
    CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m.context, &failure));
    CHECK(failure.rank == p->victim || failure.rank == p->partner);
    member_leave(&m);
    free(a);
    free(b);
}

/* `of`: the process of the victim. */
static void kill_one(const crew *c, int of, struct plan *p)
{
    int status[RANKS_MOST], before = descriptors(), names = shared_names();

    p->config.size = sizeof p->config;
    p->config.id = fresh_id();
    p->config.ranks = crew_ranks(c);
    atomic_store(&p->death, 0);
    assert_true(crew_run(c, work_until_someone_dies, p, status));
    for (int i = 0; i < crew_processes(c); i++)
        if (i == of)
            assert_true(WIFSIGNALED(status[i]) && WTERMSIG(status[i]) == SIGKILL);
        else
            assert_int_equal(status[i], 0);
    assert_int_equal(descriptors(), before);
    assert_int_equal(shared_names(), names);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie */
    assert_int_equal(errno, ECHILD);
}

static void survivors_name_the_dead_within_a_second(void **state)
{
    static const struct {
        crew c;
        int of, victim, partner;
    } cases[] = {{{{1, 1}}, 1, 1, 1},       {{{1, 1, 1, 1}}, 0, 0, 0},    {{{1, 1, 1, 1}}, 2, 2, 2},
                 {{{1, 3}}, 0, 0, 0},       {{{1, 2, 1}}, 1, 2, 1},       {{{1, 1, 1, 1, 1, 1, 1, 1}}, 5, 5, 5},
                 {{{1, 2, 1, 2}}, 2, 3, 3}, {{{1, 1, 1}}, 2, 2, 2}};
    struct plan *p = shared_memory(sizeof *p);
    uint64_t seed = seed_of_test();
    (void)state;
    for (int round = 0; round < (is_full() ? ROUNDS_FULL : ROUNDS); round++) {
        size_t i = (size_t)round % (sizeof cases / sizeof cases[0]);
        p->victim = cases[i].victim;
        p->partner = cases[i].partner;
        p->seed = random_of(&seed);
        p->config.flags = round / 8 % 3 == 2 ? NBCOLL_SHM_NO_BULK : 0;
        int tries = 0;
        do
            kill_one(&cases[i].c, cases[i].of, p);
        while (crew_was_late(&tries));
    }
    munmap(p, sizeof *p);
}

/* An event loop without a timeout. */
static void sleep_until_someone_dies(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = p->config;
    nbcoll_request request;
    nbcoll_status s;
    struct pollfd fd = {.events = POLLIN};
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND));
    if (rank == p->victim) {
        poll(NULL, 0, 200); /* most likely they sleep then; the test holds anyhow */
        die(p);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_fd(m.context, &fd.fd));
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(m.comm, &request));
    while ((s = nbcoll_test(&request)) == NBCOLL_PENDING)
        if (nbcoll_arm(m.context) == NBCOLL_OK)
            poll(&fd, 1, -1);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, s);
    rank_in_time(clock_ns() - atomic_load(&p->death), SECOND);
    member_leave(&m);
}

static void a_death_wakes_an_event_loop(void **state)
{
    crew three = PROCESSES_3;
    struct plan *p = shared_memory(sizeof *p);
    int status[RANKS_MOST];
    (void)state;
    p->victim = 1;
    int tries = 0;
    do {
        p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = 3};
        assert_true(crew_run(&three, sleep_until_someone_dies, p, status));
        assert_int_equal(status[0], 0);
        assert_int_equal(status[2], 0);
    } while (crew_was_late(&tries));
    munmap(p, sizeof *p);
}

/* Rank 0 waits for data of rank 1, which lives and is elsewhere until rank 0 knows of rank 2. */
static void wait_only_for_the_living(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = p->config;
    nbcoll_failure failure;
    int value = 0;
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND));
    if (rank == 2) {
        while (atomic_load(&p->here) < 2)
            poll(NULL, 0, 1);
        die(p);
    }
    atomic_fetch_add(&p->here, 1);
    while (atomic_load(&p->known) < rank)
        poll(NULL, 0, 1);
    nbcoll_status s = rank == 0 ? nbcoll_bcast(&value, 1, NBCOLL_INT32, 1, m.comm, 10 * SECOND)
                                : nbcoll_barrier(m.comm, 10 * SECOND);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, s);
    if (rank == 0)
        rank_in_time(clock_ns() - atomic_load(&p->death), SECOND);
    CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m.context, &failure));
    CHECK(failure.rank == 2);
    atomic_fetch_add(&p->known, 1);
    while (atomic_load(&p->known) < 2) /* leaving would be another loss */
        poll(NULL, 0, 1);
    member_leave(&m);
}

static void those_that_wait_only_for_the_living_learn_of_it_too(void **state)
{
    static const crew crews[] = {{{1, 1, 1}}, {{2, 1}}};
    struct plan *p = shared_memory(sizeof *p);
    int status[RANKS_MOST];
    (void)state;
    for (int i = 0, tries = 0; i < 2; i += !crew_was_late(&tries)) {
        p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = 3};
        atomic_store(&p->here, 0);
        atomic_store(&p->known, 0);
        assert_true(crew_run(&crews[i], wait_only_for_the_living, p, status));
        for (int k = 0; k < crew_processes(&crews[i]) - 1; k++)
            assert_int_equal(status[k], 0);
    }
    munmap(p, sizeof *p);
}

static void open_end(const struct plan *p, int rank, nbcoll_endpoint **out)
{
    nbcoll_shm_config config = p->config;
    config.rank = rank;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, out));
}

static void talk_to_one_who_dies(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_header header = {{0}};
    nbcoll_work work = {0};
    nbcoll_endpoint *ep;
    int lost = 0;

    open_end(p, rank, &ep);
    if (rank == 1)
        die(p);
    while (!lost) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        ep->transport->progress(ep, &found);
        CHECK(found.lost == -1 || found.lost == 1);
        lost = found.lost == 1;
    }
    for (int i = 0; i < 1000; i++) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        ep->transport->progress(ep, &found);
        CHECK(found.lost == -1); /* said once */
    }
    CHECK(ep->transport->post(ep, 1, &header, NULL, 0, &work) == NBCOLL_POST_LOST);
    CHECK(ep->transport->post(ep, 0, &header, NULL, 0, &work) == NBCOLL_POST_DONE);
    nbcoll_endpoint_close(ep);
}

static void a_post_to_the_dead_says_lost(void **state)
{
    crew two = PROCESSES_2;
    struct plan *p = shared_memory(sizeof *p);
    int status[RANKS_MOST];
    (void)state;
    p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = 2};
    assert_true(crew_run(&two, talk_to_one_who_dies, p, status));
    assert_int_equal(status[0], 0);
    munmap(p, sizeof *p);
}

/* Rank 2 posts one message, closes and exits; that is delivered, and is no loss; nor do posts to it fail, though its
 * ring is full. */
static void talk_after_one_has_left(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_header header = {{42}};
    nbcoll_work work = {0};
    nbcoll_endpoint *ep;
    int came = 0, left = 0;

    open_end(p, rank, &ep);
    if (rank == 2) {
        CHECK(ep->transport->post(ep, 0, &header, NULL, 0, &work) == NBCOLL_POST_DONE);
        CHECK(ep->transport->post(ep, 1, &header, NULL, 0, &work) == NBCOLL_POST_DONE);
        nbcoll_endpoint_close(ep);
        return;
    }
    for (uint64_t start_at = clock_ns(); clock_ns() - start_at < SECOND / 2 || !came;) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        ep->transport->progress(ep, &found);
        CHECK(found.lost == -1);
        for (const nbcoll_arrival *a = found.arrived; a; a = a->next) {
            CHECK(a->source == 2 && a->header.word[0] == 42);
            came++;
        }
        if (found.departed == 2) {
            CHECK(came == 1);
            left++;
        }
    }
    CHECK(came == 1 && left == 1);
    for (int i = 0; i < 10000; i++)
        CHECK(ep->transport->post(ep, 2, &header, NULL, 0, &work) == NBCOLL_POST_DONE);
    nbcoll_endpoint_close(ep);
}

static void leaving_is_not_dying(void **state)
{
    crew three = PROCESSES_3;
    struct plan *p = shared_memory(sizeof *p);
    (void)state;
    p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = 3};
    crew_succeeds(&three, talk_after_one_has_left, p);
    munmap(p, sizeof *p);
}

/* Rank 2 dies, and rank 1 leaves because of that. Rank 0, which knows nothing yet, hears of rank 2 first. */
static void talk_to_one_who_left_for_a_death(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_header header = {{0}};
    nbcoll_work work = {0};
    nbcoll_endpoint *ep;
    nbcoll_completions found;

    open_end(p, rank, &ep);
    if (rank == 2)
        die(p);
    while (rank == 0 && !atomic_load(&p->known))
        poll(NULL, 0, 1);
    for (int i = 0; rank == 0 && i < 100; i++) /* more than its ring holds */
        CHECK(ep->transport->post(ep, 1, &header, NULL, 0, &work) == NBCOLL_POST_DONE);
    do {
        found = (nbcoll_completions)NBCOLL_COMPLETIONS_EMPTY;
        ep->transport->progress(ep, &found);
        CHECK(found.departed < 0);
    } while (found.lost < 0);
    CHECK(found.lost == 2);
    while (rank == 0 && found.departed < 0) {
        found = (nbcoll_completions)NBCOLL_COMPLETIONS_EMPTY;
        ep->transport->progress(ep, &found);
        CHECK(found.lost < 0);
    }
    CHECK(rank || found.departed == 1);
    nbcoll_endpoint_close(ep);
    atomic_fetch_add(&p->known, 1);
}

static void who_left_for_a_death_is_not_named_before_the_dead(void **state)
{
    crew three = PROCESSES_3;
    struct plan *p = shared_memory(sizeof *p);
    int status[RANKS_MOST];
    (void)state;
    p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = 3, .depth = 4};
    assert_true(crew_run(&three, talk_to_one_who_left_for_a_death, p, status));
    assert_int_equal(status[0], 0);
    assert_int_equal(status[1], 0);
    munmap(p, sizeof *p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survivors_name_the_dead_within_a_second),
        cmocka_unit_test(those_that_wait_only_for_the_living_learn_of_it_too),
        cmocka_unit_test(a_death_wakes_an_event_loop),
        cmocka_unit_test(a_post_to_the_dead_says_lost),
        cmocka_unit_test(leaving_is_not_dying),
        cmocka_unit_test(who_left_for_a_death_is_not_named_before_the_dead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
