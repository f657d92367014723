/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copy paths: what was found out about each peer; large gets, which take many progress calls, their cancelling, and
 * keys that are not good. Between threads and between processes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "ranks.h"

enum { BYTES = 3000001 };

struct plan {
    nbcoll_shm_config config;
    uint32_t flags_of_last;
    nbcoll_shm_path expected[3]; /* as rank 0 sees them */
};

static void open_end(const struct plan *p, int rank, nbcoll_endpoint **out)
{
    nbcoll_shm_config config = p->config;
    config.rank = rank;
    if (rank == config.ranks - 1)
        config.flags |= p->flags_of_last;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, out));
}

static void progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    *found = (nbcoll_completions)NBCOLL_COMPLETIONS_EMPTY;
    ep->transport->progress(ep, found);
    CHECK(found->lost == -1);
}

/* The next message from anyone; its payload is the key, if it has one. */
static nbcoll_key await(nbcoll_endpoint *ep)
{
    nbcoll_key key = {{0}};
    nbcoll_completions found;
    do
        progress(ep, &found);
    while (!found.arrived);
    CHECK(!found.arrived->next);
    if (found.arrived->bytes)
        memcpy(&key, found.arrived->payload, sizeof key);
    return key;
}

static void tell(nbcoll_endpoint *ep, int peer, const nbcoll_key *key)
{
    nbcoll_header header = {{0}};
    nbcoll_work work = {0};
    CHECK(ep->transport->post(ep, peer, &header, key, key ? sizeof *key : 0, &work) == NBCOLL_POST_DONE);
}

static unsigned char byte(size_t i)
{
    return (unsigned char)(i * 31 + i / 4096);
}

/* ---- what was found ---------------------------------------------------------------------------------------------- */

static void describe(int rank, void *user)
{
    const struct plan *p = user;
    nbcoll_endpoint *ep;

    open_end(p, rank, &ep);
    for (int peer = 0; rank == 0 && peer < 3; peer++) {
        nbcoll_shm_peer is = {.size = sizeof is};
        CHECK_STATUS(NBCOLL_OK, nbcoll_shm_describe(ep, peer, &is));
        CHECK(is.path == p->expected[peer]);
        CHECK((is.pid == getpid()) == (peer < 2));
        CHECK(is.by_pieces == SIZE_MAX || is.path == NBCOLL_SHM_BY_PIECES || is.path == NBCOLL_SHM_BY_EITHER);
        CHECK(is.by_pieces < SIZE_MAX || is.path != NBCOLL_SHM_BY_PIECES);
        CHECK(is.why && (is.path == NBCOLL_SHM_BY_REFERENCE) == (is.why[0] == 0));
        const nbcoll_bulk *bulk = ep->transport->bulk;
        CHECK((bulk && bulk->reaches(ep, peer)) == (is.path != NBCOLL_SHM_BY_FRAGMENTS));
    }
    if (rank == 0) {
        nbcoll_shm_peer is = {.size = sizeof is};
        CHECK_STATUS(NBCOLL_ERR_NULL, nbcoll_shm_describe(NULL, 0, &is));
        CHECK_STATUS(NBCOLL_ERR_NULL, nbcoll_shm_describe(ep, 0, NULL));
        CHECK_STATUS(NBCOLL_ERR_RANK, nbcoll_shm_describe(ep, 3, &is));
        is.size = 1;
        CHECK_STATUS(NBCOLL_ERR_CONFIG, nbcoll_shm_describe(ep, 0, &is));
    }
    nbcoll_endpoint_close(ep);
}

