/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan in words. */
#include <stdio.h>

#include "counters.h"
#include "storm.h"

const char *const fault_name[FAULT_COUNT] = {"memory refused",
                                             "register_memory refused",
                                             "get fails",
                                             "put fails",
                                             "post fails",
                                             "death",
                                             "hang",
                                             "declares another lost",
                                             "leaves",
                                             "abandons",
                                             "a function of the host's fails",
                                             "a field of a header is damaged",
                                             "cancels",
                                             "calls something else",
                                             "it and another declare each other lost",
                                             "its clock jumps",
                                             "a message is of no type",
                                             "frees a communicator before its time",
                                             "a get or put cannot touch memory"};

static void print_item(const plan *p, int n)
{
    const item *i = &p->item[n];
    if (p->is_skipped[n])
        return;
    printf("  item %d on communicator %d: ", n, i->comm);
    if (i->kind != ITEM_CALL) {
        printf("%s %d",
               i->kind == ITEM_DUP         ? "dup to"
               : i->kind == ITEM_SPLIT     ? "split to"
               : i->kind == ITEM_FREE      ? "free"
               : i->kind == ITEM_CHAIN     ? "chain on"
               : i->kind == ITEM_OWN       ? "its own schedule"
               : i->kind == ITEM_MESSAGES  ? "messages"
               : i->kind == ITEM_NEIGHBORS ? "neighbours"
               : i->kind == ITEM_ELEMENTS  ? "elements"
               : i->kind == ITEM_GROUP     ? "a group of"
               : i->kind == ITEM_DEADLINE  ? "deadlines"
               : i->kind == ITEM_CROWD     ? "many at a time"
               : i->kind == ITEM_FULL      ? "a full table"
                                           : "shrink to",
               i->kind == ITEM_FREE ? i->comm : i->made);
        if (i->kind == ITEM_CHAIN)
            printf(": %s, count %zu, %d times", nbcoll_operation_name(i->o.what), i->o.count, i->times);
        printf("%s%s%s%s", i->relays ? ", with relays" : "", i->frees ? ", which is freed then" : "",
               i->is_with ? ", with configurations" : "", i->is_shared ? ", by memory" : "");
        if (i->kind == ITEM_CROWD || i->kind == ITEM_DEADLINE)
            printf(", %d times", i->times);
        if (i->fails)
            printf(", a step of member %d fails", i->fails - 1);
        if (i->cancels)
            printf(", rank %d cancels", i->cancels - 1);
        printf("\n");
        return;
    }
    printf("%s, count %zu, root %d%s", nbcoll_operation_name(i->o.what), i->o.count, i->o.root,
           i->o.in_place ? ", in place on some" : "");
    if (i->element)
        printf(", %s elements of %zu bytes", i->element == ELEMENT_PLAIN ? "plain" : "packed", i->packed);
    else
        printf(", %s", nbcoll_type_name(i->o.how.type));
    if (combines(i->o.what))
        printf(", %s",
               i->own_op ? i->own_op == 1 ? "own op" : "own op that does not commute" : nbcoll_op_name(i->o.how.op));
    printf(", %d times", i->times);
    if (i->cancels)
        printf(", rank %d cancels", i->cancels - 1);
    if (i->differs)
        printf(", rank %d calls something else", i->differs - 1);
    printf("\n");
}

static void print_net(const plan *p, const net *n)
{
    printf(
        "  %s:%s%s%s%s%s%s%s%s%s%s; payload %zu, keys of %u, channels %u, staging %u, quota %zu; of 1000: refused %u, "
        "lent %u, far %u; room %u\n",
        n == &p->net[HOME] ? "transport" : "within nodes", n->groups & HAS_LINES ? " lines" : "",
        n->groups & HAS_TAKE ? " taken" : "", n->groups & HAS_GET ? " get" : "", n->groups & HAS_PUT ? " put" : "",
        n->groups & ANY_LOCAL ? " any-local" : "", n->groups & PLAIN_KEYS ? " plain-keys" : "",
        n->groups & HAS_SHARED ? " shared" : "", n->groups & HAS_VIEW ? " view" : "",
        n->groups & HAS_WAKEUP ? " wakeup" : "", n->groups & HAS_BOUND ? " receives" : "", n->payload, n->key_bytes,
        n->channels, n->staging, n->quota, n->refused, n->lent, n->far, n->room);
    for (int r = 0; r < p->ranks && n != &p->net[HOME]; r++)
        printf("    rank %d: number %d of %d on node %d\n", r, n->at[r].rank, n->at[r].size, n->at[r].group);
}

void plan_print(const plan *p)
{
    printf("seed %llu: %d ranks; eager %zu, credits %u, slots %u, cells %u, schedules %u, flags %u, window %d%s%s%s\n",
           (unsigned long long)p->seed, p->ranks, p->eager, p->credits, p->slots, p->cells, p->schedules, p->flags,
           p->window, p->is_mixed ? "; ranks differ" : "", p->has_drivers ? "; drivers" : "",
           p->late_tags == COUNTER_ENDS ? "; counters end"
           : p->late_tags               ? "; counters near an end"
                                        : "");
    if (p->few_serials)
        printf("  each rank can make %d more communicators\n", p->few_serials - 1);
    printf("  of 1000: switches %u, ticks %u, late %u (at most %llu us)\n", p->switches, p->ticks, p->late,
           (unsigned long long)(p->latest / MICROSECOND));
    for (int n = 0; n < p->nets; n++)
        print_net(p, &p->net[n]);
    printf("%s%s%s%s%s%s",
           p->is_preempted ? "  ranks lose their cores for long\n"
           : p->at_looks   ? "  ranks lose their cores for long at looks at the clock\n"
                           : "",
           p->has_stray ? "  an endpoint is refused at first\n" : "",
           p->is_over_shm   ? "  over shm\n"
           : p->is_over_ofi ? "  over ofi\n"
                            : "",
           p->is_patient ? "  time heals nothing\n" : "", p->is_bare ? "  hosts without pause\n" : "",
           p->is_observed ? "  each step is observed\n" : "");
    if (p->has_agents)
        printf("  agents; that of rank %d is cancelled at turn %llu\n", p->agent_fails - 1,
               (unsigned long long)p->agent_at);
    for (int i = 0; i < p->items; i++)
        print_item(p, i);
    for (int i = 0; i < p->faults; i++)
        printf("  fault: rank %d: %s, from %llu on, %llu times (other %d, late %d)\n", p->fault[i].rank,
               fault_name[p->fault[i].kind], (unsigned long long)p->fault[i].at, (unsigned long long)p->fault[i].many,
               p->fault[i].other, p->fault[i].late);
}
