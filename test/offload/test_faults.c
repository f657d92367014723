/* SPDX-License-Identifier: BSD-3-Clause
 * Faults that are planted into proved programs are found: in those of every algorithm of the library without calls, at
 * 2 to 9 ranks, each kind of fault wherever the program has a place for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/offload/offload.h"
#include "compiled.h"

enum { CONFIGS = 3, KINDS = 10 };

static const nbcoll_program_config configs[CONFIGS] = {
    {.size = sizeof configs[0]},
    {.size = sizeof configs[0], .threshold = 1},
    {.size = sizeof configs[0], .eager = 16, .threshold = 64},
};

static nbcoll_task *task_of(const nbcoll_task *t)
{
    return (nbcoll_task *)(uintptr_t)t; /* a program that no test changes stays as it is */
}

static nbcoll_queue_view *management(nbcoll_program *p, uint32_t i)
{
    return i < p->info.management ? &p->queue[p->info.queues - p->info.management + i] : NULL;
}

static void remove_task(const nbcoll_task *tasks, uint32_t *count, uint32_t at)
{
    memmove(task_of(&tasks[at]), &tasks[at + 1], (*count - at - 1) * sizeof *tasks);
    --*count;
}

/* Does a step wait for another, over any edges? */
static int follows(const nbcoll_schedule *s, nbcoll_step step, nbcoll_step earlier)
{
    const nbcoll_step_view *v = nbcoll_schedule_step(s, earlier);
    for (uint32_t i = 0; i < v->after_count; i++)
        if (v->after[i] == step || follows(s, step, v->after[i]))
            return 1;
    return 0;
}

/* ---- the kinds: each returns 0 where the program has no place for it ------------------------------------------- */

static int wait_for_one_too_few(nbcoll_program *p, const nbcoll_schedule *s)
{
    nbcoll_queue_view *q;
    (void)s;
    for (uint32_t i = 0; (q = management(p, i)); i++)
        for (uint32_t k = 0; k < q->send_count; k++)
            if (q->sends[k].kind == NBCOLL_TASK_WAIT) {
                task_of(&q->sends[k])->count--;
                return 1;
            }
    return 0;
}

/* The entry that is missing is waited for later. */
static int wait_for_one_later(nbcoll_program *p, const nbcoll_schedule *s)
{
    nbcoll_queue_view *q;
    for (uint32_t i = 0; (q = management(p, i)); i++)
        for (uint32_t k = 0; k < q->send_count; k++)
            for (uint32_t later = k + 1; later < q->send_count; later++) {
                int is_between = 0;
                if (q->sends[k].kind != NBCOLL_TASK_WAIT || q->sends[later].cq != q->sends[k].cq)
                    continue;
                for (uint32_t m = k + 1; m < later; m++)
                    is_between |=
                        q->sends[m].kind == NBCOLL_TASK_SEND_ENABLE && follows(s, q->sends[m].step, q->sends[k].step);
                if (!is_between)
                    continue;
                task_of(&q->sends[k])->count--;
                task_of(&q->sends[later])->count++;
                return 1;
            }
    return 0;
}

/* `apart`: at least so many tasks between what was waited for and what it lets go. */
static int enable_before(nbcoll_program *p, const nbcoll_schedule *s, uint32_t apart)
{
    nbcoll_queue_view *q;
    for (uint32_t i = 0; (q = management(p, i)); i++)
        for (uint32_t k = 0; k < q->send_count; k++)
            for (uint32_t enable = k + 1 + apart; enable < q->send_count; enable++) {
                nbcoll_task moved = q->sends[enable];
                if (q->sends[k].kind != NBCOLL_TASK_WAIT || moved.kind != NBCOLL_TASK_SEND_ENABLE ||
                    !follows(s, moved.step, q->sends[k].step))
                    continue;
                int signal = moved.signal;
                memmove(task_of(&q->sends[k + 1]), &q->sends[k], (enable - k) * sizeof moved);
                moved.signal = 0;
                *task_of(&q->sends[k]) = moved;
                task_of(&q->sends[enable])->signal = signal;
                return 1;
            }
    return 0;
}

static int enable_too_early(nbcoll_program *p, const nbcoll_schedule *s)
{
    return enable_before(p, s, 1);
}