static void the_path_to_each_peer_is_told(void **state)
{
    static const struct {
        uint32_t all, last;
        nbcoll_shm_path expected[3];
    } cases[] = {
        {0, 0, {NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_EITHER}},
        {NBCOLL_SHM_NO_CMA, 0, {NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_PIECES}},
        {NBCOLL_SHM_NO_PIECES, 0, {NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_CMA}},
        {NBCOLL_SHM_NO_CMA | NBCOLL_SHM_NO_PIECES,
         0,
         {NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_FRAGMENTS}},
        {NBCOLL_SHM_PIECES, 0, {NBCOLL_SHM_BY_EITHER, NBCOLL_SHM_BY_EITHER, NBCOLL_SHM_BY_EITHER}},
        {NBCOLL_SHM_NO_BULK, 0, {NBCOLL_SHM_BY_FRAGMENTS, NBCOLL_SHM_BY_FRAGMENTS, NBCOLL_SHM_BY_FRAGMENTS}},
        {0, NBCOLL_SHM_NO_CMA, {NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_PIECES}},
        {0, NBCOLL_SHM_NO_PIECES, {NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_CMA}},
        {0, NBCOLL_SHM_NO_BULK, {NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_FRAGMENTS}},
        {NBCOLL_SHM_ALLOW_PTRACER, 0, {NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_REFERENCE, NBCOLL_SHM_BY_EITHER}},
    };
    crew both = CREW(2, 1);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan p = {{.size = sizeof p.config, .id = fresh_id(), .ranks = 3, .flags = cases[i].all},
                         cases[i].last, {0}};
        memcpy(p.expected, cases[i].expected, sizeof p.expected);
        crew_succeeds(&both, describe, &p);
    }
}

/* ---- large gets -------------------------------------------------------------------------------------------------- */

static void own_large(nbcoll_endpoint *ep)
{
    unsigned char *memory = malloc(BYTES);
    nbcoll_registration r;

    for (size_t i = 0; i < BYTES; i++)
        memory[i] = byte(i);
    CHECK_STATUS(NBCOLL_OK, ep->transport->bulk->register_memory(ep, 1, memory, BYTES, NBCOLL_PEER_READS, &r));
    tell(ep, 1, &r.key);
    await(ep);
    free(memory);
}

static void finish(nbcoll_endpoint *ep, nbcoll_work *work, nbcoll_status wanted)
{
    nbcoll_completions found;
    do
        progress(ep, &found);
    while (!found.completed);
    CHECK(found.completed == work && !work->next);
    CHECK_STATUS(wanted, work->status);
}

static void get_large(nbcoll_endpoint *ep, nbcoll_key key)
{
    const nbcoll_bulk *bulk = ep->transport->bulk;
    unsigned char *to = malloc(BYTES), *copy = malloc(BYTES);
    nbcoll_work work = {0};
    nbcoll_completions found;

    CHECK(bulk->get(ep, 0, &key, 0, NULL, to, BYTES, &work) == NBCOLL_POST_IN_FLIGHT);
    finish(ep, &work, NBCOLL_OK);
    for (size_t i = 0; i < BYTES; i++)
        CHECK(to[i] == byte(i));
    CHECK(bulk->get(ep, 0, &key, 17, NULL, to, BYTES - 1000000, &work) == NBCOLL_POST_IN_FLIGHT);
    progress(ep, &found);
    CHECK(!found.completed);
    ep->transport->cancel(ep, &work);
    ep->transport->cancel(ep, &work);
    finish(ep, &work, NBCOLL_ERR_CANCELLED);
    memcpy(copy, to, BYTES);
    for (int i = 0; i < 100; i++)
        progress(ep, &found);
    CHECK(memcmp(copy, to, BYTES) == 0); /* writes nothing more */
    free(to);
    free(copy);
}

static void large(int rank, void *user)
{
    nbcoll_endpoint *ep;

    open_end(user, rank, &ep);
    if (rank == 0)
        own_large(ep);
    else {
        get_large(ep, await(ep));
        tell(ep, 0, NULL);
    }
    nbcoll_endpoint_close(ep);
}

static void a_large_get_takes_several_calls_and_can_be_cancelled(void **state)
{
    static const crew crews[] = {{{1, 1}}, {{2}}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct plan p = {{.size = sizeof p.config, .id = fresh_id(), .ranks = 2}, 0, {0}};
        crew_succeeds(&crews[i], large, &p);
    }
}

/* ---- bad keys ---------------------------------------------------------------------------------------------------- */

