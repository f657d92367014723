/* SPDX-License-Identifier: BSD-3-Clause
 * How a rank and an agent's process find each other, or do not: every error that is documented, and no descriptor left.
 * The process is a thread here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nbcoll/loopback.h"
#include "compiled.h"
#include "crew.h"
#include "world.h" /* EXPECT */

enum { RANKS = 2 };

/* The endpoints of the ranks, and those of the process. */
typedef struct scene {
    nbcoll_loopback *world[2];
    nbcoll_endpoint *rank[RANKS], *served[RANKS];
    int socket[RANKS], theirs[RANKS], before;
    nbcoll_serve_config config;
    nbcoll_status status;
    pthread_t process;
} scene;

static void scene_open(scene *s)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = RANKS};
    *s = (scene){.before = descriptors()};
    for (int i = 0; i < 2; i++) {
        EXPECT(OK, nbcoll_loopback_create(&config, &s->world[i]));
        for (int rank = 0; rank < RANKS; rank++)
            EXPECT(OK, nbcoll_loopback_open(s->world[i], rank, i ? &s->served[rank] : &s->rank[rank]));
    }
    for (int rank = 0; rank < RANKS; rank++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        s->socket[rank] = pair[0];
        s->theirs[rank] = pair[1];
    }
    s->config = (nbcoll_serve_config){
        .size = sizeof s->config, .endpoints = s->served, .sockets = s->theirs, .count = RANKS};
}

static void *serve(void *user)
{
    scene *s = user;
    s->status = nbcoll_agent_serve(&s->config);
    return NULL;
}

static void begin(scene *s)
{
    assert_int_equal(pthread_create(&s->process, NULL, serve, s), 0);
}

/* When all ranks have gone. */
static void scene_close(scene *s)
{
    pthread_join(s->process, NULL);
    EXPECT(OK, s->status);
    for (int rank = 0; rank < RANKS; rank++)
        nbcoll_endpoint_close(s->rank[rank]);
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_loopback_free(s->world[i])); /* its endpoints are closed */
    assert_int_equal(descriptors(), s->before);
}

static nbcoll_status attach(const scene *s, int rank, int socket, uint64_t timeout, nbcoll_agent **out)
{
    nbcoll_attach_config config = {.size = sizeof config, .socket = socket, .timeout = timeout};
    return nbcoll_agent_attach(s->rank[rank], &config, out);
}

/* ---- ranks that do not find it --------------------------------------------------------------------------------- */

static void rank_that_does_not_find_the_process_says_why_and_closes_its_socket(void **state)
{
    nbcoll_agent *agent = NULL;
    scene s;
    (void)state;
    scene_open(&s);
    EXPECT(ERR_TIMEOUT, attach(&s, 0, dup(s.socket[0]), 1000, &agent));
    assert_int_equal(send(s.theirs[0], "hello", 5, 0), 5);
    EXPECT(ERR_ABI, attach(&s, 0, dup(s.socket[0]), 0, &agent));
    EXPECT(ERR_CONFIG, attach(&s, 0, 1 << 20, 0, &agent));
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    close(pair[1]);
    EXPECT(ERR_PEER_LOST, attach(&s, 0, pair[0], 0, &agent));
    EXPECT(ERR_NULL, nbcoll_agent_attach(s.rank[0], NULL, &agent));
    EXPECT(ERR_CONFIG, nbcoll_agent_attach(s.rank[0], &(nbcoll_attach_config){.size = 1}, &agent));
    begin(&s);
    EXPECT(ERR_RANK, attach(&s, 1, s.socket[0], 0, &agent)); /* it serves rank 0 there */
    EXPECT(OK, attach(&s, 1, s.socket[1], 0, &agent));
    EXPECT(OK, nbcoll_agent_close(agent));
    scene_close(&s);
}

/* ---- ranks that are none --------------------------------------------------------------------------------------- */

/* Until the other side has closed it; what it has sent before is thrown away. */
static void await_closed(int socket)
{
    char bytes[256];
    while (recv(socket, bytes, sizeof bytes, 0) > 0)
        ;
    close(socket);
}

static void what_is_no_letter_of_a_rank_ends_that_rank_alone(void **state)
{
    nbcoll_agent *agent;
    scene s;
    (void)state;
    scene_open(&s);
    begin(&s);
    assert_int_equal(send(s.socket[0], "hello", 5, 0), 5);
    await_closed(s.socket[0]);
    EXPECT(OK, attach(&s, 1, s.socket[1], 0, &agent));
    EXPECT(OK, nbcoll_agent_close(agent));
    scene_close(&s);
}

