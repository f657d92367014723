/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading another process's memory works when the ranks open, and is refused later: by a filter of system calls, by
 * PR_SET_DUMPABLE, or for one buffer. The data comes in pieces then. Memory that its own process cannot read, or a
 * buffer to receive into that cannot be written, ends that operation with ERR_FAULT, which names its rank, and nothing
 * else. By cells and by messages, where data is read from the other process whatever the opening has measured, and as
 * that chose.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/select.h"
#include "ranks.h"

enum { NOWHERE = -1, BEYOND = -2, MOST = 700001, PAGE = 4096, ALWAYS = NBCOLL_SHM_NO_PIECES | NBCOLL_SHM_NO_STAGING };
static const size_t sizes[] = {4095, 4097, 32769, 131073, 262143, 262145, MOST};
#define SIZES (sizeof sizes / sizeof sizes[0])

struct plan {
    nbcoll_shm_config config;
    bool by_messages;
    int refused, tests; /* ranks, as bits; calls of test that go before the refusal, in the middle of an operation */
    int error;          /* 0: PR_SET_DUMPABLE instead of a filter */
    /* of one buffer */
    int faulty;         /* rank */
    int protection;     /* NOWHERE, BEYOND: addresses at which no program has anything */
    size_t bad, bytes;  /* from this byte on, of so many that are sent */
};

static void refuse(int error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (!error)
        CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
    else
        CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* 0, or why one process of this user's does not read another, whatever that says later. */
static int reading_error(bool as_nobody)
{
    static int here = 7;
    int how, there = 0;
    pid_t owner = fork();

    if (owner == 0) {
        if (as_nobody && (setuid(65534) != 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0))
            _exit(1);
        pause();
        _exit(0);
    }
    pid_t reader = fork();
    if (reader == 0) {
        struct iovec to = {&there, sizeof there}, from = {&here, sizeof here};
        if (as_nobody && setuid(65534) != 0)
            _exit(EPERM);
        for (int i = 0; i < 10000; i++, sched_yield()) /* the owner has changed its user by then */
            if (process_vm_readv(owner, &to, 1, &from, 1, 0) == sizeof there)
                _exit(0);
        _exit(errno);
    }
    assert_int_equal(waitpid(reader, &how, 0), reader);
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    return WEXITSTATUS(how);
}

static unsigned char byte(int rank, size_t i)
{
    return (unsigned char)(i * 31 + i / 4096 + (size_t)rank * 77);
}

static void fill(unsigned char *memory, int rank, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        memory[i] = byte(rank, i);
}

static bool is_whole(const unsigned char *memory, int rank, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (memory[i] != byte(rank, i))
            return false;
    return true;
}

static void join(const struct plan *p, int rank, member *m)
{
    nbcoll_shm_config config = p->config;
    nbcoll_comm_config limits = NBCOLL_COMM_DEFAULTS;
    const nbcoll_rule rules[] = {
        {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "binomial")},
        {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "ring")}};

    CHECK(rules[0].algorithm && rules[1].algorithm);
    limits.rules = rules;
    limits.rule_count = 2;
    config.rank = rank;
    member_join_limited(m, &config, NULL, p->by_messages ? &limits : NULL);
}

/* Every rank has it all from all others. */
static void gather(const member *m, int rank, int ranks, size_t bytes, const unsigned char *send, unsigned char *recv,
                   int tests, void (*then)(int), int error)
{
    nbcoll_request q;

    memset(recv, 0, (size_t)ranks * bytes);
    CHECK_STATUS(NBCOLL_OK, nbcoll_iallgather(send, recv, bytes, NBCOLL_BYTE, m->comm, &q));
    while (tests--)
        nbcoll_test(&q);
    if (then)
        then(error);
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&q, 20 * SECOND));
    for (int r = 0; r < ranks; r++)
        CHECK(is_whole(recv + (size_t)r * bytes, r, bytes));
    (void)rank;
}

/* ---- the way is refused ------------------------------------------------------------------------------------------ */