static void bad_keys(int rank, void *user)
{
    nbcoll_endpoint *ep;
    unsigned char memory[1000];
    nbcoll_work work = {0};
    nbcoll_registration r;
    nbcoll_key key;

    open_end(user, rank, &ep);
    const nbcoll_bulk *bulk = ep->transport->bulk;
    if (rank == 0) {
        CHECK_STATUS(NBCOLL_ERR_BUFFER, bulk->register_memory(ep, 1, NULL, 1, NBCOLL_PEER_READS, &r));
        CHECK_STATUS(NBCOLL_OK, bulk->register_memory(ep, 1, memory, sizeof memory, NBCOLL_PEER_READS, &r));
        tell(ep, 1, &r.key);
        await(ep);
    } else {
        key = await(ep);
        for (int bit = 0; bit < 128; bit++) {
            nbcoll_key bad = key;
            bad.word[bit / 64] ^= UINT64_C(1) << bit % 64;
            CHECK(bulk->get(ep, 0, &bad, 0, NULL, memory, 10, &work) == NBCOLL_POST_FAILED);
        }
        CHECK(bulk->get(ep, 0, &(nbcoll_key){{0}}, 0, NULL, memory, 10, &work) == NBCOLL_POST_FAILED);
        CHECK(bulk->get(ep, 0, &key, 995, NULL, memory, 10, &work) == NBCOLL_POST_FAILED);
        CHECK(bulk->get(ep, 0, &key, SIZE_MAX, NULL, memory, 10, &work) == NBCOLL_POST_FAILED);
        CHECK(bulk->get(ep, 7, &key, 0, NULL, memory, 10, &work) == NBCOLL_POST_FAILED);
        CHECK(bulk->get(ep, 0, &key, 990, NULL, memory, 10, &work) == NBCOLL_POST_DONE);
        tell(ep, 0, NULL);
    }
    nbcoll_endpoint_close(ep);
}

static void a_damaged_key_reads_nothing(void **state)
{
    static const crew crews[] = {{{1, 1}}, {{2}}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct plan p = {
            {.size = sizeof p.config, .id = fresh_id(), .ranks = 2, .flags = NBCOLL_SHM_NO_PIECES}, 0, {0}};
        crew_succeeds(&crews[i], bad_keys, &p);
    }
}

/* Memory that another process has unmapped meanwhile is an error, whether it is found in the first chunk or later: its
 * owner tells. */
static void vanished(int rank, void *user)
{
    nbcoll_endpoint *ep;
    nbcoll_registration r;
    nbcoll_key key;

    open_end(user, rank, &ep);
    const nbcoll_bulk *bulk = ep->transport->bulk;
    if (rank == 0) {
        char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK_STATUS(NBCOLL_OK, bulk->register_memory(ep, 1, memory, BYTES, NBCOLL_PEER_READS, &r));
        munmap(memory + (1 << 20), BYTES - (1 << 20));
        tell(ep, 1, &r.key);
        await(ep);
    } else {
        unsigned char *to = malloc(BYTES);
        nbcoll_work work = {0};
        key = await(ep);
        CHECK(bulk->get(ep, 0, &key, 2 << 20, NULL, to, 1000, &work) == NBCOLL_POST_IN_FLIGHT);
        finish(ep, &work, NBCOLL_ERR_FAULT);
        CHECK(bulk->get(ep, 0, &key, 0, NULL, to, BYTES, &work) == NBCOLL_POST_IN_FLIGHT);
        finish(ep, &work, NBCOLL_ERR_FAULT);
        CHECK(bulk->get(ep, 0, &key, 0, NULL, to, 1000, &work) == NBCOLL_POST_DONE); /* the rest is as it was */
        tell(ep, 0, NULL);
        free(to);
    }
    nbcoll_endpoint_close(ep);
}

static void vanished_memory_is_an_error(void **state)
{
    crew two = PROCESSES_2;
    struct plan p = {{.size = sizeof p.config, .id = fresh_id(), .ranks = 2, .flags = NBCOLL_SHM_NO_PIECES}, 0, {0}};
    (void)state;
    crew_succeeds(&two, vanished, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_path_to_each_peer_is_told),
        cmocka_unit_test(a_large_get_takes_several_calls_and_can_be_cancelled),
        cmocka_unit_test(a_damaged_key_reads_nothing),
        cmocka_unit_test(vanished_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
