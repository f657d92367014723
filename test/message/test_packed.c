/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of types that pack, at either side or at both: of all lengths, in pieces, and what becomes of those whose
 * type fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/strided.h"
#include "party.h"

enum { MOST = 100000, COLUMNS = 3 };

static const size_t lengths[] = {0, 1, 5, 40, 700, 3000, MOST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };
static double strided[2][MOST][COLUMNS], tight[2][MOST];

static double number(size_t i, int n)
{
    return (double)i * 3 + n * 1e7;
}

/* One message of a column, from its second one, or of numbers side by side. */
static void one_message(party *p, int to, size_t rows, int sends_column, int receives_column, int receive_first)
{
    static int n;
    nbcoll_strided column;
    nbcoll_message_info info = {-7, -7, 1};
    nbcoll_request q[2];

    n++;
    EXPECT(OK, nbcoll_strided_make(&column, NBCOLL_DOUBLE, 1, (nbcoll_steps){rows, COLUMNS}, NBCOLL_ONCE, 1));
    memset(strided[1], 0, rows * sizeof *strided[1]);
    for (size_t i = 0; i < rows; i++)
        strided[0][i][1] = tight[0][i] = number(i, n);
    for (int i = 0; i < 2; i++) {
        if (i == receive_first && sends_column)
            EXPECT(OK, nbcoll_isend(&strided[0][0][1], 1, nbcoll_type_of(&column.type), to, 4, p->m[0], &q[0]));
        else if (i == receive_first)
            EXPECT(OK, nbcoll_isend(tight[0], rows, NBCOLL_DOUBLE, to, 4, p->m[0], &q[0]));
        else if (receives_column)
            EXPECT(OK, nbcoll_irecv(&strided[1][0][1], 1, nbcoll_type_of(&column.type), 0, 4, p->m[to], &info, &q[1]));
        else
            EXPECT(OK, nbcoll_irecv(tight[1], rows, NBCOLL_DOUBLE, 0, 4, p->m[to], &info, &q[1]));
        for (int k = 0; k < 3; k++)
            world_step(&p->w);
    }
    world_finish(&p->w, 2, q);
    assert_int_equal(info.bytes, rows * sizeof(double));
    for (size_t i = 0; i < rows; i++) {
        assert_true((receives_column ? strided[1][i][1] : tight[1][i]) == number(i, n));
        if (receives_column && (strided[1][i][0] != 0 || strided[1][i][2] != 0))
            fail_msg("beside row %zu", i);
    }
}

static void columns_come_whole(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        party p;
        party_open(&p, 2, variant, NULL, NULL);
        for (int i = 0; i < LENGTHS; i++)
            for (int how = 2; how < 8; how++)
                if (lengths[i] < MOST || (how + variant) % 3 == 0)
                    one_message(&p, 1, lengths[i], how / 2 % 2, how / 4, how % 2);
        party_close(&p);
    }
}

static void columns_come_whole_from_this_rank_itself(void **state)
{
    party p;
    (void)state;
    party_open(&p, 1, 0, NULL, NULL);
    for (int i = 0; i < LENGTHS; i++)
        for (int how = 2; how < 8; how++)
            one_message(&p, 0, lengths[i], how / 2 % 2, how / 4, how % 2);
    party_close(&p);
}

/* ---- functions of the host's ------------------------------------------------------------------------------------- */

/* Elements of 12 bytes, of which 8 travel. */
typedef struct calls {
    size_t most, all;  /* elements of a call, and of all */
    size_t fails_from; /* element */
} calls;

static nbcoll_status move(void *user, size_t count)
{
    calls *c = user;
    c->most = count > c->most ? count : c->most;
    c->all += count;
    return c->all > c->fails_from ? NBCOLL_ERR_FAULT : NBCOLL_OK;
}

static nbcoll_status pack(void *user, const void *from, void *to, size_t count)
{
    assert_int_equal((uintptr_t)to % 8, 0);
    for (size_t i = 0; i < count; i++)
        memcpy((char *)to + 8 * i, (const char *)from + 12 * i, 8);
    return move(user, count);
}

static nbcoll_status unpack(void *user, const void *from, void *to, size_t count)
{
    assert_int_equal((uintptr_t)from % 8, 0);
    for (size_t i = 0; i < count; i++)
        memcpy((char *)to + 12 * i, (const char *)from + 8 * i, 8);
    return move(user, count);
}

