/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings of lines, stepped by one thread: their order, also between more ranks than are looked at one by one, over many
 * laps; and nonsense in them.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ranks.h"
#include "../../transports/shm/shm.h"

enum { MOST = 40 };

struct opening {
    nbcoll_shm_config config;
    nbcoll_endpoint *end;
};

static void *open_one(void *argument)
{
    struct opening *o = argument;
    if (nbcoll_shm_open(&o->config, &o->end) != NBCOLL_OK)
        o->end = NULL;
    return NULL;
}

/* Opening is collective; afterwards this thread has all ends. */
static void open_ends(nbcoll_shm_config config, nbcoll_endpoint *end[])
{
    struct opening opening[MOST];
    pthread_t thread[MOST];

    config.size = sizeof config;
    config.id = fresh_id();
    for (int i = 0; i < config.ranks; i++) {
        opening[i] = (struct opening){config, NULL};
        opening[i].config.rank = i;
        assert_int_equal(pthread_create(&thread[i], NULL, open_one, &opening[i]), 0);
    }
    for (int i = 0; i < config.ranks; i++) {
        pthread_join(thread[i], NULL);
        end[i] = opening[i].end;
        assert_non_null(end[i]);
    }
}

static void close_ends(int ranks, nbcoll_endpoint *end[])
{
    for (int i = 0; i < ranks; i++)
        nbcoll_endpoint_close(end[i]);
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Number n from one rank to another is a line, a message without payload, or one with; by kinds, what has come. */
struct pair {
    uint64_t posted, lines, messages;
};

static bool is_line(uint64_t n)
{
    return n * 7 % 5 < 3;
}

/* The first number from n on of that kind. */
static uint64_t next_of(uint64_t n, bool line)
{
    while (is_line(n) != line)
        n++;
    return n;
}

static void post_next(nbcoll_endpoint *ep, int to, struct pair *p)
{
    uint64_t n = p->posted, payload[40] = {n, ~n, n, n, n, n};
    nbcoll_header header = {{n}};
    nbcoll_work work = {0};
    nbcoll_posted said = is_line(n) ? ep->transport->lines->post(ep, to, (uint32_t)(n % 65536), n, payload, n % 49)
                                    : ep->transport->post(ep, to, &header, payload, n % 3 ? 0 : sizeof payload, &work);
    assert_true(said == NBCOLL_POST_DONE || said == NBCOLL_POST_NOT_NOW);
    p->posted += said == NBCOLL_POST_DONE;
}

/* One progress; true when it brought something. Between two ranks lines arrive in order here, and messages. */
static bool take(nbcoll_endpoint *ep, struct pair *from)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;

    ep->transport->progress(ep, &found);
    for (const nbcoll_line_arrival *l = found.lines; l; l = l->next) {
        uint64_t payload[40] = {l->turn, ~l->turn, l->turn, l->turn, l->turn, l->turn};
        assert_int_equal(l->turn, next_of(from[l->source].lines, true));
        assert_int_equal(l->channel, l->turn % 65536);
        assert_int_equal(l->bytes, l->turn % 49);
        assert_memory_equal(l->payload, payload, l->bytes);
        from[l->source].lines = l->turn + 1;
    }
    for (const nbcoll_arrival *a = found.arrived; a; a = a->next) {
        assert_int_equal(a->header.word[0], next_of(from[a->source].messages, false));
        assert_int_equal(a->bytes, a->header.word[0] % 3 ? 0 : 320);
        if (a->bytes)
            assert_int_equal(*(const uint64_t *)a->payload, a->header.word[0]);
        from[a->source].messages = a->header.word[0] + 1;
    }
    assert_int_equal(found.lost, -1);
    return found.lines || found.arrived;
}

static void exchange(nbcoll_shm_config config, int steps)
{
    static struct pair pair[MOST][MOST]; /* [to][from] */
    uint64_t seed = seed_of_test();
    nbcoll_endpoint *end[MOST];
    int ranks = config.ranks;

    open_ends(config, end);
    memset(pair, 0, sizeof pair);
    for (int step = 0; step < steps; step++) {
        uint64_t r = random_of(&seed);
        int from = (int)(r % (uint64_t)ranks), to = (int)((r >> 16) % (uint64_t)(r & 1 << 8 || ranks < 3 ? ranks : 3));
        for (uint64_t burst = (r >> 32) % 8 ? 1 : (r >> 40) % 200; burst; burst--)
            post_next(end[from], to, &pair[to][from]);
        to = (int)((r >> 48) % (uint64_t)ranks);
        take(end[to], pair[to]);
    }
    for (int to = 0; to < ranks; to++) {
        while (take(end[to], pair[to]))
            ;
        for (int from = 0; from < ranks; from++) { /* nothing is left behind */
            assert_true(next_of(pair[to][from].lines, true) >= pair[to][from].posted);
            assert_true(next_of(pair[to][from].messages, false) >= pair[to][from].posted);
        }
    }
    close_ends(ranks, end);
}

