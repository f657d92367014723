/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What joins the ranks is agreed by all, and named in the host's log with its reason: also where some have RDMA devices
 * (here: a stand-in says so) and one has none.
 */
#include "seats.h"

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

#ifdef HAS_NETWORK_STAND_IN
static int only_rank = -1; /* has "best" beside what all have; -1: none has */
static bool has_best;      /* this rank has opened that */
nbcoll_status __real_nbcoll_ofi_open(const nbcoll_ofi_config *config, nbcoll_ofi_address *mine, nbcoll_endpoint **out);
nbcoll_status __wrap_nbcoll_ofi_open(const nbcoll_ofi_config *config, nbcoll_ofi_address *mine, nbcoll_endpoint **out);
nbcoll_status __wrap_nbcoll_ofi_open(const nbcoll_ofi_config *config, nbcoll_ofi_address *mine, nbcoll_endpoint **out)
{
    nbcoll_ofi_config c = *config;
    bool is_named = c.provider && strcmp(c.provider, "best") == 0;

    if (is_named && c.rank != only_rank)
        return NBCOLL_ERR_UNSUPPORTED;
    has_best = is_named || (!c.provider && c.rank == only_rank);
    c.provider = is_named ? NULL : c.provider;
    return __real_nbcoll_ofi_open(&c, mine, out);
}

const char *__real_nbcoll_ofi_provider(const nbcoll_endpoint *endpoint);
const char *__wrap_nbcoll_ofi_provider(const nbcoll_endpoint *endpoint);
const char *__wrap_nbcoll_ofi_provider(const nbcoll_endpoint *endpoint)
{
    return has_best ? "best" : __real_nbcoll_ofi_provider(endpoint);
}
#endif

static void choose(int rank, void *user)
{
    table *t = user;
    nbcoll_endpoint *end[2] = {NULL, NULL};
    int n = 0;

    asked = t;
    CHECK_STATUS(t->status, open_ends(rank, t, end, &n));
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
    t->part[RANKS - 1] = 1;
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

    (void)state;
    needs_a_network();
    t->part[RANKS - 1] = 1;
    t->flags = NBCOLL_CLUSTER_NO_VERBS;
    expect(t, NBCOLL_OK, "shm within machines, ofi for all 3 ranks: rank 0 has no RDMA device, as is wanted");
    t->flags = 0;
    t->verbs[2] = NBCOLL_ERR_UNSUPPORTED;
    expect(t, NBCOLL_OK, "shm within machines, ofi for all 3 ranks: rank 2 has no RDMA device");
}

#ifdef HAS_NETWORK_STAND_IN
static void all_take_a_provider_that_all_have(void **state)
{
    table *t = shared_memory(sizeof *t);

    (void)state;
    needs_a_network();
    t->part[RANKS - 1] = 1;
    t->flags = NBCOLL_CLUSTER_NO_VERBS;
    for (only_rank = 0; only_rank < RANKS; only_rank++)
        expect(t, NBCOLL_OK, "ofi by tcp;ofi_rxm, which all ranks have");
    only_rank = -1;
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_machine_needs_no_devices),
        cmocka_unit_test(a_rank_without_a_device_speaks_for_all),
        cmocka_unit_test(a_network_joins_those_of_whom_one_has_no_device),
#ifdef HAS_NETWORK_STAND_IN
        cmocka_unit_test(all_take_a_provider_that_all_have),
#endif
    };
#ifndef HAS_STAND_IN /* there is no nbcoll_verbs */
    return 77;
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
