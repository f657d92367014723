/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shm in the place of the storm's transport: its own code, opened over processes of the storm's (processes.c), from the
 * control messages by which they find each other on. Each slot of its table is entered through one of these, which lets
 * others go on, and sees that no wake-up is lost: who is armed, while its word stands, has been shown nothing. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "shm.h"

enum { PAGE = 4096 };

static weather draw_weather(const plan *p)
{
    uint64_t r = mix(p->seed, 21);
    weather w = {0};
    w.copies = (int)ONE_OF(&r, 0, 0, 0, 1, 2, 3, 4);
    w.cut = (unsigned)ONE_OF(&r, 0, 0, 100, 500);
    w.unreadable = (unsigned)ONE_OF(&r, 0, 0, 20, 200);
    w.interrupted = (unsigned)ONE_OF(&r, 0, 0, 20, 200);
    w.barriers = (int)ONE_OF(&r, 0, 0, 1, 2);
    w.cores = (int)ONE_OF(&r, 0, 0, 1, 2, 3);
    w.has_no_pidfd = next_random(&r) % 6 == 0;
    w.execs = (unsigned)ONE_OF(&r, 0, 300, 1000);
    w.bell = (uint64_t)ONE_OF(&r, 1, 2 * MICROSECOND, MILLISECOND, 30 * MILLISECOND);
    w.late = (uint64_t)ONE_OF(&r, 1, MILLISECOND, 200 * MILLISECOND);
    w.flags = (uint32_t)ONE_OF(&r, NBCOLL_SHM_NO_STAGING, NBCOLL_SHM_NO_STAGING, NBCOLL_SHM_NO_STAGING,
                               NBCOLL_SHM_NO_CMA, NBCOLL_SHM_NO_BULK, NBCOLL_SHM_NO_PIECES, NBCOLL_SHM_PIECES,
                               NBCOLL_SHM_PIECES | NBCOLL_SHM_BOTH_SIDES, NBCOLL_SHM_NO_CMA | NBCOLL_SHM_NO_PIECES);
    if (next_random(&r) % 32 == 0) /* with staging buffers, of megabytes that a reservation clears */
        w.flags = 0;
    if (p->edition >= EDITION_OF_BOUNDS && (w.flags == NBCOLL_SHM_NO_BULK) != (mix(p->seed, 66) % 9 == 0))
        w.flags = w.flags == NBCOLL_SHM_NO_BULK ? NBCOLL_SHM_NO_STAGING : NBCOLL_SHM_NO_BULK;
    w.pool = ONE_OF(&r, 0, 32768, 65536, 1 << 19);
    w.gathers = next_random(&r) % 4 == 0;
    if (p->faults && next_random(&r) % 6 == 0) {
        w.refuses = 1 + (int)(next_random(&r) % (uint64_t)p->ranks);
        w.refused_call = (int)(next_random(&r) % 24);
        w.refused_with = (int)ONE_OF(&r, EMFILE, ENOMEM, EPERM);
    }
    return w;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

/* The rank whose end it is has its turn. */
static process *process_of(nbcoll_endpoint *ep)
{
    process *p = shm_caller();
    storm_step(p->actor->storm, p->actor);
    (void)ep;
    return p;
}

static bool is_open(const process *p)
{
    return p->endpoint && !p->is_gone;
}

/* A post is over: the peer, unless it sleeps, looks soon. Of one that sleeps the bell was rung. */
static void is_shown(process *p, int peer, nbcoll_posted answer)
{
    storm *s = p->actor->storm;
    process *to = &s->shm->process[peer];
    if (answer != NBCOLL_POST_DONE || !is_open(p))
        return;
    p->shown[peer] = nbcolli_shm_end(p->endpoint)->peer[peer].to.n;
    if (is_open(to) && !to->is_armed)
        storm_ring(s, peer, s->now + storm_random(s, MICROSECOND));
}

/* What no rank writes stands in the ring from this rank to that one, where no entry is: either of both finds it. */
static void scribble(process *p, int peer)
{
    storm *s = p->actor->storm;
    struct nbcolli_shm_peer *to = &nbcolli_shm_end(p->endpoint)->peer[peer];
    if (peer == p->actor->rank || !storm_fault(s, p->actor, FAULT_POST, &p->actor->posts))
        return;
    storm_note(s, p->actor->rank, NOTE_FAULT, FAULT_POST, (uint64_t)peer);
    storm_cause(s, p->actor->rank, BAD_WIRE);
    storm_cause(s, peer, BAD_WIRE);
    if (storm_random(s, 2) || !to->room)
        atomic_store(&to->out->head, to->to.n + 1 + storm_random(s, 1000));
    else
        atomic_store(&to->to.line->word, to->to.lap | UINT64_C(200) << NBCOLLI_SHM_BYTES_SHIFT);
}

static nbcoll_posted slot_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                               size_t bytes, nbcoll_work *work)
{
    process *p = process_of(ep);
    nbcoll_header sent = *header;
    if (bytes > ep->limits.payload)
        storm_find(p->actor->storm, "rank %d posts %zu bytes, more than the limit", ep->rank, bytes);
    scribble(p, peer);
    wire_damage(p->actor, &sent);
    nbcoll_posted answer = p->real->post(ep, peer, &sent, payload, bytes, work);
    met.answered[wire_type(header)][answer == NBCOLL_POST_NOT_NOW ? 2 : 0]++;
    storm_note(p->actor->storm, ep->rank, NOTE_POST, (uint64_t)peer, wire_type(header) * 8 + answer);
    is_shown(p, peer, answer);
    return answer;
}

