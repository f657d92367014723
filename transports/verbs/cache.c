/* SPDX-License-Identifier: BSD-3-Clause
 * Registrations of the host's memory. Registering costs more than moving a small piece, so what a get or put has used
 * may stay registered (nbcoll_verbs_config.registrations), until the host gives the memory back, or others need the
 * place: the one that was used longest ago goes first. The lock is for nbcoll_verbs_forget, which any thread may call.
 * See verbs.h. */
#include <errno.h>

#include "verbs.h"

static bool nbcolli_verbs_covers(const nbcolli_verbs_kept *k, const struct ibv_pd *pd, uintptr_t at, size_t bytes,
                                 int flags)
{
    return k->mr && k->mr->pd == pd && !k->is_stale && (k->flags & flags) == flags && at - k->at <= k->bytes &&
           bytes <= k->bytes - (at - k->at);
}

/* Takes the registration out of its place; the caller, who holds the lock, ends it afterwards. */
static struct ibv_mr *nbcolli_verbs_take_out(nbcolli_verbs_kept *k)
{
    struct ibv_mr *mr = k->mr;
    *k = (nbcolli_verbs_kept){0};
    return mr;
}

static void nbcolli_verbs_end_of_registration(struct ibv_mr *mr)
{
    if (mr)
        ibv_dereg_mr(mr);
}

/* A device may pin limited memory: kept, unused registrations make room. */
static void nbcolli_verbs_drop_unused(nbcolli_verbs_end *e)
{
    for (nbcolli_verbs_kept *k = e->kept; k < e->kept + e->registrations; k++) {
        nbcolli_verbs_lock(&e->kept_lock);
        struct ibv_mr *mr = k->users == 0 ? nbcolli_verbs_take_out(k) : NULL;
        nbcolli_verbs_unlock(&e->kept_lock);
        nbcolli_verbs_end_of_registration(mr);
    }
}

/* One that covers the memory; else where to keep one: null if all are in use. */
static nbcolli_verbs_kept *nbcolli_verbs_look(nbcolli_verbs_end *e, const struct ibv_pd *pd, uintptr_t at, size_t bytes,
                                              int flags)
{
    nbcolli_verbs_kept *place = NULL;

    for (nbcolli_verbs_kept *k = e->kept; k < e->kept + e->registrations; k++) {
        if (nbcolli_verbs_covers(k, pd, at, bytes, flags))
            return k;
        if (k->users == 0 && (!place || k->used < place->used))
            place = k;
    }
    return place;
}

static nbcolli_verbs_kept *nbcolli_verbs_find_kept(nbcolli_verbs_end *e, const struct ibv_pd *pd, uintptr_t at,
                                                   size_t bytes, int flags)
{
    nbcolli_verbs_lock(&e->kept_lock);
    nbcolli_verbs_kept *k = nbcolli_verbs_look(e, pd, at, bytes, flags);
    if (k && !nbcolli_verbs_covers(k, pd, at, bytes, flags))
        k = NULL;
    if (k) {
        k->users++;
        k->used = ++e->hits + e->misses;
    }
    nbcolli_verbs_unlock(&e->kept_lock);
    return k;
}

/* Null: there is no place, and the registration is the caller's. */
static nbcolli_verbs_kept *nbcolli_verbs_keep(nbcolli_verbs_end *e, nbcolli_verbs_kept new)
{
    struct ibv_mr *old = NULL;

    nbcolli_verbs_lock(&e->kept_lock);
    nbcolli_verbs_kept *k = nbcolli_verbs_look(e, new.mr->pd, new.at, new.bytes, new.flags);
    new.users = 1;
    new.used = e->hits + ++e->misses;
    if (k) {
        old = nbcolli_verbs_take_out(k);
        *k = new;
    }
    nbcolli_verbs_unlock(&e->kept_lock);
    nbcolli_verbs_end_of_registration(old);
    return k;
}

