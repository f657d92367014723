/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Players: see player.h.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "player.h"

#define SCRUBBED 0xa5

uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* ---- what messages look like ------------------------------------------------------------------------------------ */

static uint64_t message_seed(const struct world *w, int from, uint64_t index)
{
    return w->seed ^ ((uint64_t)(from + 1) << 48) ^ (index << 8);
}

static nbcoll_header expected_header(const struct world *w, int from, uint64_t index)
{
    uint64_t random = message_seed(w, from, index);
    nbcoll_header h = {{index}};
    for (size_t i = 1; i < sizeof h.word / sizeof h.word[0]; i++)
        h.word[i] = random_next(&random);
    return h;
}

void expected_payload(const struct world *w, int from, uint64_t index, unsigned char *out, size_t bytes)
{
    uint64_t random = ~message_seed(w, from, index);
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = random_next(&random);
        memcpy(out + i, &word, bytes - i < 8 ? bytes - i : 8);
    }
}

static bool is_expected_payload(const struct world *w, int from, uint64_t index, const unsigned char *is, size_t bytes)
{
    uint64_t random = ~message_seed(w, from, index);
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = random_next(&random);
        if (memcmp(is + i, &word, bytes - i < 8 ? bytes - i : 8) != 0)
            return false;
    }
    return true;
}

