/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs of real processes to which things happen (soak.h). Without arguments: one of each kind; with NBCOLL_FULL=1, for
 * 20 minutes. With arguments:
 *
 *     test_soak [--seconds N] [--seed N] [--count N] [--kind TEXT] [--patience SECONDS] [--beside PROGRAM]
 *               [--stacks]
 *
 * Runs jobs of seeds from --seed on, of kinds by turns (of those whose name holds the text), and prints at its end how
 * many of each kind there were, and what this machine does not allow. What was found is printed with its seed and its
 * kind; exit status 1. --stacks has gdb say where ranks are that hang. --beside names this program of another build;
 * else build/asan's is taken, or build/release's. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "soak.h"

const char *soak_beside;
static bool shows_stacks;
static char self[4096], beside[4096];
static uint64_t patience = 90 * SECOND; /* without any progress */

static struct {
    unsigned jobs, failed_ranks, skipped;
    uint64_t done; /* calls that have ended well */
    char why[200];
} count_of[64];

/* ---- for kinds.c ------------------------------------------------------------------------------------------------- */

uint64_t soak_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

uint64_t soak_draw(run *r, uint64_t below)
{
    return below ? next_random(&r->random) % below : 0;
}

void soak_sleep(uint64_t ns)
{
    struct timespec t = {(time_t)(ns / SECOND), (long)(ns % SECOND)};
    while (nanosleep(&t, &t) != 0)
        ;
}

void soak_signal(run *r, int seat, int signal)
{
    if (signal == SIGKILL) {
        r->bad |= 1u << seat;
        r->bad_at[seat] = soak_now();
    }
    if (!r->has_ended[seat])
        kill(r->pid[seat], signal);
}

/* ---- what is left ------------------------------------------------------------------------------------------------ */

typedef struct remains {
    int descriptors, names;
} remains;

static int entries(const char *path, const char *text)
{
    DIR *dir = opendir(path);
    int n = 0;
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += strstr(e->d_name, text) != NULL;
    if (dir)
        closedir(dir);
    return n;
}

static remains what_is_left(void)
{
    return (remains){entries("/proc/self/fd", ""), entries("/dev/shm", "nbcoll")};
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

static void become(run *r, const kind *k, int seat, int memory)
{
    char number[12], *const arguments[] = {self, "--rank", number, NULL};
    snprintf(number, sizeof number, "%d", seat);
    setpgid(0, 0); /* not the terminal's */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < r->board->job.ranks && r->board->job.has_agent; i++)
        if (seat == AGENT || seat == i)
            dup2(r->socket[i][seat == AGENT], SOCKETS + i);
    dup2(memory, BOARD);
    r->program = self;
    if (k->enter && seat != AGENT)
        k->enter(r, seat);
    execv(r->program, arguments);
    _exit(8);
}

static void start(run *r, const kind *k, int memory)
{
    bool is_inside = false;
    int seats = r->board->job.has_agent ? SEATS : r->board->job.ranks;
    for (int seat = 0; seat < seats; seat++) {
        if (seat >= r->board->job.ranks && seat != AGENT)
            continue;
        if (r->ground && (r->inside >> seat & 1) != is_inside) {
            is_inside = !is_inside;
            if (!is_inside)
                ground_leave(r->ground);
            else if (ground_enter(r->ground) != 0)
                fail_msg("no namespace, which there was before");
        }
        r->pid[seat] = fork();
        assert_true(r->pid[seat] >= 0);
        if (r->pid[seat] == 0)
            become(r, k, seat, memory);
        r->has_begun[seat] = true;
    }
    if (is_inside)
        ground_leave(r->ground);
}

static bool all_have_ended(run *r)
{
    int left = 0;
    for (int seat = 0; seat < SEATS; seat++) {
        if (r->has_begun[seat] && !r->has_ended[seat] &&
            waitpid(r->pid[seat], &r->status[seat], WNOHANG) == r->pid[seat])
            r->has_ended[seat] = true;
        left += r->has_begun[seat] && !r->has_ended[seat];
    }
    return left == 0;
}

static uint64_t progress(const run *r)
{
    uint64_t n = 0;
    for (int seat = 0; seat < SEATS; seat++)
        n += r->board->of[seat].calls + r->board->of[seat].done + r->has_ended[seat];
    return n;
}

/* False: for so long nothing has gone on. What this process has not seen of that time does not count: then the machine
 * has let others run. */
static bool collect(run *r, uint64_t most)
{
    uint64_t seen = 0, last = soak_now(), had = 0;
    while (!all_have_ended(r)) {
        uint64_t now = soak_now(), has = progress(r);
        if (seen >= most)
            return false;
        seen = has == had ? seen + (now - last < 10 * MILLISECOND ? now - last : 10 * MILLISECOND) : 0;
        had = has;
        last = now;
        soak_sleep(MILLISECOND);
    }
    return true;
}

