/* SPDX-License-Identifier: BSD-3-Clause
 * A program as text, queue by queue. */
#include "program.h"

static void nbcolli_show_bytes(nbcolli_printer *p, const nbcoll_task_bytes *b)
{
    static const char *const names[] = {"send", "recv", "scratch"};
    const nbcoll_region *r = &b->region;
    if (nbcolli_is_block(r->at)) {
        nbcolli_print(p, " %s block %zu", nbcolli_is_recv_block(r->at) ? "recv" : "send", r->at.offset);
        return;
    }
    if (b->eager != NBCOLL_NO_QUEUE)
        nbcolli_print(p, " eager %lu", (unsigned long)b->eager);
    else
        nbcolli_print(p, " %s", names[r->at.buffer <= NBCOLL_BUFFER_SCRATCH ? r->at.buffer : NBCOLL_BUFFER_SCRATCH]);
    nbcolli_print(p, "[%zu,%zu)", r->at.offset, r->at.offset + r->bytes);
}

static void nbcolli_show_calc(nbcolli_printer *p, const nbcoll_task *t)
{
    nbcolli_show_bytes(p, &t->write);
    nbcolli_print(p, " <-");
    nbcolli_show_bytes(p, &t->read[0]);
    if (!t->read[1].region.bytes)
        return;
    nbcolli_print(p, " %s", nbcoll_op_name(t->reduction.op));
    nbcolli_show_bytes(p, &t->read[1]);
    nbcolli_print(p, " %s", nbcoll_type_name(t->reduction.type));
}

void nbcolli_show_task(nbcolli_printer *p, const nbcoll_task *t)
{
    nbcolli_print(p, "%s", nbcoll_task_name(t->kind));
    if (t->kind == NBCOLL_TASK_CALC)
        nbcolli_show_calc(p, t);
    else if (t->kind == NBCOLL_TASK_SEND || t->kind == NBCOLL_TASK_RECV) {
        const nbcoll_task_bytes *b = t->kind == NBCOLL_TASK_SEND ? &t->read[0] : &t->write;
        if (b->region.bytes || b->eager != NBCOLL_NO_QUEUE || nbcolli_is_block(b->region.at))
            nbcolli_show_bytes(p, b);
    } else
        nbcolli_print(p, " (%lu)", (unsigned long)t->count);
    if (t->kind == NBCOLL_TASK_WAIT)
        nbcolli_print(p, " cq %lu", (unsigned long)t->cq);
    else if (t->queue != NBCOLL_NO_QUEUE)
        nbcolli_print(p, " queue %lu", (unsigned long)t->queue);
    nbcolli_print(p, "%s", t->signal ? ", signal" : "");
}

/* A line of its own. */
static void nbcolli_show_line(nbcolli_printer *p, const nbcoll_task *t)
{
    nbcolli_print(p, "  ");
    nbcolli_show_task(p, t);
    nbcolli_print(p, "\n");
}

void nbcolli_show_queue(nbcolli_printer *p, uint32_t number, const nbcoll_queue_view *q)
{
    static const char *const kinds[] = {"eager", "clear", "bulk", "management"};
    static const char *const directions[] = {"both ways", "outward", "inward"};
    nbcolli_print(p, "queue %lu: %s", (unsigned long)number, kinds[q->kind]);
    if (q->kind != NBCOLL_QUEUE_MANAGEMENT)
        nbcolli_print(p, ", rank %d %s", q->peer, directions[q->direction]);
    if (q->held)
        nbcolli_print(p, ", holds %s%s%s", q->held & NBCOLL_HOLDS_SENDS ? "sends" : "",
                      q->held == (NBCOLL_HOLDS_SENDS | NBCOLL_HOLDS_RECEIVES) ? " and " : "",
                      q->held & NBCOLL_HOLDS_RECEIVES ? "receives" : "");
}

static void nbcolli_show_tasks(nbcolli_printer *p, uint32_t number, const nbcoll_queue_view *q)
{
    nbcolli_show_queue(p, number, q);
    if (q->receive_cq != NBCOLL_NO_QUEUE)
        nbcolli_print(p, ", receives to cq %lu", (unsigned long)q->receive_cq);
    if (q->send_cq != NBCOLL_NO_QUEUE)
        nbcolli_print(p, ", sends to cq %lu", (unsigned long)q->send_cq);
    nbcolli_print(p, "\n");
    for (uint32_t i = 0; i < q->receive_count && !p->is_stopped; i++)
        nbcolli_show_line(p, &q->receives[i]);
    for (uint32_t i = 0; i < q->send_count && !p->is_stopped; i++)
        nbcolli_show_line(p, &q->sends[i]);
}

nbcoll_status nbcoll_show_program(const nbcoll_program *program, nbcoll_write *write, void *user)
{
    if (!program || !write)
        return NBCOLL_ERR_NULL;
    nbcolli_printer p = {.write = write, .user = user};
    const nbcoll_program_info *i = &program->info;
    nbcolli_print(&p, "program ");
    nbcolli_print_name(&p, i->name, 0);
    nbcolli_print(&p, ": rank %d of %d, %llu tasks, %lu connections, %llu queue pairs, %lu eager buffers, %lu copies\n",
                  i->rank, i->ranks, (unsigned long long)i->tasks, (unsigned long)i->connections,
                  (unsigned long long)i->queue_pairs, (unsigned long)i->buffers, (unsigned long)i->copies);
    for (uint32_t queue = 0; queue < i->queues && !p.is_stopped; queue++)
        nbcolli_show_tasks(&p, queue, &program->queue[queue]);
    if (i->copies)
        nbcolli_print(&p, "at the end\n");
    for (uint32_t copy = 0; copy < i->copies && !p.is_stopped; copy++)
        nbcolli_show_line(&p, &program->copy[copy]);
    return nbcolli_print_end(&p);
}
