/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What joins the ranks is agreed by all, and named in the host's log with its reason: also where some have RDMA devices
 * (here: a stand-in says so) and one has none.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/cluster.h>

#include "crew.h"

enum { RANKS = 3 };

typedef struct table {
    unsigned char all[RANKS * 1024];
    atomic_int come;
    uint64_t part; /* of the last one */
    uint32_t flags;
    nbcoll_status verbs[RANKS]; /* what opening them says */
    nbcoll_status status;
    const char *said;
} table;

typedef struct seat {
    table *table;
    int rank, exchanges;
    char said[240];
} seat;

static table *asked;

nbcoll_status __wrap_nbcoll_verbs_open(const nbcoll_verbs_config *config, nbcoll_verbs_address *mine,
                                       nbcoll_endpoint **out);
nbcoll_status __wrap_nbcoll_verbs_open(const nbcoll_verbs_config *config, nbcoll_verbs_address *mine,
                                       nbcoll_endpoint **out)
{
    memset((void *)mine, 0, sizeof *mine);
    *out = NULL;
    return asked->verbs[config->rank];
}

/* Memory that the ranks share serves as their allgather. */
static nbcoll_status exchange(void *user, const void *mine, void *all, size_t bytes)
{
    seat *s = user;

    CHECK(bytes <= 1024);
    memcpy(s->table->all + (size_t)s->rank * bytes, mine, bytes);
    for (atomic_fetch_add(&s->table->come, 1); atomic_load(&s->table->come) < (2 * s->exchanges + 1) * RANKS;)
        sched_yield();
    memcpy(all, s->table->all, RANKS * bytes);
    s->exchanges++;
    for (atomic_fetch_add(&s->table->come, 1); atomic_load(&s->table->come) < 2 * s->exchanges * RANKS;)
        sched_yield();
    return NBCOLL_OK;
}

static void hear(void *user, nbcoll_status why, const char *text)
{
    seat *s = user;

    (void)why;
    if (strncmp(text, "cluster: ", 9) == 0)
        snprintf(s->said, sizeof s->said, "%s", text + 9);
}

static void choose(int rank, void *user)
{
    table *t = user;
    seat s = {.table = t, .rank = rank};
    nbcoll_endpoint *end[2] = {NULL, NULL};
    int n = 0;
    const nbcoll_cluster_config config = {.size = sizeof config,
                                          .rank = rank,
                                          .ranks = RANKS,
                                          .exchange = exchange,
                                          .user = &s,
                                          .part = rank == RANKS - 1 ? t->part : 0,
                                          .flags = t->flags,
                                          .host = {.size = sizeof(nbcoll_host), .log = hear, .user = &s}};

    asked = t;
    CHECK_STATUS(t->status, nbcoll_cluster_open(&config, end, &n));
    if (strcmp(s.said, t->said) != 0)
        printf("rank %d: '%s' instead of '%s'\n", rank, s.said, t->said);
    CHECK(strcmp(s.said, t->said) == 0);
    for (int i = 0; t->status == NBCOLL_OK && i < n; i++)
        nbcoll_endpoint_close(end[i]);
}

static void expect(table *t, nbcoll_status status, const char *said)
{
    t->status = status;
    t->said = said;
    atomic_store(&t->come, 0);
    crew_succeeds(&PROCESSES_3, choose, t);
}

static void one_machine_needs_no_devices(void **state)
{
    (void)state;
    expect(shared_memory(sizeof(table)), NBCOLL_OK, "shm: all 3 ranks are on one machine");
}

static void a_rank_without_a_device_speaks_for_all(void **state)
{
    table *t = shared_memory(sizeof *t);

    (void)state;
    t->part = 1;
    t->flags = NBCOLL_CLUSTER_NO_OFI;
    t->verbs[1] = NBCOLL_ERR_UNSUPPORTED;
    expect(t, NBCOLL_ERR_UNSUPPORTED, "nothing joins the machines: rank 1 has no RDMA device, and ofi is not wanted");
    t->verbs[0] = NBCOLL_ERR_MEMORY; /* that one counts no more, whatever its number */
    expect(t, NBCOLL_ERR_UNSUPPORTED, "nothing joins the machines: rank 1 has no RDMA device, and ofi is not wanted");
    t->verbs[1] = NBCOLL_OK;
    expect(t, NBCOLL_ERR_MEMORY, "rank 0 could not open its RDMA device");
}

static void a_network_joins_those_of_whom_one_has_no_device(void **state)
{
    table *t = shared_memory(sizeof *t);
    nbcoll_endpoint *ep = NULL;
    nbcoll_ofi_address mine;

    (void)state;
    if (nbcoll_ofi_open(&(nbcoll_ofi_config){.size = sizeof(nbcoll_ofi_config), .ranks = 1}, &mine, &ep) != NBCOLL_OK)
        skip();
    nbcoll_endpoint_close(ep);
    t->part = 1;
    t->flags = NBCOLL_CLUSTER_NO_VERBS;
    expect(t, NBCOLL_OK, "shm within machines, ofi for all 3 ranks: rank 0 has no RDMA device, as is wanted");
    t->flags = 0;
    t->verbs[2] = NBCOLL_ERR_UNSUPPORTED;
    expect(t, NBCOLL_OK, "shm within machines, ofi for all 3 ranks: rank 2 has no RDMA device");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_machine_needs_no_devices),
        cmocka_unit_test(a_rank_without_a_device_speaks_for_all),
        cmocka_unit_test(a_network_joins_those_of_whom_one_has_no_device),
    };
#ifndef HAS_STAND_IN /* there is no nbcoll_verbs */
    return 77;
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