static int wait_and_enable_swapped(nbcoll_program *p, const nbcoll_schedule *s)
{
    return enable_before(p, s, 0);
}

static int two_branches_on_one_queue_pair(nbcoll_program *p, const nbcoll_schedule *s)
{
    (void)s;
    for (uint32_t i = 0; i + p->info.management < p->info.queues; i++)
        for (uint32_t k = 0; k < i; k++)
            if (p->queue[i].kind == p->queue[k].kind) {
                p->queue[i].peer = p->queue[k].peer;
                p->queue[i].direction = p->queue[k].direction;
                return 1;
            }
    return 0;
}

/* What one management queue enables is enabled by another one. */
static int two_branches_enable_one_queue(nbcoll_program *p, const nbcoll_schedule *s)
{
    nbcoll_queue_view *one = management(p, 0), *other = management(p, 1);
    (void)s;
    for (uint32_t i = 0; other && i < one->send_count; i++)
        for (uint32_t k = 0; k < other->send_count; k++)
            if (one->sends[i].kind == NBCOLL_TASK_SEND_ENABLE && other->sends[k].kind == NBCOLL_TASK_SEND_ENABLE) {
                task_of(&other->sends[k])->queue = one->sends[i].queue;
                return 1;
            }
    return 0;
}

/* Another block, which is as long as no other one. */
static int wrong_block(const nbcoll_program *p, nbcoll_region *region)
{
    uint32_t blocks = p->info.blocks[nbcolli_is_recv_block(region->at)];
    if (!nbcolli_is_block(region->at) || blocks < 2)
        return 0;
    region->at.offset = (region->at.offset + 1) % blocks;
    return 1;
}

static int wrong_length(nbcoll_program *p, const nbcoll_schedule *s)
{
    (void)s;
    for (uint32_t i = 0; i < p->info.queues; i++) {
        nbcoll_queue_view *q = &p->queue[i];
        for (uint32_t k = 0; k < q->send_count; k++)
            if (wrong_block(p, &task_of(&q->sends[k])->read[0].region))
                return 1;
        for (uint32_t k = 0; k < q->receive_count; k++)
            if (wrong_block(p, &task_of(&q->receives[k])->write.region))
                return 1;
        for (uint32_t k = 0; k < q->send_count; k++)
            if (q->sends[k].kind == NBCOLL_TASK_SEND && q->sends[k].read[0].region.bytes) {
                task_of(&q->sends[k])->read[0].region.bytes--;
                return 1;
            }
        for (uint32_t k = 0; k < q->receive_count; k++)
            if (q->receives[k].write.region.bytes) {
                task_of(&q->receives[k])->write.region.bytes--;
                return 1;
            }
    }
    return 0;
}

/* Neither sent nor enabled. */
static int missing_clear_to_send(nbcoll_program *p, const nbcoll_schedule *s)
{
    nbcoll_queue_view *q;
    (void)s;
    for (uint32_t clear = 0; clear < p->info.queues; clear++) {
        if (p->queue[clear].kind != NBCOLL_QUEUE_CLEAR || !p->queue[clear].send_count)
            continue;
        for (uint32_t i = 0; (q = management(p, i)); i++)
            for (uint32_t k = 0; k < q->send_count; k++)
                if (q->sends[k].queue == clear && q->sends[k].kind == NBCOLL_TASK_SEND_ENABLE) {
                    if (!--task_of(&q->sends[k])->count)
                        remove_task(q->sends, &q->send_count, k);
                    remove_task(p->queue[clear].sends, &p->queue[clear].send_count, 0);
                    return 1;
                }
        remove_task(p->queue[clear].sends, &p->queue[clear].send_count, 0);
        return 1;
    }
    return 0;
}

static int missing_wait_for_the_clear_to_send(nbcoll_program *p, const nbcoll_schedule *s)
{
    (void)s;
    for (uint32_t i = 0; i < p->info.queues; i++) {
        nbcoll_queue_view *q = &p->queue[i];
        if (q->kind == NBCOLL_QUEUE_BULK && q->send_count) {
            remove_task(q->sends, &q->send_count, 0);
            return 1;
        }
    }
    return 0;
}