static nbcoll_host_type type_with(calls *c)
{
    *c = (calls){.fails_from = SIZE_MAX};
    return (nbcoll_host_type){.size = sizeof(nbcoll_host_type), .extent = 12, .packed = 8, .user = c, .pack = pack,
                              .unpack = unpack};
}

static unsigned char loose[2][12 * MOST];

static void elements_are_packed_in_pieces_of_a_pass(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        calls c[2];
        const nbcoll_host_type type[2] = {type_with(&c[0]), type_with(&c[1])};
        nbcoll_request q[2];
        party p;
        party_open(&p, 2, variant, NULL, NULL);
        party_fill(loose[0], 12 * MOST, variant);
        EXPECT(OK, nbcoll_isend(loose[0], MOST, nbcoll_type_of(&type[0]), 1, 0, p.m[0], &q[0]));
        EXPECT(OK, nbcoll_irecv(loose[1], MOST, nbcoll_type_of(&type[1]), 0, 0, p.m[1], NULL, &q[1]));
        world_finish(&p.w, 2, q);
        for (size_t i = 0; i < MOST; i++)
            assert_memory_equal(&loose[0][12 * i], &loose[1][12 * i], 8);
        for (int r = 0; r < 2; r++) {
            assert_int_equal(c[r].all, MOST);
            assert_true(c[r].most * 8 <= NBCOLL_PASS_BYTES);
        }
        party_close(&p);
    }
}

/* What was sent behind it comes: its number has its place. */
static void a_type_that_fails_to_pack_ends_both_sides(void **state)
{
    static const size_t counts[] = {3, 300, MOST};
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int k = 0; k < 9; k++) {
            size_t count = counts[k % 3];
            int in = 6, out = 0, to = k < 6;
            calls c;
            const nbcoll_host_type type = type_with(&c);
            nbcoll_message_info info;
            nbcoll_request q[4];
            party p;
            party_open(&p, 2, variant, NULL, NULL);
            c.fails_from = count - 1;
            if (k / 3 == 1)
                EXPECT(OK, nbcoll_irecv(loose[1], 12 * MOST, NBCOLL_BYTE, 0, 1, p.m[to], &info, &q[1]));
            EXPECT(OK, nbcoll_isend(loose[0], count, nbcoll_type_of(&type), to, 1, p.m[0], &q[0]));
            EXPECT(OK, nbcoll_isend(&in, 1, NBCOLL_INT, to, 1, p.m[0], &q[2]));
            if (k / 3 != 1)
                EXPECT(OK, nbcoll_irecv(loose[1], 12 * MOST, NBCOLL_BYTE, 0, 1, p.m[to], &info, &q[1]));
            assert_int_equal(party_end(&p, &q[1]), NBCOLL_ERR_CALL);
            assert_int_equal(party_end(&p, &q[0]), NBCOLL_ERR_CALL);
            EXPECT(OK, nbcoll_irecv(&out, 1, NBCOLL_INT, 0, 1, p.m[to], NULL, &q[3]));
            world_finish(&p.w, 2, &q[2]);
            assert_int_equal(out, 6);
            party_close(&p);
        }
}

static void a_type_that_fails_to_unpack_ends_its_receive(void **state)
{
    static const size_t counts[] = {3, 300, MOST};
    (void)state;
    for (int k = 0; k < 6; k++) {
        size_t count = counts[k % 3];
        calls c;
        const nbcoll_host_type type = type_with(&c);
        nbcoll_request q[2];
        party p;
        party_open(&p, 2, 0, NULL, NULL);
        c.fails_from = count - 1;
        EXPECT(OK, nbcoll_isend(tight[0], count, NBCOLL_DOUBLE, k < 3, 1, p.m[0], &q[0]));
        EXPECT(OK, nbcoll_irecv(loose[1], count, nbcoll_type_of(&type), 0, 1, p.m[k < 3], NULL, &q[1]));
        assert_int_equal(party_end(&p, &q[1]), NBCOLL_ERR_CALL);
        assert_int_equal(party_end(&p, &q[0]), NBCOLL_OK);
        party_close(&p);
    }
}

