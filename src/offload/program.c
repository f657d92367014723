/* SPDX-License-Identifier: BSD-3-Clause
 * Programs as they are read. */
#include <stdio.h>

#include "offload.h"

/* Numbers the queues with tasks from 0 on: number[queue]. Counts what each has. Returns how many there are. */
static uint32_t nbcolli_program_number(nbcoll_queue_view *queue, uint32_t queues, const nbcolli_offload_draft *draft,
                                       size_t drafts, uint32_t *number)
{
    uint32_t used = 0;
    for (size_t i = 0; i < drafts; i++)
        if (draft[i].queue < queues) {
            nbcoll_queue_view *q = &queue[draft[i].queue];
            q->send_count += !draft[i].is_receive;
            q->receive_count += draft[i].is_receive != 0;
        }
    for (uint32_t i = 0; i < queues; i++)
        number[i] = queue[i].send_count || queue[i].receive_count ? used++ : NBCOLL_NO_QUEUE;
    return used;
}

/* Puts the tasks where the queues have them, in order; `at` has room for two numbers a queue. */
static void nbcolli_program_fill(nbcoll_program *p, nbcoll_task *task, const nbcolli_offload_draft *draft,
                                 size_t drafts, uint32_t queues, const uint32_t *number, size_t *at)
{
    size_t next = 0, copy = 0;
    for (uint32_t i = 0; i < p->info.queues; i++) {
        nbcoll_queue_view *q = &p->queue[i];
        at[2 * i] = next;
        at[2 * i + 1] = next + q->send_count;
        q->sends = task + at[2 * i];
        q->receives = task + at[2 * i + 1];
        next += (size_t)q->send_count + q->receive_count;
    }
    for (size_t i = 0; i < drafts; i++) {
        const nbcolli_offload_draft *d = &draft[i];
        nbcoll_task *to =
            d->queue == queues ? &p->copy[copy++] : &task[at[2 * number[d->queue] + (uint32_t)d->is_receive]++];
        *to = d->task;
        if (to->queue != NBCOLL_NO_QUEUE)
            to->queue = number[to->queue];
    }
}

nbcoll_status nbcolli_program_make(const nbcoll_host *host, nbcolli_arena *arena, nbcoll_program_info info,
                                   nbcoll_queue_view *queue, const nbcolli_offload_draft *draft, size_t drafts,
                                   nbcoll_program **out)
{
    uint32_t queues = info.queues;
    uint32_t *number = nbcolli_arena_take(arena, queues, sizeof *number);
    size_t *at = nbcolli_arena_take(arena, 2 * (size_t)queues, sizeof *at);
    if (!number || !at)
        return NBCOLL_ERR_MEMORY;
    info.queues = nbcolli_program_number(queue, queues, draft, drafts, number);
    size_t head = nbcolli_lines(sizeof(nbcoll_program)), views = nbcolli_lines(info.queues * sizeof *queue);
    size_t bytes = head + views + drafts * sizeof(nbcoll_task);
    nbcoll_program *p = nbcolli_alloc(host, bytes, 64);
    if (!p)
        return NBCOLL_ERR_MEMORY;
    *p = (nbcoll_program){.host = *host, .memory = bytes, .info = info};
    snprintf(p->name, sizeof p->name, "%s", info.name);
    p->info.name = p->name;
    p->queue = (nbcoll_queue_view *)(void *)((char *)p + head);
    p->copy = (nbcoll_task *)(void *)((char *)p + head + views);
    for (uint32_t i = 0; i < queues; i++) {
        if (number[i] == NBCOLL_NO_QUEUE)
            continue;
        p->queue[number[i]] = queue[i];
        p->info.management += queue[i].kind == NBCOLL_QUEUE_MANAGEMENT;
    }
    nbcolli_program_fill(p, p->copy + info.copies, draft, drafts, queues, number, at);
    *out = p;
    return NBCOLL_OK;
}

void nbcoll_program_free(nbcoll_program *program)
{
    if (!program)
        return;
    nbcoll_host host = program->host;
    nbcolli_free(&host, program, program->memory);
}

nbcoll_status nbcoll_program_query(const nbcoll_program *program, nbcoll_program_info *out)
{
    return program && out ? nbcolli_give_tagged(out, &program->info, sizeof *out) : NBCOLL_ERR_NULL;
}

const nbcoll_queue_view *nbcoll_program_queue(const nbcoll_program *program, uint32_t queue)
{
    return program && queue < program->info.queues ? &program->queue[queue] : NULL;
}

const nbcoll_task *nbcoll_program_copy(const nbcoll_program *program, uint32_t copy)
{
    return program && copy < program->info.copies ? &program->copy[copy] : NULL;
}

NBCOLLI_TELLS(nbcoll_task_name, nbcoll_task_kind, NBCOLL_TASK_LIST, NBCOLLI_TEXT_OF, "?")
