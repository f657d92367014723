/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An endpoint that closes at once after its last post loses nothing, whatever its provider does with what it has not
 * sent yet: also where the other rank looks at nothing until then, where both post and close, and where all that may be
 * under way is. Each provider is left out where it is not there.
 */
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <nbcoll/ofi.h>

#include "board.h"
#include "crew.h"

enum { ROUNDS = 6, MOST = 65536, POSTS_MOST = 200, PATIENCE_MS = 20000 };

typedef struct plan {
    board *board;
    nbcoll_ofi_config config;
    bool both, looks_late; /* post, else rank 0 does; rank 1, after the first message, when rank 0 has closed */
    atomic_int *posted;    /* by rank 0 */
    sem_t *heard, *closed; /* the first message, by rank 1; by rank 0 */
} plan;

/* Also as long as a message may be, which over ofi_rxm is several pieces. */
static size_t length_of(const nbcoll_endpoint *end, int k)
{
    return k % 3 == 0 ? end->limits.payload : (size_t)k * 41;
}

static int heard;    /* messages of the other one */
static bool is_left; /* by the other one */

static void look(nbcoll_endpoint *end)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;

    end->transport->progress(end, &found);
    CHECK(found.lost < 0);
    CHECK(!is_left || !found.arrived);
    for (const nbcoll_arrival *a = found.arrived; a; a = a->next, heard++) {
        const unsigned char *payload = a->payload;
        CHECK(a->header.word[0] == (uint64_t)heard);
        CHECK(a->bytes == length_of(end, heard));
        CHECK((uintptr_t)payload % 8 == 0);
        for (size_t i = 0; i < a->bytes; i++)
            CHECK(payload[i] == (unsigned char)(heard + 1));
    }
    is_left |= found.departed >= 0;
}

/* Sleeps until there is something to look at. */
static void await(nbcoll_endpoint *end)
{
    const nbcoll_wakeup *wakeup = end->transport->wakeup;
    struct pollfd fd = {.fd = wakeup->fd(end), .events = POLLIN};

    if (wakeup->arm(end) == NBCOLL_OK)
        CHECK(poll(&fd, 1, PATIENCE_MS) == 1);
    look(end);
}

/* From number k on what there is room for, when it is connected, and at most so many. The number of all. */
static int post_all(nbcoll_endpoint *end, int k, int most)
{
    static unsigned char payload[MOST];
    static nbcoll_work work;

    for (nbcoll_posted said = NBCOLL_POST_DONE; k < most && (k == 0 || said == NBCOLL_POST_DONE);) {
        const nbcoll_header header = {{(uint64_t)k}};
        memset(payload, k + 1, sizeof payload);
        said = end->transport->post(end, 1 - end->rank, &header, payload, length_of(end, k), &work);
        CHECK(said == NBCOLL_POST_DONE || said == NBCOLL_POST_NOT_NOW);
        if (said == NBCOLL_POST_DONE)
            k++;
        else if (k == 0)
            await(end);
    }
    return k;
}

static void post_and_close(int rank, void *user)
{
    const plan *p = user;
    nbcoll_ofi_config config = p->config;

    config.rank = rank;
    nbcoll_endpoint *end = board_open(p->board, &config);
    CHECK(end);
    int posted = 0;
    if (p->looks_late && rank == 0) { /* a connection needs both */
        posted = post_all(end, 0, 1);
        sem_wait(p->heard);
    }
    if (p->looks_late && rank == 1) {
        while (heard == 0)
            await(end);
        sem_post(p->heard);
    }
    if (p->both || rank == 0) {
        posted = post_all(end, posted, POSTS_MOST);
        if (rank == 0)
            atomic_store(p->posted, posted);
    }
    if (rank == 1 && p->looks_late)
        sem_wait(p->closed);
    while (rank == 1 && !is_left)
        await(end);
    CHECK(rank == 0 || (heard > 0 && heard == atomic_load(p->posted)));
    nbcoll_endpoint_close(end);
    if (rank == 0)
        sem_post(p->closed);
    exit(0); /* net leaves descriptors open */
}

static void closes_over(const char *provider, const char *address)
{
    plan p = {.config = {.size = sizeof p.config, .ranks = 2, .provider = provider, .address = address},
              .posted = shared_memory(sizeof *p.posted),
              .heard = shared_memory(sizeof *p.heard),
              .closed = shared_memory(sizeof *p.closed)};
    nbcoll_ofi_config alone = p.config;
    nbcoll_ofi_address mine;
    nbcoll_endpoint *end = NULL;

    alone.ranks = 1;
    if (nbcoll_ofi_open(&alone, &mine, &end) != NBCOLL_OK)
        skip();
    nbcoll_endpoint_close(end);
    for (int round = 0; round < ROUNDS; round++) {
        p.both = round % 2;
        p.looks_late = round / 2 % 2;
        assert_int_equal(sem_init(p.closed, 1, 0) + sem_init(p.heard, 1, 0), 0);
        p.board = board_make();
        assert_non_null(p.board);
        crew_succeeds(&PROCESSES_2, post_and_close, &p);
        board_free(p.board);
    }
}

static void closing_at_once_loses_nothing_over_tcp(void **state)
{
    (void)state;
    closes_over("tcp;ofi_rxm", "127.0.0.1");
}

static void closing_at_once_loses_nothing_over_net(void **state)
{
    (void)state;
    closes_over("net", "127.0.0.1");
}

static void closing_at_once_loses_nothing_over_shm(void **state)
{
    (void)state;
    closes_over("shm", NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closing_at_once_loses_nothing_over_tcp),
        cmocka_unit_test(closing_at_once_loses_nothing_over_net),
        cmocka_unit_test(closing_at_once_loses_nothing_over_shm),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
