/* SPDX-License-Identifier: BSD-3-Clause
 * See damaging.h. */
#include "damaging.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/engine/state/communicator.h"
#include "../../src/engine/state/message.h"
#include "../../src/wrap/wrapper.h"
#include "world.h"

struct end {
    nbcolli_wrapper wrap;
    damaging_plan *plan;
};

const char *damaging_name(int field)
{
    static const char *const names[DAMAGING_FIELDS] = {"comm", "tag",    "source", "number", "stamp", "credits",
                                                       "type", "status", "bytes",  "to",     "count"};
    return names[field];
}

/* A number that looks like another one of its kind, like an end of its range, or like nothing. */
static uint64_t nonsense(uint64_t is, uint64_t *random)
{
    uint64_t r = world_random(random);
    switch (r % 8) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    case 2:
        return is + 1;
    case 3:
        return is - 1;
    case 4:
        return is ^ UINT64_C(1) << (r >> 8) % 64;
    case 5:
        return r >> 60;
    case 6:
        return UINT64_C(1) << (r >> 8) % 64;
    default:
        return r;
    }
}

static void damage(nbcolli_header *h, int field, uint64_t *random)
{
    switch (field) {
#define DAMAGE(number, name, type)                                                                                     \
    case number:                                                                                                       \
        h->name = (type)nonsense(h->name, random);                                                                     \
        break;
        DAMAGE(0, comm, uint64_t)
        DAMAGE(1, tag, uint64_t)
        DAMAGE(2, source, uint32_t)
        DAMAGE(3, number, uint32_t)
        DAMAGE(4, stamp, uint32_t)
        DAMAGE(5, credits, uint16_t)
        DAMAGE(6, type, uint8_t)
        DAMAGE(7, status, uint8_t)
        DAMAGE(8, bytes, uint64_t)
        DAMAGE(9, to, uint32_t)
        DAMAGE(10, count, uint32_t)
#undef DAMAGE
    case DAMAGING_FIELDS:
        break;
    default:
        fail();
    }
}

static void keep(damaging_plan *p, const nbcoll_arrival *a)
{
    nbcolli_header h = nbcolli_unpack(&a->header);

    if (h.type != p->kept_type - 1 || ++p->arrived != p->at)
        return;
    damage(&h, p->field, &p->seed);
    h.credits = p->field == 5 ? h.credits : 0; /* those that it gives back are not to come twice */
    assert_true(a->bytes <= sizeof p->payload);
    if (a->bytes)
        memcpy(p->payload, a->payload, a->bytes);
    p->header = nbcolli_pack(&h);
    p->bytes = a->bytes;
    p->source = a->source;
    p->is_kept = 1;
}

static void progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    struct end *e = (struct end *)(void *)ep;
    damaging_plan *p = e->plan;

    e->wrap.call.progress(e->wrap.inner, found);
    for (nbcoll_arrival *a = found->arrived; a; a = a->next) {
        if (p->kept_type) {
            keep(p, a);
            continue;
        }
        if (p->word && a->bytes == sizeof(nbcolli_vote)) /* a copy: it is the transport's */
            ((uint32_t *)(uintptr_t)a->payload)[p->word - 1] = p->value;
        if (++p->arrived != p->at)
            continue;
        nbcolli_header h = nbcolli_unpack(&a->header);
        p->type = h.type;
        damage(&h, p->field, &p->seed);
        a->header = nbcolli_pack(&h);
    }
    for (nbcoll_line_arrival *l = p->kept_type ? NULL : found->lines; l; l = l->next) {
        if (++p->arrived != p->at)
            continue;
        p->type = -2;
        if (p->field % 2)
            l->channel = (uint32_t)nonsense(l->channel, &p->seed);
        else
            l->turn = nonsense(l->turn, &p->seed);
    }
}

nbcoll_endpoint *damaging_open(nbcoll_endpoint *inner, damaging_plan *plan)
{
    nbcolli_wrapper *w;

    assert_int_equal(nbcolli_wrapper_open(NULL, inner, "damaging", sizeof(struct end), &w), NBCOLL_OK);
    ((struct end *)(void *)&w->base)->plan = plan;
    w->table.progress = progress;
    return &w->base;
}
