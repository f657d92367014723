/* SPDX-License-Identifier: BSD-3-Clause
 * Cases: what each rank passes, and where its blocks lie. Private to this folder. */
#ifndef NBCOLLI_VERIFY_CASE_H
#define NBCOLLI_VERIFY_CASE_H

#include "../host/host.h"
#include "../select/select.h"
#include "nbcoll/verify.h"

/* Copies a case of whatever size, and checks it. Errors: as those of nbcoll_meaning_of. */
nbcoll_status nbcolli_case_take(const nbcoll_case *c, nbcoll_case *out);

/* Of a case that was checked: what the send or receive buffer of a rank holds, were it not in place. */
nbcolli_part nbcolli_case_part(const nbcoll_case *c, int rank, int is_recv);

/* Block i of the send or receive side of a rank; where that side is one block or vector, that one whatever i is. In
 * place it lies in the other side's buffer. */
nbcoll_region nbcolli_case_block(const nbcoll_case *c, int rank, int is_recv, int i);

/* All blocks of the send side, from the beginning of the buffer. */
nbcoll_region nbcolli_case_blocks(const nbcoll_case *c, int rank);

/* The algorithm's schedules for all ranks; those that were built are to be freed in any case. */
nbcoll_status nbcolli_case_build(const nbcoll_algorithm *algorithm, const nbcoll_case *c, const nbcoll_host *host,
                                 nbcoll_schedule *schedules[]);

#endif
