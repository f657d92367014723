/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's hooks of a rank. Memory is counted, has words at its ends that must stay, is filled with garbage when it
 * is given and when it is taken back, and is refused where the plan says so. The clock is the world's. A pause stays
 * away for a time that grows with the looks, or until something comes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storm.h"

#define GUARD 0x5afe5afe5afe5afeull

typedef struct block {
    struct block *next, **at;
    void *raw;
    size_t bytes;
    uint64_t guard;
} block;

static void *outside_alloc(void *user, size_t bytes, size_t align)
{
    actor *a = user;
    storm *s = a->storm;
    const fault *f = storm_fault(s, a, FAULT_MEMORY, &a->allocs);
    uint64_t guard = GUARD;

    if (f) {
        storm_note(s, a->rank, NOTE_FAULT, FAULT_MEMORY, bytes);
        storm_cause(s, a->rank, BAD_MEMORY);
        return NULL;
    }
    if (align < 16)
        align = 16;
    size_t head = (sizeof(block) + align - 1) / align * align;
    unsigned char *raw = aligned_alloc(align, (head + bytes + sizeof guard + align - 1) / align * align);
    block *b = (block *)(void *)(raw + head - sizeof(block));
    *b = (block){a->blocks, (block **)(void *)&a->blocks, raw, bytes, GUARD};
    if (b->next)
        b->next->at = &b->next;
    a->blocks = b;
    a->bytes += bytes;
    memset(raw + head, 0xa1, bytes < 4096 ? bytes : 4096);
    memcpy(raw + head + bytes, &guard, sizeof guard);
    return raw + head;
}

static void *host_alloc(void *user, size_t bytes, size_t align)
{
    storm_not_in_tick(user, "alloc");
    rank_calls_inside(user);
    return outside_alloc(user, bytes, align);
}

static void host_free(void *user, void *memory, size_t bytes)
{
    actor *a = user;
    uint64_t guard;

    storm_not_in_tick(a, "free");
    if (!memory)
        return;
    block *b = (block *)memory - 1;
    memcpy(&guard, (char *)memory + b->bytes, sizeof guard);
    if (b->guard != GUARD || b->bytes != bytes || guard != GUARD) {
        storm_find(a->storm, "rank %d: free of %zu bytes: a block of another size, or written beyond", a->rank, bytes);
        return;
    }
    judge_freed(a, memory, bytes);
    *b->at = b->next;
    if (b->next)
        b->next->at = b->at;
    a->bytes -= bytes;
    b->guard = 0;
    void *raw = b->raw;
    memset(memory, a->storm->plan.garbage, bytes < 4096 ? bytes : 4096);
    free(raw);
}

static void host_log(void *user, nbcoll_status why, const char *text)
{
    actor *a = user;
    storm_not_in_tick(a, "log");
    a->logged += why == NBCOLL_ERR_MEMORY;
    if (a->storm->is_loud)
        printf("             rank %d, log: %s: %s\n", a->rank, nbcoll_status_name(why), text);
}

static uint64_t host_now(void *user)
{
    actor *a = user;
    storm_not_in_tick(a, "now");
    storm_look(a->storm, a);
    rank_frees_inside(a);
    return (a->storm->plan.is_patient ? SECOND : a->storm->now) + a->skew;
}

static uint64_t outside_now(void *user)
{
    actor *a = user;
    a->storm->steps++;
    storm_stay(a->storm, storm_random(a->storm, 3 * MICROSECOND));
    return a->storm->now + a->skew;
}

static uint64_t longest_pause(actor *a, uint64_t looks)
{
    bool is_short = looks < 20 && storm_chance(a->storm, 300);
    return is_short ? 50ull << looks : 40 * MILLISECOND;
}

static void outside_pause(void *user, uint64_t looks)
{
    actor *a = user;
    uint64_t longest = longest_pause(a, looks);
    storm_sleep(a->storm, 50 + storm_random(a->storm, longest));
}

static void host_pause(void *user, uint64_t looks)
{
    actor *a = user;
    uint64_t longest = longest_pause(a, looks);
    storm_not_in_tick(a, "pause");
    rank_pauses(a);
    storm_sleep(a->storm, 50 + storm_random(a->storm, longest));
}

static nbcoll_status host_spawn(void *user, void (*main)(void *argument), void *argument)
{
    actor *a = user;
    if (!a->storm->plan.has_drivers || storm_chance(a->storm, 300))
        return NBCOLL_ERR_UNSUPPORTED;
    storm_spawn(a, DRIVER, main, argument);
    return NBCOLL_OK;
}

void host_init(actor *a)
{
    a->host = (nbcoll_host){sizeof a->host, a, host_alloc, host_free, host_log, host_now, host_pause, host_spawn};
    if (a->storm->plan.is_bare)
        a->host.pause = NULL;
}

nbcoll_host host_outside(actor *a)
{
    return (nbcoll_host){sizeof a->host,
                         a,
                         outside_alloc,
                         host_free,
                         host_log,
                         outside_now,
                         a->storm->plan.is_bare ? NULL : outside_pause,
                         host_spawn};
}

bool host_function_fails(actor *a)
{
    storm_not_in_tick(a, "a function of the host's");
    storm_step(a->storm, a);
    rank_calls_inside(a);
    if (!storm_fault(a->storm, a, FAULT_HOST, &a->functions))
        return false;
    storm_note(a->storm, a->rank, NOTE_FAULT, FAULT_HOST, 0);
    storm_cause(a->storm, a->rank, BAD_HOST);
    return true;
}

/* At the end: what has not been given back; who abandons may keep what others may touch. */
void host_check(actor *a)
{
    if (a->bytes && !a->has_abandoned)
        storm_find(a->storm, "rank %d has not given back %zu bytes of memory", a->rank, a->bytes);
    while (a->blocks) {
        block *b = a->blocks;
        a->blocks = b->next;
        free(b->raw);
    }
}
