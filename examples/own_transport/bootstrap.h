/* SPDX-License-Identifier: BSD-3-Clause
 * Sockets for socket_open, for ranks that are processes or live in one. */
#ifndef BOOTSTRAP_H
#define BOOTSTRAP_H

#include <nbcoll/nbcoll.h>

/* Connects this process with those of all other ranks, which call it with the same `name`: 1 to 40 characters that no
 * other set of ranks on this machine has. Blocks until all have come, a minute at most. Errors: ERR_TIMEOUT,
 * ERR_TRANSPORT (sockets fail). */
nbcoll_status socket_connect(const char *name, int rank, int ranks, int fd[]);
/* For ranks of one process: fd[a * ranks + b] is what rank a passes for peer b. Errors: ERR_TRANSPORT. */
nbcoll_status socket_pairs(int ranks, int fd[]);

#endif
