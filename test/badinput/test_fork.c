/* SPDX-License-Identifier: BSD-3-Clause
 * fork: in the child every call on an inherited handle says so and touches nothing; the parent goes on undisturbed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "works.h"
#include "world.h"

/* In the child, where a failed assertion would go on with the parent's tests: counts instead. */
static int wrong;

static void forked(nbcoll_status s, const char *call)
{
    if (s != NBCOLL_ERR_FORKED) {
        fprintf(stderr, "in the child: %s: %s\n", call, nbcoll_status_name(s));
        wrong++;
    }
}
#define FORKED(call) forked(call, #call)

/* What the parent had. */
typedef struct inherited {
    world w;
    nbcoll_request active, inactive;
    nbcoll_schedule *schedule;
    int64_t a[4], b[4];
} inherited;

static void done(nbcoll_request request, nbcoll_status status, void *user)
{
    (void)request;
    (void)status;
    (void)user;
}

static void call_requests(inherited *i)
{
    nbcoll_request q = i->active, p = i->inactive;
    nbcoll_status s[1];
    size_t n, index[1];

    FORKED(nbcoll_test(&q));
    FORKED(nbcoll_wait(&q, NBCOLL_FOREVER));
    FORKED(nbcoll_test_all(1, &q, s));
    FORKED(nbcoll_wait_all(1, &q, s, NBCOLL_FOREVER));
    FORKED(nbcoll_wait_any(1, &q, &n, NBCOLL_FOREVER));
    FORKED(nbcoll_wait_some(1, &q, &n, index, s, NBCOLL_FOREVER));
    FORKED(nbcoll_start(&p));
    FORKED(nbcoll_on_done(q, done, NULL));
    FORKED(nbcoll_cancel(q));
    FORKED(nbcoll_arrived(q, 0, 0));
    FORKED(nbcoll_request_free(&p));
    wrong += q.at != i->active.at || p.at != i->inactive.at;
}

static void call_contexts(inherited *i)
{
    nbcoll_context *c = i->w.context[0];
    nbcoll_comm *comm = i->w.comm[0], *out;
    nbcoll_failure failure;
    nbcoll_request q;
    int fd;

    FORKED(nbcoll_progress(c));
    FORKED(nbcoll_fd(c, &fd));
    FORKED(nbcoll_arm(c));
    FORKED(nbcoll_last_failure(c, &failure));
    FORKED(nbcoll_context_free(c));
    FORKED(nbcoll_comm_icreate(c, i->w.endpoint[0], NULL, &out, &q));
    FORKED(nbcoll_comm_create(c, i->w.endpoint[0], NULL, &out, 0));
    FORKED(nbcoll_comm_idup(comm, &out, &q));
    FORKED(nbcoll_comm_dup(comm, &out, 0));
    FORKED(nbcoll_comm_idup_with(comm, NULL, &out, &q));
    FORKED(nbcoll_comm_dup_with(comm, NULL, &out, 0));
    FORKED(nbcoll_comm_isplit(comm, 0, 0, &out, &q));
    FORKED(nbcoll_comm_split(comm, 0, 0, &out, 0));
    FORKED(nbcoll_comm_free(comm));
    FORKED(nbcoll_schedule_start(i->schedule, i->a, i->b, comm, &q));
    FORKED(nbcoll_schedule_init(i->schedule, i->a, i->b, comm, &q));
    FORKED(nbcoll_schedule_free(i->schedule));
    wrong += nbcoll_comm_rank(comm) != 0 || nbcoll_comm_size(comm) != 2; /* these never fail */
}

