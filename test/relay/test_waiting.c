/* SPDX-License-Identifier: BSD-3-Clause
 * Who waits for relays sleeps, and is woken by what he waits for: whoever moves them, whether they carry out calls or
 * have their own, a leader and a rank that is led. The program is linked so that the library's sleeps come here first
 * (--wrap): time passes in them alone, and others go on in them, as if they were on other cores. */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "party.h"

enum { LATE = 4, STEPS = 400, SECOND = 1000000000 };

typedef enum form { PLAIN, BY_NODES, CARRYING, CARRYING_BY_NODES, BY_AGENTS, CARRYING_BY_AGENTS, FORMS } form;

static struct {
    party p;
    uint64_t now, looks; /* at the clock */
    nbcoll_relays_config config;
    int waiter;
    unsigned away;         /* bits of ranks that do nothing yet */
    unsigned started;      /* bits of ranks that have started their operation */
    int is_opening, is_starting, is_closing; /* what ranks do that are not away */
    int others_go_on;      /* while the waiter sleeps */
    int sleeps, in_vain;   /* in vain: others went on, and there was nothing to wake up for */
    nbcoll_request call[PARTY_RANKS];
} s;

static uint64_t clock_of_test(void *user)
{
    (void)user;
    s.looks++;
    return s.now += 1000;
}

static int carries(void)
{
    return s.config.carries != 0;
}

/* ---- others ------------------------------------------------------------------------------------------------------ */

static void open_one(int rank)
{
    nbcoll_relays_config config = s.config;
    for (int n = 0; n < s.p.nodes; n++)
        if (s.p.leader[n] == rank)
            config.agent = s.p.agent[n];
    EXPECT(OK, nbcoll_relays_open(s.p.w.comm[rank], &config, &s.p.relays[rank]));
}

static void start_one(int rank)
{
    s.started |= 1u << rank;
    if (carries())
        EXPECT(OK, nbcoll_iallgather(s.p.send[rank][0], s.p.recv[rank][0], PARTY_BYTES, NBCOLL_BYTE, s.p.w.comm[rank],
                                     &s.call[rank]));
    else
        EXPECT(OK, party_start(&s.p, rank, 0));
}

static void others_step(void)
{
    for (int looks = 0; looks < STEPS; looks++) {
        for (int r = 0; r < s.p.w.ranks; r++) {
            if (r == s.waiter || s.away >> r & 1)
                continue;
            if (s.is_opening && !s.p.relays[r])
                open_one(r);
            if (s.is_starting && !(s.started >> r & 1))
                start_one(r);
            if (s.is_closing && s.p.relays[r] && nbcoll_relays_close(s.p.relays[r], 0) == NBCOLL_OK)
                s.p.relays[r] = NULL;
            if (s.p.relays[r])
                nbcoll_relays_test(s.p.relays[r], 0);
            nbcoll_progress(s.p.w.context[r]);
        }
        for (int n = 0; n < s.p.nodes; n++)
            nbcoll_agent_progress(s.p.agent[n]);
    }
}

int __real_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
    const struct timespec none = {0, 0};
    s.sleeps++;
    if (s.others_go_on)
        others_step();
    int ready = __real_ppoll(fds, n, &none, mask);
    s.in_vain += s.others_go_on && !ready;
    if (!ready)
        s.now += (uint64_t)t->tv_sec * SECOND + (uint64_t)t->tv_nsec;
    return ready;
}

/* ---- the waiter -------------------------------------------------------------------------------------------------- */

static void a_second_passes_in_sleeps(void)
{
    assert_true(s.sleeps >= 10);
    assert_true(s.looks < 4000);
    s.sleeps = 0;
    s.looks = 0;
}

static void was_woken(void)
{
    assert_true(s.sleeps > 0);
    assert_int_equal(s.in_vain, 0);
    s.others_go_on = 0;
    s.sleeps = 0;
    s.looks = 0;
}

static void late_goes_on(void)
{
    s.away = 0;
    s.others_go_on = 1;
}

