/* SPDX-License-Identifier: BSD-3-Clause
 * What endpoints of one process share if they are opened beside each other: the devices with their protection domains,
 * so that memory registered for every rank of one endpoint is registered for all. Such a registration serves each
 * registration of a part of it, until the last user ends it. See verbs.h. */
#include <errno.h>

#include "verbs.h"

/* ---- devices ----------------------------------------------------------------------------------------------------- */

bool nbcolli_verbs_share(nbcolli_verbs_end *e, const nbcolli_verbs_end *beside)
{
    if (beside) {
        e->shared = beside->shared;
        atomic_fetch_add_explicit(&e->shared->users, 1, memory_order_relaxed); /* that one is there */
        for (e->rails = 0; e->rails < beside->rails; e->rails++) {
            const nbcolli_verbs_rail *rail = &beside->rail[e->rails];
            e->rail[e->rails] = (nbcolli_verbs_rail){.device = rail->device,
                                                     .port = rail->port,
                                                     .gid_index = rail->gid_index,
                                                     .port_attr = rail->port_attr,
                                                     .pd = rail->pd};
        }
        return true;
    }
    nbcolli_verbs_shared *s = nbcolli_alloc(&e->host, sizeof *s, 64);
    if (!s)
        return false;
    *s = (nbcolli_verbs_shared){.host = e->host};
    atomic_init(&s->users, 1);
    atomic_flag_clear_explicit(&s->lock, memory_order_relaxed); /* nobody else has it yet */
    e->shared = s;
    return true;
}

bool nbcolli_verbs_share_device(nbcolli_verbs_end *e, nbcolli_verbs_rail *rail)
{
    nbcolli_verbs_shared *s = e->shared;

    s->device[s->rails] = rail->device;
    s->pd[s->rails] = rail->pd = ibv_alloc_pd(rail->device);
    s->rails++;
    return rail->pd != NULL;
}

void nbcolli_verbs_unshare(nbcolli_verbs_end *e)
{
    nbcolli_verbs_shared *s = e->shared;
    nbcoll_host host = {0};

    /* acq_rel: others' use of the devices comes before their end */
    if (!s || atomic_fetch_sub_explicit(&s->users, 1, memory_order_acq_rel) > 1)
        return;
    for (uint32_t i = 0; i < s->rails; i++) {
        if (s->pd[i])
            ibv_dealloc_pd(s->pd[i]);
        ibv_close_device(s->device[i]);
    }
    host = s->host;
    nbcolli_free(&host, s, sizeof *s);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void nbcolli_verbs_for_all_free(nbcolli_verbs_shared *s, nbcolli_verbs_for_all *all)
{
    for (uint32_t i = 0; i < s->rails && all->mr[i]; i++)
        ibv_dereg_mr(all->mr[i]);
    nbcolli_free(&s->host, all, sizeof *all);
}

/* A registration of the memory for this use, with one user more; or null. */
static nbcolli_verbs_for_all *nbcolli_verbs_find_for_all(nbcolli_verbs_shared *s, uintptr_t at, size_t bytes, int flags)
{
    nbcolli_verbs_lock(&s->lock);
    nbcolli_verbs_for_all *all = s->registered;
    while (all && ((all->flags & flags) != flags || at < all->at || bytes > all->bytes ||
                   at - all->at > all->bytes - bytes))
        all = all->next;
    if (all)
        all->users++;
    nbcolli_verbs_unlock(&s->lock);
    return all;
}

nbcolli_verbs_for_all *nbcolli_verbs_register_for_all(nbcolli_verbs_end *e, void *memory, size_t bytes, int flags)
{
    nbcolli_verbs_shared *s = e->shared;
    uintptr_t at = (uintptr_t)memory;
    nbcolli_verbs_for_all *all = nbcolli_verbs_find_for_all(s, at, bytes, flags);

    if (all)
        return all;
    all = nbcolli_alloc(&s->host, sizeof *all, 64);
    if (!all) {
        errno = ENOMEM; /* the host's hook says nothing */
        return NULL;
    }
    *all = (nbcolli_verbs_for_all){.at = at, .bytes = bytes, .flags = flags, .users = 1};
    for (uint32_t i = 0; i < e->rails; i++) {
        all->mr[i] = nbcolli_verbs_pin(e, &e->rail[i], memory, bytes, flags);
        if (!all->mr[i]) {
            int why = errno;
            nbcolli_verbs_for_all_free(s, all);
            errno = why;
            return NULL;
        }
    }
    nbcolli_verbs_lock(&s->lock);
    all->next = s->registered;
    s->registered = all;
    nbcolli_verbs_unlock(&s->lock);
    return all;
}

void nbcolli_verbs_deregister_for_all(nbcolli_verbs_end *e, nbcolli_verbs_for_all *all)
{
    nbcolli_verbs_shared *s = e->shared;
    nbcolli_verbs_for_all **at = &s->registered;

    nbcolli_verbs_lock(&s->lock);
    bool is_last = --all->users == 0;
    while (is_last && *at != all)
        at = &(*at)->next;
    if (is_last)
        *at = all->next;
    nbcolli_verbs_unlock(&s->lock);
    if (is_last)
        nbcolli_verbs_for_all_free(s, all);
}
