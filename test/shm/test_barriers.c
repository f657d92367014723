/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who pays for a wake-up: where all ranks take part in the system's barriers, the sleeper makes one; where one of them
 * cannot, nobody does. Either way no wake-up is lost.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ranks.h"

enum { ROUNDS = 2000 };

struct plan {
    nbcoll_shm_config config;
    int refused; /* the rank whose system refuses to register; -1: none */
};

/* From now on membarrier with that command does `action`. */
static bool filter(uint32_t command, uint32_t action)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, command, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static nbcoll_endpoint *open_end(const struct plan *p, int rank)
{
    nbcoll_shm_config config = p->config;
    nbcoll_endpoint *ep = NULL;

    config.rank = rank;
    if (rank == p->refused)
        CHECK(filter(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, SECCOMP_RET_ERRNO | EPERM));
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &ep));
    return ep;
}

/* Asleep until a line has come; what is missed is missed for good. */
static void await_line(nbcoll_endpoint *ep, uint64_t turn)
{
    for (;;) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        ep->transport->progress(ep, &found);
        if (found.lines) {
            CHECK(found.lines->turn == turn && !found.lines->next);
            return;
        }
        if (ep->transport->wakeup->arm(ep) == NBCOLL_OK) {
            struct pollfd fd = {ep->transport->wakeup->fd(ep), POLLIN, 0};
            CHECK(poll(&fd, 1, 20000) == 1);
        }
    }
}

static void hand_a_line_to_and_fro(nbcoll_endpoint *ep)
{
    const nbcoll_lines *lines = ep->transport->lines;

    for (uint64_t turn = 1; turn <= ROUNDS; turn++) {
        if (ep->rank == 0)
            CHECK(lines->post(ep, 1, 0, turn, NULL, 0) == NBCOLL_POST_DONE);
        await_line(ep, turn);
        if (ep->rank == 1)
            CHECK(lines->post(ep, 0, 0, turn, NULL, 0) == NBCOLL_POST_DONE);
    }
}

static void play(int rank, void *user)
{
    nbcoll_endpoint *ep = open_end(user, rank);
    hand_a_line_to_and_fro(ep);
    nbcoll_endpoint_close(ep);
}

static bool can_filter(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(!filter(UINT32_MAX, SECCOMP_RET_ALLOW));
    return waitpid(child, &status, 0) == child && status == 0;
}

static struct plan plan_of(int refused)
{
    struct plan p = {{.size = sizeof p.config, .id = fresh_id(), .ranks = 2}, refused};
    if (!can_filter())
        skip();
    return p;
}

static void no_wake_up_is_lost_whoever_pays(void **state)
{
    crew two = PROCESSES_2;
    (void)state;
    for (int refused = -1; refused < 2; refused++) {
        struct plan p = plan_of(refused);
        crew_succeeds(&two, play, &p);
    }
}

static void play_without_barriers(int rank, void *user)
{
    nbcoll_endpoint *ep = open_end(user, rank);
    CHECK(filter(MEMBARRIER_CMD_GLOBAL_EXPEDITED, SECCOMP_RET_KILL_PROCESS));
    hand_a_line_to_and_fro(ep);
    nbcoll_endpoint_close(ep);
}

static void where_one_rank_cannot_nobody_makes_barriers(void **state)
{
    crew two = PROCESSES_2;
    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        struct plan p = plan_of(refused);
        crew_succeeds(&two, play_without_barriers, &p);
    }
}

/* Its barrier fails: it may not sleep, since a post could go unseen. Nothing comes before rank 0 has posted. */
static void arm_without_a_barrier(int rank, void *user)
{
    nbcoll_endpoint *ep = open_end(user, rank);

    if (rank == 0)
        CHECK(filter(MEMBARRIER_CMD_GLOBAL_EXPEDITED, SECCOMP_RET_ERRNO | EPERM));
    for (int i = 0; rank == 0 && i < 10; i++) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        ep->transport->progress(ep, &found);
        CHECK_STATUS(NBCOLL_AGAIN, ep->transport->wakeup->arm(ep));
    }
    hand_a_line_to_and_fro(ep);
    nbcoll_endpoint_close(ep);
}

static void a_sleeper_that_cannot_make_its_barrier_stays_awake(void **state)
{
    crew two = PROCESSES_2;
    struct plan p = plan_of(-1);
    (void)state;
#ifdef __SANITIZE_THREAD__ /* which does not know of such barriers: none are made */
    skip();
#endif
    if (cores() < 2 || syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0)
        skip(); /* none are made where ranks share a core, either */
    crew_succeeds(&two, arm_without_a_barrier, &p);
}

/* Rank 1's memory, and that it may go. */
struct lending {
    struct plan plan;
    nbcoll_key key;
    _Atomic int is_lent, is_over;
};

enum { IN_FLIGHT = 1 << 20, ARMS = 50 };

/* It is stopped, as it were: rank 0 gets nothing. Each barrier would stop the core of an owner that copies. */
static void get_without_barriers(int rank, void *user)
{
    struct lending *l = user;
    static unsigned char memory[IN_FLIGHT];
    nbcoll_endpoint *ep = open_end(&l->plan, rank);
    const nbcoll_bulk *bulk = ep->transport->bulk;
    nbcoll_work work = {0};

    if (rank == 1) {
        nbcoll_registration lent;
        CHECK_STATUS(NBCOLL_OK, bulk->register_memory(ep, 0, memory, IN_FLIGHT, NBCOLL_PEER_READS, &lent));
        l->key = lent.key;
        atomic_store(&l->is_lent, 1);
        while (!atomic_load(&l->is_over))
            sched_yield();
    } else {
        while (!atomic_load(&l->is_lent))
            sched_yield();
        CHECK(bulk->get(ep, 1, &l->key, 0, NULL, memory, IN_FLIGHT, &work) == NBCOLL_POST_IN_FLIGHT);
        CHECK(filter(MEMBARRIER_CMD_GLOBAL_EXPEDITED, SECCOMP_RET_KILL_PROCESS));
        for (int i = 0; i < ARMS; i++) {
            nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
            ep->transport->progress(ep, &found);
            CHECK_STATUS(NBCOLL_AGAIN, ep->transport->wakeup->arm(ep));
        }
        ep->transport->cancel(ep, &work);
        atomic_store(&l->is_over, 1);
    }
    nbcoll_endpoint_close(ep);
}

static void who_waits_for_pieces_that_are_near_makes_no_barrier(void **state)
{
    crew two = PROCESSES_2;
    struct lending *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)state;
    l->plan = plan_of(-1);
    l->plan.config.flags = NBCOLL_SHM_PIECES | NBCOLL_SHM_NO_CMA;
    crew_succeeds(&two, get_without_barriers, l);
    munmap(l, sizeof *l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_wake_up_is_lost_whoever_pays),
        cmocka_unit_test(where_one_rank_cannot_nobody_makes_barriers),
        cmocka_unit_test(a_sleeper_that_cannot_make_its_barrier_stays_awake),
        cmocka_unit_test(who_waits_for_pieces_that_are_near_makes_no_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
