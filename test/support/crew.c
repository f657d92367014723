/* SPDX-License-Identifier: BSD-3-Clause
 * See crew.h. */
#define _GNU_SOURCE
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "crew.h"

int crew_processes(const crew *c)
{
    int n = 0;
    while (c->threads[n])
        n++;
    return n;
}

int crew_ranks(const crew *c)
{
    int n = 0;
    for (int i = 0; c->threads[i]; i++)
        n += c->threads[i];
    return n;
}

/* ---- inside ---------------------------------------------------------------------------------------------------- */

void rank_fails(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    _exit(3);
}

void rank_wants(const char *file, int line, const char *what, nbcoll_status wanted, nbcoll_status is)
{
    char text[400];
    if (is == wanted)
        return;
    snprintf(text, sizeof text, "%s is %s, not %s", what, nbcoll_status_name(is), nbcoll_status_name(wanted));
    rank_fails(file, line, text);
}

struct body {
    rank_main *main;
    void *user;
    int rank;
};

static void *body_main(void *argument)
{
    struct body *b = argument;
    b->main(b->rank, b->user);
    return NULL;
}

static void process_main(rank_main *main, void *user, int first, int ranks)
{
    pthread_t thread[RANKS_MOST];
    struct body body[RANKS_MOST];
    int before = descriptors();

    setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed assertion ends this process, which runs no further test */
    for (int i = 0; i < ranks; i++) {
        body[i] = (struct body){main, user, first + i};
        if (ranks == 1)
            body_main(&body[0]);
        else if (pthread_create(&thread[i], NULL, body_main, &body[i]) != 0)
            rank_fails(__FILE__, __LINE__, "no thread");
    }
    for (int i = 0; i < ranks && ranks > 1; i++)
        pthread_join(thread[i], NULL);
    CHECK(descriptors() == before);
}

static atomic_int *late; /* ranks of the last crew that were */

void rank_await(const atomic_int *count, int number)
{
    uint64_t begin = clock_ns();
    while (atomic_load(count) < number) {
        CHECK(clock_ns() - begin < (RANKS_SECONDS - 5) * SECOND);
        sched_yield();
    }
}

void rank_in_time(uint64_t took, uint64_t most)
{
    if (took >= most)
        atomic_fetch_add(late, 1);
}

/* ---- outside --------------------------------------------------------------------------------------------------- */

bool crew_run(const crew *c, rank_main *main, void *user, int status[])
{
    int n = crew_processes(c), first = 0, left = n;
    pid_t pid[RANKS_MOST];
    struct pollfd fd[RANKS_MOST];
    uint64_t start = clock_ns();

    late = late ? late : shared_memory(sizeof *late);
    atomic_store(late, 0);
    fflush(NULL);
    for (int i = 0; i < n; first += c->threads[i++]) {
        pid[i] = fork();
        assert_true(pid[i] >= 0);
        if (pid[i] == 0) {
            process_main(main, user, first, c->threads[i]);
            exit(0); /* the leak checker looks */
        }
        fd[i] = (struct pollfd){(int)syscall(SYS_pidfd_open, pid[i], 0), POLLIN, 0};
    }
    while (left && clock_ns() - start < RANKS_SECONDS * SECOND) {
        poll(fd, (nfds_t)n, 1000);
        for (int i = 0; i < n; i++)
            if (fd[i].fd >= 0 && fd[i].revents) {
                close(fd[i].fd);
                fd[i].fd = -1;
                left--;
            }
    }
    for (int i = 0; i < n; i++) {
        if (fd[i].fd >= 0) {
            kill(pid[i], SIGKILL);
            close(fd[i].fd);
        }
        waitpid(pid[i], &status[i], 0);
    }
    return left == 0;
}

bool crew_was_late(int *tries)
{
    bool was = atomic_load(late) > 0;
    *tries = was ? *tries + 1 : 0;
    if (*tries == 3)
        fail_msg("%d ranks were late, and two times before", atomic_load(late));
    return was;
}

void crew_succeeds(const crew *c, rank_main *main, void *user)
{
    int status[RANKS_MOST];
    bool ended = crew_run(c, main, user, status);

    for (int i = 0; i < crew_processes(c); i++)
        if (status[i] != 0)
            fail_msg("process %d of %d ended with 0x%x%s", i, crew_processes(c), (unsigned)status[i],
                     ended ? "" : " (killed at the deadline)");
}

void *shared_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

bool is_full(void)
{
    const char *full = getenv("NBCOLL_FULL");
    return full && full[0] == '1';
}

int sampled(int n)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    return is_full() ? 1 : n;
#else
    (void)n;
    return 1;
#endif
}

uint64_t seed_of_test(void)
{
    const char *given = getenv("NBCOLL_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : 20261121;
    print_message("seed %llu\n", (unsigned long long)seed);
    return seed;
}

uint64_t random_of(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

bool process_is_stopped(pid_t pid)
{
    char path[40], text[200] = "";

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "r");
    CHECK(file && fgets(text, sizeof text, file));
    fclose(file);
    const char *name = strrchr(text, ')');
    return name && name[2] == 'T';
}

int descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = -1; /* that of the folder */
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2; /* . and .. */
}

int cores(void)
{
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    return CPU_COUNT(&allowed);
}
