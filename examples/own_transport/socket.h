/* SPDX-License-Identifier: BSD-3-Clause
 * A transport outside of the library: messages between processes of one machine over Unix sockets, one for each pair of
 * ranks. It is what to copy from: socket.c is all of it, and bootstrap.c makes the sockets. */
#ifndef SOCKET_H
#define SOCKET_H

#include <nbcoll/transport.h>

/* Opens the end of `rank`. fd[peer] is a socket (SOCK_SEQPACKET, close-on-exec) whose other end rank `peer` alone has;
 * fd[rank] is ignored. From an OK on the sockets are the endpoint's. Errors: ERR_NULL, ERR_RANK, ERR_MEMORY,
 * ERR_TRANSPORT (no descriptor). Any thread. */
nbcoll_status socket_open(int rank, int ranks, const int fd[], nbcoll_endpoint **out);

#endif
