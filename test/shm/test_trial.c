/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What shm makes of the times that its trial has found, and that all ranks make the same of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ranks.h"
#include "../../transports/shm/shm.h"

/* An end whose segment holds nothing but the trial. */
struct fake {
    struct nbcolli_shm_end *end;
    struct nbcolli_shm_home *home;
    struct nbcolli_shm_front *front;
};

static void fake_make(struct fake *f, uint32_t flags)
{
    f->end = aligned_alloc(NBCOLLI_SHM_LINE, (sizeof *f->end + NBCOLLI_SHM_LINE - 1) / NBCOLLI_SHM_LINE *
                                                 NBCOLLI_SHM_LINE);
    f->home = calloc(1, sizeof *f->home);
    f->front = aligned_alloc(NBCOLLI_SHM_LINE, sizeof *f->front);
    memset(f->end, 0, sizeof *f->end);
    memset(f->front, 0, sizeof *f->front);
    f->home->segment = (unsigned char *)f->front;
    f->end->home = f->home;
    f->end->flags = flags;
    f->end->base.limits.price.beta_ps = 130;
    f->end->base.limits.price.get_ns = 900;
}

static void fake_free(struct fake *f)
{
    free(f->end);
    free(f->home);
    free(f->front);
}

/* ns of 16 KiB and 128 KiB by process_vm_readv, pieces, both sides. */
static void fake_finds(struct fake *f, const uint32_t ns[NBCOLLI_SHM_WAYS][NBCOLLI_SHM_TRIAL_SIZES])
{
    for (int way = 0; way < NBCOLLI_SHM_WAYS; way++)
        for (int i = 0; i < NBCOLLI_SHM_TRIAL_SIZES; i++)
            atomic_store(&f->front->trial.ns[way][i], ns[way][i]);
    nbcolli_shm_choose(f->end);
}

static void the_faster_way_is_chosen_for_each_size(void **state)
{
    static const struct {
        uint32_t ns[NBCOLLI_SHM_WAYS][NBCOLLI_SHM_TRIAL_SIZES];
        size_t by_pieces, by_cma, meets_from, staging_part;
    } cases[] = {
        /* pieces are faster */
        {{{3700, 16000}, {2200, 12000}, {5000, 12500}}, 1, SIZE_MAX, SIZE_MAX, 0},
        /* pieces are slow */
        {{{1000, 5000}, {3000, 20000}, {3000, 19000}}, SIZE_MAX, SIZE_MAX, SIZE_MAX, 4096},
        /* both sides are faster than each */
        {{{3700, 16000}, {2200, 20000}, {5000, 11000}}, 1, SIZE_MAX, 131072, 32768},
        /* pieces are fast for small data alone */
        {{{4000, 10000}, {2200, 20000}, {4000, 20000}}, 1, 32768, SIZE_MAX, 32768},
        /* process_vm_readv begins faster, and ends slower */
        {{{1000, 16000}, {3000, 10000}, {5000, 12000}}, 65536, SIZE_MAX, SIZE_MAX, 0},
        /* not measured, or not all */
        {{{0, 0}, {0, 0}, {0, 0}}, 32768, SIZE_MAX, SIZE_MAX, 0},
        {{{1000, 5000}, {3000, 0}, {3000, 19000}}, 32768, SIZE_MAX, SIZE_MAX, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fake f;
        fake_make(&f, 0);
        fake_finds(&f, cases[i].ns);
        assert_int_equal(f.end->by_pieces, cases[i].by_pieces);
        assert_int_equal(f.end->by_cma, cases[i].by_cma);
        assert_int_equal(f.end->meets_from, cases[i].meets_from);
        assert_int_equal(f.end->staging_part, cases[i].staging_part);
        fake_free(&f);
    }
}

static void prices_follow_the_way_that_is_chosen(void **state)
{
    static const struct {
        uint32_t flags, ns[NBCOLLI_SHM_WAYS][NBCOLLI_SHM_TRIAL_SIZES], beta_ps, get_ns;
    } cases[] = {
        {0, {{4000, 18336}, {2000, 9168}, {5000, 12500}}, 62, 976},
        {NBCOLL_SHM_NO_PIECES, {{4000, 18336}, {2000, 9168}, {5000, 12500}}, 125, 1952},
        {0, {{4000, 18336}, {9000, 40000}, {9000, 40000}}, 125, 1952},
        {0, {{0, 0}, {0, 0}, {0, 0}}, 130, 900},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fake f;
        fake_make(&f, cases[i].flags);
        fake_finds(&f, cases[i].ns);
        assert_in_range(f.end->base.limits.price.beta_ps, cases[i].beta_ps - 1, cases[i].beta_ps + 1);
        assert_in_range(f.end->base.limits.price.get_ns, cases[i].get_ns - 3, cases[i].get_ns + 3);
        fake_free(&f);
    }
}

/* ---- opened ends ------------------------------------------------------------------------------------------------- */

enum { RANKS = 3 };

struct choice {
    size_t by_pieces, by_cma, meets_from, staging_part;
    uint32_t beta_ps, get_ns;
};

struct plan {
    nbcoll_shm_config config;
    struct choice *of; /* shared */
};

static uint64_t stopped(void *user)
{
    (void)user;
    return 1;
}

static void open_and_tell(int rank, void *user)
{
    const struct plan *p = user;
    nbcoll_host host = {.size = sizeof host, .now = stopped};
    nbcoll_shm_config config = p->config;
    nbcoll_endpoint *ep;

    config.rank = rank;
    config.host = config.host ? &host : NULL;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &ep));
    const struct nbcolli_shm_end *e = nbcolli_shm_end(ep);
    const nbcoll_level *l = &ep->limits.price;
    p->of[rank] = (struct choice){e->by_pieces, e->by_cma, e->meets_from, e->staging_part, l->beta_ps, l->get_ns};
    nbcoll_endpoint_close(ep);
}

static void all_ranks_choose_alike(void **state)
{
    static const crew crews[] = {{{1, 1, 1}}, {{2, 1}}, {{3}}};
    (void)state;
    for (size_t i = 0; i < sizeof crews / sizeof crews[0]; i++) {
        struct plan p = {{.size = sizeof p.config, .id = fresh_id(), .ranks = RANKS},
                         shared_memory(RANKS * sizeof *p.of)};
        crew_succeeds(&crews[i], open_and_tell, &p);
        assert_memory_equal(&p.of[0], &p.of[1], sizeof *p.of);
        assert_memory_equal(&p.of[0], &p.of[2], sizeof *p.of);
        assert_true(p.of[0].beta_ps >= 10 && p.of[0].get_ns >= 100);
    }
}

static void a_clock_that_stands_still_holds_no_opening_up(void **state)
{
    static const nbcoll_host some = {.size = sizeof some};
    crew two = PROCESSES_2;
    struct plan p = {{.size = sizeof p.config, .id = fresh_id(), .ranks = 2, .host = &some},
                     shared_memory(2 * sizeof *p.of)};
    (void)state;
    crew_succeeds(&two, open_and_tell, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_faster_way_is_chosen_for_each_size),
        cmocka_unit_test(prices_follow_the_way_that_is_chosen),
        cmocka_unit_test(all_ranks_choose_alike),
        cmocka_unit_test(a_clock_that_stands_still_holds_no_opening_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
