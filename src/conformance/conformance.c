/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The runner of the conformance suite. The library is this one file, which takes the others in, so that it adds no
 * names to a program but the two of its header.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "player.c"
#include "processes.c"
#include "messages.c"
#include "work_requests.c"
#include "bulk.c"
#include "put.c"
#include "lines.c"
#include "signals.c"
#include "shared.c"
#include "queues.c"
#include "shared_receives.c"
#include "wakeup.c"
#include "room.c"
#include "at_once.c"
#include "process_ends.c"

enum { DEADLINE_MS = 60000, SEED = 20261121 };
#define PROMISES                                                                                                       \
    (NBCOLL_CONFORMANCE_ORDERED | NBCOLL_CONFORMANCE_BULK | NBCOLL_CONFORMANCE_WAKEUP | NBCOLL_CONFORMANCE_KEEPS |     \
     NBCOLL_CONFORMANCE_REFUSES | NBCOLL_CONFORMANCE_SHARED | NBCOLL_CONFORMANCE_QUEUES |                              \
     NBCOLL_CONFORMANCE_RECEIVES)

struct conformance_case {
    const char *name;
    void (*main)(const nbcoll_conformance *c);
};
#define CASE(name) {#name, name},
static const struct conformance_case of_one_process[] = {SUITE(CASE) {NULL, NULL}};
static const struct conformance_case of_processes[] = {CONCURRENT(CASE) PROCESSES(CASE) {NULL, NULL}};
#undef CASE

/* What a case has said, in memory that its processes share with the runner. */
struct verdict {
    atomic_bool taken; /* somebody is saying it */
    atomic_int said;   /* 0: nobody has; else the verdict + 1 */
    char why[400];
};
static struct verdict *verdict;
static uint64_t case_end; /* its deadline */

/* ---- inside a case ----------------------------------------------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const char *place(const char *file)
{
    const char *last = strrchr(file, '/');
    return last ? last + 1 : file;
}

static void case_says(nbcoll_conformance_verdict is, const char *why)
{
    if (!atomic_exchange(&verdict->taken, true)) {
        snprintf(verdict->why, sizeof verdict->why, "%s", why);
        atomic_store(&verdict->said, (int)is + 1);
    }
    while (!atomic_load(&verdict->said)) /* the end of this process would be that of who is saying it */
        sched_yield();
}

static void case_fails(const char *format, ...)
{
    char why[sizeof verdict->why];
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    case_says(NBCOLL_CONFORMANCE_FAILED, why);
    _exit(1);
}

static void case_is_skipped(const char *why)
{
    case_says(NBCOLL_CONFORMANCE_SKIPPED, why);
    exit(0);
}

static bool case_is_late(void)
{
    return now_ns() > case_end;
}

static void case_waits(const char *what)
{
    if (case_is_late())
        case_fails("it waited for %s until its deadline", what);
}

static int case_left_ms(void)
{
    uint64_t now = now_ns();
    return now < case_end ? (int)((case_end - now) / MILLISECOND) + 1 : 0;
}

static void check_equal(long long is, long long wanted, const char *format, const char *file, int line)
{
    if (is != wanted)
        case_fails(format, is, wanted, place(file), line);
}

/* ---- the runner -------------------------------------------------------------------------------------------------- */

/* Waits until it has ended, and kills it when that takes so much longer than its deadline that a call must hang. */
static bool await_end(pid_t pid, uint32_t deadline_ms, int *status)
{
    uint64_t end = case_end + (1000 + deadline_ms / 4) * MILLISECOND;
    struct pollfd fd = {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
    bool ended = false;
    for (uint64_t now = now_ns(); !ended && fd.fd >= 0 && now < end; now = now_ns())
        ended = poll(&fd, 1, (int)((end - now) / MILLISECOND) + 1) == 1;
    if (!ended)
        kill(pid, SIGKILL); /* its ranks die with it */
    if (fd.fd >= 0)
        close(fd.fd);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return ended;
}

/* What it has said stands; else how its process ended. */
static nbcoll_conformance_verdict judge(bool ended, int status)
{
    nbcoll_conformance_verdict failed = NBCOLL_CONFORMANCE_FAILED;
    int said = atomic_load(&verdict->said);
    if (said == (int)failed + 1)
        return failed;
    if (!ended)
        snprintf(verdict->why, sizeof verdict->why, "a call of the transport had not returned long after the deadline");
    else if (WIFSIGNALED(status))
        snprintf(verdict->why, sizeof verdict->why, "signal %d (%s) ended its process", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (status)
        snprintf(verdict->why, sizeof verdict->why, "its process ended with status %d, as a sanitizer ends it",
                 WEXITSTATUS(status));
    else
        return said ? (nbcoll_conformance_verdict)(said - 1) : NBCOLL_CONFORMANCE_PASSED;
    return failed;
}

/* Runs one case and tells its result, which ends the run if the caller says so. */
static bool run_case(const nbcoll_conformance *c, const struct conformance_case *one, int *failed)
{
    nbcoll_conformance_result result = {.size = sizeof result, .name = one->name, .why = verdict->why};
    uint64_t start = now_ns();
    int status = 0;

    memset(verdict, 0, sizeof *verdict);
    case_end = start + c->deadline_ms * MILLISECOND;
    fflush(NULL); /* or each process writes it again */
    pid_t pid = process_fork();
    if (pid == 0) {
        one->main(c);
        exit(0); /* a leak checker looks */
    }
    if (pid < 0) {
        result.verdict = NBCOLL_CONFORMANCE_FAILED;
        result.why = "there is no process for it";
    } else {
        bool ended = await_end(pid, c->deadline_ms, &status);
        result.verdict = judge(ended, status);
    }
    result.ns = now_ns() - start;
    *failed += result.verdict == NBCOLL_CONFORMANCE_FAILED;
    return !c->result || c->result(c, &result) == 0;
}

static bool has_case(const struct conformance_case *cases, const char *name)
{
    while (cases->name && strcmp(cases->name, name) != 0)
        cases++;
    return cases->name;
}

int nbcoll_conformance_run(const nbcoll_conformance *from)
{
    nbcoll_conformance c = {0};
    int failed = 0;

    if (!from || from->size < offsetof(nbcoll_conformance, open))
        return -1;
    memcpy(&c, from, from->size < sizeof c ? from->size : sizeof c);
    const struct conformance_case *cases = c.open ? of_processes : of_one_process;
    if (!c.name || !c.make || !c.destroy || c.promises & ~(uint32_t)PROMISES || (c.open && c.payload < 256) ||
        (c.only && !has_case(cases, c.only)))
        return -1;
    c.deadline_ms = c.deadline_ms ? c.deadline_ms : DEADLINE_MS;
    c.seed = c.seed ? c.seed : SEED;
    verdict = mmap(NULL, sizeof *verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (verdict == MAP_FAILED)
        return -1;
    for (bool go_on = true; cases->name && go_on; cases++)
        if (!c.only || strcmp(c.only, cases->name) == 0)
            go_on = run_case(&c, cases, &failed);
    munmap(verdict, sizeof *verdict);
    return failed;
}

int nbcoll_conformance_print(const nbcoll_conformance *c, const nbcoll_conformance_result *r)
{
    static const char *const words[] = {"passed", "skipped", "FAILED"};
    printf("%s: %s %s%s%s", c->name, words[r->verdict], r->name, r->why[0] ? ": " : "", r->why);
    if (r->verdict == NBCOLL_CONFORMANCE_FAILED)
        printf(" (seed %llu)", (unsigned long long)c->seed);
    printf("\n");
    fflush(stdout);
    return 0;
}