static int completion_queue_used_twice(nbcoll_program *p, const nbcoll_schedule *s)
{
    (void)s;
    for (uint32_t i = 0; i < p->info.queues; i++)
        for (uint32_t k = 0; k < i; k++)
            if (p->queue[i].receive_cq != NBCOLL_NO_QUEUE && p->queue[k].receive_cq != NBCOLL_NO_QUEUE) {
                uint32_t old = p->queue[i].receive_cq, cq = p->queue[k].receive_cq;
                p->queue[i].receive_cq = cq;
                for (uint32_t q = 0; q < p->info.queues; q++)
                    for (uint32_t t = 0; t < p->queue[q].send_count; t++)
                        if (p->queue[q].sends[t].cq == old)
                            task_of(&p->queue[q].sends[t])->cq = cq;
                return 1;
            }
    return 0;
}

typedef int plant(nbcoll_program *p, const nbcoll_schedule *s);
static plant *const kinds[KINDS] = {
    wait_for_one_too_few,          enable_too_early,   wait_and_enable_swapped, two_branches_on_one_queue_pair,
    two_branches_enable_one_queue, wrong_length,       missing_clear_to_send,   missing_wait_for_the_clear_to_send,
    completion_queue_used_twice,   wait_for_one_later,
};

/* Does any rank send something on that came? */
static int passes_on(const nbcoll_algorithm *algorithm, const nbcoll_case *c)
{
    int does = 0;
    for (int rank = 0; rank < c->ranks; rank++) {
        nbcoll_schedule *s;
        const nbcoll_step_view *from, *to;
        assert_int_equal(nbcoll_build_case(algorithm, c, rank, NULL, &s), NBCOLL_OK);
        for (nbcoll_step i = 0; !does && (from = nbcoll_schedule_step(s, i)); i++)
            for (nbcoll_step k = 0; from->kind == NBCOLL_RECV && (to = nbcoll_schedule_step(s, k)); k++)
                does |= to->kind == NBCOLL_SEND && follows(s, k, i);
        nbcoll_schedule_free(s);
    }
    return does;
}

/* Has no program of the operation a place for the kind? What is left open depends on branches and their order. */
static int may_lack(plant *kind, const nbcoll_algorithm *algorithm, const nbcoll_case *c)
{
    if (kind == wait_for_one_too_few)
        return 0;
    if (kind == wait_and_enable_swapped)
        return !passes_on(algorithm, c);
    if (kind == two_branches_on_one_queue_pair || kind == completion_queue_used_twice)
        return c->ranks == 2;
    if (kind == wrong_length || kind == missing_clear_to_send || kind == missing_wait_for_the_clear_to_send)
        return c->operation == NBCOLL_OPERATION_BARRIER; /* it has no bytes */
    return 1;
}

/* ---- planting -------------------------------------------------------------------------------------------------- */

static nbcoll_status verify(const compiled *p, const nbcoll_meaning *meaning, nbcoll_refutation *why)
{
    *why = (nbcoll_refutation){.size = sizeof *why};
    return nbcoll_verify_programs((const nbcoll_schedule *const *)p->schedule,
                                  (const nbcoll_program *const *)p->program, meaning, NULL, why);
}

/* Plants a kind into the program of the first rank from `rank` on that has a place for it. 0: none has. */
static int plant_one(const nbcoll_algorithm *algorithm, const nbcoll_case *c, int config, int kind)
{
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_refutation why;
    compiled p;
    int is_planted = 0;
    assert_int_equal(nbcoll_meaning_of(c, algorithm->flags, &meaning), NBCOLL_OK);
    if (compiled_open(&p, algorithm, c, &configs[config]) == NBCOLL_OK) {
        for (int i = 0; i < c->ranks && !is_planted; i++) {
            int rank = (i + c->ranks / 2) % c->ranks;
            is_planted = kinds[kind](p.program[rank], p.schedule[rank]);
        }
        if (is_planted && verify(&p, &meaning, &why) != NBCOLL_ERR_VERIFY)
            fail_msg("fault %d is not found in %s/%s of %d, configuration %d", kind,
                     nbcoll_operation_name(c->operation), algorithm->name, c->ranks, config);
    }
    compiled_close(&p);
    return is_planted;
}

