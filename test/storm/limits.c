/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a seed means for the transport: its groups, its limits and habits, and its nets. */
#include "storm.h"

static uint64_t draw(uint64_t *state, uint64_t below)
{
    return next_random(state) % below;
}

static void draw_groups(net *n, uint64_t *r)
{
    unsigned g = 0;
    switch (draw(r, 6)) {
    case 0:
        break;
    case 1:
        g = HAS_GET;
        break;
    case 2:
        g = HAS_PUT;
        break;
    case 3:
        g = HAS_GET | HAS_PUT;
        break;
    default:
        g = HAS_GET | PLAIN_KEYS | ANY_LOCAL | HAS_SHARED;
        g |= draw(r, 2) ? HAS_VIEW : 0u;
        g |= draw(r, 4) ? 0u : HAS_PUT;
    }
    if (g && !(g & PLAIN_KEYS))
        g |= draw(r, 3) ? 0u : draw(r, 2) ? ANY_LOCAL : ANY_LOCAL | PLAIN_KEYS;
    g |= draw(r, 2) ? HAS_LINES : 0u;
    g |= g & HAS_LINES && draw(r, 2) ? HAS_TAKE : 0u;
    g |= draw(r, 2) ? HAS_WAKEUP : 0u;
    n->groups = g;
    n->key_bytes = g & PLAIN_KEYS ? 16 : (uint32_t)ONE_OF(r, 8, 16, 20, 40, 64);
    n->channels = (uint32_t)ONE_OF(r, 1, 2, 16, 256, 65536);
}

static void draw_memory(const plan *p, net *n, uint64_t *r)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    n->staging = n->groups & HAS_SHARED && draw(r, 2) ? (uint32_t)ONE_OF(r, 4096, 20000, 65536) : 0;
    n->quota = n->part = 0;
    if (!(n->groups & HAS_SHARED))
        return;
    config.slots = p->slots;
    config.cells = p->cells;
    n->quota = nbcoll_cells_bytes(&config, p->ranks) * draw(r, 5) + n->staging;
    n->quota += draw(r, 65536);
    n->quota = (n->quota + 127) / 128 * 128 + 128;
    uint64_t own = mix(p->seed, 29);
    n->part = p->edition >= EDITION_OF_PARTS ? ONE_OF(&own, 0, 64, 200, 2000) : 0;
}

/* An eighth of the jobs: ranks that see what others copy to staging buffers. */
static void draw_copies(plan *p, net *n)
{
    uint64_t own = mix(p->seed, 54);
    if (p->edition < EDITION_OF_LINES || own % 8)
        return;
    n->groups |= HAS_GET | PLAIN_KEYS | ANY_LOCAL | HAS_SHARED | HAS_VIEW;
    n->key_bytes = 16;
    draw_memory(p, n, &own);
    n->quota += n->staging ? 0 : 65536;
    n->staging = n->staging ? n->staging : 65536;
}

static void draw_habits(net *n, uint64_t *r)
{
    n->refused = (unsigned)ONE_OF(r, 0, 0, 30, 300, 700);
    n->lent = (unsigned)ONE_OF(r, 0, 0, 100, 500, 1000);
}

/* Credits bound what a receiver must have room for. */
static void draw_bound(const plan *p, net *n, uint64_t *r)
{
    if (draw(r, 4) == 0) {
        n->groups |= HAS_BOUND;
        n->room = p->credits < 4 ? 4 : p->credits;
    }
}

static void draw_limits(plan *p, net *n, uint64_t *r)
{
    n->payload = ONE_OF(r, 256, 256, 264, 512, 1000, 4096, 65536);
    p->eager = ONE_OF(r, 0, 8, 64, 255, 4096, 65536);
    p->credits = (uint32_t)ONE_OF(r, 1, 2, 3, 16, 64);
    p->slots = (uint32_t)ONE_OF(r, 1, 2, 3, 8, 32, 64);
    p->cells = (uint32_t)ONE_OF(r, 1, 2, 8, 8, 16);
    p->schedules = (uint32_t)ONE_OF(r, 1, 2, 8, 128);
    p->flags = draw(r, 4) ? 0 : (uint32_t)draw(r, 8);
    draw_memory(p, n, r);
    draw_copies(p, n);
    draw_habits(n, r);
    p->switches = (unsigned)ONE_OF(r, 0, 5, 30, 100);
    n->far = (unsigned)ONE_OF(r, 0, 5, 30, 100);
    p->late = (unsigned)ONE_OF(r, 0, 0, 20, 100);
    p->latest = (uint64_t)ONE_OF(r, 100 * MICROSECOND, 10 * MILLISECOND, SECOND, SECOND, 200 * SECOND);
    if (p->ranks > 9 && p->latest > SECOND)
        p->latest = SECOND;
    if (p->latest >= SECOND) /* for that each of the others makes thousands of passes */
        p->late /= p->latest > SECOND ? 20 : 4;
    n->room = (uint32_t)ONE_OF(r, 1, 2, 8, 64, 1000);
    p->window = (int)ONE_OF(r, 1, 4, 16, 64);
    if (p->edition >= 5 && p->ranks <= 9 && mix(p->seed, 5) % 6 == 0)
        p->flags |= NBCOLL_CHECKED;
    draw_bound(p, n, r);
}