/* The moment at which it happens: the victim has made so many calls, and some time has passed. */
static void await_moment(run *r)
{
    const job *j = &r->board->job;
    uint64_t most = soak_now() + 30 * SECOND;
    while (j->at && j->at != UINT32_MAX && atomic_load(&r->board->of[j->victim].calls) < j->at && soak_now() < most)
        if (all_have_ended(r) || r->has_ended[j->victim])
            return;
        else
            soak_sleep(200 * MICROSECOND);
    soak_sleep(soak_draw(r, j->at ? MILLISECOND : 30 * MILLISECOND));
}

static const char *hangs(run *r, char text[600])
{
    int n = snprintf(text, 600, "nothing goes on for %llu s:", (unsigned long long)(patience / SECOND));
    for (int seat = 0; seat < SEATS; seat++)
        if (r->has_begun[seat] && !r->has_ended[seat]) {
            const report *of = &r->board->of[seat];
            n += snprintf(text + n, n < 600 ? (size_t)(600 - n) : 0, " %s %d (%s, %u calls%s%s)",
                          seat == AGENT ? "agent" : "rank", seat, of->is_open ? "open" : "opening",
                          (unsigned)of->calls, of->text[0] ? ", " : "", of->text);
            if (shows_stacks) {
                char line[100];
                snprintf(line, sizeof line, "gdb -p %d -batch -ex 'thread apply all bt 12' 2>&1",
                         (int)r->pid[seat]);
                (void)!system(line);
            }
        }
    for (int seat = 0; seat < SEATS; seat++)
        if (r->has_begun[seat] && !r->has_ended[seat]) {
            kill(r->pid[seat], SIGCONT);
            kill(r->pid[seat], SIGKILL);
        }
    collect(r, 10 * SECOND);
    return text;
}

static void decide(run *r, uint64_t seed)
{
    job *j = &r->board->job;
    r->random = mix(seed, 1);
    *j = (job){.seed = seed, .timeout = 60 * SECOND, .ranks = 2 + (int)soak_draw(r, SOAK_RANKS - 1)};
    j->rounds = 1 + (int)soak_draw(r, 4);
    j->victim = (int)soak_draw(r, (uint64_t)j->ranks);
    j->at = soak_draw(r, 5) ? 1 + (uint32_t)soak_draw(r, 60) : 0;
    j->shrinks = soak_draw(r, 2);
    assert_int_equal(nbcoll_shm_id_make(&j->id), NBCOLL_OK);
    for (int i = 0; i < SEATS; i++)
        r->board->of[i].named = -1;
}

static const char *run_prepared(run *r, const kind *k, int memory, char text[600])
{
    job *j = &r->board->job;
    if (k->dies && !j->at) /* who is dead before it has come is waited for */
        j->timeout = 2 * SECOND;
    if (k->dies || k->is_refused || k->may_end)
        j->at += j->suicide && !j->at;
    for (int i = 0; i < j->ranks && j->has_agent; i++)
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, r->socket[i]), 0);
    start(r, k, memory);
    for (int i = 0; i < j->ranks && j->has_agent; i++)
        for (int of = 0; of < 2; of++)
            close(r->socket[i][of]);
    if (k->happen) {
        await_moment(r);
        k->happen(r);
    }
    const char *wrong = collect(r, patience) ? soak_judge(r, k, text) : hangs(r, text);
    if (k->clear)
        k->clear(r);
    return wrong;
}