#define ALL_FORMS(name, ...)                                                                                           \
    do {                                                                                                               \
        nbcoll_request q;                                                                                              \
        FORKED(nbcoll_i##name(__VA_ARGS__, &q));                                                                       \
        FORKED(nbcoll_##name##_init(__VA_ARGS__, &q));                                                                 \
        FORKED(nbcoll_##name(__VA_ARGS__, NBCOLL_FOREVER));                                                            \
    } while (0)

static void call_collectives(inherited *i)
{
    nbcoll_comm *comm = i->w.comm[0];

    ALL_FORMS(barrier, comm);
    ALL_FORMS(bcast, i->a, 4, NBCOLL_INT64, 0, comm);
    ALL_FORMS(scatter, i->a, i->b, 1, NBCOLL_INT64, 0, comm);
    ALL_FORMS(gather, i->a, i->b, 1, NBCOLL_INT64, 0, comm);
    ALL_FORMS(allgather, i->a, i->b, 1, NBCOLL_INT64, comm);
    ALL_FORMS(reduce, i->a, i->b, 4, NBCOLL_INT64, NBCOLL_SUM, 0, comm);
    ALL_FORMS(allreduce, i->a, i->b, 4, NBCOLL_INT64, NBCOLL_SUM, comm);
}

static nbcoll_schedule *owned_schedule(inherited *i)
{
    nbcoll_builder_config config = {.size = sizeof config, .ranks = 2};
    nbcoll_addr to = {NBCOLL_BUFFER_RECV, 0}, from = {NBCOLL_BUFFER_SEND, 0};
    nbcoll_schedule *s = NULL;
    nbcoll_builder *b;
    nbcoll_request q;

    EXPECT(OK, nbcoll_builder_open(&config, &b));
    nbcoll_add_copy(b, to, from, 8);
    EXPECT(OK, nbcoll_builder_finish(b, &s));
    EXPECT(OK, nbcoll_schedule_init(s, i->a, i->b, i->w.comm[0], &q));
    EXPECT(OK, nbcoll_request_free(&q));
    return s;
}

static void open_inherited(inherited *i, uint32_t flags)
{
    nbcoll_context_config config = {.size = sizeof config, .flags = flags};
    world_open(&i->w, 2, NULL, &config, NULL);
    i->schedule = owned_schedule(i);
    EXPECT(OK, nbcoll_barrier_init(i->w.comm[0], &i->inactive));
    EXPECT(OK, nbcoll_ibarrier(i->w.comm[0], &i->active));
}

/* The parent's operation ends, and all is as before. */
static void close_inherited(inherited *i)
{
    nbcoll_request q[2] = {i->active};
    EXPECT(OK, nbcoll_ibarrier(i->w.comm[1], &q[1]));
    world_finish(&i->w, 2, q);
    works(&i->w);
    EXPECT(OK, nbcoll_schedule_free(i->schedule));
    world_close(&i->w);
}

/* Runs the calls in a child, and waits for it. */
static void in_a_child(inherited *i, void (*calls)(inherited *))
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        calls(i);
        _exit(wrong != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void in_a_forked_child_every_call_says_so_and_the_parent_goes_on(void **state)
{
    static const uint32_t flags[] = {0, NBCOLL_ANY_THREAD};
    (void)state;
    for (int k = 0; k < 2; k++) {
        inherited i = {.a = {0}};
        open_inherited(&i, flags[k]);
        in_a_child(&i, call_requests);
        in_a_child(&i, call_contexts);
        in_a_child(&i, call_collectives);
        close_inherited(&i);
    }
}

static void use_a_world_of_its_own(inherited *i)
{
    world w;
    nbcoll_request q[2];
    (void)i;
    world_open(&w, 2, NULL, NULL, NULL);
    for (int r = 0; r < 2; r++)
        wrong += nbcoll_ibarrier(w.comm[r], &q[r]) != NBCOLL_OK;
    wrong += nbcoll_wait_all(2, q, NULL, NBCOLL_FOREVER) != NBCOLL_OK;
    world_close(&w);
}

static void a_child_may_use_contexts_of_its_own(void **state)
{
    inherited i = {.a = {0}};
    (void)state;
    open_inherited(&i, 0);
    in_a_child(&i, use_a_world_of_its_own);
    close_inherited(&i);
}


static void fork_here(nbcoll_request request, nbcoll_status status, void *user)
{
    int *is_child = user;
    (void)request;
    (void)status;
    *is_child = fork() == 0;
}

/* A child that is born in a callback returns through the library's frames. */
static void a_child_born_in_a_callback_gets_out(void **state)
{
    inherited i = {.a = {0}};
    nbcoll_request q[2];
    int is_child = 0, status;
    (void)state;
    open_inherited(&i, NBCOLL_ANY_THREAD);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_ibarrier(i.w.comm[r], &q[r]));
    EXPECT(OK, nbcoll_on_done(i.active, fork_here, &is_child));
    for (int k = 0; k < 10 && !is_child; k++)
        nbcoll_progress(i.w.context[0]);
    if (is_child)
        _exit(nbcoll_progress(i.w.context[0]) != NBCOLL_ERR_FORKED);
    assert_true(wait(&status) > 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT(OK, nbcoll_ibarrier(i.w.comm[1], &i.active)); /* the partner of rank 0's second */
    nbcoll_request all[3] = {q[0], q[1], i.active};
    world_finish(&i.w, 3, all);
    works(&i.w);
    EXPECT(OK, nbcoll_schedule_free(i.schedule));
    world_close(&i.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_a_forked_child_every_call_says_so_and_the_parent_goes_on),
        cmocka_unit_test(a_child_may_use_contexts_of_its_own),
        cmocka_unit_test(a_child_born_in_a_callback_gets_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