static void is_refused_later(int rank, void *user)
{
    const struct plan *p = user;
    int ranks = p->config.ranks, told = 0;
    bool here = p->refused >> rank & 1;
    unsigned char *send = malloc(MOST), *recv = malloc((size_t)ranks * MOST);
    member m;

    if (!p->error)
        CHECK(setuid(65534) == 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
    join(p, rank, &m);
    fill(send, rank, MOST);
    gather(&m, rank, ranks, MOST, send, recv, p->tests, here ? refuse : NULL, p->error);
    for (size_t i = 0; i < SIZES; i++)
        gather(&m, rank, ranks, sizes[i], send, recv, 0, NULL, 0);
    for (int peer = 0; here && p->error && peer < ranks; peer++) {
        nbcoll_shm_peer is = {.size = sizeof is};
        CHECK_STATUS(NBCOLL_OK, nbcoll_shm_describe(m.endpoint, peer, &is));
        told += is.path == NBCOLL_SHM_BY_PIECES && is.error == p->error && is.by_pieces == 1;
    }
    CHECK(told > 0 || !here || !p->error || p->config.flags != ALWAYS);
    free(send);
    free(recv);
    member_leave(&m);
}

static void try_later(const struct plan *plan)
{
    struct plan p = *plan;
    const crew c = p.config.ranks == 2 ? PROCESSES_2 : PROCESSES_3;

    p.config.size = sizeof p.config;
    p.config.id = fresh_id();
    crew_succeeds(&c, is_refused_later, &p);
}

/* By cells where `messages` is even. */
static void try_filters(uint32_t flags)
{
    static const int errors[] = {EPERM, ENOSYS, EACCES};

    if (reading_error(false))
        skip();
    for (int i = 0; i < 6; i += sampled(5)) /* one, the other, both; by cells and messages */
        try_later(&(struct plan){.config = {.ranks = 2, .flags = flags}, .by_messages = i % 2, .refused = 1 + i / 2,
                                 .error = errors[i / 2]});
}

static void a_filter_where_all_data_is_read(void **state)
{
    (void)state;
    try_filters(ALWAYS);
}

static void a_filter_where_the_opening_chose(void **state)
{
    (void)state;
    try_filters(0);
    try_filters(NBCOLL_SHM_NO_STAGING);
}

static void a_filter_where_pieces_are_read_too(void **state)
{
    (void)state;
    try_filters(NBCOLL_SHM_PIECES);
    try_filters(NBCOLL_SHM_BOTH_SIDES);
}

/* After the first pieces, before the last. */
static void a_filter_in_the_middle(void **state)
{
    static const uint32_t flags[] = {ALWAYS, NBCOLL_SHM_BOTH_SIDES, NBCOLL_SHM_PIECES};

    (void)state;
    if (reading_error(false))
        skip();
    for (int i = 0; i < 18; i += sampled(5))
        try_later(&(struct plan){.config = {.ranks = 2 + i / 12, .flags = flags[i / 2 % 3]}, .by_messages = i % 2,
                                 .refused = 1 << i % 3 % 2, .tests = 1 + i / 2, .error = EPERM});
}

static void a_process_that_is_not_dumpable_any_more(void **state)
{
    (void)state;
    if (geteuid() != 0 || reading_error(true)) /* root reads all the same */
        skip();
    for (int i = 0; i < 6; i++)
        try_later(&(struct plan){.config = {.ranks = 2, .flags = i < 4 ? (uint32_t)ALWAYS : 0}, .by_messages = i % 2,
                                 .refused = 1 << i / 2 % 2});
}

/* ---- one buffer -------------------------------------------------------------------------------------------------- */

/* Of `bytes`, those from `bad` on with the protection; else readable and writable. */
static unsigned char *buffer(size_t bytes, size_t bad, int protection)
{
    if (protection < 0)
        return (unsigned char *)(protection == NOWHERE ? (uintptr_t)PAGE : (uintptr_t)1 << 47);
    size_t all = (bytes + PAGE - 1) / PAGE * PAGE, from = bad / PAGE * PAGE;
    unsigned char *memory = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED);
    memset(memory, 0, all);
    CHECK(mprotect(memory + from, all - from, protection) == 0);
    return memory;
}

static void all_is_well(const member *m, int rank, int ranks)
{
    unsigned char *send = malloc(MOST), *recv = malloc((size_t)ranks * MOST);

    fill(send, rank, MOST);
    gather(m, rank, ranks, MOST, send, recv, 0, NULL, 0);
    free(send);
    free(recv);
}

