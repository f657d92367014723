/* SPDX-License-Identifier: BSD-3-Clause
 * Programs for Graphviz: a column for each queue. */
#include "program.h"

/* The tasks of one side of a queue, from the one that begins it on; `side`: s or r. */
typedef struct nbcolli_column {
    int rank;
    uint32_t queue;
    char side;
    const nbcoll_task *task;
    uint32_t count;
} nbcolli_column;

static nbcolli_column nbcolli_column_of(const nbcoll_program *program, uint32_t queue, char side)
{
    const nbcoll_queue_view *q = &program->queue[queue];
    int is_send = side == 's';
    return (nbcolli_column){program->info.rank, queue, side, is_send ? q->sends : q->receives,
                            is_send ? q->send_count : q->receive_count};
}

static void nbcolli_column_node(nbcolli_printer *p, const nbcolli_column *c, uint32_t task)
{
    nbcolli_print(p, "r%d_q%lu_%c%lu", c->rank, (unsigned long)c->queue, c->side, (unsigned long)task);
}

/* A cluster: the tasks one below the other. */
static void nbcolli_column_draw(nbcolli_printer *p, const nbcolli_column *c, const char *label)
{
    if (!c->count)
        return;
    nbcolli_print(p, "            subgraph cluster_%d_%lu_%c {\n                label=\"%s\"\n", c->rank,
                  (unsigned long)c->queue, c->side, label);
    for (uint32_t i = 0; i < c->count && !p->is_stopped; i++) {
        nbcolli_print(p, "                ");
        nbcolli_column_node(p, c, i);
        nbcolli_print(p, " [label=\"");
        nbcolli_show_task(p, &c->task[i]);
        nbcolli_print(p, "\"]\n");
    }
    for (uint32_t i = 0; i + 1 < c->count && !p->is_stopped; i++) {
        nbcolli_print(p, "                ");
        nbcolli_column_node(p, c, i);
        nbcolli_print(p, " -> ");
        nbcolli_column_node(p, c, i + 1);
        nbcolli_print(p, "\n");
    }
    nbcolli_print(p, "            }\n");
}

/* Does a task of that column put an entry into the completion queue? */
static int nbcolli_column_counts(const nbcolli_column *c, uint32_t task)
{
    return c->side == 'r' || (c->task[task].kind == NBCOLL_TASK_SEND && c->task[task].signal);
}

/* A completion queue: a cluster with its entries, and an edge to each from the task whose end it is. */
static void nbcolli_dot_cq(nbcolli_printer *p, const nbcolli_column *c, uint32_t cq)
{
    uint32_t entries = 0;
    if (cq == NBCOLL_NO_QUEUE)
        return;
    nbcolli_print(p, "            subgraph cluster_%d_cq%lu {\n                label=\"cq %lu\"\n", c->rank,
                  (unsigned long)cq, (unsigned long)cq);
    for (uint32_t i = 0; i < c->count && !p->is_stopped; i++)
        if (nbcolli_column_counts(c, i)) {
            nbcolli_print(p, "                r%d_cq%lu_%lu [shape=circle, label=\"%lu\"]\n", c->rank,
                          (unsigned long)cq, (unsigned long)entries, (unsigned long)entries + 1);
            entries++;
        }
    for (uint32_t i = 0; i + 1 < entries && !p->is_stopped; i++)
        nbcolli_print(p, "                r%d_cq%lu_%lu -> r%d_cq%lu_%lu\n", c->rank, (unsigned long)cq,
                      (unsigned long)i, c->rank, (unsigned long)cq, (unsigned long)i + 1);
    nbcolli_print(p, "            }\n");
    entries = 0;
    for (uint32_t i = 0; i < c->count && !p->is_stopped; i++)
        if (nbcolli_column_counts(c, i)) {
            nbcolli_print(p, "            ");
            nbcolli_column_node(p, c, i);
            nbcolli_print(p, " -> r%d_cq%lu_%lu [constraint=false]\n", c->rank, (unsigned long)cq,
                          (unsigned long)entries++);
        }
}

static void nbcolli_dot_queue(nbcolli_printer *p, const nbcoll_program *program, uint32_t queue)
{
    const nbcoll_queue_view *q = &program->queue[queue];
    nbcolli_column sends = nbcolli_column_of(program, queue, 's'), receives = nbcolli_column_of(program, queue, 'r');
    nbcolli_print(p, "        subgraph cluster_%d_%lu {\n            label=\"", program->info.rank,
                  (unsigned long)queue);
    nbcolli_show_queue(p, queue, q);
    nbcolli_print(p, "\"\n");
    nbcolli_column_draw(p, &sends, q->kind == NBCOLL_QUEUE_MANAGEMENT ? "tasks" : "sends");
    nbcolli_dot_cq(p, &sends, q->send_cq);
    nbcolli_column_draw(p, &receives, "receives");
    nbcolli_dot_cq(p, &receives, q->receive_cq);
    nbcolli_print(p, "        }\n");
}

