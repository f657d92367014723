/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules of the program's own: each rank's words go through a function of the host's to the next rank, and through
 * another one there into its receive buffer. The functions may fail, as all of the host's. Or each rank shows all
 * others a word of its own, which a cell holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank.h"
#include "nbcoll/schedule.h"

typedef struct own {
    rank *rank;
    uint64_t *send, *recv;
    size_t count;
    nbcoll_schedule *schedule;
    int at, ranks;
    bool is_small;   /* it shows words to all: */
    bool is_upwards; /* to those above, and reads what those below show */
    bool is_start;   /* its last step belongs to the lane START: */
    bool has_come;   /* that step has been executed since the start */
    bool fails_out, fails_in; /* the first step, or the last one, of this start */
} own;

enum { SMALL_RANKS = 6 }; /* a cell holds so many words */

static uint64_t word_of(const item *i, int whose, size_t k)
{
    return mix(i->salt + k, (uint64_t)whose);
}

static bool fails(const own *w, bool is_to)
{
    if (is_to)
        storm_cause(w->rank->storm, w->rank->actor->rank, BAD_HOST);
    return is_to;
}

static nbcoll_status goes_out(void *user, const nbcoll_memory memory[])
{
    own *w = user;
    uint64_t *from = memory[0].at, *to = memory[1].at;
    if (host_function_fails(w->rank->actor) || fails(w, w->fails_out))
        return NBCOLL_ERR_CALL;
    for (size_t k = 0; k < w->count; k++)
        to[k] = from[k] * 3 + 1;
    return NBCOLL_OK;
}

static nbcoll_status comes_in(void *user, const nbcoll_memory memory[])
{
    own *w = user;
    uint64_t *from = memory[0].at, *to = memory[1].at;
    if (host_function_fails(w->rank->actor) || fails(w, w->fails_in))
        return NBCOLL_ERR_CALL;
    w->has_come = true;
    for (size_t k = 0; k < w->count; k++)
        to[k] = from[k] ^ 0x55;
    return NBCOLL_OK;
}

/* A function to which nothing is passed but memory. */
static nbcoll_status has_no_user(void *user, const nbcoll_memory memory[])
{
    storm *s = storm_running();
    (void)memory;
    if (user)
        storm_find(s, "rank %d: a function without a `user` has got one", s->turn->actor->rank);
    return NBCOLL_OK;
}

/* The words go to the next rank in two parts, of which each is shown when another neighbour has said a word: so they
 * are shown in either order. Returns a step that ends when both have come. */
static nbcoll_step add_shown(own *w, nbcoll_builder *b, nbcoll_addr out, nbcoll_addr in, nbcoll_step first)
{
    int next = (w->at + 1) % w->ranks, before = (w->at + w->ranks - 1) % w->ranks;
    size_t place[] = {0, w->count / 2 * 8, w->count * 8};
    nbcoll_step come[2];
    for (int k = 0; k < 2; k++) {
        size_t bytes = place[k + 1] - place[k];
        nbcoll_part piece = {next, 0, {{out.buffer, out.offset + place[k]}, bytes}};
        nbcoll_add_send(b, k ? before : next, nbcoll_add_scratch(b, 8), 8);
        nbcoll_step heard = nbcoll_add_recv(b, k ? next : before, nbcoll_add_scratch(b, 8), 8);
        nbcoll_step shown = nbcoll_add_expose(b, 1, &piece);
        nbcoll_after(b, shown, first);
        nbcoll_after(b, shown, heard);
        come[k] = nbcoll_add_fetch(b, before, (nbcoll_addr){in.buffer, in.offset + place[k]}, bytes);
    }
    nbcoll_step both = nbcoll_add_join(b);
    nbcoll_after(b, both, come[0]);
    nbcoll_after(b, both, come[1]);
    return both;
}

/* A call makes it none of those that have a way of their own. */
static void add_small(own *w, nbcoll_builder *b)
{
    nbcoll_part parts[SMALL_RANKS];
    nbcoll_region first = {{NBCOLL_BUFFER_SEND, 0}, 8};
    size_t n = 0;
    for (int k = 1; k < w->ranks; k++) {
        int peer = (w->at + k) % w->ranks;
        if (!w->is_upwards || peer > w->at)
            parts[n++] = (nbcoll_part){peer, 0, {{NBCOLL_BUFFER_SEND, (size_t)peer * 8}, 8}};
    }
    nbcoll_add_call(b, has_no_user, NULL, 1, &first, 0, NULL);
    if (n)
        nbcoll_add_expose(b, n, parts);
    for (int k = w->ranks - 1; k > 0; k--) {
        int peer = (w->at + (w->is_upwards ? k : w->ranks - k)) % w->ranks;
        if (w->is_upwards && peer > w->at)
            continue;
        nbcoll_add_fetch(b, peer, (nbcoll_addr){NBCOLL_BUFFER_RECV, (size_t)peer * 8}, 8);
    }
}

