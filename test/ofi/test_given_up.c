/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that gives another one up closes the endpoint into which all put, and opens another one. The others' puts,
 * with keys that they had before, begun before or after, arrive there all the same; those of the one that is given up
 * do not, and none of them writes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <nbcoll/ofi.h>

#include "crew.h"

enum { RANKS = 3, OWNER = 0, GIVEN_UP = 1, OTHER = 2, BYTES = 1 << 24, PATIENCE_S = 20 };

static nbcoll_endpoint *end[RANKS];
/* More than the system takes off a writer that waits. */
static unsigned char room[RANKS][BYTES], from[RANKS][BYTES]; /* of the owner, for each; of each */
static nbcoll_registration lent[RANKS], mine[RANKS];
static int notices[RANKS], back[RANKS]; /* that came from each; works that came back to each */
static nbcoll_status status[RANKS];     /* of the last one */

static void progress_all(void)
{
    for (int rank = 0; rank < RANKS; rank++) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        end[rank]->transport->progress(end[rank], &found);
        for (const nbcoll_arrival *a = found.arrived; a; a = a->next)
            notices[a->source]++;
        for (const nbcoll_work *w = found.completed; w; w = w->next) {
            back[rank]++;
            status[rank] = w->status;
        }
        assert_int_equal(found.lost, -1);
    }
}

static void await(const int *count, int wanted)
{
    for (uint64_t since = clock_ns(); *count < wanted; progress_all())
        assert_true(clock_ns() - since < PATIENCE_S * SECOND);
}

/* The owner has sent a message to each: as a key comes in one. */
static void send_to_all(void)
{
    static nbcoll_work work[RANKS];

    for (int rank = 1; rank < RANKS; rank++)
        while (end[OWNER]->transport->post(end[OWNER], rank, &(nbcoll_header){{1}}, NULL, 0, &work[rank]) ==
               NBCOLL_POST_NOT_NOW)
            progress_all();
    await(&notices[OWNER], RANKS - 1); /* at each of them */
}

static int open_all(void **state)
{
    nbcoll_ofi_config config = {.size = sizeof config, .ranks = RANKS, .address = "127.0.0.1"};
    nbcoll_ofi_address all[RANKS];

    (void)state;
    for (config.rank = 0; config.rank < RANKS; config.rank++)
        if (nbcoll_ofi_open(&config, &all[config.rank], &end[config.rank]) != NBCOLL_OK)
            return 1;
    for (int rank = 0; rank < RANKS; rank++)
        if (nbcoll_ofi_meet(end[rank], all) != NBCOLL_OK)
            return 1;
    memset(room, 0, sizeof room);
    memset(notices, 0, sizeof notices);
    memset(back, 0, sizeof back);
    for (int rank = 1; rank < RANKS; rank++) {
        memset(from[rank], 16 + rank, BYTES);
        if (end[OWNER]->transport->bulk->register_memory(end[OWNER], rank, room[rank], BYTES, NBCOLL_PEER_WRITES,
                                                         &lent[rank]) != NBCOLL_OK ||
            end[rank]->transport->bulk->register_memory(end[rank], OWNER, from[rank], BYTES, NBCOLL_LOCAL_END,
                                                        &mine[rank]) != NBCOLL_OK)
            return 1;
    }
    send_to_all();
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (int rank = 1; rank < RANKS; rank++) {
        end[rank]->transport->bulk->deregister_memory(end[rank], &mine[rank]);
        end[OWNER]->transport->bulk->deregister_memory(end[OWNER], &lent[rank]);
    }
    for (int rank = 0; rank < RANKS; rank++)
        nbcoll_endpoint_close(end[rank]);
    return 0;
}

static nbcoll_posted put(int rank, nbcoll_work *work)
{
    static const nbcoll_header notice = {{7}};
    return end[rank]->transport->bulk->put(end[rank], OWNER, &lent[rank].key, 0, &mine[rank], from[rank], BYTES,
                                           &notice, work);
}

static void start_put(int rank, nbcoll_work *work)
{
    uint64_t since = clock_ns();
    nbcoll_posted said;

    while ((said = put(rank, work)) == NBCOLL_POST_NOT_NOW) {
        assert_true(clock_ns() - since < PATIENCE_S * SECOND);
        progress_all();
    }
    assert_int_equal(said, NBCOLL_POST_IN_FLIGHT);
}

static void is_put(int rank)
{
    await(&notices[rank], 1);
    await(&back[rank], 1);
    assert_int_equal(status[rank], NBCOLL_OK);
    assert_memory_equal(room[rank], from[rank], BYTES);
}

static void is_blank(int rank)
{
    assert_int_equal(room[rank][0], 0);
    assert_memory_equal(room[rank], room[rank] + 1, BYTES - 1);
}

static void a_put_begun_afterwards_arrives(void **state)
{
    nbcoll_work work = {0}, in_vain = {0};

    (void)state;
    end[OWNER]->transport->give_up(end[OWNER], GIVEN_UP);
    start_put(OTHER, &work);
    is_put(OTHER);
    nbcoll_posted said = put(GIVEN_UP, &in_vain);
    for (uint64_t since = clock_ns(); clock_ns() - since < SECOND / 4;)
        progress_all();
    if (said == NBCOLL_POST_IN_FLIGHT) {
        end[GIVEN_UP]->transport->cancel(end[GIVEN_UP], &in_vain);
        await(&back[GIVEN_UP], 1);
        assert_int_not_equal(status[GIVEN_UP], NBCOLL_OK);
    }
    is_blank(GIVEN_UP);
    assert_int_equal(notices[GIVEN_UP], 0);
}

static void a_put_begun_before_begins_again(void **state)
{
    nbcoll_work first = {0}, second = {0};

    (void)state;
    start_put(OTHER, &first);
    is_put(OTHER); /* they are connected now */
    memset(room[OTHER], 0, BYTES);
    notices[OTHER] = back[OTHER] = 0;
    start_put(OTHER, &second);
    end[OWNER]->transport->give_up(end[OWNER], GIVEN_UP);
    is_put(OTHER);
    is_blank(GIVEN_UP);
}

/* How much has been written, from the beginning. */
static size_t written(int rank)
{
    size_t bytes = 0;
    while (bytes < BYTES && room[rank][bytes])
        bytes++;
    return bytes;
}

static void who_is_amid_a_put_writes_no_more(void **state)
{
    nbcoll_work work = {0};

    (void)state;
    start_put(GIVEN_UP, &work);
    for (uint64_t since = clock_ns(); !room[GIVEN_UP][0];) { /* the owner alone: it takes what has come */
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        end[OWNER]->transport->progress(end[OWNER], &found);
        assert_true(clock_ns() - since < PATIENCE_S * SECOND);
    }
    end[OWNER]->transport->give_up(end[OWNER], GIVEN_UP);
    size_t bytes = written(GIVEN_UP);
    assert_true(bytes < BYTES);
    await(&back[GIVEN_UP], 1);
    assert_int_not_equal(status[GIVEN_UP], NBCOLL_OK);
    assert_int_equal(written(GIVEN_UP), bytes);
    assert_int_equal(notices[GIVEN_UP], 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_put_begun_afterwards_arrives, open_all, close_all),
        cmocka_unit_test_setup_teardown(a_put_begun_before_begins_again, open_all, close_all),
        cmocka_unit_test_setup_teardown(who_is_amid_a_put_writes_no_more, open_all, close_all),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