void player_is_wrong(const struct player *p, const char *format, ...)
{
    char what[200];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    case_fails("rank %d of %d: %s", p->rank, p->world->ranks, what);
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

struct message *player_write(struct player *p, int to, size_t bytes)
{
    struct message *l = calloc(1, sizeof *l + bytes);
    if ((p->messages & (p->messages + 1)) == 0) /* grow to the next power of two, less one */
        p->message = realloc(p->message, (2 * p->messages + 1) * sizeof p->message[0]);
    CHECK(l);
    CHECK(p->message);
    l->index = p->messages;
    l->to = to;
    l->bytes = bytes;
    l->header = expected_header(p->world, p->rank, p->messages);
    l->payload = (unsigned char *)(l + 1);
    expected_payload(p->world, p->rank, p->messages, l->payload, bytes);
    l->loan.message = l;
    l->loan.work.owner = OWNER;
    p->message[p->messages++] = l;
    p->world->player[to].expected++;
    return l;
}

void player_revoke(struct player *p, struct message *l)
{
    l->state = MESSAGE_REVOKED;
    if (!l->arrived)
        p->world->player[l->to].expected--;
}

/* The message is the core's again: no one may still read it. */
static void message_scrub(struct message *l)
{
    memset(&l->header, SCRUBBED, sizeof l->header);
    memset(l->payload, SCRUBBED, l->bytes);
}

nbcoll_posted player_post(struct player *p, struct message *l)
{
    nbcoll_work before = l->loan.work;
    nbcoll_posted said =
        p->ep->transport->post(p->ep, l->to, &l->header, l->bytes ? l->payload : NULL, l->bytes, &l->loan.work);
    if (l->loan.work.owner != OWNER)
        player_is_wrong(p, "post changed work->owner");
    switch (said) {
    case NBCOLL_POST_DONE:
        message_scrub(l);
        l->state = MESSAGE_POSTED;
        break;
    case NBCOLL_POST_IN_FLIGHT:
        l->loan.lent = true;
        p->lent++;
        l->state = MESSAGE_POSTED;
        break;
    case NBCOLL_POST_NOT_NOW:
        if (memcmp(&before, &l->loan.work, sizeof before) != 0)
            player_is_wrong(p, "a refused post changed the work request");
        break;
    default:
        player_is_wrong(p, "post to rank %d said %d", l->to, (int)said);
    }
    return said;
}

void player_send(struct player *p)
{
    for (; p->posted < p->messages; p->posted++) {
        struct message *l = p->message[p->posted];
        if (l->state == MESSAGE_READY)
            player_post(p, l);
        if (l->state == MESSAGE_READY)
            return;
    }
}

struct message *player_check_arrival(struct player *p, const nbcoll_arrival *a)
{
    const struct world *w = p->world;
    uint64_t index = a->header.word[0];
    if (a->source < 0 || a->source >= w->ranks || index >= w->player[a->source].messages)
        player_is_wrong(p, "an arrival from %d has an unknown header", a->source);
    struct message *l = w->player[a->source].message[index];
    nbcoll_header header = expected_header(w, a->source, index);
    if (l->to != p->rank)
        player_is_wrong(p, "a message for %d arrived at %d", l->to, p->rank);
    else if (memcmp(&header, &a->header, sizeof header) != 0)
        player_is_wrong(p, "the header of message %d from %d is changed", (int)index, a->source);
    else if (a->bytes != l->bytes)
        player_is_wrong(p, "%zu of %zu bytes arrived from %d", a->bytes, l->bytes, a->source);
    else if (a->bytes && (uintptr_t)a->payload % 8 != 0)
        player_is_wrong(p, "a payload lies at %p", a->payload);
    else if (!is_expected_payload(w, a->source, index, a->payload, a->bytes))
        player_is_wrong(p, "the payload of message %d from %d is changed", (int)index, a->source);
    return l;
}

void player_receive(struct player *p, const nbcoll_arrival *a)
{
    struct message *l = player_check_arrival(p, a);
    if (l->arrived++)
        player_is_wrong(p, "message %d from %d arrived twice", (int)a->header.word[0], a->source);
    if (p->must_order && a->header.word[0] < p->next[a->source])
        player_is_wrong(p, "message %d from %d was overtaken", (int)a->header.word[0], a->source);
    p->next[a->source] = a->header.word[0] + 1;
    if (!l->loan.cancelled || l->state != MESSAGE_REVOKED)
        p->arrived++;
}

void player_post_at_last(struct player *p, struct message *l)
{
    for (; player_post(p, l) == NBCOLL_POST_NOT_NOW; case_waits("a post that is not answered NOT_NOW"))
        world_progress(p->world);
}

void player_cancel(struct player *p, struct loan *loan)
{
    loan->cancelled = true;
    p->ep->transport->cancel(p->ep, &loan->work);
}

static void player_take_back(struct player *p, nbcoll_work *work)
{
    struct loan *loan = (struct loan *)(void *)work;
    struct message *l = loan->message;
    if (work->owner != OWNER || !loan->lent)
        player_is_wrong(p, "a work request came back that was not lent");
    loan->lent = false;
    p->lent--;
    if (loan->is_in_vain ? work->status == NBCOLL_OK
                         : work->status != NBCOLL_OK && !(loan->cancelled && work->status == NBCOLL_ERR_CANCELLED))
        player_is_wrong(p, "a work request came back with %d", (int)work->status);
    if (!l)
        return;
    nbcoll_header header = expected_header(p->world, p->rank, l->index);
    if (memcmp(&header, &l->header, sizeof header) != 0 ||
        !is_expected_payload(p->world, p->rank, l->index, l->payload, l->bytes))
        player_is_wrong(p, "the transport wrote into a lent message");
    message_scrub(l);
    if (work->status == NBCOLL_ERR_CANCELLED)
        player_revoke(p, l);
}

/* Once, after all that it posted to this player. In processes each knows only its own posts, but all are made. */
static void player_is_left(struct player *p, int rank)
{
    const struct world *w = p->world;
    if (rank < 0 || rank >= w->ranks || rank == p->rank || p->left[rank]++)
        player_is_wrong(p, "rank %d was reported to have left", rank);
    for (size_t k = 0; k < w->player[rank].messages; k++) {
        const struct message *l = w->player[rank].message[k];
        if (l->to == p->rank && !l->arrived && (w->in_processes || l->state == MESSAGE_POSTED))
            player_is_wrong(p, "rank %d was reported to have left before its message %zu arrived", rank, k);
    }
}

bool player_knows_left(const struct player *p, int rank)
{
    for (int i = 0; i < p->world->ranks; i++)
        if ((rank < 0 ? i != p->rank : i == rank) && !p->left[i])
            return false;
    return true;
}

bool player_progress(struct player *p)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
    p->ep->transport->progress(p->ep, &found);
    for (nbcoll_arrival *a = found.arrived; a; a = a->next)
        player_receive(p, a);
    for (nbcoll_work *r = found.completed, *next; r; r = next) {
        next = r->next;
        player_take_back(p, r);
    }
    if (found.lost != -1 && (found.lost != p->world->doomed || p->knows_lost))
        player_is_wrong(p, "rank %d was reported as lost", found.lost);
    p->knows_lost |= found.lost != -1;
    if (found.departed != -1)
        player_is_left(p, found.departed);
    return found.arrived || found.completed;
}

bool player_is_done(const struct player *p)
{
    return p->posted == p->messages && !p->lent && p->arrived >= p->expected;
}

/* ---- worlds ------------------------------------------------------------------------------------------------------ */