static nbcoll_posted slot_line(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn, const void *payload,
                               size_t bytes)
{
    process *p = process_of(ep);
    scribble(p, peer);
    nbcoll_posted answer = p->real->lines->post(ep, peer, channel, turn, payload, bytes);
    storm_note(p->actor->storm, ep->rank, NOTE_LINE, (uint64_t)peer, turn * 8 + answer);
    is_shown(p, peer, answer);
    return answer;
}

static int32_t slot_take(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn, void *to, size_t bytes)
{
    process *p = process_of(ep);
    int32_t taken = p->real->lines->take(ep, peer, channel, turn, to, bytes);
    if (taken >= 0)
        storm_note(p->actor->storm, ep->rank, NOTE_TAKEN, (uint64_t)peer, turn);
    return taken;
}

/* It was armed, and nobody has taken its word. */
static void wakes_unrung(process *p)
{
    storm *s = p->actor->storm;
    const struct nbcolli_shm_end *e = nbcolli_shm_end(p->endpoint);
    int me = p->actor->rank;
    if (!e->sleeper.armed || !atomic_load(&nbcolli_shm_seat(e->home, me)->armed))
        return;
    for (int r = 0; r < s->plan.ranks; r++)
        if (r != me && is_open(&s->shm->process[r]) && e->peer[r].gone == NBCOLLI_SHM_HERE &&
            s->shm->process[r].shown[me] > e->peer[r].from.n)
            storm_find(s, "rank %d is armed, and rank %d, which has shown it something, has not rung", me, r);
}

static void note_arrivals(process *p, const nbcoll_completions *found)
{
    storm *s = p->actor->storm;
    for (const nbcoll_arrival *a = found->arrived; a; a = a->next) {
        p->last_type = wire_comes(p->actor, p->last_type, &a->header);
        storm_note(s, p->actor->rank, NOTE_ARRIVES, (uint64_t)a->source, p->last_type);
    }
    for (const nbcoll_line_arrival *a = found->lines; a; a = a->next)
        storm_note(s, p->actor->rank, NOTE_ARRIVES, (uint64_t)a->source, TYPES);
    for (const nbcoll_work *w = found->completed; w; w = w->next)
        storm_note(s, p->actor->rank, NOTE_BACK, w->status, 0);
    if (found->lost >= 0)
        storm_note(s, p->actor->rank, NOTE_LOST, (uint64_t)found->lost, 0);
    if (found->departed >= 0)
        storm_note(s, p->actor->rank, NOTE_DEPARTED, (uint64_t)found->departed, 0);
}

static void slot_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    process *p = process_of(ep);
    wakes_unrung(p);
    p->is_armed = false;
    p->real->progress(ep, found);
    note_arrivals(p, found);
}

static void slot_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    process *p = process_of(ep);
    storm_not_in_tick(p->actor, "the transport's cancel");
    storm_note(p->actor->storm, ep->rank, NOTE_CANCEL, 0, 0);
    p->real->cancel(ep, work);
}

