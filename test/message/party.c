/* SPDX-License-Identifier: BSD-3-Clause
 * Worlds with messages: see party.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../src/message/message.h"
#include "party.h"

static int counted[WORLD_MOST];
static nbcolli_executor_table counting;

void party_open(party *p, int ranks, int variant, const nbcoll_context_config *context,
                const nbcoll_messages_config *config)
{
    nbcoll_loopback_config loopback = world_variant(variant, 7);
    nbcoll_request q[WORLD_MOST];

    world_open(&p->w, ranks, &loopback, context, NULL);
    for (int r = 0; r < ranks; r++)
        EXPECT(OK, nbcoll_messages_iopen(p->w.comm[r], config, &p->m[r], &q[r]));
    world_finish(&p->w, (size_t)ranks, q);
}

void party_close_messages(party *p)
{
    for (int r = 0; r < p->w.ranks; r++)
        EXPECT(OK, nbcoll_messages_close(p->m[r]));
}

void party_close(party *p)
{
    party_close_messages(p);
    world_close(&p->w);
}

static int count(nbcolli_executor *e, const nbcolli_incoming *in)
{
    counted[e->comm->rank]++;
    return nbcolli_messages_do.message(e, in);
}

void party_count(party *p)
{
    counting = nbcolli_messages_do;
    counting.message = count;
    for (int r = 0; r < p->w.ranks; r++) {
        counted[r] = 0;
        p->m[r]->head.does = &counting;
    }
}

int party_counted(int rank)
{
    return counted[rank];
}

nbcoll_status party_end(party *p, nbcoll_request *request)
{
    nbcoll_status s;
    world_settle(&p->w, 1, request, &s);
    return s;
}

void party_fill(unsigned char *at, size_t bytes, int n)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)((size_t)n * 31 + i * 7 + i / 251);
}

int party_is(const unsigned char *at, size_t bytes, int n)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != (unsigned char)((size_t)n * 31 + i * 7 + i / 251))
            return 0;
    return 1;
}