struct world *world_open(const nbcoll_conformance *c, int ranks)
{
    nbcoll_endpoint *end[MAX_RANKS] = {NULL};
    struct world *w = calloc(1, sizeof *w);
    CHECK(w);
    w->c = c;
    w->in_processes = c->open != NULL;
    w->ranks = ranks;
    w->doomed = w->killed = -1;
    w->random = w->seed = c->seed;
    w->made = c->make(c, ranks, end);
    if (!w->made)
        case_fails("make opened no world of %d ranks", ranks);
    for (int i = 0; i < ranks; i++) {
        if (!w->in_processes && !end[i])
            case_fails("make left the end of rank %d of %d null", i, ranks);
        w->player[i].world = w;
        w->player[i].ep = end[i];
        w->player[i].rank = i;
        w->player[i].must_order = c->promises & NBCOLL_CONFORMANCE_ORDERED;
    }
    w->payload = w->in_processes ? c->payload : end[0]->limits.payload;
    return w;
}

void world_needs(struct world *w, bool has, const char *lack, uint32_t promise)
{
    CHECK(has || !(w->c->promises & promise));
    if (has)
        return;
    world_close(w);
    case_is_skipped(lack);
}

bool world_progress(struct world *w)
{
    bool moved = false;
    for (int i = 0; i < w->ranks; i++)
        if (w->player[i].ep)
            moved |= player_progress(&w->player[i]);
    return moved;
}

static size_t messages_unfinished(const struct world *w, size_t *lent)
{
    size_t messages = 0;
    *lent = 0;
    for (int i = 0; i < w->ranks; i++)
        if (w->player[i].ep) {
            const struct player *p = &w->player[i];
            messages += p->messages - p->posted + (p->expected > p->arrived ? p->expected - p->arrived : 0);
            *lent += p->lent;
        }
    return messages;
}

void world_settle(struct world *w)
{
    for (bool done = false; !done;) {
        bool moved = false;
        done = true;
        for (int i = 0; i < w->ranks; i++) {
            struct player *p = &w->player[i];
            if (!p->ep)
                continue;
            player_send(p);
            moved |= player_progress(p);
            done &= player_is_done(p);
        }
        if (!done && case_is_late()) {
            size_t lent, messages = messages_unfinished(w, &lent);
            case_fails("%zu messages do not arrive, and %zu work requests do not come back", messages, lent);
        }
        if (!moved)
            sched_yield();
    }
    world_progress(w); /* gives the last arrivals back */
}

void world_write(struct world *w, size_t bytes)
{
    for (int from = 0; from < w->ranks; from++)
        for (int to = 0; to < w->ranks; to++)
            player_write(&w->player[from], to, bytes);
}

void world_write_random(struct world *w, int each)
{
    for (int k = 0; k < each * w->ranks; k++) {
        uint64_t random = random_next(&w->random);
        size_t bytes = random >> 32 & 15 ? random >> 40 & 127 : (random >> 40) % (w->payload + 1);
        player_write(&w->player[k % w->ranks], (int)((random & 0xffff) % (unsigned)w->ranks), bytes);
    }
}

void world_meet(struct world *w)
{
    world_write(w, 8);
    world_settle(w);
}

void player_await_works(struct player *p)
{
    for (unsigned round = 1; p->lent; round++) {
        player_progress(p);
        if (round % 256 == 0)
            world_progress(p->world);
        case_waits("lent work requests to come back");
    }
}

void player_await_own_works(struct player *p)
{
    while (p->lent) {
        player_progress(p);
        case_waits("lent work requests to come back");
    }
}

void world_close_end(struct world *w, int rank)
{
    CHECK_EQUAL(w->player[rank].lent, 0);
    nbcoll_endpoint_close(w->player[rank].ep);
    w->player[rank].ep = NULL;
}

void world_close(struct world *w)
{
    for (int i = 0; i < w->ranks; i++)
        for (size_t k = 0; k < w->player[i].messages; k++) {
            const struct message *l = w->player[i].message[k];
            unsigned least = l->state == MESSAGE_POSTED && w->player[l->to].ep ? 1 : 0;
            if (l->arrived < least || l->arrived > 1)
                case_fails("message %zu from %d to %d arrived %u times", k, i, l->to, l->arrived);
        }
    for (int i = 0; i < w->ranks; i++)
        if (w->player[i].ep)
            world_close_end(w, i);
    w->c->destroy(w->c, w->made);
    for (int i = 0; i < w->ranks; i++) {
        for (size_t k = 0; k < w->player[i].messages; k++)
            free(w->player[i].message[k]);
        free(w->player[i].message);
    }
    free(w);
}
