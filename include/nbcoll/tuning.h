/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tuning files: rules for selection (select.h) as commented text, for
 *
 *     nbcoll_tuning_read(NULL, "machine.tuning", &tuning, &problem);
 *     config.rules = tuning->rules;
 *     config.rule_count = tuning->count;
 *     nbcoll_comm_create(context, endpoint, &config, &comm, NBCOLL_FOREVER);
 *     nbcoll_tuning_free(tuning);
 *
 * which stands on each rank: ranks that have read different rules are refused by the communicator. A section names an
 * operation; a line in it is a rule, `ALGORITHM = conditions and parameters`, in any order and all optional:
 *
 *     ; measured on four nodes
 *     [bcast]
 *     binomial     = ranks 2..8 bytes 0..4095
 *     slots_chain  = shared bytes 65536.. segment 16384
 *     scatter_ring =                         ; everything else
 *
 *     ranks A..B, nodes A..B, bytes A..B
 *                               both ends included; either may be left out; one number is a range of its own
 *     shared, apart             only where all ranks share memory; only where they do not
 *     segment N, arity N, ports N, split N, leaders N
 *                               such as the algorithm reads
 *
 * An earlier rule is stronger than a later one. ';' begins a comment, at the beginning of a line '#' does too. A line
 * has at most 190 characters.
 *
 * This part of nbcoll is optional: a library of its own that needs libinih (pkg-config: nbcoll_tuning; CMake: the
 * component `tuning`, target nbcoll::tuning), or one more file, src/tuning/tuning.c, in a vendored copy. The core knows
 * nothing of it. It reads the file by the C library; its other memory comes from the host's hooks.
 */
#include "select.h"

#ifndef NBCOLL_TUNING_H
#define NBCOLL_TUNING_H

#ifdef NBCOLL_PREFIX /* not among the names of every copy */
#define nbcoll_tuning_read NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_tuning_read)
#define nbcoll_tuning_read_with NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_tuning_read_with)
#define nbcoll_tuning_free NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_tuning_free)
#endif

NBCOLLI_BEGIN

typedef struct nbcoll_tuning {
    const nbcoll_rule *rules; /* in the order of the file; `line` says where each stands */
    size_t count;
} nbcoll_tuning;

/* What is wrong with a file. */
typedef struct nbcoll_tuning_problem {
    size_t size;
    unsigned line;  /* from 1 on; 0: the file as a whole */
    char text[160]; /* "bcast has no algorithm 'x'" */
} nbcoll_tuning_problem;

/* Reads a file: all of it, or nothing. `host`, for memory, is copied and may be null.
 * `problem` may be null; it is filled in where an error is returned. Any thread. Errors: ERR_NULL (path, out),
 * ERR_CONFIG (a size; or the file is malformed: see problem), ERR_ARGUMENT (it cannot be read), ERR_LIMIT (more
 * than NBCOLL_RULES rules), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_tuning_read(const nbcoll_host *host, const char *path, nbcoll_tuning **out,
                                            nbcoll_tuning_problem *problem);

/* The same, for files that also name algorithms of the host's own: own[n], looked through before the library's. They
 * must outlive the rules. Errors: the same, and ERR_NULL (own, or one of them), ERR_CONFIG (one is no algorithm: as
 * nbcoll_rules_check says). */
NBCOLL_API nbcoll_status nbcoll_tuning_read_with(const nbcoll_host *host, const char *path,
                                                 const nbcoll_algorithm *const own[], size_t n, nbcoll_tuning **out,
                                                 nbcoll_tuning_problem *problem);

/* Null is accepted. */
NBCOLL_API void nbcoll_tuning_free(nbcoll_tuning *tuning);

NBCOLLI_END
#endif