/* What is wrong, or null. */
static const char *run_job(uint64_t seed, size_t which, const kind *k, char text[600])
{
    run r = {0};
    remains before = what_is_left();
    int memory = memfd_create("soak", MFD_CLOEXEC);
    assert_true(memory >= 0 && ftruncate(memory, sizeof(board)) == 0);
    r.board = mmap(NULL, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    assert_true(r.board != MAP_FAILED);
    decide(&r, seed);
    const char *why = k->prepare ? k->prepare(&r) : NULL, *wrong = NULL;
    if (why) {
        count_of[which].skipped++;
        snprintf(count_of[which].why, sizeof count_of[which].why, "%s", why);
    } else {
        wrong = run_prepared(&r, k, memory, text);
        count_of[which].jobs++;
    }
    for (int seat = 0; seat < SEATS; seat++) {
        count_of[which].done += r.board->of[seat].done;
        count_of[which].failed_ranks += r.board->of[seat].status != NBCOLL_OK;
    }
    munmap(r.board, sizeof(board));
    close(memory);
    remains after = what_is_left();
    if (!wrong && (after.descriptors != before.descriptors || after.names != before.names)) {
        snprintf(text, 600, "left: %d descriptors, %d names", after.descriptors - before.descriptors,
                 after.names - before.names);
        wrong = text;
    }
    if (!wrong && (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD))
        wrong = "left: a process";
    return wrong;
}

/* ---- many -------------------------------------------------------------------------------------------------------- */

typedef struct batch_of {
    uint64_t seed, count, seconds;
    const char *kind; /* a part of its name; or null */
} batch_of;

static void print_counts(void)
{
    for (size_t i = 0; i < soak_kind_count; i++)
        if (count_of[i].jobs)
            printf("%-36s %5u jobs, %8llu calls ended well; %4u ranks were told of a failure\n", soak_kinds[i].name,
                   count_of[i].jobs, (unsigned long long)count_of[i].done, count_of[i].failed_ranks);
        else if (count_of[i].skipped)
            printf("%-36s skipped: %s\n", soak_kinds[i].name, count_of[i].why);
}

/* How many were found. Of each kind there is one job before any has two. */
static unsigned soak(const batch_of *b)
{
    uint64_t until = b->seconds ? soak_now() + b->seconds * SECOND : UINT64_MAX;
    unsigned found = 0;
    char text[600];
    memset(count_of, 0, sizeof count_of);
    for (uint64_t n = 0, turns = 0; n < b->count && soak_now() < until && turns < 1000000; turns++) {
        size_t which = turns % soak_kind_count;
        const kind *k = &soak_kinds[which];
        if (b->kind && !strstr(k->name, b->kind))
            continue;
        const char *wrong = run_job(b->seed + n, which, k, text);
        if (wrong) {
            printf("seed %llu, %s: %s\n", (unsigned long long)(b->seed + n), k->name, wrong);
            found++;
        }
        fflush(stdout);
        n++;
    }
    print_counts();
    printf("%u findings\n", found);
    return found;
}

static void find_beside(void)
{
    static const char *const builds[2] = {"/build/release/", "/build/asan/"};
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(n > 0);
    self[n] = 0;
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(self, builds[i]);
        if (!at)
            continue;
        snprintf(beside, sizeof beside, "%.*s%s%s", (int)(at - self), self, builds[!i], at + strlen(builds[i]));
        soak_beside = access(beside, X_OK) == 0 ? beside : NULL;
    }
}

static int command(int argc, char **argv)
{
    batch_of b = {.seed = (uint64_t)time(NULL) * 1000, .count = UINT64_MAX};
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (!strcmp(argv[i], "--stacks"))
            shows_stacks = true;
        else if (!strcmp(argv[i], "--seconds") && has_value)
            b.seconds = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--seed") && has_value)
            b.seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--count") && has_value)
            b.count = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--kind") && has_value)
            b.kind = argv[++i];
        else if (!strcmp(argv[i], "--patience") && has_value)
            patience = strtoull(argv[++i], NULL, 10) * SECOND;
        else if (!strcmp(argv[i], "--beside") && has_value)
            soak_beside = argv[++i];
        else {
            fprintf(stderr, "test_soak: not understood: %s\n", argv[i]);
            return 2;
        }
    }
    if (!b.seconds && b.count == UINT64_MAX)
        b.count = soak_kind_count;
    return soak(&b) != 0;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void whatever_happens_ends_as_it_may(void **state)
{
    const char *full = getenv("NBCOLL_FULL");
    bool is_long = full && full[0] == '1';
    batch_of b = {.seed = 1, .count = soak_kind_count};
    (void)state;
#ifdef __SANITIZE_ADDRESS__ /* of that build there are ranks in the other one's jobs */
    is_long = false;
#endif
    if (is_long)
        b = (batch_of){.seed = (uint64_t)time(NULL) * 1000, .count = UINT64_MAX, .seconds = 20 * 60};
    assert_int_equal(soak(&b), 0);
}

static void a_death_where_nobody_is_to_die_is_found(void **state)
{
    kind k = soak_kinds[1];
    char text[600];
    (void)state;
    k.dies = false;
    assert_non_null(run_job(3, 0, &k, text));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whatever_happens_ends_as_it_may),
                                       cmocka_unit_test(a_death_where_nobody_is_to_die_is_found)};
    if (argc == 3 && !strcmp(argv[1], "--rank")) {
        board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED, BOARD, 0);
        int seat = atoi(argv[2]);
        if (b == MAP_FAILED)
            return 7;
        close(BOARD);
        soak_set_clock_by(b);
        if (seat == AGENT)
            soak_serve(b);
        soak_work(b, seat);
    }
    find_beside();
    return argc > 1 ? command(argc, argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
