/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank whose process becomes another program by exec: what that has in its memory is nobody's data, and the others
 * learn who it was within a second, however data moves, also from their sleep. A child that a rank forks, and that
 * calls exec, disturbs nobody. The program that follows by exec has other bytes wherever the rank had memory: it is
 * this one, linked to fixed addresses, and maps what else there was.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ranks.h"

enum { BYTES = 16 << 20, OLD = 0x11, NEW = 0x55, VICTIM = 1, RANKS = 3, MAPPINGS = 200 };

#if defined __SANITIZE_THREAD__
#define MAPS_MORE false /* this sanitizer stands no mappings where it did not expect them */
#elif defined __has_feature
#define MAPS_MORE (!__has_feature(thread_sanitizer))
#else
#define MAPS_MORE true
#endif

static unsigned char data[BYTES];

struct plan {
    nbcoll_shm_config config;
    int delay_us;            /* from the start of the broadcast to exec */
    bool is_idle;            /* the victim has started nothing */
    int pipe[2];             /* the time comes when it is another program */
    _Atomic int pid;         /* of the victim */
    _Atomic int here, known; /* ranks that have joined; survivors that have noticed */
};

/* What the victim becomes: it fills its memory, says so, and stays until it is killed. */
static int other_program(char *argv[])
{
    memset(data, NEW, sizeof data);
    for (char **at = argv + 2; MAPS_MORE && *at; at++) {
        unsigned long from, to;
        if (sscanf(*at, "%lx-%lx", &from, &to) != 2)
            return 1;
        void *memory = mmap((void *)from, to - from, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (memory != MAP_FAILED)
            memset(memory, NEW, to - from);
    }
    uint64_t now = clock_ns();
    if (write(atoi(argv[1]), &now, sizeof now) != sizeof now)
        return 1;
    for (;;)
        pause();
}

/* The writable memory that comes from no file, as in "7f0000000000-7f0000001000". */
static void find_mappings(char *argv[], char text[][40])
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long from, to;
    char line[500];
    int n = 0;

    while (n < MAPPINGS && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx rw-p 00000000 00:00 0", &from, &to) == 2 && !strchr(line, '[') &&
            strstr(line, "rw-p 00000000 00:00 0") && to - from <= BYTES) {
            snprintf(text[n], sizeof text[n], "%lx-%lx", from, to);
            argv[n] = text[n];
            n++;
        }
    fclose(maps);
    argv[n] = NULL;
}

static void become_another(struct plan *p)
{
    static char text[MAPPINGS][40];
    char fd[20], *argv[2 + MAPPINGS + 1] = {(char *)(uintptr_t) "other", fd};

    snprintf(fd, sizeof fd, "%d", p->pipe[1]);
    find_mappings(argv + 2, text);
    atomic_store(&p->pid, getpid());
    execv("/proc/self/exe", argv);
    CHECK(!"exec");
}

/* Returns when. */
static uint64_t await_other(const struct plan *p)
{
    uint64_t time;
    CHECK(read(p->pipe[0], &time, sizeof time) == sizeof time);
    CHECK(write(p->pipe[1], &time, sizeof time) == sizeof time); /* for the other survivors */
    return time;
}

static void victim_is_lost(const struct plan *p, const member *m, nbcoll_status s)
{
    uint64_t now = clock_ns();
    nbcoll_failure failure;
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, s);
    uint64_t since = await_other(p);
    rank_in_time(now > since ? now - since : 0, SECOND);
    CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m->context, &failure));
    CHECK(failure.rank == VICTIM);
}

/* The last of the survivors ends the other program. */
static void survive(struct plan *p, member *m)
{
    member_leave(m);
    if (atomic_fetch_add(&p->known, 1) == RANKS - 2)
        CHECK(kill(atomic_load(&p->pid), SIGKILL) == 0);
}

static void join(struct plan *p, int rank, member *m)
{
    nbcoll_shm_config config = p->config;
    config.rank = rank;
    member_join(m, &config, NULL);
    memset(data, rank == VICTIM ? OLD : 0, sizeof data);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m->comm, 10 * SECOND));
    atomic_fetch_add(&p->here, 1);
    while (rank == VICTIM && atomic_load(&p->here) < RANKS)
        nbcoll_progress(m->context);
}

