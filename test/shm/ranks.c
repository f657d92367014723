/* SPDX-License-Identifier: BSD-3-Clause
 * See ranks.h. */
#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "native.h"
#include "ranks.h"

void member_join_limited(member *m, const nbcoll_shm_config *config, const nbcoll_context_config *context,
                         const nbcoll_comm_config *limits)
{
    native n;

    native_init(&n, limits);
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(config, &m->endpoint));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, context, &m->context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(m->context, m->endpoint, &n.config, &m->comm, 30 * SECOND));
}

void member_join(member *m, const nbcoll_shm_config *config, const nbcoll_context_config *context)
{
    member_join_limited(m, config, context, NULL);
}

void member_leave(member *m)
{
    nbcoll_status s;
    for (uint64_t start = clock_ns(); (s = nbcoll_context_free(m->context)) == NBCOLL_ERR_BUSY; sched_yield())
        CHECK(clock_ns() - start < 10 * SECOND);
    CHECK_STATUS(NBCOLL_OK, s);
}

nbcoll_shm_id fresh_id(void)
{
    nbcoll_shm_id id;
    assert_int_equal(nbcoll_shm_id_make(&id), NBCOLL_OK);
    return id;
}

int shared_names(void)
{
    DIR *dir = opendir("/dev/shm");
    int n = 0;
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += strstr(e->d_name, "nbcoll") != NULL;
    if (dir)
        closedir(dir);
    return n;
}