/* What of it shm has, and how much memory all ranks share. */
static void draw_over_shm(plan *p)
{
    net *n = &p->net[HOME];
    uint64_t r = mix(p->seed, 20), most = p->ranks > 9 ? 1 << 16 : 1 << 18;
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;

    p->nets = 1;
    n->groups = HAS_LINES | HAS_TAKE | HAS_GET | PLAIN_KEYS | ANY_LOCAL | HAS_VIEW | HAS_WAKEUP;
    n->key_bytes = 16;
    n->channels = 65536;
    n->staging = 0;
    config.slots = p->slots;
    config.cells = p->cells;
    n->quota = nbcoll_cells_bytes(&config, p->ranks) * (next_random(&r) % 5);
    n->quota += 1 + next_random(&r) % 65536;
    n->room = n->room > 256 ? 256 : n->room;
    if (n->room * n->payload > most)
        n->room = (uint32_t)(most / n->payload);
}

/* What of it ofi has. Its provider: over_ofi/ofi.c. */
static void draw_over_ofi(plan *p)
{
    net *n = &p->net[HOME];
    p->nets = 1;
    n->groups = HAS_WAKEUP;
    n->staging = 0;
    n->quota = 0;
    p->latest = p->latest > SECOND ? SECOND : p->latest;
}

/* The groups of a node's ranks, in their order or the other way round. */
static void place_near(plan *p, uint64_t *r)
{
    place_in *at = p->net[NEAR].at;
    uint64_t nodes = 1 + draw(r, (uint64_t)p->ranks);
    bool reverse = draw(r, 2);

    for (int k = 0; k < p->ranks; k++)
        at[k] = (place_in){(int)draw(r, nodes), 0, 0};
    for (int k = 0; k < p->ranks; k++)
        for (int q = 0; q < p->ranks; q++) {
            at[k].size += at[q].group == at[k].group;
            at[k].rank += at[q].group == at[k].group && (reverse ? q > k : q < k);
        }
}

/* Of the eighth edition on a third of the worlds have it. */
static void draw_near(plan *p)
{
    net *n = &p->net[NEAR];
    uint64_t r = mix(p->seed, 12);

    p->nets = p->edition >= 8 && draw(&r, 3) == 0 ? 2 : 1;
    if (p->nets == 1)
        return;
    place_near(p, &r);
    draw_groups(n, &r);
    n->payload = ONE_OF(&r, 256, 256, 264, 512, 1000, 4096, 65536);
    draw_memory(p, n, &r);
    draw_habits(n, &r);
    n->far = (unsigned)ONE_OF(&r, 0, 0, 5, 30);
    n->room = (uint32_t)ONE_OF(&r, 1, 2, 8, 64, 1000);
    draw_bound(p, n, &r);
}

static void draw_ticks(plan *p)
{
    p->ticks = 0;
    if (p->edition >= 6 && p->ranks <= 9 && !p->is_over_ofi && mix(p->seed, 6) % 3 == 0)
        p->ticks = mix(p->seed, 7) % 3 ? 30 : 300;
    for (net *n = p->net; n < p->net + p->nets; n++)
        if (p->ticks && n->groups & (HAS_GET | HAS_PUT) && mix(p->seed, 8) % 4) { /* else they are refused */
            n->groups |= PLAIN_KEYS | ANY_LOCAL;
            n->key_bytes = 16;
        }
    p->is_observed = p->edition >= 7 && !p->ticks && mix(p->seed, 9) % 8 == 0;
    p->is_alike = p->edition >= 9 && mix(p->seed, 20) % 2;
    if (p->edition >= 9 && p->ranks <= 9 && mix(p->seed, 21) % 4 == 0) { /* by more than it takes till they are asked */
        p->late = 60;
        p->latest = 300 * MILLISECOND;
    }
    p->garbage = p->edition >= 7 && mix(p->seed, 10) % 2 ? 0x5b : 0xdb; /* as numbers: more or less than none */
}

void plan_limits(plan *p, const cut *c, uint64_t *r)
{
    draw_groups(&p->net[HOME], r);
    draw_limits(p, &p->net[HOME], r);
    draw_near(p);
    p->is_over_ofi = c->is_over_ofi;
    p->is_over_shm = !p->is_over_ofi && (c->is_over_shm || (p->edition >= EDITION_OF_SHM && mix(p->seed, 22) % 4 == 0));
    p->is_over = p->is_over_shm || p->is_over_ofi;
    if (p->is_over_shm)
        draw_over_shm(p);
    if (p->is_over_ofi)
        draw_over_ofi(p);
    draw_ticks(p);
}
