/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a seed means. The limits, the transport (limits.c) and the program are drawn from streams of their own, an item
 * each, so that leaving one out changes no other. The program is legal: all ranks execute its items in the same order,
 * each in forms of its own choice (rank.c); a fault, a cancelled call, or one that a rank calls otherwise, is drawn for
 * half of the seeds. */
#include <string.h>

#include "counters.h"
#include "storm.h"

static uint64_t draw(uint64_t *state, uint64_t below)
{
    return next_random(state) % below;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static size_t draw_count(uint64_t *r, int ranks)
{
    size_t most = draw(r, 8) ? 8 : draw(r, 8) ? 200 : 6000 / (size_t)(ranks < 4 ? 1 : ranks / 4);
    return draw(r, 8) ? (size_t)draw(r, most + 1) : 0;
}

static void draw_call(item *i, uint64_t *r, int ranks)
{
    i->kind = ITEM_CALL;
    i->o = (operation){.what = (nbcoll_operation)draw(r, NBCOLL_OPERATION_COUNT)};
    i->o.root = (int)draw(r, 1000);
    i->o.count = draw_count(r, ranks);
    i->o.in_place = (int)draw(r, 2);
    i->o.seed = next_random(r);
    i->o.how = operation_reduction((size_t)draw(r, operation_reductions()));
    if (!combines(i->o.what))
        i->o.how.type = (nbcoll_type)draw(r, NBCOLL_TYPE_COUNT);
    i->element = draw(r, 3) ? ELEMENT_PREDEFINED : draw(r, 2) ? ELEMENT_PLAIN : ELEMENT_PACKED;
    i->packed = combines(i->o.what) ? (size_t)ONE_OF(r, 8, 16, 24) : 1 + (size_t)draw(r, 32);
    i->own_op = 0;
    if (combines(i->o.what) && (i->element != ELEMENT_PREDEFINED || draw(r, 4) == 0)) {
        i->own_op = 1 + (int)draw(r, 2);
        if (i->element == ELEMENT_PREDEFINED)
            i->o.how.type = NBCOLL_UINT64;
    }
    i->times = draw(r, 3) ? 1 : 1 + (int)draw(r, 6);
    if (draw(r, 60) == 0)
        i->times = 40;
}

/* The same call with other elements, where these are the host's: at the same count, and perhaps the same address. */
static void draw_other_elements(item *i, uint64_t *r)
{
    if (i->element == ELEMENT_PREDEFINED || draw(r, 2))
        return;
    i->packed = combines(i->o.what) ? (size_t)ONE_OF(r, 8, 16, 24) : 1 + (size_t)draw(r, 32);
    i->element = draw(r, 2) ? ELEMENT_PLAIN : ELEMENT_PACKED;
}

static void place_all(plan *p)
{
    for (int r = 0; r < p->ranks; r++)
        p->place[0][r] = p->net[HOME].at[r] = (place_in){0, r, p->ranks};
    p->comms = 1;
}

bool plan_shares(const plan *p, int rank)
{
    if (p->is_over_shm) /* which is given other flags then: shm.c */
        return mix(p->seed, 66) % 9 || (p->is_mixed && mix(p->seed, 70 + (uint64_t)rank) % 3 == 0);
    return p->net[p->nets - 1].groups & HAS_SHARED;
}

/* A split by memory: of each rank the first endpoint counts. */
static int memory_group(const plan *p, const place_in *from, int rank)
{
    const place_in *at = p->net[p->nets - 1].at;
    for (int r = 0; r < rank && plan_shares(p, rank); r++)
        if (plan_shares(p, r) && from[r].group == from[rank].group && at[r].group == at[rank].group)
            return r;
    return rank;
}

static void place_made(plan *p, const item *i)
{
    place_in *to = p->place[i->made], *from = p->place[i->comm];
    unsigned colours = i->kind == ITEM_SPLIT ? 1 + (unsigned)(i->salt % 3) : 1;
    bool reverse = i->kind == ITEM_SPLIT && i->salt / 3 % 2;
    bool some_out = i->kind == ITEM_SPLIT && !i->is_shared && i->salt / 6 % 3 == 0;

    p->survives[i->made] = i->kind == ITEM_SHRINK || p->survives[i->comm];
    for (int r = 0; r < p->ranks; r++) {
        uint64_t h = mix(i->salt, (uint64_t)r);
        to[r] = (place_in){-1, 0, 0};
        if (p->survives[i->made])
            continue;
        if (from[r].group < 0 || (some_out && h % 5 == 0))
            continue;
        to[r].group = i->is_shared ? memory_group(p, from, r) : from[r].group * (int)colours + (int)(h / 5 % colours);
    }
    for (int r = 0; r < p->ranks; r++)
        for (int q = 0; q < p->ranks && to[r].group >= 0; q++) {
            bool is_before = from[q].rank < from[r].rank;
            to[r].size += to[q].group == to[r].group;
            to[r].rank += to[q].group == to[r].group && q != r && (reverse ? !is_before : is_before);
        }
}

int plan_member(const plan *p, int comm, int of, int rank)
{
    for (int r = 0; r < p->ranks; r++)
        if (p->place[comm][r].group >= 0 && p->place[comm][r].group == p->place[comm][of].group &&
            p->place[comm][r].rank == rank)
            return r;
    return -1;
}

/* On a communicator of its own, which is a duplicate. */
static void draw_chain(plan *p, item *i)
{
    i->kind = ITEM_CHAIN;
    i->times = i->times > 6 ? 6 : i->times;
    i->comm = p->survives[i->comm] ? 0 : i->comm;
    i->made = p->comms++;
    i->is_first = !p->has_chain;
    i->moves = p->comms < COMMS_MOST && i->salt % 3 == 0;
    p->has_chain = true;
    place_made(p, i);
    if (i->moves)
        memcpy(p->place[p->comms++], p->place[i->made], sizeof *p->place);
}

/* In a third of the jobs there are one to three operations, so that these meet each other more. */
static void draw_few(const plan *p, item *i)
{
    if (p->edition < EDITION_OF_KINDS || mix(p->seed, 33) % 3)
        return;
    uint64_t which = mix(i->salt, 34) % (1 + mix(p->seed, 35) % 3);
    nbcoll_operation what = (nbcoll_operation)(mix(p->seed, 36 + which) % NBCOLL_OPERATION_COUNT);
    if (i->kind == ITEM_CALL && combines(what) == combines(i->o.what))
        i->o.what = what;
    if (i->kind == ITEM_CALL && p->slots == 64 && p->window == 64 && mix(i->salt, 40) % 8 == 0)
        i->times = 80; /* more than ranks remember */
}

/* In a quarter of the jobs most blocks fill lines of caches, or have a byte more or less. */
static void draw_whole_lines(const plan *p, item *i)
{
    static const int around[] = {0, 0, 0, 1, -1};
    if (p->edition < EDITION_OF_LINES || i->kind != ITEM_CALL || mix(p->seed, 50) % 4 || mix(i->salt, 51) % 3 == 0)
        return;
    i->packed = combines(i->o.what) ? 8 : 1;
    i->o.how.type = combines(i->o.what) ? NBCOLL_INT64 : NBCOLL_BYTE;
    i->o.count = 64 * (1 + mix(i->salt, 52) % 3) / i->packed + (size_t)around[mix(i->salt, 53) % 5];
}

/* In an eighth of the jobs every other call is a schedule of the program's own. */
static bool is_own_instead(const plan *p, const item *i)
{
    return p->edition >= EDITION_OF_LOOKS && mix(p->seed, 58) % 8 == 0 && mix(i->salt, 59) % 2;
}

static void draw_items(plan *p, int items)
{
    bool is_free[COMMS_MOST] = {false};
    memset(p->survives, 0, sizeof p->survives);
    place_all(p);
    p->has_chain = false;
    p->items = items;
    for (int n = 0; n < items; n++) {
        uint64_t r = mix(p->seed, 1000 + (uint64_t)n), kind = draw(&r, 40);
        item *i = &p->item[n];
        int earlier = (int)draw(&r, (uint64_t)n + 1);
        *i = (item){0};
        draw_call(i, &r, p->ranks);
        if (draw(&r, 2) && earlier < n && p->item[earlier].kind == ITEM_CALL)
            *i = p->item[earlier];
        draw_other_elements(i, &r);
        i->cancels = 0;
        i->differs = 0;
        i->salt = next_random(&r);
        draw_few(p, i);
        draw_whole_lines(p, i);
        i->comm = (int)draw(&r, (uint64_t)p->comms);
        if (is_free[i->comm] || draw(&r, 2))
            i->comm = 0;
        if (kind < 3 && p->comms < COMMS_MOST) {
            i->kind = kind == 0 || p->survives[i->comm] ? ITEM_DUP : ITEM_SPLIT;
            i->is_with = p->edition >= EDITION_OF_BOUNDS && i->kind == ITEM_DUP && mix(i->salt, 60) % 2;
            i->is_shared = p->edition >= EDITION_OF_BOUNDS && i->kind == ITEM_SPLIT && mix(i->salt, 61) % 2;
            i->made = p->comms++;
            place_made(p, i);
            i->frees = p->edition >= EDITION_OF_ENDS && i->comm && mix(i->salt, 26) % 2;
            is_free[i->comm] |= i->frees;
        } else if (p->edition >= 3 && (kind == 4 || kind == 5) && p->comms < COMMS_MOST) {
            i->kind = ITEM_SHRINK; /* of one that all have who go on */
            i->comm = 0;
            i->made = p->comms++;
            place_made(p, i);
        } else if (p->edition >= 4 && kind >= 6 && kind <= 8 && p->comms < COMMS_MOST) {
            draw_chain(p, i);
            is_free[i->made] = is_free[i->made + i->moves] = true; /* to the others */
        } else if ((p->edition >= 4 && kind == 9) || is_own_instead(p, i)) {
            i->kind = ITEM_OWN;
            i->times = i->times > 6 ? 6 : i->times;
        } else if (p->edition >= EDITION_OF_MESSAGES && (kind == 10 || kind == 11)) {
            i->kind = ITEM_MESSAGES;
            i->times = 1 + i->times % 3;
        } else if (p->edition >= EDITION_OF_MESSAGES && kind == 12) {
            i->kind = ITEM_NEIGHBORS;
            i->times = 1 + i->times % 3;
        } else if (p->edition >= EDITION_OF_MESSAGES && kind == 13) {
            i->kind = ITEM_ELEMENTS;
            i->times = 1 + i->times % 3;
        } else if ((p->edition >= EDITION_OF_MESSAGES && kind == 14) ||
                   (p->edition >= EDITION_OF_TIMEOUTS && (kind == 15 || kind == 16))) {
            i->kind = ITEM_GROUP;
        } else if (kind == 3 && i->comm) {
            i->kind = ITEM_FREE;
            is_free[i->comm] = true;
        }
    }
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

/* As soon as it has survived. */
static void leave_after_shrink(const plan *p, fault *f)
{
    for (int n = 0; n + 1 < p->items; n++)
        if (p->item[n].kind == ITEM_SHRINK)
            f->at = (uint64_t)n + 1;
}

/* One that is freed behind a creation, if there is one, instead of another item. */
static item *freed_behind(plan *p, item *otherwise)
{
    for (int n = 0; n < p->items; n++)
        if (p->item[n].frees)
            return &p->item[n];
    return otherwise;
}

/* Something has failed on the communicator when it is freed. */
static void cancel_before(plan *p, const fault *f)
{
    for (uint64_t n = 0; n < f->at && f->at < (uint64_t)p->items; n++)
        if (p->item[n].kind == ITEM_CALL && p->item[n].comm == p->item[f->at].comm)
            p->item[n].cancels = 1 + f->rank;
}

/* A rank frees its communicator instead: it has one that is not the first. */
static bool frees_at(const plan *p, int n)
{
    bool frees = false;
    for (int k = 0; k < p->faults; k++)
        frees |= p->fault[k].kind == FAULT_FREES && p->fault[k].at == (uint64_t)n;
    return frees;
}

/* Others wait for it there, while all make another communicator, and use that at once. */
static void make_behind(plan *p, const fault *f)
{
    int n = (int)f->at + 1;
    if (p->edition < EDITION_OF_CORES || mix(p->seed, 55) % 2 || n + 2 >= p->items || p->comms == COMMS_MOST)
        return;
    for (int k = n; k < n + 3; k++)
        if (p->item[k].kind != ITEM_CALL || frees_at(p, k))
            return;
    p->item[n].kind = ITEM_DUP;
    p->item[n].comm = 0;
    p->item[n].made = p->item[n + 1].comm = p->item[n + 2].comm = p->comms++;
    place_made(p, &p->item[n]);
    p->window = p->window < 4 ? 4 : p->window;
}

/* Then all go on without who has left, on the communicator that was to be shrunk. */
static void cancel_shrink(plan *p, const fault *f)
{
    for (int n = (int)f->at; n < p->items; n++)
        if (p->item[n].kind == ITEM_SHRINK)
            p->item[n].cancels = 1 + f->other;
}

static void draw_fault(plan *p, uint64_t *r, fault_kind kind)
{
    fault *f = &p->fault[p->faults++];
    uint64_t calls = (uint64_t)p->items;
    *f = (fault){.kind = kind, .rank = (int)draw(r, (uint64_t)p->ranks), .many = 1};
    f->late = (int)draw(r, 2);
    f->other = (f->rank + 1 + (int)draw(r, (uint64_t)p->ranks - 1)) % p->ranks;
    switch (kind) {
    case FAULT_MEMORY:
        f->at = draw(r, 2) ? draw(r, 40) : draw(r, 400);
        f->many = ONE_OF(r, 1, 1, 1, 3, 20, 1 << 30);
        if (p->is_over_ofi && f->many > 20) /* who has no buffers for a rank that it meets then posts in vain */
            f->many = 20;
        break;
    case FAULT_REGISTER:
        f->at = draw(r, 3) ? draw(r, 6) : draw(r, 60);
        f->many = ONE_OF(r, 1, 3, 1 << 30);
        break;
    case FAULT_GET:
    case FAULT_PUT:
    case FAULT_TOUCHES:
        f->at = draw(r, 20);
        break;
    case FAULT_POST:
        f->at = draw(r, 400);
        break;
    case FAULT_DEATH:
        f->at = draw(r, 3) ? draw(r, 3000) : draw(r, 300);
        break;
    case FAULT_HOST:
        f->at = draw(r, 30);
        break;
    case FAULT_DAMAGE:
    case FAULT_GARBLES:
        f->at = draw(r, 200);
        if (p->edition >= 9 && kind == FAULT_DAMAGE)
            f->many = ONE_OF(r, 1, 3, 20);
        break;
    case FAULT_FREES: /* not the one by which all communicators are made, and shrunk */
        f->at = draw(r, calls);
        while (f->at < calls && (p->item[f->at].kind != ITEM_CALL || !p->item[f->at].comm))
            f->at++;
        make_behind(p, f);
        break;
    default:
        f->at = draw(r, calls);
    }
    if (p->edition >= EDITION_OF_ENDS && kind == FAULT_LEAVE && f->late)
        leave_after_shrink(p, f);
    if (p->edition >= EDITION_OF_CORES && kind == FAULT_ABANDON && f->late)
        leave_after_shrink(p, f);
    if (p->edition >= EDITION_OF_KINDS && kind == FAULT_FREES && f->late)
        cancel_before(p, f);
    if (p->edition >= EDITION_OF_KINDS && kind == FAULT_LEAVE && !f->late && mix(p->seed, 41) % 2)
        cancel_shrink(p, f);
}

static int draw_kind(const plan *p, uint64_t *r)
{
    if (p->edition < 9)
        return (int)draw(r, p->edition < 2   ? FAULT_RIVALS
                            : p->edition < 7 ? FAULT_GARBLES
                            : p->edition < 8 ? FAULT_FREES
                                             : FAULT_TOUCHES);
    int kind = (int)draw(r, FAULT_COUNT + 1);
    return kind < FAULT_COUNT ? kind : FAULT_DAMAGE;
}

/* Is a rank cut off from a living one? From edition 21 on: so that it is told that this one is dead. */
static bool is_cut_off(const plan *p, const fault *f)
{
    if (f->kind == FAULT_POST && !f->late)
        return true;
    return p->edition < EDITION_OF_CUTS && (f->kind == FAULT_GET || f->kind == FAULT_PUT || f->kind == FAULT_POST);
}

/* There messages are calls. Later worlds tell both ranks of a loss. */
static void leave_out_messages(plan *p)
{
    if (p->edition >= EDITION_OF_LOSSES)
        return;
    for (int k = 0; k < p->faults; k++)
        if (is_cut_off(p, &p->fault[k]))
            for (int n = 0; n < p->items; n++)
                if (p->item[n].kind == ITEM_MESSAGES)
                    p->item[n].kind = ITEM_CALL;
}

static void draw_faults(plan *p, const cut *c)
{
    uint64_t r = mix(p->seed, 2), n = draw(&r, 2) ? 0 : draw(&r, 3) ? 1 : 2;
    p->faults = 0;
    if (c->only && !n)
        n = 1;
    if (c->is_calm)
        n = 0;
    for (uint64_t k = 0; k < n; k++) {
        int kind = draw_kind(p, &r);
        item *i = &p->item[draw(&r, (uint64_t)p->items)];
        int whose = 1 + (int)draw(&r, (uint64_t)p->ranks);
        if (c->only)
            kind = c->only - 1;
        if (c->faults >> k & 1)
            continue;
        if (kind == FAULT_CANCELS && mix(p->seed, 27) % 2)
            i = freed_behind(p, i);
        if (kind != FAULT_CANCELS && kind != FAULT_DIFFERS)
            draw_fault(p, &r, (fault_kind)kind);
        else if (kind == FAULT_CANCELS && (i->kind == ITEM_CALL || (p->edition >= 3 && i->kind != ITEM_FREE &&
                                                                    i->kind != ITEM_OWN && i->kind < ITEM_MESSAGES)))
            i->cancels = whose;
        else if (i->kind == ITEM_CALL && !i->own_op)
            i->differs = whose;
    }
    leave_out_messages(p);
}

/* From edition 28 on. Deadlines: in a sixth of the jobs, where no call differs; not where memory is refused, since a
 * blocking call does not say then whether it took its tag. Many calls at a time: once in 400 small jobs. */
static void draw_bounds(plan *p, const cut *c)
{
    uint64_t r = mix(p->seed, 62);
    bool passes = draw(&r, 6) == 0 && !c->is_calm, fails = draw(&r, 8) == 0 && !c->is_calm;
    bool fills = draw(&r, 8) == 0, has_crowd = draw(&r, 400) == 0 && p->ranks <= 5 && p->edition >= EDITION_OF_BOUNDS;
    for (int n = 0; n < p->items; n++)
        passes &= !p->item[n].differs;
    for (int k = 0; k < p->faults; k++)
        passes &= p->fault[k].kind != FAULT_MEMORY;
    for (int n = 0; n < p->items && p->edition >= EDITION_OF_BOUNDS; n++) {
        item *i = &p->item[n];
        uint64_t own = mix(i->salt, 63), which = draw(&own, 12);
        int whose = 1 + (int)draw(&own, (uint64_t)p->ranks), many = 1 << (7 + draw(&own, 4));
        if (fails && i->kind == ITEM_OWN)
            i->fails = whose;
        if (i->kind != ITEM_CALL || i->cancels || i->differs || frees_at(p, n))
            continue;
        if (has_crowd) {
            i->kind = ITEM_CROWD;
            i->times = many + (int)draw(&own, (uint64_t)(many < 1024 ? many : 977));
            has_crowd = false;
        } else if (passes && which < 2) {
            i->kind = ITEM_DEADLINE;
            i->cancels = whose;
            i->times = i->times > 3 ? 3 : i->times;
        } else if (fills && which == 2) {
            i->kind = ITEM_FULL;
        } else if (fails && which == 3) {
            i->kind = ITEM_OWN;
            i->times = i->times > 6 ? 6 : i->times;
            i->fails = whose;
        }
    }
}

/* Who calls something else may wait for ever where others shrink: that waits for it. And who cannot learn who is left
 * goes on without the others, which wait for it. */
static void skip_shrinks(plan *p)
{
    bool differs = false;
    for (int i = 0; i < p->items; i++)
        differs |= p->item[i].differs > 0;
    for (int i = 0; i < p->faults; i++)
        differs |= p->fault[i].kind == FAULT_TOUCHES;
    for (int i = 0; i < p->items && differs; i++)
        p->is_skipped[i] |= p->item[i].kind == ITEM_SHRINK;
}

/* Over a duplicate; not where a rank goes on though others wait for its block, which no one could tell them. */
static void draw_relays(plan *p)
{
    for (int n = 0; n < p->items; n++) {
        item *i = &p->item[n];
        bool has = i->kind == ITEM_DUP && !p->survives[i->made] && mix(i->salt, 23) % 2;
        for (int k = 0; k < p->items && has; k++)
            has = p->item[k].comm != i->made || !p->item[k].differs;
        for (int k = 0; k < p->faults && has; k++)
            has = p->fault[k].kind != FAULT_FREES;
        i->relays = has && p->edition >= EDITION_OF_RELAYS && p->ranks <= 9 ? mix(i->salt, 24) | 1 : 0;
    }
}

/* Who has an agent describes data as all do, and cannot be abandoned. */
static void draw_agents(plan *p, const cut *c)
{
    uint64_t r = mix(p->seed, 25);
    const unsigned needs = ANY_LOCAL | PLAIN_KEYS;

    p->has_agents = p->edition >= EDITION_OF_RELAYS && draw(&r, 2) && p->ranks <= 9 && !p->is_over && !p->ticks &&
                    (p->net[HOME].groups & needs) == needs;
    for (int k = 0; k < p->items; k++) /* programs do not look at what comes: those that differ may wait for ever */
        p->has_agents &= !p->item[k].differs;
    for (int k = 0; k < p->faults; k++)
        p->has_agents &= p->fault[k].kind != FAULT_ABANDON;
    p->is_mixed &= !p->has_agents;
    p->late_tags = p->has_agents ? 0 : p->late_tags;
    p->agent_fails = p->has_agents && !c->is_calm && draw(&r, 4) == 0 ? 1 + (int)draw(&r, (uint64_t)p->ranks) : 0;
    p->agent_at = draw(&r, draw(&r, 2) ? 20 : 500);
    if (!p->has_agents || !(p->net[HOME].groups & HAS_SHARED) || draw(&r, 4) == 0)
        return;
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS; /* cells enough for operations in three parts */
    config.slots = p->slots;
    config.cells = p->cells = 16;
    p->net[HOME].quota = (3 * nbcoll_cells_bytes(&config, p->ranks) + p->net[HOME].staging + 127) / 128 * 128;
}

/* Agents leave what neighbours do to the ranks, not the making. From edition 30 on memory is refused beside them. */
static void skip_neighbors(plan *p)
{
    bool skips = p->has_agents;
    for (int k = 0; k < p->faults; k++)
        skips |= p->fault[k].kind == FAULT_MEMORY && p->edition < EDITION_OF_REFUSALS;
    for (int i = 0; i < p->items; i++) /* and both take numbers of communicators */
        p->is_skipped[i] |= (p->item[i].kind == ITEM_NEIGHBORS && (skips || p->few_serials)) ||
                            (p->item[i].kind == ITEM_GROUP && p->few_serials);
}

/* How many communicators a rank can still make. Who cannot make one leaves. Not where others than the program make
 * some: chains and relays. */
static void draw_serials(plan *p)
{
    bool has_others = p->has_chain || p->is_over || p->late_tags == COUNTER_ENDS; /* which ends alike */
    for (int i = 0; i < p->items; i++)
        has_others |= p->item[i].relays != 0;
    p->few_serials = p->edition >= EDITION_OF_PARTS && !has_others && mix(p->seed, 31) % 4 == 0
                         ? 1 + (int)(mix(p->seed, 32) % 6)
                         : 0;
}

/* A callback that goes on with a chain may come on the driver's thread, while the program is at the same chain. And
 * where there is no pause none goes on in one. */
static void skip_chains(plan *p)
{
    for (int i = 0; i < p->items && (p->has_drivers || p->is_bare); i++)
        p->is_skipped[i] |= p->item[i].kind == ITEM_CHAIN;
}

bool plan_has_faults(const plan *p)
{
    for (int i = 0; i < p->items; i++)
        if (p->item[i].cancels || p->item[i].differs || p->item[i].fails)
            return true;
    return p->faults > 0 || p->agent_fails;
}

/* Which takes no draw of anything else, and is no event of the job: it is drawn in every edition. */
static void draw_fork(plan *p, const cut *c)
{
    uint64_t r = mix(p->seed, 96);
    bool forks = draw(&r, 8) == 0 && p->ranks <= 9 && !c->has_no_forks;
    p->forks_at = draw(&r, draw(&r, 2) ? 300 : 5000);
    p->forks = forks ? 1 + (int)draw(&r, (uint64_t)p->ranks) : 0;
}

void plan_make(plan *p, uint64_t seed, const cut *c)
{
    uint64_t r = mix(seed, 0);
    p->seed = seed;
    p->edition = c->edition ? c->edition : EDITION;
    unsigned ends = p->edition < 9 ? 3 : COUNTER_ENDS;
    p->ranks = seed % 20 == 0 ? 2 + (int)draw(&r, RANKS_MOST - 1)
               : draw(&r, 10) ? 2 + (int)draw(&r, 4)
                              : 6 + (int)draw(&r, 4);
    if (c->is_over_ofi && p->ranks > 16) /* each with a connection to each: 61 took minutes */
        p->ranks = 16;
    if (c->ranks)
        p->ranks = c->ranks;
    plan_limits(p, c, &r);
    p->is_mixed = p->edition >= 8 && mix(seed, 16) % 2;
    p->late_tags = p->edition >= 8 && mix(seed, 17) % 4 == 0 ? 1 + (int)(mix(seed, 18) % ends) : 0;
    draw_items(p, 30 + (int)draw(&r, 12));
    draw_faults(p, c);
    draw_bounds(p, c);
    memset(p->is_skipped, 0, sizeof p->is_skipped);
    for (int i = 0; i < c->n_skipped; i++)
        p->is_skipped[c->skipped[i]] = true;
    skip_shrinks(p);
    draw_relays(p);
    draw_agents(p, c);
    draw_serials(p);
    p->is_patient = p->edition >= 7 && !p->has_agents && !plan_has_faults(p) && !p->ticks && mix(p->seed, 11) % 2;
    p->has_drivers = p->edition >= 9 && !p->is_over && !p->ticks && !p->is_patient && mix(p->seed, 19) % 3 == 0;
    p->is_bare = p->edition >= EDITION_OF_PARTS && !p->is_over && !p->ticks && !p->has_agents && p->ranks <= 9 &&
                 mix(p->seed, 30) % 6 == 0;
    if (p->is_bare && p->latest > SECOND)
        p->latest = SECOND;
    p->is_preempted = p->edition >= EDITION_OF_CORES && !p->is_patient && p->ranks <= 9 && mix(p->seed, 56) % 4 == 0;
    p->at_looks = p->is_preempted && p->edition >= EDITION_OF_LOOKS && mix(p->seed, 57) % 2;
    p->is_preempted &= !p->at_looks;
    skip_chains(p);
    skip_neighbors(p);
    p->has_stray = p->edition >= EDITION_OF_ENDS && !p->has_agents && !p->is_over && mix(p->seed, 28) % 4 == 0;
    if (c->items >= 0 && c->items < p->items)
        p->items = c->items;
    draw_fork(p, c);
}
