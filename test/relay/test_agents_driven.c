/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that agents move go on by the driver that has these agents, while their ranks are in waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/driver.h"
#include "party.h"

enum { OPERATIONS = 200 };

static const uint64_t deadline = 60000000000u;

static void relay(world *w, int rank, void *user)
{
    party *p = user;
    nbcoll_relays_config config = party_config(NBCOLL_WIRING_RING);
    unsigned char one[4], all[2][PARTY_RANKS * 4];
    uint64_t number;
    for (int n = 0; n < p->nodes; n++)
        if (p->leader[n] == rank)
            config.agent = p->agent[n];
    nbcoll_relays *relays;
    EXPECT(OK, nbcoll_relays_open(w->comm[rank], &config, &relays));
    EXPECT(OK, nbcoll_relays_wait(relays, 0, deadline));
    for (int o = 0; o < OPERATIONS; o++) {
        memset(one, rank * 50 + o, sizeof one);
        EXPECT(OK, nbcoll_relays_allgather(relays, one, all[o % 2], sizeof one, &number));
        EXPECT(OK, nbcoll_relays_wait(relays, number, deadline));
        for (int of = 0; of < w->ranks; of++)
            assert_int_equal(all[o % 2][of * 4 + 3], (unsigned char)(of * 50 + o));
    }
    EXPECT(OK, nbcoll_relays_close(relays, deadline));
}

static void relays_go_on_by_a_driver(void **state)
{
    static const int shape[] = {2, 2, 1, 0};
    static party p;
    nbcoll_driver *driver;
    (void)state;
    party_open(&p, shape, NULL);
    EXPECT(OK, nbcoll_driver_create(NULL, &driver));
    for (int n = 0; n < p.nodes; n++)
        EXPECT(OK, nbcoll_driver_add_agent(driver, p.agent[n]));
    EXPECT(OK, nbcoll_driver_start(driver));
    world_threads(&p.w, relay, &p);
    EXPECT(OK, nbcoll_driver_free(driver));
    party_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relays_go_on_by_a_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
