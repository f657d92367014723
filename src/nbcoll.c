/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The whole library as one file, for hosts that vendor it: compile this and nothing else,
 *
 *     cc -O2 -I nbcoll/include -DNBCOLL_WITH_LOOPBACK -DNBCOLL_PREFIX=acme_ -c nbcoll/src/nbcoll.c
 *
 * Transports come in by name (NBCOLL_WITH_LOOPBACK, NBCOLL_WITH_TRACE, NBCOLL_WITH_FAULT): a host that has its own
 * needs none. NBCOLL_PREFIX renames every external symbol (nbcoll/prefix.h).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