static void run_once(void (*main)(int rank, void *user), nbcoll_shm_config config, int delay_us, bool is_idle)
{
    crew three = PROCESSES_3;
    struct plan *p = shared_memory(sizeof *p);
    int status[RANKS_MOST];
    p->config = config;
    p->config.size = sizeof p->config;
    p->config.id = fresh_id();
    p->config.ranks = RANKS;
    p->delay_us = delay_us;
    p->is_idle = is_idle;
    assert_int_equal(pipe(p->pipe), 0);
    assert_true(crew_run(&three, main, p, status));
    assert_int_equal(status[0], 0);
    assert_true(WIFSIGNALED(status[VICTIM]) && WTERMSIG(status[VICTIM]) == SIGKILL);
    assert_int_equal(status[2], 0);
    close(p->pipe[0]);
    close(p->pipe[1]);
    munmap(p, sizeof *p);
}

static void run(void (*main)(int rank, void *user), nbcoll_shm_config config, int delay_us, bool is_idle)
{
    int tries = 0;
    do
        run_once(main, config, delay_us, is_idle);
    while (crew_was_late(&tries));
}

/* ---- the memory ------------------------------------------------------------------------------------------------ */

/* The victim exposes its data and calls exec; the others go to read what is there then. */
static void read_after_exec(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_request request = NBCOLL_REQUEST_NULL;
    member m;

    join(p, rank, &m);
    if (rank == VICTIM) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(data, BYTES, NBCOLL_BYTE, VICTIM, m.comm, &request));
        become_another(p);
    }
    await_other(p);
    victim_is_lost(p, &m, nbcoll_bcast(data, BYTES, NBCOLL_BYTE, VICTIM, m.comm, 10 * SECOND));
    survive(p, &m);
}

static void memory_of_another_program_is_not_read(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++)
        run(read_after_exec, (nbcoll_shm_config){.flags = 0}, 0, false);
}

/* The others are reading already. What is there in time is good. */
static void read_during_exec(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_request request = NBCOLL_REQUEST_NULL;
    member m;

    join(p, rank, &m);
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(data, BYTES, NBCOLL_BYTE, VICTIM, m.comm, &request));
    for (uint64_t start = clock_ns(); rank == VICTIM && clock_ns() - start < (uint64_t)p->delay_us * 1000;)
        CHECK(!request.at || nbcoll_test(&request) <= NBCOLL_PENDING);
    if (rank == VICTIM)
        become_another(p);
    nbcoll_status s = nbcoll_wait(&request, 10 * SECOND);
    if (s != NBCOLL_OK)
        victim_is_lost(p, &m, s);
    for (size_t i = 0; s == NBCOLL_OK && i < BYTES; i++)
        CHECK(data[i] == OLD);
    await_other(p);
    survive(p, &m);
}

static void an_exec_while_others_read_gives_no_wrong_bytes(void **state)
{
    (void)state;
    for (int round = 0; round < 8; round++)
        run(read_during_exec, (nbcoll_shm_config){.flags = 0}, round * 500, false);
}

/* ---- being found ----------------------------------------------------------------------------------------------- */

/* The others sleep: in a barrier, or in the broadcast that the victim has begun. */
static void sleep_until_exec(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_request request = NBCOLL_REQUEST_NULL;
    member m;

    join(p, rank, &m);
    if (rank == VICTIM) {
        poll(NULL, 0, 150); /* most likely they sleep then; the test holds anyhow */
        if (!p->is_idle)
            CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(data, BYTES, NBCOLL_BYTE, VICTIM, m.comm, &request));
        become_another(p);
    }
    victim_is_lost(p, &m,
                   p->is_idle ? nbcoll_barrier(m.comm, 10 * SECOND)
                              : nbcoll_bcast(data, BYTES, NBCOLL_BYTE, VICTIM, m.comm, 10 * SECOND));
    survive(p, &m);
}

