/* SPDX-License-Identifier: BSD-3-Clause
 * The transport for the command: cc -shared -fPIC socket.c bootstrap.c plugin.c -o socket.so, and then
 * nbcoll bench bcast --transport ./socket.so */
#include "bootstrap.h"
#include "socket.h"

#include <nbcoll/shm.h>

nbcoll_transport_open nbcoll_transport_open_rank;

nbcoll_status nbcoll_transport_open_rank(const char *name, int rank, int ranks, nbcoll_endpoint **out)
{
    int fd[NBCOLL_SHM_RANKS];
    nbcoll_status status = socket_connect(name, rank, ranks, fd);
    return status != NBCOLL_OK ? status : socket_open(rank, ranks, fd, out);
}
