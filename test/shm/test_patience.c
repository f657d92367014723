/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much of a get a progress copies: NBCOLL_PASS_BYTES, so that no call takes long; more where its caller waits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/transport.h"
#include "ranks.h"

enum { BYTES = 4 << 20 };

struct plan {
    nbcoll_shm_id id;
    unsigned char *from, *to;
    nbcoll_key key;
    atomic_int is_there, is_over;
    int progresses[2]; /* of a get: impatient, patient */
};

/* The progresses that a get of all takes. */
static int get(nbcoll_endpoint *ep, struct plan *p, uint32_t patient)
{
    nbcoll_work work = {0};
    int n = 0, is_back = 0;

    memset(p->to, 0, BYTES);
    CHECK(ep->transport->bulk->get(ep, 0, &p->key, 0, NULL, p->to, BYTES, &work) == NBCOLL_POST_IN_FLIGHT);
    while (!is_back) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        ep->patient = patient;
        ep->transport->progress(ep, &found);
        CHECK(ep->patient == 0);
        is_back = found.completed == &work;
        n++;
    }
    CHECK_STATUS(NBCOLL_OK, work.status);
    CHECK(memcmp(p->from, p->to, BYTES) == 0);
    return n;
}

static void take_part(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = {.size = sizeof config, .id = p->id, .rank = rank, .ranks = 2};
    nbcoll_registration lent;
    nbcoll_endpoint *ep;

    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &ep));
    if (rank == 0) {
        CHECK_STATUS(NBCOLL_OK,
                     ep->transport->bulk->register_memory(ep, 1, p->from, BYTES, NBCOLL_PEER_READS, &lent));
        p->key = lent.key;
        atomic_store(&p->is_there, 1);
        while (!atomic_load(&p->is_over))
            ;
    } else {
        while (!atomic_load(&p->is_there))
            ;
        for (uint32_t patient = 0; patient < 2; patient++)
            p->progresses[patient] = get(ep, p, patient);
        atomic_store(&p->is_over, 1);
    }
    nbcoll_endpoint_close(ep);
}

static void a_progress_copies_more_for_one_who_waits(void **state)
{
    crew threads = {{2}};
    struct plan *p = shared_memory(sizeof *p);
    (void)state;
    p->id = fresh_id();
    p->from = shared_memory(BYTES);
    p->to = shared_memory(BYTES);
    for (size_t i = 0; i < BYTES; i++)
        p->from[i] = (unsigned char)(i * 2654435761u >> 24);
    crew_succeeds(&threads, take_part, p);
    assert_int_equal(p->progresses[0], BYTES / NBCOLL_PASS_BYTES);
    assert_int_equal(p->progresses[1], BYTES / (1 << 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_progress_copies_more_for_one_who_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