static void few_ranks_find_all_in_order(void **state)
{
    (void)state;
    exchange((nbcoll_shm_config){.ranks = 2}, 20000);
    exchange((nbcoll_shm_config){.ranks = 8}, 20000);
}

static void many_ranks_find_all_in_order(void **state)
{
    (void)state;
    exchange((nbcoll_shm_config){.ranks = 9, .quota = 4096}, 20000);
    exchange((nbcoll_shm_config){.ranks = 33, .quota = 4096}, 30000);
    exchange((nbcoll_shm_config){.ranks = 20, .quota = 4096, .depth = 2, .payload = 512}, 20000);
    exchange((nbcoll_shm_config){.ranks = 12, .quota = 4096, .depth = 512, .payload = 512}, 20000); /* without rows */
}

/* Those that are heard of all the time do not keep one waiting that is heard of once. */
static void a_quiet_rank_is_heard_beside_loud_ones(void **state)
{
    static struct pair from[MOST];
    nbcoll_endpoint *end[MOST];
    int passes = 0;

    (void)state;
    open_ends((nbcoll_shm_config){.ranks = 20, .quota = 4096}, end);
    memset(from, 0, sizeof from);
    for (int round = 0; round < 10; round++) {
        for (int i = 1; i < 19; i++)
            for (int k = 0; k < 100; k++)
                post_next(end[i], 0, &from[i]);
        take(end[0], from);
    }
    post_next(end[19], 0, &from[19]);
    for (; !from[19].lines && passes < 100; passes++) {
        for (int i = 1; i < 19; i++)
            for (int k = 0; k < 100; k++)
                post_next(end[i], 0, &from[i]);
        take(end[0], from);
    }
    assert_in_range(passes, 1, 60);
    close_ends(20, end);
}

/* ---- nonsense ---------------------------------------------------------------------------------------------------- */

static unsigned char *find_segment(size_t *bytes)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long from = 0, to = 0;
    char line[500];

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:nbcoll"))
            assert_int_equal(sscanf(line, "%lx-%lx", &from, &to), 2);
    fclose(maps);
    assert_int_not_equal(from, 0);
    *bytes = to - from;
    return (unsigned char *)from;
}

/* Of the last words of lines, with and without a right lap. */
static uint64_t nonsense(uint64_t *random)
{
    uint64_t r = random_of(random);
    switch (r & 3) {
    case 0:
        return (UINT64_C(1) << 63) | (r >> 20 & 7) << 40 | (r & 1 << 4 ? UINT32_MAX : r >> 50) | (r >> 8 & 63) << 32;
    case 1: return r >> 40;
    case 2: return UINT64_MAX - (r >> 60);
    default: return r;
    }
}

/* What arrives can be: inside the segment, of a length and channel that there are. */
static void takes_only_what_can_be(nbcoll_endpoint *ep, const unsigned char *segment, size_t bytes)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;

    ep->transport->progress(ep, &found);
    for (const nbcoll_line_arrival *l = found.lines; l; l = l->next) {
        const unsigned char *payload = l->payload;
        assert_in_range(l->source, 0, ep->ranks - 1);
        assert_in_range(l->bytes, 0, NBCOLL_LINE_PAYLOAD);
        assert_in_range(l->channel, 0, ep->limits.channels - 1);
        assert_true(payload >= segment && payload + l->bytes <= segment + bytes);
    }
    for (const nbcoll_arrival *a = found.arrived; a; a = a->next) {
        const unsigned char *payload = a->payload;
        assert_in_range(a->source, 0, ep->ranks - 1);
        assert_in_range(a->bytes, 0, ep->limits.payload);
        assert_true(payload >= segment && payload + a->bytes <= segment + bytes);
    }
}