static void a_message_that_is_no_whole_number_of_elements_is_named(void **state)
{
    static const size_t bytes[] = {12, 1004, 20004};
    (void)state;
    for (int k = 0; k < 6; k++) {
        calls c;
        const nbcoll_host_type type = type_with(&c);
        nbcoll_request q[2];
        party p;
        party_open(&p, 2, 0, NULL, NULL);
        memset(loose[1], 0xee, 40000);
        EXPECT(OK, nbcoll_isend(loose[0], bytes[k % 3], NBCOLL_BYTE, k < 3, 1, p.m[0], &q[0]));
        EXPECT(OK, nbcoll_irecv(loose[1], 3000, nbcoll_type_of(&type), 0, 1, p.m[k < 3], NULL, &q[1]));
        assert_int_equal(party_end(&p, &q[1]), NBCOLL_ERR_COUNT);
        assert_int_equal(party_end(&p, &q[0]), NBCOLL_OK);
        assert_int_equal(c.all, 0);
        party_close(&p);
    }
}

/* It may still be packed, be announced, or have come. */
static void a_send_that_packs_can_be_cancelled(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++)
        for (int steps = 0; steps < 12; steps++) {
            calls c;
            const nbcoll_host_type type = type_with(&c);
            nbcoll_request q;
            party p;
            party_open(&p, 2, variant, NULL, NULL);
            EXPECT(OK, nbcoll_isend(loose[0], MOST, nbcoll_type_of(&type), 1, 0, p.m[0], &q));
            if (steps == 0)
                assert_true(c.all < MOST);
            for (int i = 0; i < steps; i++)
                world_step(&p.w);
            EXPECT(OK, nbcoll_cancel(q));
            assert_int_equal(party_end(&p, &q), NBCOLL_ERR_CANCELLED);
            party_close(&p);
        }
}

/* A receive that packs says nothing about what another one has got before it, from another rank. */
static void a_short_message_for_a_type_that_packs_ends_no_other_send(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        calls c;
        const nbcoll_host_type type = type_with(&c);
        nbcoll_request got[2], waits, q[2];
        party p;
        party_open(&p, 3, variant, NULL, NULL);
        EXPECT(OK, nbcoll_issend(loose[0], 20000, NBCOLL_BYTE, 0, 1, p.m[1], &got[0]));
        EXPECT(OK, nbcoll_irecv(loose[1], 20000, NBCOLL_BYTE, 1, 1, p.m[0], NULL, &got[1]));
        assert_int_equal(party_end(&p, &got[1]), NBCOLL_OK);
        assert_int_equal(party_end(&p, &got[0]), NBCOLL_OK);
        EXPECT(OK, nbcoll_issend(loose[0], 64, NBCOLL_BYTE, 0, 7, p.m[2], &waits)); /* as that one, its rank's first */
        EXPECT(OK, nbcoll_isend(loose[0], 800, NBCOLL_BYTE, 0, 8, p.m[2], &q[0]));
        EXPECT(OK, nbcoll_irecv(loose[1], 100, nbcoll_type_of(&type), 2, 8, p.m[0], NULL, &q[1]));
        assert_int_equal(party_end(&p, &q[1]), NBCOLL_OK);
        assert_int_equal(party_end(&p, &q[0]), NBCOLL_OK);
        for (int i = 0; i < 100; i++)
            world_step(&p.w);
        EXPECT(PENDING, nbcoll_test(&waits)); /* nobody has received it */
        EXPECT(OK, nbcoll_irecv(loose[1], 64, NBCOLL_BYTE, 2, 7, p.m[0], NULL, &q[1]));
        assert_int_equal(party_end(&p, &q[1]), NBCOLL_OK);
        assert_int_equal(party_end(&p, &waits), NBCOLL_OK);
        party_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_come_whole),
        cmocka_unit_test(columns_come_whole_from_this_rank_itself),
        cmocka_unit_test(elements_are_packed_in_pieces_of_a_pass),
        cmocka_unit_test(a_type_that_fails_to_pack_ends_both_sides),
        cmocka_unit_test(a_type_that_fails_to_unpack_ends_its_receive),
        cmocka_unit_test(a_message_that_is_no_whole_number_of_elements_is_named),
        cmocka_unit_test(a_send_that_packs_can_be_cancelled),
        cmocka_unit_test(a_short_message_for_a_type_that_packs_ends_no_other_send),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
