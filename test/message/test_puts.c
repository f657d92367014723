/* SPDX-License-Identifier: BSD-3-Clause
 * Messages where ranks put: one put for each, whatever the transport answers; and what goes without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "native.h"
#include "nbcoll/strided.h"
#include "party.h"

enum { LONG = 20000 };

/* What a world's transport does, and has done. */
static struct {
    int refuses;           /* so many puts, for now */
    int fails;             /* so many, since memory cannot be touched */
    uint32_t unregistered; /* access with which nothing can be registered */
    int puts, posts, registered;
} net;

static nbcoll_transport transport;
static nbcoll_bulk bulk;
static const nbcoll_transport *loopback;
static nbcoll_work *failed; /* comes back with the next progress of rank 0 */

static nbcoll_status registers(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes, uint32_t access,
                               nbcoll_registration *out)
{
    if (access & net.unregistered)
        return NBCOLL_ERR_MEMORY;
    net.registered++;
    return loopback->bulk->register_memory(ep, peer, memory, bytes, access, out);
}

static nbcoll_posted puts_(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                           const nbcoll_registration *local, const void *from, size_t bytes,
                           const nbcoll_header *notice, nbcoll_work *work)
{
    if (net.refuses && net.refuses--)
        return NBCOLL_POST_NOT_NOW;
    net.puts++;
    if (net.fails && net.fails--) {
        failed = work;
        return NBCOLL_POST_IN_FLIGHT;
    }
    return loopback->bulk->put(ep, peer, key, offset, local, from, bytes, notice, work);
}

static nbcoll_posted posts(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                           size_t bytes, nbcoll_work *work)
{
    net.posts++;
    return loopback->post(ep, peer, header, payload, bytes, work);
}

static void progresses(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    loopback->progress(ep, found);
    if (ep->rank == 0 && failed) {
        failed->status = NBCOLL_ERR_FAULT;
        failed->next = found->completed;
        found->completed = failed;
        failed = NULL;
    }
}

/* A world of two ranks that put, over a transport that counts. */
static void open_world(party *p, int variant)
{
    nbcoll_loopback_config config = world_variant(variant, 3);
    nbcoll_request q[2];
    native n;

    memset(&net, 0, sizeof net);
    native_init(&n, NULL);
    world_open_contexts(&p->w, 2, &config, NULL);
    loopback = p->w.endpoint[0]->transport;
    transport = *loopback;
    bulk = *loopback->bulk;
    bulk.register_memory = registers;
    bulk.put = puts_;
    transport.bulk = &bulk;
    transport.post = posts;
    transport.progress = progresses;
    for (int r = 0; r < 2; r++) {
        p->w.endpoint[r]->transport = &transport;
        EXPECT(OK, nbcoll_comm_icreate(p->w.context[r], p->w.endpoint[r], &n.config, &p->w.comm[r], &q[r]));
    }
    world_finish(&p->w, 2, q);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_messages_iopen(p->w.comm[r], NULL, &p->m[r], &q[r]));
    world_finish(&p->w, 2, q);
    net.posts = net.puts = 0;
}

static unsigned char in[2 * LONG], out[2 * LONG];

/* A message of LONG bytes, of which both ends are so; the statuses of both. */
static void exchange(party *p, nbcoll_type from, nbcoll_type to, size_t count, nbcoll_status status[2])
{
    nbcoll_request q[2];

    party_fill(in, sizeof in, 3);
    memset(out, 0, sizeof out);
    EXPECT(OK, nbcoll_isend(in, count, from, 1, 1, p->m[0], &q[0]));
    EXPECT(OK, nbcoll_irecv(out, count, to, 0, 1, p->m[1], NULL, &q[1]));
    world_settle(&p->w, 2, q, status);
}

static void comes_whole(party *p)
{
    nbcoll_status status[2];
    exchange(p, NBCOLL_BYTE, NBCOLL_BYTE, LONG, status);
    assert_int_equal(status[0], NBCOLL_OK);
    assert_int_equal(status[1], NBCOLL_OK);
    assert_true(party_is(out, LONG, 3));
}

static void a_long_message_is_put_once(void **state)
{
    (void)state;
    for (int variant = WORLD_PUTS; variant < WORLD_SHARED; variant++) {
        party p;
        open_world(&p, variant);
        comes_whole(&p);
        assert_int_equal(net.puts, 1);
        assert_int_equal(net.posts, 2); /* it is announced, and asked for */
        party_close(&p);
    }
}

static void one_that_packs_is_put_too(void **state)
{
    (void)state;
    for (int variant = WORLD_PUTS; variant < WORLD_SHARED; variant++) {
        nbcoll_strided column;
        nbcoll_status status[2];
        party p;
        EXPECT(OK, nbcoll_strided_make(&column, NBCOLL_BYTE, 1, (nbcoll_steps){LONG, 2}, NBCOLL_ONCE, 1));
        open_world(&p, variant);
        exchange(&p, nbcoll_type_of(&column.type), nbcoll_type_of(&column.type), 1, status);
        assert_int_equal(status[0], NBCOLL_OK);
        assert_int_equal(status[1], NBCOLL_OK);
        for (size_t i = 0; i < sizeof in; i++)
            assert_int_equal(out[i], i % 2 ? 0 : in[i]);
        assert_int_equal(net.puts, 1);
        party_close(&p);
    }
}

static void a_put_that_is_refused_for_now_waits(void **state)
{
    party p;
    (void)state;
    open_world(&p, WORLD_PUTS);
    net.refuses = 5;
    comes_whole(&p);
    assert_int_equal(net.puts, 1);
    party_close(&p);
}

/* At either end. */
static void memory_that_cannot_be_registered_goes_in_parts(void **state)
{
    static const uint32_t without[] = {NBCOLL_PEER_WRITES, NBCOLL_LOCAL_END};
    (void)state;
    for (int i = 0; i < 2; i++) {
        party p;
        open_world(&p, WORLD_PUTS + 1); /* of parts of 512 bytes */
        int registered = net.registered;
        net.unregistered = without[i];
        comes_whole(&p);
        assert_true(i == 0 || net.registered > registered); /* the receiver had lent its memory */
        assert_int_equal(net.puts, bulk.flags & NBCOLL_BULK_ANY_LOCAL && i == 1);
        party_close(&p);
    }
}

static void a_put_that_fails_ends_both_with_a_fault(void **state)
{
    nbcoll_status status[2];
    party p;
    (void)state;
    open_world(&p, WORLD_PUTS);
    net.fails = 1;
    exchange(&p, NBCOLL_BYTE, NBCOLL_BYTE, LONG, status);
    assert_int_equal(status[0], NBCOLL_ERR_FAULT);
    assert_int_equal(status[1], NBCOLL_ERR_FAULT);
    comes_whole(&p); /* the ranks are usable */
    party_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_message_is_put_once),
        cmocka_unit_test(one_that_packs_is_put_too),
        cmocka_unit_test(a_put_that_is_refused_for_now_waits),
        cmocka_unit_test(memory_that_cannot_be_registered_goes_in_parts),
        cmocka_unit_test(a_put_that_fails_ends_both_with_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