/* From rank 0 to all; one of them gave a buffer at fault. */
static void has_a_faulty_buffer(int rank, void *user)
{
    const struct plan *p = user;
    unsigned char *good = malloc(p->bytes), *memory = good;
    nbcoll_failure failure;
    member m;

    join(p, rank, &m);
    all_is_well(&m, rank, p->config.ranks);
    fill(good, 0, p->bytes);
    if (rank == p->faulty)
        memory = buffer(p->bytes, p->bad, p->protection);
    nbcoll_status s = nbcoll_bcast(memory, p->bytes, NBCOLL_BYTE, 0, m.comm, 20 * SECOND);
    if (s == NBCOLL_OK)
        CHECK(rank != p->faulty); /* it was through before it heard of that: nobody reads its memory any more */
    else {
        CHECK_STATUS(NBCOLL_ERR_FAULT, s);
        CHECK_STATUS(NBCOLL_OK, nbcoll_last_failure(m.context, &failure));
        CHECK(failure.status == NBCOLL_ERR_FAULT && failure.rank == p->faulty);
        char text[200], wanted[200];
        nbcoll_failure_text(&failure, text, sizeof text);
        snprintf(wanted, sizeof wanted,
                 "rank %d named memory that cannot be read or written as a buffer of operation %d", p->faulty,
                 (int)failure.tag);
        CHECK(strcmp(text, wanted) == 0);
    }
    all_is_well(&m, rank, p->config.ranks);
    member_leave(&m);
    free(good);
}

static void try_buffers(int faulty, const int protections[], int n)
{
    static const size_t lengths[] = {4097, 32768, 262145, MOST};

    if (reading_error(false))
        skip();
    for (int i = 0; i < 16 * n; i += sampled(5)) {
        size_t bytes = lengths[i / 4 % 4], last = bytes - 1;
        int ranks = 2 + (i ^ i / 4) % 2;
        struct plan p = {.config = {.size = sizeof p.config, .id = fresh_id(), .ranks = ranks, .flags = ALWAYS},
                         .by_messages = i % 2, .faulty = faulty, .protection = protections[i / 16],
                         .bytes = bytes, .bad = i / 2 % 2 ? last : 0};
        const crew c = p.config.ranks == 2 ? PROCESSES_2 : PROCESSES_3;
        crew_succeeds(&c, has_a_faulty_buffer, &p);
    }
}

static void what_its_own_process_cannot_read_ends_the_operation(void **state)
{
    (void)state;
    try_buffers(0, (const int[]){PROT_NONE, NOWHERE}, 2);
}

static void what_cannot_be_written_ends_the_operation(void **state)
{
    (void)state;
    try_buffers(1, (const int[]){PROT_READ, NOWHERE, BEYOND}, 3);
}

/* Memory that no other process reads, and its own does. */
static void sends_a_secret(int rank, void *user)
{
    const struct plan *p = user;
    int ranks = p->config.ranks, fd = (int)syscall(447, 0); /* memfd_secret */
    unsigned char *recv = malloc((size_t)ranks * MOST);
    member m;

    CHECK(fd >= 0 && ftruncate(fd, MOST) == 0);
    unsigned char *send = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    CHECK(send != MAP_FAILED);
    join(p, rank, &m);
    fill(send, rank, MOST);
    for (size_t i = 0; i < SIZES; i++)
        gather(&m, rank, ranks, sizes[i], send, recv, 0, NULL, 0);
    for (int peer = 0; peer < ranks; peer++) {
        nbcoll_shm_peer is = {.size = sizeof is};
        CHECK_STATUS(NBCOLL_OK, nbcoll_shm_describe(m.endpoint, peer, &is));
        CHECK(peer == rank || p->config.flags != ALWAYS || is.path == NBCOLL_SHM_BY_CMA); /* as before */
    }
    munmap(send, MOST);
    free(recv);
    member_leave(&m);
}

static void a_secret_is_sent_by_its_owner(void **state)
{
    static const uint32_t flags[] = {ALWAYS, 0, NBCOLL_SHM_BOTH_SIDES};
    int fd = (int)syscall(447, 0);
    const crew c = PROCESSES_3;

    (void)state;
    if (fd < 0 || reading_error(false))
        skip();
    close(fd);
    for (int i = 0; i < 6; i++) {
        struct plan p = {.config = {.size = sizeof p.config, .id = fresh_id(), .ranks = 3, .flags = flags[i / 2]},
                         .by_messages = i % 2};
        crew_succeeds(&c, sends_a_secret, &p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_where_all_data_is_read),
        cmocka_unit_test(a_filter_where_the_opening_chose),
        cmocka_unit_test(a_filter_where_pieces_are_read_too),
        cmocka_unit_test(a_filter_in_the_middle),
        cmocka_unit_test(a_process_that_is_not_dumpable_any_more),
        cmocka_unit_test(what_its_own_process_cannot_read_ends_the_operation),
        cmocka_unit_test(what_cannot_be_written_ends_the_operation),
        cmocka_unit_test(a_secret_is_sent_by_its_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
