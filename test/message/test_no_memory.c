/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks whose allocator has nothing left, from some moment on: opening says so, and all that was started ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "party.h"

enum { COUNT = 6, LONG = 9000 };

static unsigned char long_in[LONG];
static int left; /* allocations that the ranks still get; -1: all */

static void *take(void *user, size_t bytes, size_t align)
{
    (void)user;
    if (left == 0)
        return NULL;
    left -= left > 0;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void give(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

static int is_an_end(nbcoll_status s)
{
    return s == NBCOLL_OK || s == NBCOLL_ERR_MEMORY || s == NBCOLL_ERR_PEER_LOST || s == NBCOLL_ERR_CANCELLED;
}

/* Both directions, short and long, of which half come before their receives. */
static int exchange(party *p, int allowed)
{
    static unsigned char in[2][COUNT][LONG], out[2][COUNT][LONG];
    nbcoll_request q[4 * COUNT];
    int n = 0, ends_well = 1;

    left = allowed;
    for (int half = 0; half < 2; half++)
        for (int i = half * COUNT / 2; i < (half + 1) * COUNT / 2; i++) {
            size_t bytes = i % 3 == 0 ? 8 : i % 3 == 1 ? 300 : LONG;
            for (int r = 0; r < 2; r++) {
                nbcoll_status sent = nbcoll_isend(in[r][i], bytes, NBCOLL_BYTE, !r, i, p->m[r], &q[n]);
                n += sent == NBCOLL_OK;
            }
            for (int k = 0; half == 0 && k < 10; k++)
                world_step(&p->w);
        }
    for (int i = 0; i < COUNT; i++)
        for (int r = 0; r < 2; r++)
            n += nbcoll_irecv(out[r][i], LONG, NBCOLL_BYTE, !r, i, p->m[r], NULL, &q[n]) == NBCOLL_OK;
    for (int k = 0; k < 400; k++)
        world_step(&p->w);
    for (int i = 0; i < n; i++) {
        nbcoll_status ended = nbcoll_test(&q[i]);
        if (ended == NBCOLL_PENDING) { /* its partner could not be started */
            nbcoll_cancel(q[i]);
            world_settle(&p->w, 1, &q[i], &ended);
        }
        if (!is_an_end(ended))
            fail_msg("%s", nbcoll_status_name(ended));
        ends_well &= ended == NBCOLL_OK;
    }
    left = -1;
    return ends_well && n == 4 * COUNT;
}

static void what_was_started_ends(void **state)
{
    nbcoll_context_config config = {.size = sizeof config, .host = {.size = sizeof config.host, .alloc = take,
                                                                    .free = give}};
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant += 3) {
        int ends_well = 0;
        for (int allowed = 0; !ends_well; allowed++) {
            party p;
            left = -1;
            party_open(&p, 2, variant, &config, NULL);
            ends_well = exchange(&p, allowed);
            party_close(&p);
            assert_true(allowed < 200);
        }
    }
}

/* Others know who is lost, and go on with each other. */
static void who_has_no_memory_for_what_comes_is_lost_itself(void **state)
{
    nbcoll_context_config config = {.size = sizeof config, .host = {.size = sizeof config.host, .alloc = take,
                                                                    .free = give}};
    static unsigned char in[LONG], out[LONG];
    nbcoll_failure failure;
    nbcoll_status ended[3];
    nbcoll_request q[3];
    party p;
    (void)state;
    left = -1;
    party_open(&p, 3, 0, &config, NULL);
    EXPECT(OK, nbcoll_irecv(out, LONG, NBCOLL_BYTE, 1, 7, p.m[0], NULL, &q[1]));
    EXPECT(OK, nbcoll_isend(in, LONG, NBCOLL_BYTE, 0, 1, p.m[1], &q[0]));
    left = 0;
    for (int k = 0; k < 10; k++)
        nbcoll_progress(p.w.context[0]);
    left = -1;
    for (int r = 0; r < 2; r++) {
        assert_int_equal(party_end(&p, &q[1 - r]), NBCOLL_ERR_PEER_LOST);
        EXPECT(OK, nbcoll_last_failure(p.w.context[r], &failure));
        assert_int_equal(failure.rank, 0);
    }
    for (int r = 0; r < 3; r++) {
        ended[r] = nbcoll_ibarrier(p.w.comm[r], &q[r]);
        if (ended[r] == NBCOLL_OK)
            ended[r] = party_end(&p, &q[r]);
        EXPECT(ERR_PEER_LOST, ended[r]);
        EXPECT(OK, nbcoll_comm_failure(p.w.comm[r], &failure));
        assert_int_equal(failure.rank, 0);
        assert_int_equal(failure.status, r ? NBCOLL_ERR_PEER_LOST : NBCOLL_ERR_MEMORY);
    }
    EXPECT(OK, nbcoll_isend(in, LONG, NBCOLL_BYTE, 2, 1, p.m[1], &q[0]));
    EXPECT(OK, nbcoll_irecv(out, LONG, NBCOLL_BYTE, 1, 1, p.m[2], NULL, &q[1]));
    world_finish(&p.w, 2, q);
    party_close(&p);
}

/* A get or a put of rank 0 takes several of its progresses; meanwhile it has no memory. */
static void its_copy_ends_before_the_other_rank_goes_on_without_it(void **state)
{
    enum { LARGE = 1 << 20 };
    static unsigned char in[LARGE], out[LARGE];
    const int variants[] = {0, WORLD_PUTS};
    nbcoll_context_config config = {.size = sizeof config, .host = {.size = sizeof config.host, .alloc = take,
                                                                    .free = give}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        int sender = !i;
        nbcoll_request q[3];
        party p;
        left = -1;
        party_open(&p, 2, variants[i], &config, NULL);
        party_fill(in, LARGE, i);
        memset(out, 0, LARGE);
        EXPECT(OK, nbcoll_isend(in, LARGE, NBCOLL_BYTE, !sender, 7, p.m[sender], &q[0]));
        EXPECT(OK, nbcoll_irecv(out, LARGE, NBCOLL_BYTE, sender, 7, p.m[!sender], NULL, &q[1]));
        for (int r = 1; out[0] == 0 && out[1] == 0; r = !r)
            nbcoll_progress(p.w.context[r]);
        EXPECT(OK, nbcoll_isend(long_in, LONG, NBCOLL_BYTE, 0, 1, p.m[1], &q[2]));
        nbcoll_progress(p.w.context[1]);
        left = 0;
        nbcoll_progress(p.w.context[0]);
        left = -1;
        assert_false(party_is(out, LARGE, i)); /* it is under way */
        nbcoll_progress(p.w.context[1]);
        assert_int_equal(party_end(&p, &q[sender]), NBCOLL_OK);
        assert_true(party_is(out, LARGE, i));
        assert_true(is_an_end(party_end(&p, &q[!sender])));
        assert_int_equal(party_end(&p, &q[2]), NBCOLL_ERR_PEER_LOST);
        party_close(&p);
    }
}

/* And nothing breaks: with memory the next one goes. */
static void a_send_to_oneself_says_so(void **state)
{
    nbcoll_context_config config = {.size = sizeof config, .host = {.size = sizeof config.host, .alloc = take,
                                                                    .free = give}};
    const nbcoll_messages_config one = {.size = sizeof one, .credits = 1};
    static unsigned char in[LONG], out[LONG];
    party p;
    (void)state;
    left = -1;
    party_open(&p, 1, 0, &config, &one);
    for (int i = 0; i < 4; i++) {
        size_t bytes = i % 2 ? LONG : 8;
        nbcoll_request q[2];
        left = i < 2 ? 0 : -1;
        EXPECT(OK, nbcoll_isend(in, bytes, NBCOLL_BYTE, 0, i, p.m[0], &q[0]));
        left = -1;
        if (i < 2) {
            assert_int_equal(party_end(&p, &q[0]), NBCOLL_ERR_MEMORY);
            continue;
        }
        EXPECT(OK, nbcoll_irecv(out, bytes, NBCOLL_BYTE, 0, i, p.m[0], NULL, &q[1]));
        world_finish(&p.w, 2, q);
    }
    EXPECT(OK, nbcoll_barrier(p.w.comm[0], NBCOLL_FOREVER));
    party_close(&p);
}

static void opening_says_so(void **state)
{
    nbcoll_context_config config = {.size = sizeof config, .host = {.size = sizeof config.host, .alloc = take,
                                                                    .free = give}};
    nbcoll_messages *m;
    nbcoll_status s = NBCOLL_ERR_MEMORY;
    (void)state;
    for (int allowed = 0; s == NBCOLL_ERR_MEMORY; allowed++) {
        world w;
        left = -1;
        world_open(&w, 1, NULL, &config, NULL);
        left = allowed;
        s = nbcoll_messages_open(w.comm[0], NULL, &m, NBCOLL_FOREVER);
        left = -1;
        assert_true(s == NBCOLL_ERR_MEMORY || (s == NBCOLL_OK && allowed > 0));
        if (s == NBCOLL_OK)
            EXPECT(OK, nbcoll_messages_close(m));
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_started_ends),
        cmocka_unit_test(who_has_no_memory_for_what_comes_is_lost_itself),
        cmocka_unit_test(its_copy_ends_before_the_other_rank_goes_on_without_it),
        cmocka_unit_test(a_send_to_oneself_says_so),
        cmocka_unit_test(opening_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
