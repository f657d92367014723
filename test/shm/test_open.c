/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening: the ranks find each other by id or by the host's allgather, and every refusal has its name, on all ranks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ranks.h"

struct plan {
    nbcoll_shm_config config; /* of all; `spoil` changes one's */
    void (*spoil)(nbcoll_shm_config *config, int rank);
    int spoilt;                            /* the rank that is spoilt; -1: none */
    nbcoll_status expected, expected_of_spoilt;
    uint64_t at_most; /* nanoseconds; 0: whatever */
};

/* The leak checker needs its rights and its memory back. */
static void unspoil(void)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    CHECK(seteuid(getuid()) == 0);
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void try_to_open(int rank, void *user)
{
    const struct plan *p = user;
    nbcoll_shm_config config = p->config;
    nbcoll_endpoint *ep = NULL;
    uint64_t start = clock_ns();

    config.rank = rank;
    if (rank == p->spoilt && p->spoil)
        p->spoil(&config, rank);
    nbcoll_status s = nbcoll_shm_open(&config, &ep);
    unspoil();
    CHECK_STATUS(rank == p->spoilt ? p->expected_of_spoilt : p->expected, s);
    CHECK(!p->at_most || clock_ns() - start < p->at_most);
    CHECK((ep != NULL) == (s == NBCOLL_OK));
    nbcoll_endpoint_close(ep);
}

static struct plan plan_of(int ranks, nbcoll_status expected)
{
    return (struct plan){.config = {.size = sizeof(nbcoll_shm_config), .id = fresh_id(), .ranks = ranks,
                                    .timeout = 20 * SECOND},
                         .spoilt = -1, .expected = expected, .expected_of_spoilt = expected, .at_most = 10 * SECOND};
}