static nbcoll_status slot_register(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes, uint32_t access,
                                   nbcoll_registration *out)
{
    process *p = process_of(ep);
    if (storm_fault(p->actor->storm, p->actor, FAULT_REGISTER, &p->actor->registers)) {
        storm_note(p->actor->storm, ep->rank, NOTE_FAULT, FAULT_REGISTER, access);
        storm_cause(p->actor->storm, ep->rank, BAD_KEY);
        return NBCOLL_ERR_MEMORY;
    }
    return p->real->bulk->register_memory(ep, peer, memory, bytes, access, out);
}

static nbcoll_posted slot_get(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                              const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    process *p = process_of(ep);
    nbcoll_posted answer = p->real->bulk->get(ep, peer, key, offset, local, to, bytes, work);
    storm_note(p->actor->storm, ep->rank, NOTE_GET, (uint64_t)peer, bytes * 8 + answer);
    return answer;
}

static const void *slot_view(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset, size_t bytes)
{
    process *p = process_of(ep);
    return p->real->bulk->view(ep, peer, key, offset, bytes);
}

static void slot_wake(nbcoll_endpoint *ep, int peer)
{
    process *p = process_of(ep);
    storm *s = p->actor->storm;
    p->real->shared->wake(ep, peer);
    for (int r = 0; r < s->plan.ranks; r++)
        if (r != ep->rank && (peer < 0 || r == peer) && !s->shm->process[r].is_armed)
            storm_ring(s, r, s->now + storm_random(s, MICROSECOND));
}

/* Whether shm looks at the clock before a long copy depends on where both ends of it lie in their pages (stores.c). By
 * malloc's places a seed would be another job after other jobs: the seed chooses the place of its source. Of 32 copies
 * one goes just behind that. */
void __real_nbcolli_shm_copy_in(nbcoll_endpoint *ep, int reader, void *to, const void *from, size_t bytes);
void __wrap_nbcolli_shm_copy_in(nbcoll_endpoint *ep, int reader, void *to, const void *from, size_t bytes);

void __wrap_nbcolli_shm_copy_in(nbcoll_endpoint *ep, int reader, void *to, const void *from, size_t bytes)
{
    storm *s = storm_running();
    if (bytes < PAGE) {
        __real_nbcolli_shm_copy_in(ep, reader, to, from, bytes);
        return;
    }
    uint64_t chosen = mix(s->plan.seed, ++s->shm->long_copies);
    size_t behind = chosen % 32 ? 64 + chosen / 32 % (PAGE - 64) : 1 + chosen / 32 % 63;
    unsigned char *room = aligned_alloc(PAGE, (bytes / PAGE + 2) * PAGE);
    unsigned char *place = room + ((uintptr_t)to - behind) % PAGE;
    memcpy(place, from, bytes);
    __real_nbcolli_shm_copy_in(ep, reader, to, place, bytes);
    free(room);
}

static nbcoll_status slot_reserve(nbcoll_endpoint *ep, size_t bytes, uint64_t *at)
{
    process *p = process_of(ep);
    nbcoll_status s = p->real->shared->reserve(ep, bytes, at);
    storm_note(p->actor->storm, ep->rank, NOTE_RESERVE, bytes, s);
    return s;
}

static int slot_fd(nbcoll_endpoint *ep)
{
    static int fd = -1; /* nobody reads from it */
    (void)ep;
    if (fd < 0)
        fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return fd;
}

