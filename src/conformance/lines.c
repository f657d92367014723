/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of lines, and of what a transport says of a rank that it has lost.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "player.h"

enum { LINE_CHANNELS = 5, LINE_TURNS = 40 };

static nbcoll_line expected_line(const struct world *w, int from, uint32_t channel, uint64_t turn)
{
    nbcoll_line line = {.turn = turn, .channel = channel};
    line.bytes = (uint32_t)((turn * 7 + channel) % (NBCOLL_LINE_PAYLOAD + 1));
    expected_payload(w, from, turn << 8 | channel, line.payload, line.bytes);
    return line;
}

/* One progress of rank 1, beside messages; each line must be the next one of its channel. */
static void lines_take(struct world *w, uint64_t turn[])
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
    struct player *p = &w->player[1];
    p->ep->transport->progress(p->ep, &found);
    for (const nbcoll_line_arrival *l = found.lines; l; l = l->next) {
        CHECK_EQUAL(l->source, 0);
        CHECK(l->line->channel < LINE_CHANNELS);
        nbcoll_line wanted = expected_line(w, 0, l->line->channel, ++turn[l->line->channel]);
        CHECK_EQUAL(l->line->turn, wanted.turn);
        CHECK_EQUAL(l->line->bytes, wanted.bytes);
        CHECK(memcmp(l->line->payload, wanted.payload, wanted.bytes) == 0);
    }
    for (nbcoll_arrival *a = found.arrived; a; a = a->next)
        player_receive(p, a);
}

static void lines_arrive_once_and_whole_beside_messages(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 2);
    struct player *p = &w->player[0];
    const nbcoll_lines *lines = p->ep->transport->lines;
    struct loan loan[LINE_CHANNELS] = {{.lent = false}};
    nbcoll_line line[LINE_CHANNELS];
    uint64_t arrived[LINE_CHANNELS] = {0};

    if (!lines) {
        world_close(w);
        case_is_skipped("it has no lines");
    }
    CHECK(p->ep->limits.channels >= LINE_CHANNELS);
    line[0] = (nbcoll_line){.turn = 1, .channel = p->ep->limits.channels};
    nbcoll_posted refused;
    while ((refused = lines->post(p->ep, 1, &line[0], &loan[0].work)) == NBCOLL_POST_NOT_NOW)
        player_progress(p);
    CHECK_EQUAL(refused, NBCOLL_POST_FAILED);
    for (uint64_t turn = 1; turn <= LINE_TURNS; turn++) {
        for (uint32_t i = 0; i < LINE_CHANNELS; i++) {
            nbcoll_posted said;
            loan[i].work.owner = 0x6c6f616eu;
            line[i] = expected_line(w, 0, i, turn);
            while ((said = lines->post(p->ep, 1, &line[i], &loan[i].work)) == NBCOLL_POST_NOT_NOW) {
                player_progress(p);
                lines_take(w, arrived);
                case_waits("a line that is not answered NOT_NOW");
            }
            CHECK(said == NBCOLL_POST_DONE || said == NBCOLL_POST_LENT);
            loan[i].lent = said == NBCOLL_POST_LENT;
            p->lent += loan[i].lent;
        }
        player_write(p, 1, (size_t)turn);
        for (uint32_t i = 0; i < LINE_CHANNELS; i++)
            for (; p->lent || arrived[i] < turn || p->posted < p->letters; case_waits("a line, and its work request")) {
                player_send(p);
                player_progress(p);
                lines_take(w, arrived);
            }
    }
    for (int k = 0; k < 100; k++)
        lines_take(w, arrived); /* none comes twice */
    world_settle(w);
    world_close(w);
}

/* Rank 0 goes without having ended what it began: the others report it as lost, and can be asked why. */
static void why_an_abandoned_rank_is_lost_is_told(const nbcoll_conformance *c)
{
    struct world *w = world_open(c, 3);
    struct player *p = &w->player[0];
    const nbcoll_transport *t = p->ep->transport;

    if (!t->abandon || !t->reason) {
        world_close(w);
        case_is_skipped("it has no abandon, or tells no reason");
    }
    for (int k = 0; k < 6; k++)
        player_revoke(p, player_write(p, 1 + k % 2, 16)); /* it may arrive, or not */
    for (size_t k = 0; k < p->letters; k++)
        if (player_post(p, p->letter[k]) != NBCOLL_POST_NOT_NOW)
            p->letter[k]->state = LETTER_REVOKED;
    w->doomed = 0;
    t->abandon(p->ep);
    p->ep = NULL;
    p->lent = 0;
    for (; !w->player[1].knows_lost || !w->player[2].knows_lost; case_waits("the report that a rank is lost")) {
        player_progress(&w->player[1]);
        player_progress(&w->player[2]);
    }
    for (int i = 1; i < 3; i++) {
        nbcoll_transport_error why = {0, NULL};
        nbcoll_endpoint *ep = w->player[i].ep;
        ep->transport->reason(ep, 0, &why);
        CHECK(why.code || why.text);
    }
    world_close(w);
}
