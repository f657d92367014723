/* SPDX-License-Identifier: BSD-3-Clause
 * Programs as bytes, for an agent in another process: what a program says of itself, its queues, the tasks of each
 * queue, sends before receives, and the copies. Pointers in it mean nothing. */
#include <string.h>

#include "../reduce/reduce.h"
#include "commands.h"

typedef struct nbcolli_packed_program_head {
    _Alignas(64) nbcoll_program_info info;
    uint64_t tasks; /* with the copies */
    char name[64];
} nbcolli_packed_program_head;

static uint64_t nbcolli_packed_program_tasks(const nbcoll_program *p)
{
    uint64_t tasks = p->info.copies;
    for (uint32_t i = 0; i < p->info.queues; i++)
        tasks += (uint64_t)p->queue[i].send_count + p->queue[i].receive_count;
    return tasks;
}

static size_t nbcolli_packed_program_size(uint32_t queues, uint64_t tasks)
{
    return sizeof(nbcolli_packed_program_head) + queues * sizeof(nbcoll_queue_view) + tasks * sizeof(nbcoll_task);
}

size_t nbcolli_packed_program_bytes(const nbcoll_program *p)
{
    return nbcolli_packed_program_size(p->info.queues, nbcolli_packed_program_tasks(p));
}

static char *nbcolli_packed_program_add(char *to, const void *from, size_t bytes)
{
    if (bytes)
        memcpy(to, from, bytes);
    return to + bytes;
}

static char *nbcolli_packed_program_add_tasks(char *to, const nbcolli_binding *b, const nbcoll_task *task,
                                              uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        nbcoll_task bound = task[i];
        bound.write = nbcolli_bound_bytes(b, bound.write);
        bound.read[0] = nbcolli_bound_bytes(b, bound.read[0]);
        to = nbcolli_packed_program_add(to, &bound, sizeof bound);
    }
    return to;
}

void nbcolli_packed_program_write(const nbcoll_program *p, const nbcolli_binding *b, const size_t extent[3], char *to)
{
    nbcolli_packed_program_head head;
    memset(&head, 0, sizeof head);
    head.info = p->info;
    head.info.blocks[0] = head.info.blocks[1] = 0;
    memcpy(head.info.extent, extent, sizeof head.info.extent);
    head.tasks = nbcolli_packed_program_tasks(p);
    memcpy(head.name, p->name, sizeof head.name);
    to = nbcolli_packed_program_add(to, &head, sizeof head);
    to = nbcolli_packed_program_add(to, p->queue, p->info.queues * sizeof *p->queue);
    for (uint32_t i = 0; i < p->info.queues; i++) {
        const nbcoll_queue_view *q = &p->queue[i];
        to = nbcolli_packed_program_add_tasks(to, b, q->sends, q->send_count);
        to = nbcolli_packed_program_add_tasks(to, b, q->receives, q->receive_count);
    }
    nbcolli_packed_program_add(to, p->copy, p->info.copies * sizeof *p->copy);
}

