/* SPDX-License-Identifier: BSD-3-Clause
 * The host: a runtime with a transport and an allocator of its own. The transport here is the least that the contract
 * allows: messages in a list between two ranks of one thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/transport.h"

/* ---- the transport ----------------------------------------------------------------------------------------------- */

typedef struct packed {
    nbcoll_arrival arrival; /* first */
    _Alignas(8) char payload[256];
} packed;

typedef struct mailbox {
    nbcoll_endpoint base; /* first */
    struct mailbox *peer;
    nbcoll_arrival *in, **in_end; /* arrived, not yet read */
    nbcoll_arrival *shown;        /* reported by the last progress */
} mailbox;

static nbcoll_posted mailbox_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                                  size_t bytes, nbcoll_work *work)
{
    mailbox *to = peer == ep->rank ? (mailbox *)ep : ((mailbox *)ep)->peer;
    packed *l = calloc(1, sizeof *l);

    (void)work;
    memcpy(l->payload, payload ? payload : "", bytes);
    l->arrival = (nbcoll_arrival){NULL, ep->rank, *header, l->payload, bytes};
    *to->in_end = &l->arrival;
    to->in_end = &l->arrival.next;
    return NBCOLL_POST_DONE;
}

static void mailbox_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    mailbox *m = (mailbox *)ep;
    while (m->shown) {
        nbcoll_arrival *read = m->shown;
        m->shown = read->next;
        free(read);
    }
    found->arrived = m->shown = m->in;
    m->in = NULL;
    m->in_end = &m->in;
}

static void mailbox_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    (void)ep;
    (void)work; /* nothing is ever lent */
}

static void mailbox_close(nbcoll_endpoint *ep)
{
    nbcoll_completions found;
    mailbox_progress(ep, &found);
    mailbox_progress(ep, &found);
}

static const nbcoll_transport mailbox_table = {.abi = NBCOLL_ABI, .size = sizeof mailbox_table, .name = "mailbox",
                                               .post = mailbox_post, .progress = mailbox_progress,
                                               .cancel = mailbox_cancel, .close = mailbox_close};

static void mailbox_open(mailbox *m, int rank, mailbox *peer)
{
    *m =
        (mailbox){.base = {.transport = &mailbox_table,
                           .rank = rank,
                           .ranks = 2,
                           .limits = {.size = sizeof(nbcoll_limits), .payload = 256,
                                      .price = {.alpha_ns = 1000, .beta_ps = 100}}},
                  .peer = peer,
                  .in_end = &m->in};
}

/* ---- the allocator ----------------------------------------------------------------------------------------------- */

static void *counted_alloc(void *user, size_t bytes, size_t align)
{
    *(size_t *)user += bytes;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void counted_free(void *user, void *memory, size_t bytes)
{
    *(size_t *)user -= bytes;
    free(memory);
}

/* ---- using them -------------------------------------------------------------------------------------------------- */

static void a_host_runs_collectives_over_its_own_transport_and_memory(void **state)
{
    size_t used = 0;
    nbcoll_context_config config = {.size = sizeof config,
                                    .host = {.user = &used, .alloc = counted_alloc, .free = counted_free}};
    mailbox m[2];
    nbcoll_context *context[2];
    nbcoll_comm *comm[2];
    nbcoll_request request[2];
    double data[2][1000];

    (void)state;
    for (int r = 0; r < 2; r++)
        mailbox_open(&m[r], r, &m[1 - r]);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(nbcoll_context_create(NBCOLL_ABI, &config, &context[r]), NBCOLL_OK);
        assert_int_equal(nbcoll_comm_icreate(context[r], &m[r].base, NULL, &comm[r], &request[r]), NBCOLL_OK);
    }
    while (nbcoll_test_all(2, request, NULL) == NBCOLL_PENDING)
        ;
    for (int i = 0; i < 1000; i++)
        data[0][i] = i;
    for (int r = 0; r < 2; r++)
        assert_int_equal(nbcoll_ibcast(data[r], 1000, NBCOLL_DOUBLE, 0, comm[r], &request[r]), NBCOLL_OK);
    while (nbcoll_test_all(2, request, NULL) == NBCOLL_PENDING)
        ;
    assert_memory_equal(data[1], data[0], sizeof data[0]);
    assert_true(used > 0);
    for (int r = 0; r < 2; r++)
        assert_int_equal(nbcoll_context_free(context[r]), NBCOLL_OK);
    assert_int_equal(used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_runs_collectives_over_its_own_transport_and_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
