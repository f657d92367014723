/* SPDX-License-Identifier: BSD-3-Clause
 * Calls that relays carry out of types that pack; and what memory calls take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "carried.h"
#include "purse.h"

/* Two of three bytes travel; the last one is a gap. */
enum { LOOSE = 3, TIGHT = 2, ELEMENTS = 7, GAP = 0x77 };

static int packing_fails;

static nbcoll_status pack(void *user, const void *elements, void *packed, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy((char *)packed + i * TIGHT, (const char *)elements + i * LOOSE, TIGHT);
    return user && packing_fails ? NBCOLL_ERR_ARGUMENT : NBCOLL_OK;
}

static nbcoll_status unpack(void *user, const void *packed, void *elements, size_t count)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        memcpy((char *)elements + i * LOOSE, (const char *)packed + i * TIGHT, TIGHT);
    return NBCOLL_OK;
}

static const nbcoll_host_type with_gaps = {.size = sizeof with_gaps, .extent = LOOSE, .packed = TIGHT, .pack = pack,
                                          .unpack = unpack};
static const nbcoll_host_type failing = {.size = sizeof failing, .extent = LOOSE, .packed = TIGHT,
                                        .user = &packing_fails, .pack = pack, .unpack = unpack};

static unsigned char loose[RANKS][RANKS][ELEMENTS][LOOSE];

static void fill_loose(int rank, int block, int turn)
{
    for (int i = 0; i < ELEMENTS; i++)
        loose[rank][block][i][0] = loose[rank][block][i][1] = (unsigned char)(turn + 10 * block + i);
}

static void has_loose(int rank, int block, int turn)
{
    for (int i = 0; i < ELEMENTS; i++) {
        assert_int_equal(loose[rank][block][i][0], turn + 10 * block + i);
        assert_int_equal(loose[rank][block][i][1], turn + 10 * block + i);
        assert_int_equal(loose[rank][block][i][2], GAP);
    }
}

static nbcoll_status gather_loose(carried *p, int rank, const void *send, const nbcoll_host_type *type,
                                  nbcoll_request *q)
{
    return nbcoll_iallgather(send, loose[rank], ELEMENTS, nbcoll_type_of(type), p->w.comm[rank], q);
}

/* Fragments of 8 bytes end where elements of 2 do, but of 7 no block does. In place and not, and broadcasts; the second
 * rank passes what travels as it is. Gaps stay. */
static void elements_that_pack_travel_packed(void **state)
{
    static carried p;
    unsigned char tight[ELEMENTS * TIGHT], all[RANKS * ELEMENTS * TIGHT], mine[RANKS][ELEMENTS][LOOSE];
    nbcoll_request q[RANKS];
    (void)state;
    carried_open(&p, RANKS, carried_config(NBCOLL_TOPOLOGY_CAYLEY), NULL);
    for (int turn = 1; turn < 7; turn++) {
        memset(loose, GAP, sizeof loose);
        for (int r = 0; r < RANKS; r++) {
            fill_loose(r, r, turn);
            memcpy(mine[r], loose[r][r], sizeof mine[r]);
            if (turn % 2)
                memset(loose[r][r], GAP, sizeof loose[r][r]);
            if (r == 1)
                pack(NULL, mine[r], tight, ELEMENTS);
            if (turn % 3 == 0)
                EXPECT(OK, nbcoll_ibcast(r ? loose[r][2] : mine[0], ELEMENTS, nbcoll_type_of(&with_gaps), 0,
                                         p.w.comm[r], &q[r]));
            else if (r == 1)
                EXPECT(OK, nbcoll_iallgather(tight, all, sizeof tight, NBCOLL_BYTE, p.w.comm[1], &q[1]));
            else
                EXPECT(OK, gather_loose(&p, r, turn % 2 ? mine[r] : NBCOLL_IN_PLACE, &with_gaps, &q[r]));
        }
        carried_finish_all(&p, RANKS, q);
        for (int r = 0; r < RANKS; r++)
            for (int of = 0; of < RANKS; of++)
                if (turn % 3 == 0)
                    assert_memory_equal(r ? loose[r][2] : mine[0], mine[0], sizeof mine[0]);
                else if (r != 1)
                    has_loose(r, of, turn);
                else
                    assert_int_equal(all[of * (int)sizeof tight], turn + 10 * of);
    }
    carried_close(&p);
}

/* Nothing is unpacked of a call that is cancelled, or of which a rank cannot pack; others go on. */
static void calls_that_pack_fail_alone(void **state)
{
    static carried p;
    nbcoll_request q[RANKS];
    (void)state;
    carried_open(&p, RANKS, carried_config(NBCOLL_TOPOLOGY_RING), NULL);
    carried_await(&p);
    for (int how = 0; how < 2; how++) {
        memset(loose, GAP, sizeof loose);
        packing_fails = how;
        for (int r = 0; r < RANKS; r++) {
            if (r + 1 == RANKS && !how) { /* this one is late, and may have all blocks */
                EXPECT(OK, nbcoll_cancel(q[1]));
                carried_steps(&p, LOOKS / 10);
            }
            EXPECT(OK, gather_loose(&p, r, p.send[r], r ? &with_gaps : &failing, &q[r]));
            carried_gather(&p, r, how);
        }
        nbcoll_status s[RANKS];
        carried_settle(&p, RANKS, q, s);
        for (int r = 1; r + !how < RANKS; r++)
            EXPECT(ERR_CANCELLED, s[r]);
        assert_int_equal(s[0], how ? NBCOLL_ERR_CALL : NBCOLL_ERR_CANCELLED);
        for (size_t i = 0; i < sizeof loose - (how ? 0 : sizeof *loose); i++)
            assert_int_equal(((unsigned char *)loose)[i], GAP);
        carried_finish(&p, how);
        for (int r = 0; r < RANKS; r++)
            carried_has_gathered(&p, r, how);
    }
    carried_close(&p);
}

static void calls_take_no_memory(void **state)
{
    static carried p;
    purse mine = {.left = 1 << 20};
    const nbcoll_context_config context = {.size = sizeof context, .host = purse_host(&mine)};
    nbcoll_relays_config config = carried_config(NBCOLL_TOPOLOGY_BRUCK);
    int left = 0;
    (void)state;
    config.host = &context.host;
    carried_open(&p, 3, config, &context);
    for (int turn = 0; turn < 40; turn++) {
        left = turn == 20 ? mine.left : left; /* all places have been used */
        for (int r = 0; r < 3; r++)
            carried_gather(&p, r, turn % MANY);
        carried_finish(&p, turn % MANY);
        nbcoll_request q[3];
        for (int r = 0; r < 3; r++)
            EXPECT(OK, gather_loose(&p, r, p.send[r], &with_gaps, &q[r]));
        carried_finish_all(&p, 3, q);
    }
    assert_int_equal(mine.left, left);
    carried_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_that_pack_travel_packed),
        cmocka_unit_test(calls_that_pack_fail_alone),
        cmocka_unit_test(calls_take_no_memory),
    };
    int failed = cmocka_run_group_tests_name("by engines", tests, NULL, NULL);
    carried_by_agents = 1;
    return failed + cmocka_run_group_tests_name("by agents", tests, NULL, NULL);
}