/* ---- what cannot be served ------------------------------------------------------------------------------------- */

static void configuration_that_cannot_be_served_closes_what_it_was_given(void **state)
{
    static const nbcoll_agent_config wrong = {.size = 1};
    (void)state;
    for (int i = 0; i < 4; i++) {
        scene s;
        scene_open(&s);
        s.config.copied = i == 1 ? SIZE_MAX : 0;
        s.config.flags = i == 2 ? ~NBCOLL_SERVE_OUTSIDE : 0;
        s.config.programs = i == 3 ? UINT32_MAX : 0;
        s.config.agent = i == 0 ? &wrong : NULL;
        EXPECT(ERR_CONFIG, nbcoll_agent_serve(&s.config));
        for (int rank = 0; rank < RANKS; rank++) {
            close(s.socket[rank]);
            nbcoll_endpoint_close(s.rank[rank]);
        }
        for (int k = 0; k < 2; k++)
            EXPECT(OK, nbcoll_loopback_free(s.world[k]));
        assert_int_equal(descriptors(), s.before);
    }
    EXPECT(ERR_NULL, nbcoll_agent_serve(NULL));
}

/* ---- programs that are refused --------------------------------------------------------------------------------- */

static nbcoll_status takes(const nbcoll_agent *agent, const nbcoll_program *p, const void *send, nbcoll_refusal *why)
{
    static char recv[1 << 16];
    *why = (nbcoll_refusal){.size = sizeof *why};
    return nbcoll_agent_takes(agent, p, send, recv, why);
}

/* The memory of a loopback's ranks is nobody else's to name: all is copied. */
static void what_is_refused_is_said_with_its_numbers(void **state)
{
    static char send[1 << 16];
    nbcoll_agent *agent[RANKS];
    nbcoll_program_run *run;
    nbcoll_refusal why;
    compiled c;
    scene s;
    (void)state;
    nbcoll_case how = compiled_case(NBCOLL_OPERATION_ALLREDUCE, RANKS, 100);
    EXPECT(OK, compiled_open(&c, nbcoll_algorithm_find(NBCOLL_OPERATION_ALLREDUCE, "recursive_doubling"), &how, NULL));
    for (int i = 0; i < 3; i++) {
        scene_open(&s);
        s.config.tables = i == 1 ? 100 : 0;
        s.config.copied = i == 2 ? 399 : 400;
        begin(&s);
        for (int rank = 0; rank < RANKS; rank++)
            EXPECT(OK, attach(&s, rank, s.socket[rank], 0, &agent[rank]));
        nbcoll_status status = takes(agent[0], c.program[0], send, &why);
        assert_int_equal(status, i == 0 ? NBCOLL_OK : i == 1 ? NBCOLL_ERR_LIMIT : NBCOLL_ERR_BUFFER);
        assert_int_equal(why.reason, i == 0   ? NBCOLL_REFUSAL_NONE
                                     : i == 1 ? NBCOLL_REFUSAL_TABLES
                                              : NBCOLL_REFUSAL_MEMORY);
        assert_int_equal(why.allowed, i == 0 ? 0 : i == 1 ? 100 : 399);
        assert_true(i == 0 || why.needed > why.allowed);
        if (i)
            assert_int_equal(nbcoll_agent_start(agent[0], c.program[0], send, send, &run), status);
        assert_int_equal(takes(agent[0], c.program[1], send, &why), NBCOLL_ERR_RANK);
        assert_int_equal(why.reason, NBCOLL_REFUSAL_NONE);
        EXPECT(ERR_BUFFER, takes(agent[0], c.program[0], NULL, &why));
        for (int rank = 0; rank < RANKS; rank++)
            EXPECT(OK, nbcoll_agent_close(agent[rank]));
        scene_close(&s);
    }
    EXPECT(ERR_NULL, nbcoll_agent_takes(NULL, c.program[0], send, send, NULL));
    compiled_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_that_does_not_find_the_process_says_why_and_closes_its_socket),
        cmocka_unit_test(what_is_no_letter_of_a_rank_ends_that_rank_alone),
        cmocka_unit_test(configuration_that_cannot_be_served_closes_what_it_was_given),
        cmocka_unit_test(what_is_refused_is_said_with_its_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