static nbcoll_status build(own *w, const item *i)
{
    rank *r = w->rank;
    bool shows = r->storm->plan.edition >= 7 && w->ranks > 1 && w->count > 1 && begin_cells(&r->storm->plan) > 1 &&
                 mix(i->salt, 9) % 2;
    nbcoll_builder_config config = {.size = sizeof config,
                                    .host = &r->actor->host,
                                    .rank = w->at,
                                    .ranks = w->ranks,
                                    .shares = shows || w->is_small ? nbcoll_comm_shares : NULL,
                                    .shares_user = r->comm[i->comm]};
    size_t bytes = w->count * 8;
    nbcoll_region send = {{NBCOLL_BUFFER_SEND, 0}, bytes}, recv = {{NBCOLL_BUFFER_RECV, 0}, bytes};
    nbcoll_builder *b;
    nbcoll_status status = nbcoll_builder_open(&config, &b);
    if (status != NBCOLL_OK)
        return status;
    if (w->is_small) {
        add_small(w, b);
        if (!w->is_upwards)
            nbcoll_set_fingerprint(b, (uint32_t)i->salt);
        return nbcoll_builder_finish(b, &w->schedule);
    }
    nbcoll_region out = {nbcoll_add_scratch(b, bytes), bytes}, in = {nbcoll_add_scratch(b, bytes), bytes};
    nbcoll_step first = nbcoll_add_call(b, goes_out, w, 1, &send, 1, &out), came;
    if (shows)
        came = add_shown(w, b, out.at, in.at, first);
    else if (w->ranks > 1) {
        nbcoll_after(b, nbcoll_add_send(b, (w->at + 1) % w->ranks, out.at, bytes), first);
        came = nbcoll_add_recv(b, (w->at + w->ranks - 1) % w->ranks, in.at, bytes);
    } else {
        came = nbcoll_add_copy(b, in.at, out.at, bytes);
        nbcoll_after(b, came, first);
    }
    if (r->storm->plan.edition >= EDITION_OF_ENDS && mix(i->salt, 10) % 2)
        nbcoll_add_call(b, has_no_user, NULL, 1, &send, 0, NULL);
    nbcoll_step last = nbcoll_add_call(b, comes_in, w, 1, &in, 1, &recv);
    nbcoll_after(b, last, came);
    uint64_t lane = rank_choose(r, r->storm->plan.edition >= EDITION_OF_KINDS ? 3 : 2);
    w->is_start = lane == 2;
    if (lane)
        nbcoll_set_lane(b, last, lane == 1 ? NBCOLL_LANE_CALLER : NBCOLL_LANE_START);
    if (r->storm->plan.edition < EDITION_OF_LINES || mix(i->salt, 13) % 3) /* else nothing says which one it is */
        nbcoll_set_fingerprint(b, (uint32_t)i->salt);
    return nbcoll_builder_finish(b, &w->schedule);
}

static void check_small(own *w, int n, const item *i)
{
    for (int peer = 0; peer < w->ranks; peer++)
        if (peer != w->at && (!w->is_upwards || peer < w->at) && w->recv[peer] != word_of(i, peer, (size_t)w->at))
            storm_find(w->rank->storm, "rank %d, item %d: the word that rank %d shows is wrong", w->rank->actor->rank,
                       n, peer);
}

static void check(own *w, int n, const item *i)
{
    if (w->is_small) {
        check_small(w, n, i);
        return;
    }
    int from = (w->at + w->ranks - 1) % w->ranks;
    for (size_t k = 0; k < w->count; k++)
        if (w->recv[k] != ((word_of(i, from, k) * 3 + 1) ^ 0x55) || w->send[k] != word_of(i, w->at, k)) {
            storm_find(w->rank->storm, "rank %d, item %d: word %zu of its own schedule is wrong", w->rank->actor->rank,
                       n, k);
            return;
        }
}

/* A call that must not say that the lane START has ended before it has: then the operation ends badly. */
static bool says_ended(const own *w, const nbcoll_request *request)
{
    return w->is_start && rank_choose(w->rank, 2) && nbcoll_wait_started(request, 0) == NBCOLL_OK && !w->has_come;
}

/* From edition 28 on: a step of one member fails in one start. The operation ends with ERR_CALL there, and at the next
 * member, for which that had something; elsewhere, if it has not ended before. All know who it was. */
static void plan_failure(own *w, const item *i, int t)
{
    bool is_now = i->fails && t == (int)(mix(i->salt, 14) % (uint64_t)i->times);
    bool is_mine = is_now && (i->fails - 1) % w->ranks == w->at, is_first = mix(i->salt, 15) % 2;
    w->fails_out = is_mine && is_first;
    w->fails_in = is_mine && !is_first;
}

