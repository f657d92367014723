/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Why a rank is lost: what shm says of it reaches the program, in nbcoll_failure.reason and in words.
 */
#include <errno.h>
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/transport.h"
#include "ranks.h"

struct plan {
    nbcoll_shm_config config;
    void (*go)(struct plan *p, member *m); /* how rank 1 goes */
    const char *reason[2];                 /* one of these is said */
    atomic_int gone, seen;                 /* of one that is abandoned */
};

static void is_killed(struct plan *p, member *m)
{
    (void)p, (void)m;
    kill(getpid(), SIGKILL);
}

static void becomes_another(struct plan *p, member *m)
{
    (void)p, (void)m;
    execl("/bin/sleep", "sleep", "1", (char *)NULL);
}

/* In the middle of an operation. Its process stays until the other has seen it. */
static void is_abandoned(struct plan *p, member *m)
{
    nbcoll_request q;
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibarrier(m->comm, &q));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_abandon(m->context, NULL, NULL));
    atomic_store(&p->gone, 1);
    for (uint64_t start = clock_ns(); !atomic_load(&p->seen) && clock_ns() - start < 20 * SECOND;)
        sched_yield();
}

/* The sentence of the failure ends with it. */
static void is_told(const nbcoll_failure *f)
{
    char text[300], wanted[300];

    nbcoll_failure_text(f, text, sizeof text);
    snprintf(wanted, sizeof wanted, "rank 1 was lost, or has left, before the end of operation %d (%s)", (int)f->tag,
             f->reason.text);
    CHECK(strcmp(text, wanted) == 0);
}

static void lose(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = p->config;
    nbcoll_failure failure;
    nbcoll_status s;
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 10 * SECOND));
    if (rank == 1) {
        p->go(p, &m);
        return;
    }
    while (p->go == is_abandoned && !atomic_load(&p->gone))
        sched_yield();
    while ((s = nbcoll_barrier(m.comm, 10 * SECOND)) == NBCOLL_OK)
        ;
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, s);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_failure(m.comm, &failure));
    CHECK(failure.rank == 1 && failure.reason.text && failure.reason.code == 0);
    int which = p->reason[1] && strcmp(failure.reason.text, p->reason[1]) == 0;
    CHECK(strcmp(failure.reason.text, p->reason[which]) == 0);
    is_told(&failure);
    atomic_store(&p->seen, 1);
    member_leave(&m);
}

/* `signal`: what ends the process of rank 1; 0: it ends by itself. */
static void reason_is(void (*go)(struct plan *p, member *m), int signal, const char *reason, const char *or_this)
{
    const crew two = PROCESSES_2;
    struct plan *p = shared_memory(sizeof *p);
    int status[RANKS_MOST];

    *p = (struct plan){{.size = sizeof p->config, .id = fresh_id(), .ranks = 2}, go, {reason, or_this}, 0, 0};
    assert_true(crew_run(&two, lose, p, status));
    assert_int_equal(status[0], 0);
    assert_int_equal(status[1], signal);
    munmap(p, sizeof *p);
}

#define ENDED "its process has ended"
#define EXEC_OR_ENDED "its process has called exec or ended"

static void a_process_that_ends(void **state)
{
    (void)state;
    reason_is(is_killed, SIGKILL, ENDED, EXEC_OR_ENDED);
}

static void a_process_that_calls_exec(void **state)
{
    (void)state;
    reason_is(becomes_another, 0, EXEC_OR_ENDED, NULL);
}

static void an_abandoned_rank(void **state)
{
    (void)state;
    reason_is(is_abandoned, 0, "another rank has found it lost, or it was abandoned", NULL);
}

static void a_key_that_names_no_memory(void **state)
{
    nbcoll_shm_config config = {.size = sizeof config, .id = fresh_id(), .ranks = 1};
    nbcoll_transport_error reason = {0, NULL};
    nbcoll_key key = {{1, 2, 3, 4}};
    nbcoll_work work = {0};
    nbcoll_endpoint *ep;
    char to[8];

    (void)state;
    assert_int_equal(nbcoll_shm_open(&config, &ep), NBCOLL_OK);
    assert_int_equal(ep->transport->bulk->get(ep, 0, &key, 0, NULL, to, sizeof to, &work), NBCOLL_POST_FAILED);
    ep->transport->reason(ep, 0, &reason);
    assert_string_equal(reason.text, "a key names no memory");
    assert_int_equal(reason.code, EKEYREJECTED);
    nbcoll_endpoint_close(ep);
}

static void said_in_words(nbcoll_transport_error reason, const char *wanted)
{
    const nbcoll_failure f = {.status = NBCOLL_ERR_PEER_LOST, .rank = 3, .tag = 17, .reason = reason};
    char text[300];

    nbcoll_failure_text(&f, text, sizeof text);
    assert_string_equal(text, wanted);
}

static void the_words_of_a_reason(void **state)
{
#define SENTENCE "rank 3 was lost, or has left, before the end of operation 17"
    (void)state;
    said_in_words((nbcoll_transport_error){0, NULL}, SENTENCE);
    said_in_words((nbcoll_transport_error){0, "the cable is cut"}, SENTENCE " (the cable is cut)");
    said_in_words((nbcoll_transport_error){12, "the queue pair"}, SENTENCE " (the queue pair: error 12)");
    said_in_words((nbcoll_transport_error){12, NULL}, SENTENCE " (error 12)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_ends),   cmocka_unit_test(a_process_that_calls_exec),
        cmocka_unit_test(an_abandoned_rank),     cmocka_unit_test(a_key_that_names_no_memory),
        cmocka_unit_test(the_words_of_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
