/* SPDX-License-Identifier: BSD-3-Clause
 * See served.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "nbcoll/loopback.h"
#include "served.h"

void served_open(served *s, int ranks)
{
    s->ranks = ranks;
    for (int i = 0; i < ranks; i++)
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s->socket[i]), 0);
}

void served_close(const served *s)
{
    for (int i = 0; i < s->ranks; i++) {
        close(s->socket[i][0]);
        close(s->socket[i][1]);
    }
}

void served_take(const served *s, int rank, int mine[])
{
    int nothing = open("/dev/null", O_RDWR);
    for (int i = 0; i < s->ranks; i++)
        for (int side = 0; side < 2; side++) {
            if (side ? rank == s->ranks : rank == i)
                mine[i] = dup(s->socket[i][side]);
            dup2(nothing, s->socket[i][side]);
        }
    close(nothing);
}

void served_serve(const served *s, const int mine[], const nbcoll_serve_config *how)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = s->ranks, .pairs = nbcoll_loopback_pairs()};
    nbcoll_endpoint *endpoint[RANKS_MOST];
    nbcoll_serve_config all = *how;
    nbcoll_loopback *world;
    CHECK_STATUS(NBCOLL_OK, nbcoll_loopback_create(&config, &world));
    for (int i = 0; i < s->ranks; i++)
        CHECK_STATUS(NBCOLL_OK, nbcoll_loopback_open(world, i, &endpoint[i]));
    all.size = sizeof all;
    all.endpoints = endpoint;
    all.sockets = mine;
    all.count = s->ranks;
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_serve(&all));
    CHECK_STATUS(NBCOLL_OK, nbcoll_loopback_free(world));
}

nbcoll_agent *served_join(member *m, const nbcoll_shm_config *config, int socket, const nbcoll_host *host,
                          const nbcoll_context_config *context, nbcoll_comm_config comm, bool gives)
{
    nbcoll_attach_config attach = {.size = sizeof attach, .host = host, .socket = socket};
    nbcoll_agent *agent;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(config, &m->endpoint));
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_attach(m->endpoint, &attach, &agent));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, context, &m->context));
    comm.agent = gives ? agent : NULL;
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(m->context, m->endpoint, &comm, &m->comm, 30 * SECOND));
    return agent;
}