static void nonsense_never_arrives(int ranks, uint64_t *seed)
{
    nbcoll_endpoint *end[MOST];
    size_t bytes;

    open_ends((nbcoll_shm_config){.ranks = ranks, .quota = 4096, .depth = 4, .payload = 256}, end);
    unsigned char *segment = find_segment(&bytes);
    for (int i = 0; i < 3000; i++) {
        uint64_t r = random_of(seed), at = 4096 + random_of(seed) % ((bytes - 4096) / 8) * 8;
        int from = (int)(r % (uint64_t)ranks), to = (int)((r >> 8) % (uint64_t)ranks);
        *(volatile uint64_t *)(void *)(segment + (r >> 16 & 1 ? at | 56 : at)) = nonsense(seed);
        end[from]->transport->lines->post(end[from], to, 1, 1, &r, r >> 32 & 7);
        takes_only_what_can_be(end[to], segment, bytes);
        if (i % 16 == 0)
            (void)end[to]->transport->wakeup->arm(end[to]);
    }
    close_ends(ranks, end);
}

static void nonsense_in_a_ring_is_no_arrival_that_cannot_be(void **state)
{
    uint64_t seed = seed_of_test();
    (void)state;
    for (int round = 0; round < 10; round++)
        nonsense_never_arrives(round % 2 ? 10 : 2, &seed);
}

/* Whom a progress of it, in a second, reports as lost; or -1. */
static int lost_to(nbcoll_endpoint *ep)
{
    for (uint64_t since = clock_ns(); clock_ns() - since < SECOND;) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        ep->transport->progress(ep, &found);
        if (found.lost >= 0)
            return found.lost;
    }
    return -1;
}

static void one_whose_words_are_damaged_is_lost_and_may_be_alive_until_it_closes(void **state)
{
    nbcoll_endpoint *end[2];
    nbcoll_registration named;
    nbcoll_work work;
    uint64_t data = 1, copy = 0;

    (void)state;
    open_ends((nbcoll_shm_config){.ranks = 2, .quota = 4096, .depth = 4}, end);
    const nbcoll_transport *t = end[0]->transport;
    const struct nbcolli_shm_cursor *next = &nbcolli_shm_end(end[0])->peer[1].from;
    assert_int_equal(t->bulk->register_memory(end[0], 1, &data, sizeof data, NBCOLL_PEER_READS, &named), NBCOLL_OK);
    atomic_store(&next->line->word, next->lap | UINT64_C(200) << NBCOLLI_SHM_BYTES_SHIFT);
    assert_int_equal(lost_to(end[0]), 1);
    assert_int_equal(t->touches(end[0], 1), 1);
    assert_int_equal(t->bulk->get(end[1], 0, &named.key, 0, NULL, &copy, sizeof copy, &work), NBCOLL_POST_NOT_NOW);
    assert_int_equal(lost_to(end[1]), 1);
    assert_int_equal(t->touches(end[1], 1), 0);
    nbcoll_endpoint_close(end[1]);
    assert_int_equal(lost_to(end[0]), 1);
    assert_int_equal(t->touches(end[0], 1), 0);
    nbcoll_endpoint_close(end[0]);
}

static void one_that_overwrites_what_was_not_taken_is_lost(void **state)
{
    nbcoll_endpoint *end[2];
    uint64_t data = 0;

    (void)state;
    open_ends((nbcoll_shm_config){.ranks = 2, .quota = 4096, .depth = 4}, end);
    for (int i = 0; i < 4; i++)
        assert_int_equal(end[0]->transport->lines->post(end[0], 1, 0, 1, &data, sizeof data), NBCOLL_POST_DONE);
    atomic_store(&nbcolli_shm_end(end[0])->peer[1].out->head, 4);
    assert_int_equal(end[0]->transport->lines->post(end[0], 1, 0, 1, &data, sizeof data), NBCOLL_POST_DONE);
    assert_int_equal(lost_to(end[1]), 0);
    close_ends(2, end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_ranks_find_all_in_order),
        cmocka_unit_test(many_ranks_find_all_in_order),
        cmocka_unit_test(a_quiet_rank_is_heard_beside_loud_ones),
        cmocka_unit_test(nonsense_in_a_ring_is_no_arrival_that_cannot_be),
        cmocka_unit_test(one_whose_words_are_damaged_is_lost_and_may_be_alive_until_it_closes),
        cmocka_unit_test(one_that_overwrites_what_was_not_taken_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
