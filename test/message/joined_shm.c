/* SPDX-License-Identifier: BSD-3-Clause
 * See joined_shm.h. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "joined_shm.h"

meeting meeting_of(const crew *c, uint32_t shm_flags)
{
    meeting at = {.config = {.size = sizeof at.config, .ranks = crew_ranks(c), .flags = shm_flags},
                  .context = {.size = sizeof at.context},
                  .messages = {.size = sizeof at.messages}};
    assert_int_equal(nbcoll_shm_id_make(&at.config.id), NBCOLL_OK);
    return at;
}

void mate_join(mate *m, const meeting *at, int rank)
{
    nbcoll_shm_config config = at->config;
    nbcoll_endpoint *endpoint;

    config.rank = m->rank = rank;
    m->ranks = config.ranks;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &endpoint));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, &at->context, &m->context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(m->context, endpoint, NULL, &m->comm, 30 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_messages_open(m->comm, &at->messages, &m->m, 30 * SECOND));
}

void mate_leave(mate *m)
{
    nbcoll_status s;
    CHECK_STATUS(NBCOLL_OK, nbcoll_messages_close(m->m));
    for (uint64_t start = clock_ns(); (s = nbcoll_context_free(m->context)) == NBCOLL_ERR_BUSY; sched_yield())
        CHECK(clock_ns() - start < 10 * SECOND);
    CHECK_STATUS(NBCOLL_OK, s);
}