static nbcoll_status slot_arm(nbcoll_endpoint *ep)
{
    process *p = process_of(ep);
    p->actor->storm->turn->rung_at = UINT64_MAX;
    p->is_armed = true; /* from before its second look on */
    nbcoll_status s = p->real->wakeup->arm(ep);
    p->is_armed = s == NBCOLL_OK;
    if (p->is_armed)
        storm_note(p->actor->storm, ep->rank, NOTE_ARM, 0, 0);
    return s;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static void is_closed(process *p)
{
    p->endpoint = NULL;
    p->is_closed = true;
    p->is_armed = false;
    process_is_clean(p);
    for (int r = 0; r < p->actor->storm->plan.ranks; r++)
        if (!p->actor->storm->shm->process[r].is_armed)
            storm_ring(p->actor->storm, r, p->actor->storm->now);
}

static void slot_close(nbcoll_endpoint *ep)
{
    process *p = process_of(ep);
    storm_note(p->actor->storm, ep->rank, NOTE_CLOSE, 0, 0);
    p->is_leaving = true; /* others see it before it has returned */
    p->real->close(ep);
    is_closed(p);
}

static void slot_abandon(nbcoll_endpoint *ep)
{
    process *p = process_of(ep);
    storm_note(p->actor->storm, ep->rank, NOTE_CLOSE, 1, 0);
    p->is_leaving = true;
    p->real->abandon(ep);
    is_closed(p);
}

static void cover(process *p)
{
    const nbcoll_transport *real = p->real = p->endpoint->transport;
    p->table = *real;
    p->table.post = slot_post;
    p->table.progress = slot_progress;
    p->table.cancel = slot_cancel;
    p->table.close = slot_close;
    p->table.abandon = slot_abandon;
    p->lines = (nbcoll_lines){sizeof p->lines, slot_line, slot_take, real->lines->are_long};
    p->table.lines = &p->lines;
    p->wakeup = (nbcoll_wakeup){sizeof p->wakeup, slot_fd, slot_arm};
    p->table.wakeup = &p->wakeup;
    if (real->bulk) {
        p->bulk = *real->bulk;
        p->bulk.register_memory = slot_register;
        p->bulk.get = slot_get;
        p->bulk.view = slot_view;
        p->table.bulk = &p->bulk;
    }
    if (real->shared) {
        p->shared = *real->shared;
        p->shared.wake = slot_wake;
        p->shared.reserve = slot_reserve;
        p->table.shared = &p->shared;
    }
    p->endpoint->transport = &p->table;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static uint64_t shm_now(void *user)
{
    actor *a = user;
    storm_not_in_tick(a, "now");
    storm_step(a->storm, a);
    if (a->storm->shm->process[a->rank].is_opening && storm_chance(a->storm, 300))
        storm_stay(a->storm, storm_random(a->storm, 3 * MICROSECOND));
    return a->storm->now + a->skew;
}

static nbcoll_status entries_start(void *user, const void *send, void *recv, size_t bytes, void **under_way)
{
    process *p = user;
    struct shm *w = p->actor->storm->shm;
    size_t ranks = (size_t)p->actor->storm->plan.ranks;
    if (!w->entries)
        w->entries = calloc(ranks, bytes);
    memcpy(w->entries + bytes * (size_t)p->actor->rank, send, bytes);
    w->n_entries++;
    p->entries = recv;
    p->entry_bytes = bytes;
    *under_way = p;
    return NBCOLL_OK;
}

static nbcoll_status entries_test(void *user, void *under_way)
{
    process *p = user;
    struct shm *w = p->actor->storm->shm;
    size_t ranks = (size_t)p->actor->storm->plan.ranks;
    (void)under_way;
    storm_step(p->actor->storm, p->actor);
    if (w->n_entries < (int)ranks)
        return NBCOLL_PENDING;
    memcpy(p->entries, w->entries, ranks * p->entry_bytes);
    return NBCOLL_OK;
}

static void entries_free(void *user, void *under_way)
{
    (void)user;
    (void)under_way;
}

static nbcoll_shm_config config_of(process *p)
{
    const storm *s = p->actor->storm;
    const net *n = &s->plan.net[HOME];
    nbcoll_shm_config c = {.size = sizeof c,
                           .host = &p->host,
                           .rank = p->actor->rank,
                           .ranks = s->plan.ranks,
                           .depth = n->room,
                           .payload = (uint32_t)n->payload,
                           .quota = n->quota,
                           .flags = s->shm->weather.flags,
                           .pool = s->shm->weather.pool};
    for (int i = 0; i < 32; i++)
        c.id.text[i] = "0123456789abcdef"[mix(s->plan.seed, 60 + (uint64_t)i) % 16];
    memcpy(c.id.text + 32, "00000000", 9);
    if (s->plan.is_mixed && mix(s->plan.seed, 70 + (uint64_t)p->actor->rank) % 3 == 0)
        c.flags = c.flags ? NBCOLL_SHM_NO_STAGING : 0;
    return c;
}

/* All ranks open or none does, none fails where nothing has happened, and somebody says what has; except where one has
 * died, and where the last control message to one rank is lost, which nobody answers: rank 0 could not send it, or that
 * one not read it. */
static void judge_opening(process *p)
{
    storm *s = p->actor->storm;
    unsigned causes = BAD_DEAD | BAD_MEMORY | BAD_OPENING;
    int well = 0, badly = 0, unnamed = 0, failed = 0;
    if (p->actor->is_dead || s->ends)
        return;
    if (p->opened != NBCOLL_OK && !(s->bad_anywhere & causes))
        storm_find(s, "rank %d, opening: %s, but nothing has happened", p->actor->rank, nbcoll_status_name(p->opened));
    for (int r = 0; r < s->plan.ranks; r++) {
        nbcoll_status opened = s->shm->process[r].opened;
        bool fails = opened != NBCOLL_OK && opened != NBCOLL_PENDING;
        well += opened == NBCOLL_OK;
        badly += fails;
        failed = fails ? r : failed;
        unnamed += opened == NBCOLL_ERR_TIMEOUT || opened == NBCOLL_ERR_PEER_LOST;
    }
    bool is_last_lost = badly == 1 && failed && (s->bad[0] & BAD_OPENING || s->shm->process[failed].is_deaf);
    if (s->bad_anywhere & BAD_DEAD)
        return;
    if (well && badly && !is_last_lost)
        storm_find(s, "the opening of rank %d ends with %s, those of %d ranks well", failed,
                   nbcoll_status_name(s->shm->process[failed].opened), well);
    if (unnamed == s->plan.ranks)
        storm_find(s, "no rank opens, and none says why: the opening of rank %d ends with %s", failed,
                   nbcoll_status_name(s->shm->process[failed].opened));
}

static void open_process(process *p)
{
    actor *a = p->actor;
    storm *s = a->storm;
    bool has_clock = s->plan.is_patient || (!s->plan.ticks && mix(s->plan.seed, 80 + (uint64_t)a->rank) % 4);
    const nbcoll_shm_allgather gather = {sizeof gather, p, entries_start, entries_test, entries_free};

    p->host = a->host;
    p->host.now = has_clock ? shm_now : NULL;
    p->host.pause = NULL;
    nbcoll_shm_config c = config_of(p);
    c.allgather = s->shm->weather.gathers ? &gather : NULL;
    if (storm_chance(s, 200))
        storm_away(s, storm_random(s, storm_chance(s, 100) ? SECOND : MILLISECOND));
    p->is_opening = true;
    nbcoll_status status = nbcolli_shm_open(&shm_system, &c, &p->endpoint);
    p->is_opening = false;
    p->opened = status;
    storm_note(s, a->rank, NOTE_MADE, status, 1);
    judge_opening(p);
    if (status != NBCOLL_OK) {
        p->endpoint = NULL;
        is_closed(p);
        return;
    }
    cover(p);
}

static int shm_endpoints(actor *a, nbcoll_endpoint *out[NETS])
{
    process *p = &a->storm->shm->process[a->rank];
    open_process(p);
    out[0] = p->endpoint;
    return p->endpoint ? 1 : 0;
}

static void shm_shut(actor *a)
{
    process *p = &a->storm->shm->process[a->rank];
    if (p->endpoint)
        nbcoll_endpoint_close(p->endpoint);
}

static bool shm_is_shut(const actor *a)
{
    const process *p = &a->storm->shm->process[a->rank];
    return p->is_closed || p->is_leaving;
}

static void shm_dies(actor *a)
{
    process *p = &a->storm->shm->process[a->rank];
    if (!p->is_closed)
        process_dies(p);
}

/* Its bell, which it hears only when armed, and the deaths that it is told of. */
static uint64_t shm_next(const actor *a)
{
    const storm *s = a->storm;
    const process *p = &s->shm->process[a->rank];
    uint64_t next = p->heard_at;
    if (p->is_closed || !p->endpoint)
        return UINT64_MAX;
    for (int r = 0; r < s->plan.ranks; r++) {
        const process *other = &s->shm->process[r];
        if (other->is_gone && nbcolli_shm_end(p->endpoint)->peer[r].gone == NBCOLLI_SHM_HERE && other->watch_at < next)
            next = other->watch_at;
    }
    return s->ends ? s->now + MILLISECOND : next; /* that others have died is seen by the clock */
}

static void shm_make(storm *s)
{
    processes_make(s);
    s->shm->weather = draw_weather(&s->plan);
}

static void shm_open(actor *a)
{
    (void)a;
}

const medium shm_medium = {shm_make,    shm_open,       shm_endpoints, shm_shut,
                           shm_is_shut, processes_free, shm_dies,      shm_next};