static void an_exec_is_found_by_those_that_sleep(void **state)
{
    static const uint32_t flags[] = {0, NBCOLL_SHM_NO_CMA, NBCOLL_SHM_NO_BULK};
    (void)state;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        for (int is_idle = flags[i] == 0; is_idle < 2; is_idle++) /* by CMA the broadcast might end before */
            run(sleep_until_exec, (nbcoll_shm_config){.flags = flags[i]}, 0, is_idle);
}

/* Nobody but rank 0 is in the library, and that makes progress without sleeping. */
static void progress_until_exec(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_request request = NBCOLL_REQUEST_NULL;
    nbcoll_status s;
    member m;

    join(p, rank, &m);
    if (rank == VICTIM)
        become_another(p);
    while (rank == 2 && atomic_load(&p->known) == 0)
        poll(NULL, 0, 1);
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(m.comm, &request));
    while ((s = nbcoll_test(&request)) == NBCOLL_PENDING)
        ;
    victim_is_lost(p, &m, s);
    survive(p, &m);
}

static void an_exec_is_found_by_one_that_is_alone_and_awake(void **state)
{
    (void)state;
    run(progress_until_exec, (nbcoll_shm_config){.flags = NBCOLL_SHM_NO_CMA}, 0, true);
}

/* ---- children -------------------------------------------------------------------------------------------------- */

static void child_ends_well(pid_t child)
{
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* Each rank forks a child that calls exec, one that closes what it has inherited, and one by posix_spawn. The
 * descriptors of the segment in them are theirs; the locks are the rank's. */
static void have_children(int rank, void *user)
{
    const struct plan *p = user;
    nbcoll_shm_config config = p->config;
    char *argv[] = {(char *)(uintptr_t) "true", NULL};
    nbcoll_endpoint *ep = NULL;
    pid_t child;
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND));
    if ((child = fork()) == 0) {
        execvp("true", argv);
        _exit(1);
    }
    child_ends_well(child);
    if ((child = fork()) == 0) {
        ep = m.endpoint;
        ep->transport->close(ep);
        _exit(0);
    }
    child_ends_well(child);
    CHECK(posix_spawnp(&child, "true", NULL, NULL, argv, NULL) == 0);
    child_ends_well(child);
    for (uint64_t start = clock_ns(); clock_ns() - start < SECOND / 2;) /* several looks of everyone */
        nbcoll_progress(m.context);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND));
    member_leave(&m);
}

static void children_of_ranks_disturb_nobody(void **state)
{
    static const crew crews[] = {{{1, 1, 1}}, {{1, 3, 1}}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct plan p = {.config = {.size = sizeof p.config, .id = fresh_id(), .ranks = crew_ranks(&crews[i])}};
        crew_succeeds(&crews[i], have_children, &p);
    }
}

/* The first rank of a process of three leaves, and the others stay: they are not lost. */
static void leave_first(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = p->config;
    nbcoll_endpoint *ep = NULL;
    bool left = false;

    config.rank = rank;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &ep));
    for (uint64_t start = clock_ns(); rank != 1 && clock_ns() - start < SECOND / 2;) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        ep->transport->progress(ep, &found);
        CHECK(found.lost == -1 && (found.departed == -1 || found.departed == 1));
        left |= found.departed == 1;
    }
    CHECK(left || rank == 1);
    atomic_fetch_add(&p->known, 1);
    while (rank != 1 && atomic_load(&p->known) < p->config.ranks)
        poll(NULL, 0, 1);
    nbcoll_endpoint_close(ep);
}

static void ranks_stay_when_the_first_of_their_process_leaves(void **state)
{
    crew both = CREW(1, 3, 1);
    struct plan *p = shared_memory(sizeof *p);
    (void)state;
    p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = 5};
    crew_succeeds(&both, leave_first, p);
    munmap(p, sizeof *p);
}

int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_another_program_is_not_read),
        cmocka_unit_test(an_exec_while_others_read_gives_no_wrong_bytes),
        cmocka_unit_test(an_exec_is_found_by_those_that_sleep),
        cmocka_unit_test(an_exec_is_found_by_one_that_is_alone_and_awake),
        cmocka_unit_test(children_of_ranks_disturb_nobody),
        cmocka_unit_test(ranks_stay_when_the_first_of_their_process_leaves),
    };
    return argc > 1 ? other_program(argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