/* How many of the entries, sends or receives of that task's queue the tasks before it in a column speak of. */
static uint32_t nbcolli_column_before(const nbcolli_column *c, uint32_t task)
{
    const nbcoll_task *t = &c->task[task];
    uint32_t before = 0;
    for (uint32_t i = 0; i < task; i++)
        if (c->task[i].kind == t->kind && c->task[i].cq == t->cq && c->task[i].queue == t->queue)
            before += c->task[i].count;
    return before;
}

/* From an enable to what it enables. */
static void nbcolli_dot_enable(nbcolli_printer *p, const nbcoll_program *program, const nbcolli_column *c,
                               uint32_t task)
{
    const nbcoll_task *t = &c->task[task];
    nbcolli_column to = nbcolli_column_of(program, t->queue, t->kind == NBCOLL_TASK_SEND_ENABLE ? 's' : 'r');
    uint32_t first = nbcolli_column_before(c, task), messages = 0;
    for (uint32_t i = 0; i < to.count && !p->is_stopped; i++) {
        if (to.task[i].kind == NBCOLL_TASK_WAIT)
            continue;
        if (messages >= first && messages - first < t->count) {
            nbcolli_print(p, "        ");
            nbcolli_column_node(p, c, task);
            nbcolli_print(p, " -> ");
            nbcolli_column_node(p, &to, i);
            nbcolli_print(p, " [constraint=false, color=blue]\n");
        }
        messages++;
    }
}

/* What waits and enables of a queue lead to. */
static void nbcolli_dot_edges(nbcolli_printer *p, const nbcoll_program *program, uint32_t queue)
{
    nbcolli_column c = nbcolli_column_of(program, queue, 's');
    for (uint32_t i = 0; i < c.count && !p->is_stopped; i++) {
        const nbcoll_task *t = &c.task[i];
        uint32_t first = nbcolli_column_before(&c, i);
        if (t->kind == NBCOLL_TASK_SEND_ENABLE || t->kind == NBCOLL_TASK_RECEIVE_ENABLE)
            nbcolli_dot_enable(p, program, &c, i);
        for (uint32_t k = 0; t->kind == NBCOLL_TASK_WAIT && k < t->count; k++) {
            nbcolli_print(p, "        ");
            nbcolli_column_node(p, &c, i);
            nbcolli_print(p, " -> r%d_cq%lu_%lu [constraint=false, style=dashed]\n", c.rank, (unsigned long)t->cq,
                          (unsigned long)first + k);
        }
    }
}

static void nbcolli_dot_program(nbcolli_printer *p, const nbcoll_program *program)
{
    const nbcoll_program_info *info = &program->info;
    nbcolli_print(p, "    subgraph cluster_%d {\n        label=\"", info->rank);
    nbcolli_print_name(p, info->name, 1);
    nbcolli_print(p, ": rank %d of %d\"\n", info->rank, info->ranks);
    if (!info->queues && !info->copies)
        nbcolli_print(p, "        r%d_none [label=\"no tasks\"]\n", info->rank);
    for (uint32_t i = 0; i < info->queues && !p->is_stopped; i++)
        nbcolli_dot_queue(p, program, i);
    for (uint32_t i = 0; i < info->queues && !p->is_stopped; i++)
        nbcolli_dot_edges(p, program, i);
    nbcolli_column copies = {info->rank, info->queues, 'c', program->copy, info->copies};
    nbcolli_column_draw(p, &copies, "at the end");
    nbcolli_print(p, "    }\n");
}

nbcoll_status nbcoll_show_programs_dot(const nbcoll_program *const programs[], size_t n, nbcoll_write *write,
                                       void *user)
{
    if (!write || (n && !programs))
        return NBCOLL_ERR_NULL;
    for (size_t i = 0; i < n; i++)
        if (!programs[i])
            return NBCOLL_ERR_NULL;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (programs[k]->info.rank == programs[i]->info.rank)
                return NBCOLL_ERR_ARGUMENT;
    nbcolli_printer p = {.write = write, .user = user};
    nbcolli_print(&p, "digraph nbcoll {\n    node [shape=box, fontname=\"monospace\"]\n");
    for (size_t i = 0; i < n; i++)
        nbcolli_dot_program(&p, programs[i]);
    nbcolli_print(&p, "}\n");
    return nbcolli_print_end(&p);
}
