/* SPDX-License-Identifier: BSD-3-Clause
 * What the cells of communicators take of shared memory, by the number of ranks. */
#include "info.h"

#ifdef NBCOLL_WITH_SHM

#include <nbcoll/shm.h>

json_t *info_cells(void)
{
    json_t *all = json_array();
    for (int ranks = 2; ranks <= NBCOLL_SHM_RANKS; ranks *= 2) {
        json_int_t bytes = (json_int_t)nbcoll_cells_bytes(NULL, ranks), quota = (json_int_t)nbcoll_shm_quota(ranks);
        json_array_append_new(all, json_pack("{s:i, s:I, s:I, s:I}", "ranks", ranks, "bytes", bytes, "quota", quota,
                                             "communicators", quota / bytes));
    }
    return all;
}

#else

json_t *info_cells(void)
{
    return json_array();
}

#endif
