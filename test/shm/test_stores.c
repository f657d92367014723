/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How shm stores what another core reads: which kind of stores is faster is measured as copies are made, since a
 * machine may become another one while a program runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../transports/shm/shm.h"

/* What 16 KiB take: plainly, past the cache. */
struct machine {
    uint64_t ns[2];
};

static const struct machine apart = {{2200, 560}}, together = {{830, 1010}}, alike = {{1000, 960}};

enum { COPY = 16384 };

/* Makes copies of `one` bytes, so many in all. Returns how many bytes were stored the dearer way. */
static size_t copies_of(struct nbcolli_shm_stores *s, const struct machine *m, size_t one, size_t bytes)
{
    size_t dear = 0;

    for (size_t done = 0; done < bytes; done += one) {
        bool past;
        size_t beginning = nbcolli_shm_stores_look(s, one, &past);
        dear += m->ns[past] > m->ns[!past] ? beginning : 0;
        if (beginning)
            nbcolli_shm_stores_took(s, past, beginning, m->ns[past] * beginning / COPY);
        dear += m->ns[s->past] > m->ns[!s->past] ? one - beginning : 0;
    }
    return dear;
}

static void copies(struct nbcolli_shm_stores *s, const struct machine *m, size_t bytes)
{
    copies_of(s, m, COPY, bytes);
}

static void the_first_copies_find_out(void **state)
{
    struct nbcolli_shm_stores s;
    (void)state;
    nbcolli_shm_stores_open(&s);
    copies(&s, &together, 6 * COPY);
    assert_false(s.past);
    nbcolli_shm_stores_open(&s);
    copies(&s, &apart, 6 * COPY);
    assert_true(s.past);
}

static void a_machine_that_changes_is_noticed_within_four_megabytes(void **state)
{
    struct nbcolli_shm_stores s;
    (void)state;
    nbcolli_shm_stores_open(&s);
    for (int i = 0; i < 3; i++) {
        copies(&s, &together, (size_t)64 << 20);
        assert_false(s.past);
        copies(&s, &apart, ((size_t)4 << 20) + 7 * COPY);
        assert_true(s.past);
        copies(&s, &apart, (size_t)64 << 20);
        copies(&s, &together, ((size_t)4 << 20) + 7 * COPY);
        assert_false(s.past);
    }
}

/* Of large copies only the beginnings are stored the wrong way. */
static void looking_costs_few_bytes(void **state)
{
    (void)state;
    for (size_t one = COPY; one <= 64 * COPY; one *= 4) {
        struct nbcolli_shm_stores s;
        nbcolli_shm_stores_open(&s);
        copies(&s, &apart, (size_t)16 << 20);
        assert_in_range(copies_of(&s, &apart, one, (size_t)64 << 20), 1, ((size_t)64 << 20) / 80);
    }
}

static void what_is_alike_stays(void **state)
{
    struct nbcolli_shm_stores s;
    (void)state;
    nbcolli_shm_stores_open(&s);
    copies(&s, &together, (size_t)8 << 20);
    copies(&s, &alike, (size_t)64 << 20);
    assert_false(s.past);
}

static void one_copy_that_is_disturbed_decides_nothing(void **state)
{
    (void)state;
    for (int disturbed = 0; disturbed < 6; disturbed++) {
        struct nbcolli_shm_stores s;
        nbcolli_shm_stores_open(&s);
        for (int i = 0; i < 6; i++) {
            bool past;
            assert_int_equal(nbcolli_shm_stores_look(&s, COPY, &past), COPY);
            nbcolli_shm_stores_took(&s, past, COPY, i == disturbed ? 1000000 : apart.ns[past]);
        }
        assert_true(s.past);
    }
}

static void small_copies_tell_nothing(void **state)
{
    struct nbcolli_shm_stores s;
    bool past;
    (void)state;
    nbcolli_shm_stores_open(&s);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(nbcolli_shm_stores_look(&s, 4095, &past), 0);
    assert_int_equal(nbcolli_shm_stores_look(&s, 4096, &past), 4096);
}

static void a_clock_that_stands_still_changes_nothing(void **state)
{
    static const struct machine still = {{0, 0}};
    struct nbcolli_shm_stores s;
    (void)state;
    nbcolli_shm_stores_open(&s);
    copies(&s, &still, (size_t)16 << 20);
    assert_true(s.past);
}

/* However the two ends lie in their pages: all bytes, and no others. */
static void copies_that_lie_just_behind_their_source_are_right(void **state)
{
    static struct nbcolli_shm_end e;
    static unsigned char from[3 * 4096], to[3 * 4096];
    (void)state;
    nbcolli_shm_stores_open(&e.stores);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)(i * 7 + i / 256);
    for (size_t ahead = 0; ahead < 130; ahead++) {
        memset(to, 0xee, sizeof to);
        nbcolli_shm_copy_in(&e.base, -1, to + ahead, from, 8000);
        assert_memory_equal(to + ahead, from, 8000);
        for (size_t i = 0; i < ahead; i++)
            assert_int_equal(to[i], 0xee);
        assert_int_equal(to[ahead + 8000], 0xee);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_copies_find_out),
        cmocka_unit_test(a_machine_that_changes_is_noticed_within_four_megabytes),
        cmocka_unit_test(looking_costs_few_bytes),
        cmocka_unit_test(what_is_alike_stays),
        cmocka_unit_test(one_copy_that_is_disturbed_decides_nothing),
        cmocka_unit_test(small_copies_tell_nothing),
        cmocka_unit_test(a_clock_that_stands_still_changes_nothing),
        cmocka_unit_test(copies_that_lie_just_behind_their_source_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