static void judge_failure(const own *w, const item *i, int n, int t, nbcoll_status status, const nbcoll_failure *f)
{
    const storm *s = w->rank->storm;
    int who = i->fails ? (i->fails - 1) % w->ranks : -1;
    bool is_now = i->fails && t == (int)(mix(i->salt, 14) % (uint64_t)i->times), is_first = mix(i->salt, 15) % 2;
    bool must = is_now && (who == w->at || (is_first && (who + 1) % w->ranks == w->at));
    if (!i->fails || s->bad_anywhere & ~(unsigned)(BAD_HOST | BAD_ENDED) || s->plan.faults || s->plan.has_agents ||
        s->ends)
        return;
    bool is_named = f->status != status || f->rank == who; /* a deadline that passed later took its place */
    if (status != NBCOLL_OK ? status != NBCOLL_ERR_CALL || !is_now || !is_named : must)
        storm_find(w->rank->storm, "rank %d, item %d, start %d: %s, naming %d in operation %llu, where a step of %d %s",
                   w->rank->actor->rank, n, t, nbcoll_status_name(status), f->rank, (unsigned long long)f->tag, who,
                   is_now ? "fails" : "does not");
}

/* Started and waited for, so often as the item says. */
static void execute(own *w, int n, const item *i)
{
    rank *r = w->rank;
    nbcoll_comm *comm = r->comm[i->comm];
    nbcoll_request request = {0}, handle;
    nbcoll_status status = NBCOLL_OK;
    bool persists = rank_choose(r, 2);
    int tries = 0;

    while (persists && (status = nbcoll_schedule_init(w->schedule, w->send, w->recv, comm, &request)) != NBCOLL_OK)
        if (!rank_is_refused(r, n, status, tries++))
            return;
    for (int t = 0; t < i->times && !r->is_broken[i->comm]; t++) {
        memset(w->recv, 0, w->count * 8);
        w->has_come = false;
        plan_failure(w, i, t);
        tries = 0;
        while ((status = persists ? nbcoll_start(&request)
                                  : nbcoll_schedule_start(w->schedule, w->send, w->recv, comm, &request)) != NBCOLL_OK)
            if (!rank_is_refused(r, n, status, tries++))
                break;
        if (status != NBCOLL_OK)
            break;
        storm_note(r->storm, r->actor->rank, NOTE_STARTS, (uint64_t)n, 4);
        bool is_left = w->is_start && !w->has_come, says_otherwise = says_ended(w, &request);
        handle = request;
        status = rank_wait(r, &handle);
        r->left += status == NBCOLL_OK && is_left && r->is_driven;
        if (status == NBCOLL_OK && says_otherwise)
            storm_find(r->storm, "rank %d, item %d: the lane START had not ended", r->actor->rank, n);
        nbcoll_failure failure = rank_failure(r, i->comm);
        storm_note(r->storm, r->actor->rank, NOTE_ENDS, (uint64_t)n, status);
        judge_end(r->actor, i, n, status, &failure, NULL);
        judge_failure(w, i, n, t, status, &failure);
        if (status == NBCOLL_OK && !r->actor->is_dead && !r->storm->ends &&
            !(r->storm->bad_anywhere & (BAD_DIFFERS | BAD_HEADER)))
            check(w, n, i);
    }
    if (persists)
        nbcoll_request_free(&request);
}

void own_run(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n];
    place_in at = r->storm->plan.place[i->comm][r->actor->rank];
    own w = {.rank = r, .count = 1 + (size_t)(i->salt % 700), .at = at.rank, .ranks = at.size};
    w.is_small = r->storm->plan.edition >= EDITION_OF_PARTS && w.ranks > 1 && w.ranks <= SMALL_RANKS && !i->fails &&
                 mix(i->salt, 11) % 3 == 0;
    w.is_upwards = w.is_small && r->storm->plan.edition >= EDITION_OF_KINDS && mix(i->salt, 12) % 2;
    if (w.is_small)
        w.count = (size_t)w.ranks;
    nbcoll_status status;
    int tries = 0;

    r->builds = true;
    while ((status = build(&w, i)) != NBCOLL_OK && rank_is_refused(r, n, status, tries++))
        ;
    r->builds = false;
    if (status != NBCOLL_OK)
        return;
    w.send = malloc(w.count * 8);
    w.recv = malloc(w.count * 8);
    for (size_t k = 0; k < w.count; k++)
        w.send[k] = word_of(i, w.at, k);
    if (w.is_small && !w.is_upwards) {
        r->shown = w.send;
        r->shown_bytes = w.count * 8;
    }
    execute(&w, n, i);
    status = nbcoll_schedule_free(w.schedule);
    if (status != NBCOLL_OK)
        storm_find(r->storm, "rank %d, item %d: its own schedule is not freed: %s", r->actor->rank, n,
                   nbcoll_status_name(status));
    r->shown_bytes = 0;
    free(w.send);
    free(w.recv);
}