static nbcoll_status wait_for_the_operation(uint64_t timeout)
{
    if (carries())
        return nbcoll_wait(&s.call[s.waiter], timeout);
    return nbcoll_relays_wait(s.p.relays[s.waiter], s.p.number[s.waiter][0], timeout);
}

static void wait_as(int waiter, const int shape[])
{
    const nbcoll_host host = {.size = sizeof host, .now = clock_of_test};
    nbcoll_relays *mine;
    s.waiter = waiter;
    s.now = 1;
    party_open(&s.p, shape, &host);
    s.config.host = &host;

    s.looks = 0;
    s.sleeps = s.in_vain = s.others_go_on = s.is_starting = s.is_closing = 0;
    s.started = 0;
    s.away = 1u << LATE;
    s.is_opening = 1;
    open_one(waiter);
    mine = s.p.relays[waiter];
    others_step();
    EXPECT(ERR_TIMEOUT, nbcoll_relays_wait(mine, 0, SECOND));
    a_second_passes_in_sleeps();
    late_goes_on();
    EXPECT(OK, nbcoll_relays_wait(mine, 0, NBCOLL_FOREVER));
    was_woken();
    others_step();
    s.looks = 0;

    s.away = 1u << LATE;
    s.is_opening = 0;
    s.is_starting = 1;
    start_one(waiter);
    others_step();
    EXPECT(ERR_TIMEOUT, wait_for_the_operation(SECOND));
    a_second_passes_in_sleeps();
    late_goes_on();
    EXPECT(OK, wait_for_the_operation(NBCOLL_FOREVER));
    was_woken();
    others_step();
    for (int r = 0; r < s.p.w.ranks; r++)
        for (int of = 0; of < s.p.w.ranks; of++)
            assert_true(party_has_block(&s.p, r, 0, of));
    for (int r = 0; carries() && r < s.p.w.ranks; r++)
        EXPECT(OK, nbcoll_test(&s.call[r]));

    s.away = 1u << LATE;
    s.is_starting = 0;
    s.is_closing = 1;
    others_step();
    EXPECT(ERR_TIMEOUT, nbcoll_relays_close(mine, SECOND));
    a_second_passes_in_sleeps();
    late_goes_on();
    EXPECT(OK, nbcoll_relays_close(mine, NBCOLL_FOREVER));
    was_woken();
    s.p.relays[waiter] = NULL;
    others_step();
    for (int r = 0; r < s.p.w.ranks; r++)
        assert_null(s.p.relays[r]);
    party_close(&s.p);
}

static void wait_in(form f)
{
    s.config = party_config(NBCOLL_TOPOLOGY_RING);
    s.config.by_agents = f == BY_AGENTS || f == CARRYING_BY_AGENTS;
    s.config.hierarchical = f == BY_NODES || f == CARRYING_BY_NODES;
    s.config.carries = f == CARRYING || f == CARRYING_BY_NODES || f == CARRYING_BY_AGENTS ? 16 : 0;
    static const int shapes[][4] = {{2, 2, 1, 0}, {5, 0}};
    for (int waiter = 0; waiter < 2; waiter++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            wait_as(waiter, shapes[i]);
}

static void who_waits_for_relays_of_engines_sleeps_until_it_is_woken(void **state)
{
    (void)state;
    wait_in(PLAIN);
    wait_in(BY_NODES);
}

static void who_waits_for_calls_that_relays_carry_out_sleeps_until_it_is_woken(void **state)
{
    (void)state;
    wait_in(CARRYING);
    wait_in(CARRYING_BY_NODES);
    wait_in(CARRYING_BY_AGENTS);
}

static void who_waits_for_relays_of_agents_sleeps_until_it_is_woken(void **state)
{
    (void)state;
    wait_in(BY_AGENTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_for_relays_of_engines_sleeps_until_it_is_woken),
        cmocka_unit_test(who_waits_for_calls_that_relays_carry_out_sleeps_until_it_is_woken),
        cmocka_unit_test(who_waits_for_relays_of_agents_sleeps_until_it_is_woken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
