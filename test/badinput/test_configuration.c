/* SPDX-License-Identifier: BSD-3-Clause
 * Bad configurations, versions and endpoints, at the creation of contexts and communicators. A refused creation leaves
 * the endpoint the caller's: the right call works afterwards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/transport.h"
#include "works.h"
#include "world.h"

/* ---- contexts -------------------------------------------------------------------------------------------------- */

static void context_of_unknown_abi(void **state)
{
    nbcoll_context *c = NULL;
    (void)state;
    EXPECT(ERR_ABI, nbcoll_context_create(NBCOLL_ABI + 1, NULL, &c));
    EXPECT(ERR_ABI, nbcoll_context_create(0, NULL, &c));
    assert_null(c);
}

static void context_with_a_bad_configuration(void **state)
{
    nbcoll_context_config flags = {.size = sizeof flags, .flags = 2};
    nbcoll_context_config credits = {.size = sizeof credits, .credits = 65536};
    nbcoll_context_config small = {.size = sizeof(size_t) - 1};
    nbcoll_context_config host = {.size = sizeof host, .host = {.size = 1}};
    nbcoll_context *c = NULL;
    (void)state;
    EXPECT(ERR_CONFIG, nbcoll_context_create(NBCOLL_ABI, &flags, &c));
    EXPECT(ERR_CONFIG, nbcoll_context_create(NBCOLL_ABI, &credits, &c));
    EXPECT(ERR_CONFIG, nbcoll_context_create(NBCOLL_ABI, &small, &c));
    EXPECT(ERR_CONFIG, nbcoll_context_create(NBCOLL_ABI, &host, &c));
    EXPECT(ERR_NULL, nbcoll_context_create(NBCOLL_ABI, NULL, NULL));
    assert_null(c);
}

static void null_context(void **state)
{
    nbcoll_failure failure;
    (void)state;
    EXPECT(OK, nbcoll_context_free(NULL));
    EXPECT(ERR_NULL, nbcoll_progress(NULL));
    EXPECT(ERR_NULL, nbcoll_last_failure(NULL, &failure));
}

/* ---- communicators --------------------------------------------------------------------------------------------- */

/* Rank 0 of two is refused with this configuration and status; then both make their communicator. */
static void refused(const nbcoll_comm_config *config, nbcoll_status status)
{
    nbcoll_request q[2];
    world w;
    world_open_contexts(&w, 2, NULL, NULL);
    assert_int_equal(nbcoll_comm_icreate(w.context[0], w.endpoint[0], config, &w.comm[0], &q[0]), status);
    assert_int_equal(nbcoll_comm_create(w.context[0], w.endpoint[0], config, &w.comm[0], 0), status);
    assert_null(w.comm[0]);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], NULL, &w.comm[r], &q[r]));
    world_finish(&w, 2, q);
    works(&w);
    world_close(&w);
}

static void communicator_with_k_of_0(void **state)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    (void)state;
    config.slots = 0;
    refused(&config, NBCOLL_ERR_CONFIG);
}

static void communicator_with_a_field_out_of_range(void **state)
{
    const nbcoll_comm_config defaults = NBCOLL_COMM_DEFAULTS;
    (void)state;
    for (int i = 0; i < 6; i++) {
        nbcoll_comm_config config = defaults;
        uint32_t *const field[] = {&config.slots, &config.cells, &config.schedules};
        static const uint32_t most[] = {65536, 256, 65536};
        *field[i / 2] = i % 2 ? most[i / 2] + 1 : 0;
        refused(&config, NBCOLL_ERR_CONFIG);
    }
}

static void communicator_with_a_configuration_without_size(void **state)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    (void)state;
    config.size = 0;
    refused(&config, NBCOLL_ERR_CONFIG);
}

static void the_ends_of_the_ranges_are_accepted(void **state)
{
    static const nbcoll_comm_config ends[] = {
        {.size = sizeof ends[0], .slots = 1, .cells = 1, .schedules = 1, .eager = 0, .large = 0},
        {.size = sizeof ends[0], .slots = 65536, .cells = 256, .schedules = 65536,
         .eager = SIZE_MAX, .large = SIZE_MAX},
        {.size = offsetof(nbcoll_comm_config, cells), .slots = 3}, /* the others take their defaults */
    };
    (void)state;
    for (int i = 0; i < 3; i++) {
        static const uint32_t credits[] = {1, 65535, 0 /* the default */};
        nbcoll_context_config context = {.size = sizeof context, .credits = credits[i]};
        world w;
        world_open(&w, 3, NULL, &context, &ends[i]);
        works(&w);
        world_close(&w);
    }
}

static void note_line(void *user, nbcoll_status why, const char *text)
{
    assert_int_equal(why, NBCOLL_ERR_MISMATCH);
    strncpy(user, text, 159);
}

static void credits_that_differ_between_ranks(void **state)
{
    static const uint32_t credits[] = {4, 4, 9};
    char line[3][160] = {""};
    nbcoll_status ended[3];
    nbcoll_request q[3];
    world w;
    (void)state;
    world_open_contexts(&w, 3, NULL, NULL);
    for (int r = 0; r < 3; r++) {
        nbcoll_context_config context = {.size = sizeof context, .host = {.user = line[r], .log = note_line},
                                         .credits = credits[r]};
        EXPECT(OK, nbcoll_context_free(w.context[r]));
        EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, &context, &w.context[r]));
        EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], NULL, &w.comm[r], &q[r]));
    }
    world_settle(&w, 3, q, ended);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(ended[r], NBCOLL_ERR_MISMATCH);
        assert_null(w.comm[r]);
        assert_string_equal(line[r], "no communicator is made: rank 2 gives 9 credits, rank 0 4");
    }
    world_close(&w);
}