/* In one configuration at least: each kind, or there is no place for it. */
static void plant_all(const nbcoll_algorithm *algorithm, const nbcoll_case *c, int planted[KINDS])
{
    for (int kind = 0; kind < KINDS; kind++) {
        int is_planted = 0;
        for (int config = 0; config < CONFIGS && !is_planted; config++)
            is_planted = plant_one(algorithm, c, config, kind);
        planted[kind] += is_planted;
        if (!is_planted && !may_lack(kinds[kind], algorithm, c))
            fail_msg("fault %d is planted nowhere in %s/%s of %d", kind, nbcoll_operation_name(c->operation),
                     algorithm->name, c->ranks);
    }
}

static void planted_faults_are_found_in_the_programs_of_all_algorithms(void **state)
{
    static const size_t counts[] = {9, 40};
    static const int room[] = {3, 1};
    nbcoll_placement placement = {.size = sizeof placement, .room = room, .rooms = 2};
    int planted[KINDS] = {0};
    (void)state;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        const nbcoll_algorithm *algorithm;
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, i)); i++)
            for (int ranks = 2; ranks <= 9; ranks++) {
                nbcoll_case c = compiled_case((nbcoll_operation)operation, ranks, counts[ranks % 2]);
                nbcoll_nodes *nodes = NULL;
                if (algorithm->flags & NBCOLL_ALGORITHM_NODES)
                    assert_int_equal(nbcoll_nodes_place(&placement, ranks, NULL, &nodes), NBCOLL_OK);
                c.nodes = nodes;
                c.known = ranks % 2 || algorithm->flags & NBCOLL_ALGORITHM_COUNTS; /* else blocks are bound */
                c.spread = NBCOLL_SPREAD_RISING;
                plant_all(algorithm, &c, planted);
                nbcoll_nodes_free(nodes);
            }
    }
    for (int kind = 0; kind < KINDS; kind++)
        assert_true(planted[kind] > 40);
}

/* One rank that waits before it sends is late, and no more; two that wait for each other are a circle. */
static void ranks_that_wait_for_each_other_before_they_send_are_a_deadlock(void **state)
{
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BARRIER, 4, 0);
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_refutation why;
    compiled p;
    (void)state;
    assert_int_equal(nbcoll_meaning_of(&c, 0, &meaning), NBCOLL_OK);
    compiled_open(&p, nbcoll_algorithm_find(NBCOLL_OPERATION_BARRIER, "recursive_doubling"), &c, NULL);
    for (int rank = 0; rank < 2; rank++) {
        nbcoll_queue_view *q = management(p.program[rank], 0);
        nbcoll_task enable = q->sends[0];
        *task_of(&q->sends[0]) = q->sends[1];
        *task_of(&q->sends[1]) = enable;
        assert_int_equal(verify(&p, &meaning, &why), rank == 0 ? NBCOLL_OK : NBCOLL_ERR_VERIFY);
    }
    assert_string_equal(nbcoll_flaw_name(why.flaw), "DEADLOCK");
    compiled_close(&p);
}

static void a_refutation_names_the_fault(void **state)
{
    nbcoll_case c = compiled_case(NBCOLL_OPERATION_BARRIER, 8, 0);
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_refutation why;
    compiled p;
    (void)state;
    assert_int_equal(nbcoll_meaning_of(&c, 0, &meaning), NBCOLL_OK);
    compiled_open(&p, nbcoll_algorithm_find(NBCOLL_OPERATION_BARRIER, "recursive_doubling"), &c, NULL);
    assert_int_equal(wait_and_enable_swapped(p.program[0], p.schedule[0]), 1);
    assert_int_equal(verify(&p, &meaning, &why), NBCOLL_ERR_VERIFY);
    assert_string_equal(nbcoll_flaw_name(why.flaw), "UNORDERED");
    assert_string_equal(why.text, "barrier/recursive_doubling: program: the second step's tasks may begin before the "
                                  "first step has ended: rank 0, step 3, step 4");
    assert_int_equal(why.places, 2);
    compiled_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planted_faults_are_found_in_the_programs_of_all_algorithms),
        cmocka_unit_test(ranks_that_wait_for_each_other_before_they_send_are_a_deadlock),
        cmocka_unit_test(a_refutation_names_the_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