static void run(const crew *c, struct plan *p)
{
    crew_succeeds(c, try_to_open, p);
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

static void ranks_join_by_id(void **state)
{
    static const crew crews[] = {{{1}}, {{1, 1}}, {{5}}, {{1, 3, 1}}, {{2, 2}}, {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
                                 {{1, 79, 1}}};
    (void)state;
    for (size_t i = 0; i < sizeof crews / sizeof crews[0]; i++) {
        struct plan p = plan_of(crew_ranks(&crews[i]), NBCOLL_OK);
        run(&crews[i], &p);
    }
}

/* An allgather among forked processes: a table that they share. */
struct table {
    atomic_int started, freed;
    unsigned char row[RANKS_MOST][256];
};

struct gather {
    struct table *table;
    int rank, ranks;
    void *all;
    size_t bytes;
    nbcoll_status says;
};

static nbcoll_status gather_start(void *user, const void *mine, void *all, size_t bytes, void **operation)
{
    struct gather *g = user;
    if (g->says != NBCOLL_OK && g->says != NBCOLL_PENDING)
        return g->says;
    CHECK(bytes <= sizeof g->table->row[0]);
    memcpy(g->table->row[g->rank], mine, bytes);
    g->all = all;
    g->bytes = bytes;
    *operation = g;
    atomic_fetch_add(&g->table->started, 1);
    return NBCOLL_OK;
}

static nbcoll_status gather_test(void *user, void *operation)
{
    struct gather *g = operation;
    CHECK(user == operation);
    if (g->says == NBCOLL_PENDING || atomic_load(&g->table->started) < g->ranks)
        return NBCOLL_PENDING;
    for (int r = 0; r < g->ranks; r++)
        memcpy((char *)g->all + (size_t)r * g->bytes, g->table->row[r], g->bytes);
    return NBCOLL_OK;
}

static void gather_free(void *user, void *operation)
{
    struct gather *g = operation;
    (void)user;
    atomic_fetch_add(&g->table->freed, 1);
}

struct gather_plan {
    struct table *table;
    int ranks;
    nbcoll_status says, expected;
    uint64_t timeout;
};

static void open_by_allgather(int rank, void *user)
{
    const struct gather_plan *p = user;
    struct gather g = {p->table, rank, p->ranks, NULL, 0, p->says};
    nbcoll_shm_allgather ag = {sizeof ag, &g, gather_start, gather_test, gather_free};
    nbcoll_shm_config config = {.size = sizeof config, .allgather = &ag, .rank = rank, .ranks = p->ranks,
                                .timeout = p->timeout};
    nbcoll_endpoint *ep = NULL;
    CHECK_STATUS(p->expected, nbcoll_shm_open(&config, &ep));
    nbcoll_endpoint_close(ep);
}

static void ranks_join_by_the_hosts_allgather(void **state)
{
    static const crew crews[] = {{{1, 1, 1}}, {{3}}, {{2, 2}}};
    (void)state;
    for (size_t i = 0; i < sizeof crews / sizeof crews[0]; i++) {
        struct gather_plan p = {shared_memory(sizeof(struct table)), crew_ranks(&crews[i]), NBCOLL_OK, NBCOLL_OK, 0};
        crew_succeeds(&crews[i], open_by_allgather, &p);
        assert_int_equal(atomic_load(&p.table->freed), p.ranks);
        munmap(p.table, sizeof *p.table);
    }
}

static void an_allgather_that_fails_or_never_ends(void **state)
{
    crew two = PROCESSES_2;
    struct gather_plan fails = {shared_memory(sizeof(struct table)), 2, NBCOLL_ERR_CALL, NBCOLL_ERR_CALL, 0};
    struct gather_plan hangs = {shared_memory(sizeof(struct table)), 2, NBCOLL_PENDING, NBCOLL_ERR_TIMEOUT, SECOND / 5};
    (void)state;
    crew_succeeds(&two, open_by_allgather, &fails);
    assert_int_equal(atomic_load(&fails.table->freed), 0);
    crew_succeeds(&two, open_by_allgather, &hangs);
    assert_int_equal(atomic_load(&hangs.table->freed), 2);
    munmap(fails.table, sizeof *fails.table);
    munmap(hangs.table, sizeof *hangs.table);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static void bad_arguments_are_refused_at_once(void **state)
{
    nbcoll_shm_config good = {.size = sizeof good, .id = fresh_id(), .ranks = 2}, bad;
    nbcoll_endpoint *ep = NULL;
    nbcoll_shm_allgather empty = {.size = sizeof empty};
    (void)state;
#define REFUSED(status, change)                                                                                        \
    (bad = good, bad.change, assert_int_equal(nbcoll_shm_open(&bad, &ep), status), assert_null(ep))
    assert_int_equal(nbcoll_shm_open(NULL, &ep), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_shm_open(&good, NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_shm_id_make(NULL), NBCOLL_ERR_NULL);
    REFUSED(NBCOLL_ERR_CONFIG, size = 3);
    REFUSED(NBCOLL_ERR_CONFIG, ranks = 0);
    REFUSED(NBCOLL_ERR_CONFIG, ranks = NBCOLL_SHM_RANKS + 1);
    REFUSED(NBCOLL_ERR_RANK, rank = -1);
    REFUSED(NBCOLL_ERR_RANK, rank = 2);
    REFUSED(NBCOLL_ERR_CONFIG, payload = 255);
    REFUSED(NBCOLL_ERR_CONFIG, payload = 65537);
    REFUSED(NBCOLL_ERR_CONFIG, depth = 4097);
    REFUSED(NBCOLL_ERR_CONFIG, quota = ((size_t)1 << 30) + 1);
    REFUSED(NBCOLL_ERR_CONFIG, flags = 128);
    REFUSED(NBCOLL_ERR_CONFIG, flags = NBCOLL_SHM_NO_PIECES | NBCOLL_SHM_PIECES);
    REFUSED(NBCOLL_ERR_CONFIG, flags = NBCOLL_SHM_NO_PIECES | NBCOLL_SHM_BOTH_SIDES);
    REFUSED(NBCOLL_ERR_CONFIG, pool = ((size_t)1 << 26) + 1);
    REFUSED(NBCOLL_ERR_CONFIG, id.text[0] = 'x');
    REFUSED(NBCOLL_ERR_CONFIG, id.text[40] = 'a');
    REFUSED(NBCOLL_ERR_CONFIG, id.text[0] = 0);
    REFUSED(NBCOLL_ERR_CONFIG, allgather = &empty);
}

static void ids_differ(void **state)
{
    nbcoll_shm_id a = fresh_id(), b = fresh_id();
    (void)state;
    assert_int_equal(strlen(a.text), 40);
    assert_string_not_equal(a.text, b.text);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void other_ranks(nbcoll_shm_config *c, int rank)
{
    (void)rank;
    c->ranks = 4;
}

static void other_payload(nbcoll_shm_config *c, int rank)
{
    (void)rank;
    c->payload = 512;
}

static void other_quota(nbcoll_shm_config *c, int rank)
{
    (void)rank;
    c->quota = 8192;
}

static void rank_1(nbcoll_shm_config *c, int rank)
{
    (void)rank;
    c->rank = 1;
}

static void other_user(nbcoll_shm_config *c, int rank)
{
    (void)c;
    (void)rank;
    CHECK(seteuid(65534) == 0);
}

static void other_network(nbcoll_shm_config *c, int rank)
{
    (void)c;
    (void)rank;
    CHECK(unshare(CLONE_NEWNET) == 0);
}

static void little_memory(nbcoll_shm_config *c, int rank)
{
    unsigned long pages;
    FILE *statm = fopen("/proc/self/statm", "r");
    (void)c;
    (void)rank;
    CHECK(fscanf(statm, "%lu", &pages) == 1);
    fclose(statm);
    /* The segment does not fit into that. */
    struct rlimit limit = {pages * (rlim_t)sysconf(_SC_PAGESIZE) + (1u << 20), RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void small_files(nbcoll_shm_config *c, int rank)
{
    struct rlimit limit = {4096, RLIM_INFINITY};
    (void)c;
    (void)rank;
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

static void *no_memory(void *user, size_t bytes, size_t align)
{
    (void)user;
    (void)bytes;
    (void)align;
    return NULL;
}

static void nothing_to_free(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)memory;
    (void)bytes;
}

static void no_allocator(nbcoll_shm_config *c, int rank)
{
    static const nbcoll_host host = {.size = sizeof host, .alloc = no_memory, .free = nothing_to_free};
    (void)rank;
    c->host = &host;
}

static void spoil_each_in_turn(void (*spoil)(nbcoll_shm_config *, int), int first, nbcoll_status expected,
                               nbcoll_status of_spoilt)
{
    crew three = PROCESSES_3;
    for (int rank = first; rank < 3; rank++) {
        struct plan p = plan_of(3, expected);
        p.spoil = spoil;
        p.spoilt = rank;
        p.expected_of_spoilt = of_spoilt;
        run(&three, &p);
    }
}

static void spoil_host(void (*spoil)(nbcoll_shm_config *, int), nbcoll_status expected)
{
    crew three = PROCESSES_3;
    struct plan p = plan_of(3, expected);
    p.spoil = spoil;
    p.spoilt = 0;
    run(&three, &p);
}

static void another_number_of_ranks_is_a_mismatch(void **state)
{
    (void)state;
    spoil_each_in_turn(other_ranks, 1, NBCOLL_ERR_MISMATCH, NBCOLL_ERR_MISMATCH);
}

static void another_payload_or_quota_is_a_mismatch(void **state)
{
    (void)state;
    spoil_each_in_turn(other_payload, 0, NBCOLL_ERR_MISMATCH, NBCOLL_ERR_MISMATCH);
    spoil_each_in_turn(other_quota, 0, NBCOLL_ERR_MISMATCH, NBCOLL_ERR_MISMATCH);
}

static void a_rank_that_exists_twice_is_refused(void **state)
{
    crew three = PROCESSES_3;
    struct plan p = plan_of(3, NBCOLL_ERR_DUPLICATE);
    (void)state;
    p.spoil = rank_1;
    p.spoilt = 2;
    run(&three, &p);
}

/* The name that rank 0 listens on is taken: it is not the only one. */
static void a_second_rank_0_is_refused(void **state)
{
    nbcoll_shm_config config = {.size = sizeof config, .id = fresh_id(), .ranks = 2, .timeout = 10 * SECOND};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    nbcoll_endpoint *ep = NULL;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    (void)state;
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "nbcoll-shm-%s", config.id.text);
    assert_int_equal(
        bind(fd, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + 11 + 40)), 0);
    assert_int_equal(nbcoll_shm_open(&config, &ep), NBCOLL_ERR_DUPLICATE);
    close(fd);
}

static void another_user_is_refused(void **state)
{
    crew two = PROCESSES_2;
    struct plan p = plan_of(2, NBCOLL_ERR_TIMEOUT);
    (void)state;
    if (geteuid() != 0)
        skip();
    p.spoil = other_user;
    p.spoilt = 1;
    p.expected_of_spoilt = NBCOLL_ERR_ACCESS;
    p.config.timeout = SECOND / 2;
    run(&two, &p);
}

struct visit {
    nbcoll_shm_id id;
    atomic_int gone;
};

/* Two ranks, and a third process that comes first. */
static void open_after_a_stranger(int rank, void *user)
{
    struct visit *v = user;
    nbcoll_shm_config config = {.size = sizeof config, .id = v->id, .rank = rank == 2 ? 1 : rank, .ranks = 2};
    nbcoll_endpoint *ep = NULL;

    if (rank == 2)
        CHECK(seteuid(65534) == 0);
    while (rank == 1 && !atomic_load(&v->gone))
        sched_yield();
    CHECK_STATUS(rank == 2 ? NBCOLL_ERR_ACCESS : NBCOLL_OK, nbcoll_shm_open(&config, &ep));
    unspoil();
    if (rank == 2)
        atomic_store(&v->gone, 1);
    nbcoll_endpoint_close(ep);
}

static void a_stranger_does_not_disturb_the_ranks(void **state)
{
    crew three = PROCESSES_3;
    struct visit *v = shared_memory(sizeof *v);
    (void)state;
    if (geteuid() != 0)
        skip();
    v->id = fresh_id();
    crew_succeeds(&three, open_after_a_stranger, v);
    munmap(v, sizeof *v);
}

static void another_network_namespace_is_refused(void **state)
{
    crew two = PROCESSES_2;
    struct plan p = plan_of(2, NBCOLL_ERR_TIMEOUT);
    (void)state;
    if (geteuid() != 0)
        skip();
    p.spoil = other_network;
    p.spoilt = 1;
    p.expected_of_spoilt = NBCOLL_ERR_NAMESPACE;
    p.config.timeout = SECOND / 2;
    run(&two, &p);
}

/* unshare(CLONE_NEWPID) moves the children: rank 1 opens in one of them. */
static void open_in_another_pid_namespace(int rank, void *user)
{
    int status;
    if (rank == 1) {
        CHECK(unshare(CLONE_NEWPID) == 0);
        pid_t child = fork();
        if (child) {
            CHECK(waitpid(child, &status, 0) == child && status == 0);
            _exit(0); /* the leak checker needs a namespace in which it can have children */
        }
        try_to_open(rank, user);
        _exit(0);
    }
    try_to_open(rank, user);
}

static void another_pid_namespace_is_refused(void **state)
{
    crew two = PROCESSES_2;
    struct plan p = plan_of(2, NBCOLL_ERR_NAMESPACE);
    (void)state;
    if (geteuid() != 0)
        skip();
    crew_succeeds(&two, open_in_another_pid_namespace, &p);
}

static void a_rank_that_never_comes_is_a_timeout(void **state)
{
    crew two = PROCESSES_2, one = CREW(1);
    struct plan p = plan_of(3, NBCOLL_ERR_TIMEOUT), alone = plan_of(2, NBCOLL_ERR_TIMEOUT);
    (void)state;
    p.config.timeout = alone.config.timeout = SECOND / 3;
    p.spoilt = 1; /* may learn it from rank 0, or at its own deadline */
    p.at_most = alone.at_most = 3 * SECOND;
    run(&two, &p);
    run(&one, &alone);
}

static void missing_memory_is_told_to_all(void **state)
{
    (void)state;
    spoil_each_in_turn(no_allocator, 0, NBCOLL_ERR_MEMORY, NBCOLL_ERR_MEMORY);
    spoil_each_in_turn(little_memory, 0, NBCOLL_ERR_MEMORY, NBCOLL_ERR_MEMORY);
    spoil_host(small_files, NBCOLL_ERR_MEMORY);
}

static void a_segment_larger_than_the_machine_is_refused(void **state)
{
    crew many = CREW(12);
    struct plan p = plan_of(12, NBCOLL_ERR_LIMIT);
    (void)state;
    p.config.depth = 4096;
    p.config.payload = 65536;
    p.config.quota = (size_t)1 << 30;
    if (sysconf(_SC_PHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE) > (48L << 30))
        skip();
    run(&many, &p);
}

/* ---- few descriptors --------------------------------------------------------------------------------------------- */

struct few {
    nbcoll_shm_config config;
    int spoilt, left; /* so many descriptors are left to that rank */
    nbcoll_status status[3];
};

static void limit_descriptors(int left)
{
    struct rlimit limit;
    int next = dup(STDERR_FILENO);
    close(next);
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = left < 0 ? limit.rlim_max : (rlim_t)(next + left);
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void open_with_few(int rank, void *user)
{
    struct few *f = user;
    nbcoll_shm_config config = f->config;
    nbcoll_endpoint *ep = NULL;

    config.rank = rank;
    if (rank == f->spoilt)
        limit_descriptors(f->left);
    f->status[rank] = nbcoll_shm_open(&config, &ep);
    if (rank == f->spoilt)
        limit_descriptors(-1);
    nbcoll_endpoint_close(ep);
}

/* Telling takes `needs` descriptors; with less the others learn at their deadline. True if all have opened. */
static bool try_few(struct few *f, int needs)
{
    crew three = PROCESSES_3;
    bool told = f->left >= needs;

    f->config = (nbcoll_shm_config){.size = sizeof f->config, .id = fresh_id(), .ranks = 3,
                                    .timeout = told ? 20 * SECOND : SECOND / 2};
    crew_succeeds(&three, open_with_few, f);
    if (f->status[f->spoilt] == NBCOLL_OK) {
        for (int rank = 0; rank < 3; rank++)
            assert_int_equal(f->status[rank], NBCOLL_OK);
        return true;
    }
    assert_int_equal(f->status[f->spoilt], NBCOLL_ERR_TRANSPORT);
    for (int rank = 0; rank < 3; rank++)
        if (told)
            assert_int_equal(f->status[rank], NBCOLL_ERR_TRANSPORT); /* at the deadline it would be ERR_TIMEOUT */
        else if (rank != f->spoilt)
            assert_true(f->status[rank] == NBCOLL_ERR_TIMEOUT || f->status[rank] == NBCOLL_ERR_PEER_LOST);
    return false;
}

static void missing_descriptors_are_told_to_all_at_once(void **state)
{
    struct few *f = shared_memory(sizeof *f);
    (void)state;
    for (f->spoilt = 0; f->spoilt < 3; f->spoilt += 2) {
        f->left = 0;
        while (!try_few(f, f->spoilt == 0 ? 2 : 1))
            f->left++;
        assert_in_range(f->left, 10, 20);
    }
    munmap(f, sizeof *f);
}

/* Rank 2 never comes. */
static void who_has_come_is_told_before_the_others_come(void **state)
{
    crew two = PROCESSES_2;
    struct few *f = shared_memory(sizeof *f);
    (void)state;
    f->left = 2;
    f->config = (nbcoll_shm_config){.size = sizeof f->config, .id = fresh_id(), .ranks = 3, .timeout = 20 * SECOND};
    crew_succeeds(&two, open_with_few, f);
    assert_int_equal(f->status[0], NBCOLL_ERR_TRANSPORT);
    assert_int_equal(f->status[1], NBCOLL_ERR_TRANSPORT);
    munmap(f, sizeof *f);
}

/* ---- a system that refuses --------------------------------------------------------------------------------------- */

struct refusal {
    int call, error;
    int argument; /* only if it lies in from..to; 0: in any case */
    uint32_t from, to;
    int spoilt;
    nbcoll_status expected, of_spoilt;
};
static struct refusal refusal;

/* A filter of system calls, which stays until the end of the process. */
static bool refuse(const struct refusal *r)
{
    uint32_t at = (uint32_t)(offsetof(struct seccomp_data, args) + (size_t)(r->argument ? r->argument - 1 : 0) * 8);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)r->call, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, r->argument ? r->from : 0, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, r->argument ? r->to : UINT32_MAX, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)r->error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool can_refuse(void)
{
    static const struct refusal nothing = {.call = -1};
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(!refuse(&nothing));
    return waitpid(child, &status, 0) == child && status == 0;
}

static void refused(nbcoll_shm_config *c, int rank)
{
    (void)c;
    (void)rank;
    CHECK(refuse(&refusal));
}

static void try_refusal(const crew *c, const struct refusal *r)
{
    struct plan p = plan_of(crew_ranks(c), r->expected);
    if (!can_refuse())
        skip();
    refusal = *r;
    p.spoil = refused;
    p.spoilt = r->spoilt;
    p.expected_of_spoilt = r->of_spoilt;
    p.at_most = SECOND;
    run(c, &p);
}

#define ALL(status) NBCOLL_ERR_##status, NBCOLL_ERR_##status

static void what_the_system_refuses_is_told_to_all_by_its_name(void **state)
{
    static const struct refusal refusals[] = {
        {SYS_eventfd2, ENOSYS, 0, 0, 0, 0, ALL(UNSUPPORTED)},
        {SYS_eventfd2, ENOSYS, 0, 0, 0, 1, ALL(UNSUPPORTED)},
        {SYS_eventfd2, ENOMEM, 0, 0, 0, 1, ALL(MEMORY)},
        {SYS_pidfd_open, EPERM, 0, 0, 0, 1, ALL(UNSUPPORTED)},
        {SYS_pidfd_open, ENOSYS, 0, 0, 0, 1, NBCOLL_OK, NBCOLL_OK}, /* which can be done without */
        {SYS_pidfd_open, ENFILE, 0, 0, 0, 1, ALL(TRANSPORT)},
        {SYS_epoll_create1, ENOMEM, 0, 0, 0, 0, ALL(MEMORY)},
        {SYS_memfd_create, ENOSYS, 0, 0, 0, 0, ALL(UNSUPPORTED)},
        {SYS_memfd_create, EMFILE, 0, 0, 0, 0, ALL(TRANSPORT)},
        {SYS_memfd_create, ENOMEM, 0, 0, 0, 0, ALL(MEMORY)},
        {SYS_fallocate, EOPNOTSUPP, 0, 0, 0, 0, ALL(UNSUPPORTED)},
        {SYS_fallocate, ENOSPC, 0, 0, 0, 0, ALL(MEMORY)},
        {SYS_fcntl, EINVAL, 2, F_ADD_SEALS, F_ADD_SEALS, 0, ALL(UNSUPPORTED)},
        {SYS_fcntl, ENOLCK, 2, F_SETLK, F_SETLK, 2, ALL(MEMORY)},
        {SYS_sendmsg, EPERM, 0, 0, 0, 0, ALL(UNSUPPORTED)},
        {SYS_sendmsg, ENOSYS, 0, 0, 0, 1, ALL(UNSUPPORTED)},
        {SYS_sendmsg, ETOOMANYREFS, 0, 0, 0, 0, ALL(TRANSPORT)},
        {SYS_recvmsg, ENOSYS, 0, 0, 0, 0, ALL(UNSUPPORTED)},
        {SYS_recvmsg, ENOSYS, 0, 0, 0, 1, ALL(UNSUPPORTED)},
    };
    crew three = PROCESSES_3;
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        print_message("call %d, errno %d, rank %d\n", refusals[i].call, refusals[i].error, refusals[i].spoilt);
        try_refusal(&three, &refusals[i]);
    }
}

/* As some kernels do, when signals come while more is reserved than fits between two of them. */
static void an_interrupted_reservation_goes_on(void **state)
{
    static const struct refusal interrupted = {SYS_fallocate, EINTR, 4, 65537, UINT32_MAX, 0, NBCOLL_OK, NBCOLL_OK};
    crew three = PROCESSES_3;
    (void)state;
    try_refusal(&three, &interrupted);
}

/* Rank 0 gives up when its guest has come, whose connection ends. */
static void a_guest_that_cannot_be_accepted_knows_it_at_once(void **state)
{
    static const struct refusal unheard = {SYS_accept4, ENOSYS, 0, 0, 0, 0, NBCOLL_ERR_PEER_LOST,
                                           NBCOLL_ERR_UNSUPPORTED};
    crew two = PROCESSES_2;
    (void)state;
    try_refusal(&two, &unheard);
}

/* ---- versions, and those who speak nonsense --------------------------------------------------------------------- */

struct forger {
    nbcoll_shm_id id;
    size_t bytes; /* of the control */
    nbcoll_status expected;
};

/* A hello as another version might send it: here the first 16 bytes, which are the same for ever, say so. */
static void forge(int rank, void *user)
{
    const struct forger *f = user;
    nbcoll_shm_config config = {.size = sizeof config, .id = f->id, .rank = 0, .ranks = 2, .timeout = 10 * SECOND};
    nbcoll_endpoint *ep = NULL;

    if (rank == 0) {
        CHECK_STATUS(f->expected, nbcoll_shm_open(&config, &ep));
        return;
    }
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    unsigned char message[1024] = {0};
    uint64_t magic = UINT64_C(0x6e62636f6c6c7368);
    uint32_t abi = NBCOLL_ABI + 1;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "nbcoll-shm-%s", f->id.text);
    while (connect(fd, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 52)) != 0)
        sched_yield();
    memcpy(message, &magic, sizeof magic);
    memcpy(message + 8, &abi, sizeof abi);
    CHECK(send(fd, message, f->bytes, MSG_NOSIGNAL) == (ssize_t)f->bytes);
    CHECK(recv(fd, message, sizeof message, 0) >= 24);
    uint32_t status;
    memcpy(&status, message + 20, sizeof status);
    CHECK(status == (uint32_t)f->expected);
    close(fd);
}

static void another_version_is_refused(void **state)
{
    crew two = PROCESSES_2;
    static const size_t bytes[] = {16, 24, 336, 1024};
    (void)state;
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        struct forger f = {.id = fresh_id(), .bytes = bytes[i], .expected = NBCOLL_ERR_ABI};
        crew_succeeds(&two, forge, &f);
    }
}

static void die_while_opening(int rank, void *user)
{
    const struct plan *p = user;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (rank != 2) {
        try_to_open(rank, user);
        return;
    }
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "nbcoll-shm-%s", p->config.id.text);
    while (connect(fd, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 52)) != 0)
        sched_yield();
    close(fd);
}