struct ibv_mr *nbcolli_verbs_pin(nbcolli_verbs_end *e, const nbcolli_verbs_rail *rail, void *memory, size_t bytes,
                                 int flags)
{
    struct ibv_mr *mr = ibv_reg_mr(rail->pd, memory, bytes, (unsigned)flags);

    if (!mr && errno == ENOMEM) {
        nbcolli_verbs_drop_unused(e);
        mr = ibv_reg_mr(rail->pd, memory, bytes, (unsigned)flags);
    }
    return mr;
}

struct ibv_mr *nbcolli_verbs_memory(nbcolli_verbs_end *e, const nbcolli_verbs_rail *rail, void *memory, size_t bytes,
                                    int flags, nbcolli_verbs_kept **kept)
{
    uintptr_t at = (uintptr_t)memory;

    *kept = nbcolli_verbs_find_kept(e, rail->pd, at, bytes, flags);
    if (*kept)
        return (*kept)->mr;
    struct ibv_mr *mr = nbcolli_verbs_pin(e, rail, memory, bytes, flags);
    if (mr)
        *kept = nbcolli_verbs_keep(e, (nbcolli_verbs_kept){.at = at, .bytes = bytes, .flags = flags, .mr = mr});
    return mr;
}

void nbcolli_verbs_let_go(nbcolli_verbs_end *e, nbcolli_verbs_kept *k)
{
    nbcolli_verbs_lock(&e->kept_lock);
    struct ibv_mr *mr = --k->users == 0 && k->is_stale ? nbcolli_verbs_take_out(k) : NULL;
    nbcolli_verbs_unlock(&e->kept_lock);
    nbcolli_verbs_end_of_registration(mr);
}

nbcoll_status nbcoll_verbs_forget(nbcoll_endpoint *endpoint, const void *memory, size_t bytes)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(endpoint);
    uintptr_t at = (uintptr_t)memory;

    if (!endpoint)
        return NBCOLL_ERR_NULL;
    if (!nbcolli_verbs_is_one(endpoint))
        return NBCOLL_ERR_ARGUMENT;
    for (nbcolli_verbs_kept *k = e->kept; k < e->kept + e->registrations; k++) {
        struct ibv_mr *mr = NULL;
        nbcolli_verbs_lock(&e->kept_lock);
        if (k->mr && at < k->at + k->bytes && k->at < at + bytes) {
            k->is_stale = true;
            mr = k->users == 0 ? nbcolli_verbs_take_out(k) : NULL;
        }
        nbcolli_verbs_unlock(&e->kept_lock);
        nbcolli_verbs_end_of_registration(mr);
    }
    return NBCOLL_OK;
}

nbcoll_status nbcoll_verbs_counts(nbcoll_endpoint *endpoint, nbcoll_verbs_count *out)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(endpoint);

    if (!endpoint || !out)
        return NBCOLL_ERR_NULL;
    if (!nbcolli_verbs_is_one(endpoint))
        return NBCOLL_ERR_ARGUMENT;
    if (out->size < sizeof *out)
        return NBCOLL_ERR_CONFIG;
    nbcolli_verbs_lock(&e->kept_lock);
    *out = (nbcoll_verbs_count){.size = sizeof *out, .hits = e->hits, .misses = e->misses, .inlined = e->inlined};
    for (nbcolli_verbs_kept *k = e->kept; k < e->kept + e->registrations; k++)
        out->kept += k->mr != NULL;
    for (nbcolli_verbs_peer *p = e->known; p; p = p->next_known)
        if (p->messages) {
            out->peers++;
            out->peer_bytes += p->slab.bytes;
        }
    nbcolli_verbs_unlock(&e->kept_lock);
    return NBCOLL_OK;
}

void nbcolli_verbs_forget_all(nbcolli_verbs_end *e)
{
    for (nbcolli_verbs_kept *k = e->kept; k < e->kept + e->registrations; k++)
        nbcolli_verbs_end_of_registration(k->mr);
}