/* Copies of the end, which the process has made, are tasks, too. */
void nbcolli_packed_program_bring(const nbcoll_program *p, const char *packed, size_t extent, char *to,
                                  const char *from)
{
    size_t bytes = nbcolli_packed_program_bytes(p);
    for (size_t at = nbcolli_packed_program_size(p->info.queues, 0); at < bytes; at += sizeof(nbcoll_task)) {
        nbcoll_task_bytes b;
        memcpy(&b, packed + at + offsetof(nbcoll_task, write), sizeof b);
        size_t begin = b.region.at.offset;
        if (b.eager == NBCOLL_NO_QUEUE && b.region.at.buffer == NBCOLL_BUFFER_RECV && begin <= extent &&
            b.region.bytes <= extent - begin)
            nbcolli_packed_program_add(to + begin, from + begin, b.region.bytes);
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* What there is of what tasks may name: `buffer` [buffers], is it filled; `cq` [cqs], 1: counts receives of a queue, 2:
 * its sends. */
typedef struct nbcolli_packed_program_names {
    const nbcoll_program *p;
    unsigned char *buffer, *cq;
    uint32_t pairs;
} nbcolli_packed_program_names;

static int nbcolli_packed_program_has_cq(const nbcolli_packed_program_names *n, uint32_t cq, int which)
{
    return cq < n->p->info.cqs && n->cq[cq] & which;
}

static int nbcolli_packed_program_may_touch(const nbcolli_packed_program_names *n, const nbcoll_task_bytes *b)
{
    const nbcoll_program_info *info = &n->p->info;
    size_t room, bytes = b->region.bytes;
    if (nbcolli_is_block(b->region.at)) /* it has been bound, also where it has no bytes */
        return 0;
    if (b->eager != NBCOLL_NO_QUEUE && (b->eager >= info->buffers || !n->buffer[b->eager]))
        return 0;
    if (b->eager == NBCOLL_NO_QUEUE && bytes && (unsigned)b->region.at.buffer > NBCOLL_BUFFER_SCRATCH)
        return 0;
    room = b->eager != NBCOLL_NO_QUEUE ? info->eager : bytes ? info->extent[b->region.at.buffer] : 0;
    return !bytes || (b->region.at.offset <= room && bytes <= room - b->region.at.offset);
}

static int nbcolli_packed_program_is_calc(const nbcolli_packed_program_names *n, const nbcoll_task *t)
{
    size_t bytes = t->write.region.bytes;
    if (t->kind != NBCOLL_TASK_CALC || t->read[0].region.bytes < bytes ||
        (t->read[1].region.bytes && (t->reduction.type >= NBCOLL_TYPE_COUNT || t->reduction.op >= NBCOLL_OP_COUNT ||
                                     !nbcoll_op_applies(t->reduction.op, t->reduction.type) ||
                                     t->read[1].region.bytes < bytes)))
        return 0;
    return nbcolli_packed_program_may_touch(n, &t->write) && nbcolli_packed_program_may_touch(n, &t->read[0]) &&
           nbcolli_packed_program_may_touch(n, &t->read[1]);
}

/* A task of a management queue. */
static int nbcolli_packed_program_is_managing(const nbcolli_packed_program_names *n, const nbcoll_task *t)
{
    switch (t->kind) {
    case NBCOLL_TASK_WAIT:
        return nbcolli_packed_program_has_cq(n, t->cq, 3);
    case NBCOLL_TASK_SEND_ENABLE:
    case NBCOLL_TASK_RECEIVE_ENABLE:
        return t->queue < n->pairs;
    default:
        return nbcolli_packed_program_is_calc(n, t);
    }
}

static int nbcolli_packed_program_is_queue(const nbcolli_packed_program_names *n, uint32_t queue)
{
    const nbcoll_queue_view *q = &n->p->queue[queue];
    int is_pair = queue < n->pairs, is_right = 1;
    if (is_pair)
        is_right = (unsigned)q->kind < NBCOLL_QUEUE_MANAGEMENT && q->peer >= 0 && q->peer < n->p->info.ranks &&
                   q->peer != n->p->info.rank && (unsigned)q->direction <= NBCOLL_INWARD;
    else
        is_right = q->kind == NBCOLL_QUEUE_MANAGEMENT && !q->receive_count;
    for (uint32_t i = 0; i < q->receive_count && is_right; i++)
        is_right = q->receives[i].kind == NBCOLL_TASK_RECV &&
                   nbcolli_packed_program_may_touch(n, &q->receives[i].write) &&
                   (q->kind == NBCOLL_QUEUE_EAGER || q->receives[i].write.eager == NBCOLL_NO_QUEUE);
    for (uint32_t i = 0; i < q->send_count && is_right; i++) {
        const nbcoll_task *t = &q->sends[i];
        if (!is_pair)
            is_right = nbcolli_packed_program_is_managing(n, t);
        else if (t->kind == NBCOLL_TASK_WAIT)
            is_right = nbcolli_packed_program_has_cq(n, t->cq, 1);
        else
            is_right = t->kind == NBCOLL_TASK_SEND && nbcolli_packed_program_may_touch(n, &t->read[0]);
    }
    return is_right;
}

/* What can be named, then what is. */
static nbcoll_status nbcolli_packed_program_check(const nbcoll_program *p, unsigned char *flags)
{
    nbcolli_packed_program_names n = {p, flags, flags + p->info.buffers, p->info.queues - p->info.management};
    for (uint32_t i = 0; i < n.pairs; i++) {
        const nbcoll_queue_view *q = &p->queue[i];
        if (q->receive_cq < p->info.cqs)
            n.cq[q->receive_cq] |= 1;
        if (q->send_cq < p->info.cqs)
            n.cq[q->send_cq] |= 2;
        for (uint32_t k = 0; k < q->receive_count && q->kind == NBCOLL_QUEUE_EAGER; k++)
            if (q->receives[k].write.eager < p->info.buffers)
                n.buffer[q->receives[k].write.eager] = 1;
    }
    for (uint32_t i = 0; i < p->info.queues; i++)
        if (!nbcolli_packed_program_is_queue(&n, i))
            return NBCOLL_ERR_ARGUMENT;
    for (uint32_t i = 0; i < p->info.copies; i++)
        if (!nbcolli_packed_program_is_calc(&n, &p->copy[i]))
            return NBCOLL_ERR_ARGUMENT;
    return NBCOLL_OK;
}

/* Do the numbers fit what has come? No extent is larger than memory can be: sums with it do not wrap. */
static int nbcolli_packed_program_counts(const nbcolli_packed_program_head *h, size_t bytes)
{
    const nbcoll_program_info *info = &h->info;
    for (int b = NBCOLL_BUFFER_SEND; b <= NBCOLL_BUFFER_SCRATCH; b++)
        if (info->extent[b] > PTRDIFF_MAX / 2)
            return 0;
    if (info->queues > bytes / sizeof(nbcoll_queue_view) || h->tasks > bytes / sizeof(nbcoll_task))
        return 0;
    return bytes == nbcolli_packed_program_size(info->queues, h->tasks) && info->management <= info->queues &&
           !info->blocks[0] && !info->blocks[1] && info->copies <= h->tasks && info->buffers <= h->tasks &&
           info->cqs <= 2 * info->queues && info->size == sizeof *info;
}

/* Gives each queue its tasks: all there are. */
static nbcoll_status nbcolli_packed_program_deal(nbcoll_program *p, const nbcoll_task *task, uint64_t tasks)
{
    for (uint32_t i = 0; i < p->info.queues; i++) {
        nbcoll_queue_view *q = &p->queue[i];
        if (q->send_count > tasks || q->receive_count > tasks - q->send_count)
            return NBCOLL_ERR_ARGUMENT;
        q->sends = task;
        q->receives = task + q->send_count;
        task = q->receives + q->receive_count;
        tasks -= (uint64_t)q->send_count + q->receive_count;
    }
    return tasks == p->info.copies ? NBCOLL_OK : NBCOLL_ERR_ARGUMENT;
}

nbcoll_status nbcolli_packed_program_read(const nbcoll_host *host, const char *from, size_t bytes, nbcoll_program **out)
{
    nbcolli_packed_program_head h;
    if (bytes < sizeof h)
        return NBCOLL_ERR_ARGUMENT;
    memcpy(&h, from, sizeof h);
    if (!nbcolli_packed_program_counts(&h, bytes))
        return NBCOLL_ERR_ARGUMENT;
    size_t head = nbcolli_lines(sizeof(nbcoll_program)), views = h.info.queues * sizeof(nbcoll_queue_view);
    size_t tasks = h.tasks * sizeof(nbcoll_task), flags = (size_t)h.info.buffers + h.info.cqs;
    size_t memory = head + nbcolli_lines(views) + tasks + flags;
    nbcoll_program *p = nbcolli_alloc(host, memory, 64);
    if (!p)
        return NBCOLL_ERR_MEMORY;
    *p = (nbcoll_program){.host = *host, .memory = memory, .info = h.info};
    memcpy(p->name, h.name, sizeof p->name - 1);
    p->info.name = p->name;
    p->queue = (nbcoll_queue_view *)(void *)((char *)p + head);
    nbcoll_task *task = (nbcoll_task *)(void *)((char *)p + head + nbcolli_lines(views));
    nbcolli_packed_program_add((char *)p->queue, from + sizeof h, views);
    nbcolli_packed_program_add((char *)task, from + sizeof h + views, tasks);
    p->copy = task + (h.tasks - h.info.copies);
    memset((char *)task + tasks, 0, flags);
    nbcoll_status status = nbcolli_packed_program_deal(p, task, h.tasks);
    if (status == NBCOLL_OK)
        status = nbcolli_packed_program_check(p, (unsigned char *)task + tasks);
    if (status == NBCOLL_OK)
        *out = p;
    else
        nbcoll_program_free(p);
    return status;
}