/* ---- endpoints ------------------------------------------------------------------------------------------------- */

static void endpoint_attached_twice(void **state)
{
    nbcoll_comm *comm = NULL;
    nbcoll_request q;
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    EXPECT(ERR_BUSY, nbcoll_comm_icreate(w.context[0], w.endpoint[0], NULL, &comm, &q));
    EXPECT(ERR_FOREIGN, nbcoll_comm_icreate(w.context[1], w.endpoint[0], NULL, &comm, &q));
    assert_null(comm);
    works(&w);
    world_close(&w);
}

/* Rank 0 comes with a changed table and is refused; then with the right one. */
static void table_is_refused(const nbcoll_transport *table)
{
    nbcoll_request q[2];
    world w;
    world_open_contexts(&w, 2, NULL, NULL);
    const nbcoll_transport *right = w.endpoint[0]->transport;
    w.endpoint[0]->transport = table;
    EXPECT(ERR_ABI, nbcoll_comm_icreate(w.context[0], w.endpoint[0], NULL, &w.comm[0], &q[0]));
    assert_null(w.endpoint[0]->owner);
    w.endpoint[0]->transport = right;
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], NULL, &w.comm[r], &q[r]));
    world_finish(&w, 2, q);
    works(&w);
    world_close(&w);
}

/* A copy of loopback's table. */
static nbcoll_transport loopback_table(void)
{
    nbcoll_transport table;
    world w;
    world_open_contexts(&w, 1, NULL, NULL);
    table = *w.endpoint[0]->transport;
    nbcoll_endpoint_close(w.endpoint[0]);
    world_close(&w);
    return table;
}

static void transport_of_unknown_abi(void **state)
{
    nbcoll_transport table = loopback_table();
    (void)state;
    table.abi = NBCOLL_ABI + 1;
    table_is_refused(&table);
    table_is_refused(NULL);
}

static void transport_that_lacks_a_required_slot(void **state)
{
    const nbcoll_transport right = loopback_table();
    nbcoll_transport table = right;
    (void)state;
    table.post = NULL;
    table_is_refused(&table);
    table = right;
    table.progress = NULL;
    table_is_refused(&table);
    table = right;
    table.cancel = NULL;
    table_is_refused(&table);
    table = right;
    table.close = NULL;
    table_is_refused(&table);
    table = right;
    table.size = offsetof(nbcoll_transport, close); /* it is there, but the table says that it ends before */
    table_is_refused(&table);
}

static void transport_with_half_a_group(void **state)
{
    const nbcoll_transport right = loopback_table();
    nbcoll_transport table = right;
    nbcoll_bulk bulk = *right.bulk;
    nbcoll_wakeup wakeup = *right.wakeup;
    (void)state;
    table.bulk = &bulk;
    bulk.get = NULL;
    bulk.put = NULL;
    table_is_refused(&table);
    bulk = *right.bulk;
    bulk.register_memory = NULL;
    table_is_refused(&table);
    table = right;
    table.wakeup = &wakeup;
    wakeup.arm = NULL;
    table_is_refused(&table);
}

static void endpoint_with_impossible_ranks_or_limits(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        nbcoll_endpoint saved;
        nbcoll_request q;
        world w;
        world_open_contexts(&w, 2, NULL, NULL);
        saved = *w.endpoint[0];
        if (i == 0)
            w.endpoint[0]->rank = 2;
        else if (i == 1)
            w.endpoint[0]->ranks = 0;
        else if (i == 2)
            w.endpoint[0]->limits.payload = 255;
        else if (i == 3)
            w.endpoint[0]->limits.size = offsetof(nbcoll_limits, payload); /* it is there, but not in that size */
        else
            w.endpoint[0]->limits.key_bytes = i == 4 ? 0 : 65;
        EXPECT(ERR_ABI, nbcoll_comm_icreate(w.context[0], w.endpoint[0], NULL, &w.comm[0], &q));
        *w.endpoint[0] = saved;
        for (int r = 0; r < 2; r++)
            nbcoll_endpoint_close(w.endpoint[r]);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(context_of_unknown_abi),
        cmocka_unit_test(context_with_a_bad_configuration),
        cmocka_unit_test(null_context),
        cmocka_unit_test(communicator_with_k_of_0),
        cmocka_unit_test(communicator_with_a_field_out_of_range),
        cmocka_unit_test(communicator_with_a_configuration_without_size),
        cmocka_unit_test(the_ends_of_the_ranges_are_accepted),
        cmocka_unit_test(credits_that_differ_between_ranks),
        cmocka_unit_test(endpoint_attached_twice),
        cmocka_unit_test(transport_of_unknown_abi),
        cmocka_unit_test(transport_that_lacks_a_required_slot),
        cmocka_unit_test(transport_with_half_a_group),
        cmocka_unit_test(endpoint_with_impossible_ranks_or_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