static void a_rank_that_dies_meanwhile_is_told_to_all(void **state)
{
    crew three = PROCESSES_3;
    struct plan p = plan_of(3, NBCOLL_ERR_PEER_LOST);
    (void)state;
    crew_succeeds(&three, die_while_opening, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_join_by_id),
        cmocka_unit_test(ranks_join_by_the_hosts_allgather),
        cmocka_unit_test(an_allgather_that_fails_or_never_ends),
        cmocka_unit_test(bad_arguments_are_refused_at_once),
        cmocka_unit_test(ids_differ),
        cmocka_unit_test(another_number_of_ranks_is_a_mismatch),
        cmocka_unit_test(another_payload_or_quota_is_a_mismatch),
        cmocka_unit_test(a_rank_that_exists_twice_is_refused),
        cmocka_unit_test(a_second_rank_0_is_refused),
        cmocka_unit_test(another_user_is_refused),
        cmocka_unit_test(a_stranger_does_not_disturb_the_ranks),
        cmocka_unit_test(another_network_namespace_is_refused),
        cmocka_unit_test(another_pid_namespace_is_refused),
        cmocka_unit_test(a_rank_that_never_comes_is_a_timeout),
        cmocka_unit_test(missing_memory_is_told_to_all),
        cmocka_unit_test(a_segment_larger_than_the_machine_is_refused),
        cmocka_unit_test(missing_descriptors_are_told_to_all_at_once),
        cmocka_unit_test(who_has_come_is_told_before_the_others_come),
        cmocka_unit_test(what_the_system_refuses_is_told_to_all_by_its_name),
        cmocka_unit_test(an_interrupted_reservation_goes_on),
        cmocka_unit_test(a_guest_that_cannot_be_accepted_knows_it_at_once),
        cmocka_unit_test(another_version_is_refused),
        cmocka_unit_test(a_rank_that_dies_meanwhile_is_told_to_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
