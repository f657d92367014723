/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll bench --against`: nbcoll beside the MPIs of this machine, in one process with each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "against.h"
#include "bar.h"
#include "json.h"

typedef struct against {
    const against_plan *plan;
    json_t *cells[AGAINST_PEERS]; /* arrays; null for a peer that is not compared */
    char name[AGAINST_PEERS][128];
    int peer, ranks, cores;
    json_t *rows, *wrong;
    command_bar bar;
} against;

static int is_name_of(const char *name, const against_peer *peer)
{
    return strcmp(name, "mpi") == 0 || strcmp(name, peer->name) == 0;
}

static int is_asked_for(const against_plan *plan, const against_peer *peer)
{
    char name[COMMAND_WORD];
    for (const char *at = command_next_name(plan->peers, name); *name; at = command_next_name(at, name))
        if (is_name_of(name, peer))
            return 1;
    return 0;
}

/* Is each name that of a peer? */
static int are_known(const char *names)
{
    char name[COMMAND_WORD];
    int is_known;
    do {
        is_known = 0;
        names = command_next_name(names, name);
        for (int p = 0; p < AGAINST_PEERS; p++)
            is_known |= is_name_of(name, &against_peers[p]);
    } while (is_known && *names);
    return is_known;
}

static int is_noted(const json_t *wrong, const json_t *what)
{
    const json_t *one;
    size_t i;
    json_array_foreach(wrong, i, one) if (json_equal(one, what)) return 1;
    return 0;
}

/* Notes results that were wrong, and not timed: a form of an operation once, whatever the size. */
static void note_wrong(against *a, const json_t *cell)
{
    const json_t *entry;
    size_t i;
    json_array_foreach(json_object_get(cell, "entries"), i, entry)
    {
        if (json_is_true(json_object_get(entry, "right")))
            continue;
        const char *library = row_text(entry, "library");
        int is_ours = library && strcmp(library, "nbcoll") == 0;
        json_t *what = json_pack("{s:s, s:b, s:O, s:O, s:i}", "library", is_ours ? "nbcoll" : a->name[a->peer], "ours",
                                 is_ours, "form", json_object_get(entry, "form"), "operation",
                                 json_object_get(cell, "operation"), "ranks", a->ranks);
        if (!is_noted(a->wrong, what))
            json_array_append(a->wrong, what);
        json_decref(what);
    }
}

/* The first line says who is there; each other one is a cell. */
static int take(void *user, json_t *object)
{
    against *a = user;
    const against_peer *peer = &against_peers[a->peer];
    const char *mpi = row_text(object, "mpi");
    if (mpi) {
        a->cores = (int)row_number(object, "cores");
        snprintf(a->name[a->peer], sizeof a->name[0], "%s%s", mpi, peer->suffix);
        if (row_number(object, "ranks") != a->ranks)
            return command_fail(a->plan->self, "--against %s: %s is the launcher of another MPI", peer->name,
                                peer->launcher);
        return 0;
    }
    if (!json_object_get(object, "operation"))
        return 0;
    json_object_set_new(object, "ranks", json_integer(a->ranks));
    json_object_set_new(object, "cores", json_integer(a->cores));
    note_wrong(a, object);
    json_array_append(a->cells[a->peer], object);
    command_bar_add(&a->bar, 1, a->name[a->peer]);
    return 0;
}

static void compare(against *a)
{
    const char *names[AGAINST_PEERS];
    json_t *cells[AGAINST_PEERS];
    size_t most = 0, before = json_array_size(a->rows);
    for (int p = 0; p < AGAINST_PEERS; p++) {
        names[p] = a->name[p];
        most = json_array_size(a->cells[p]) > most ? json_array_size(a->cells[p]) : most;
    }
    for (size_t i = 0; i < most; i++) {
        for (int p = 0; p < AGAINST_PEERS; p++)
            cells[p] = json_array_get(a->cells[p], i);
        against_compare(cells, names, a->rows);
    }
    command_bar_clear(&a->bar);
    for (size_t i = before; i < json_array_size(a->rows); i++)
        against_print_row(a->plan->format, json_array_get(a->rows, i), json_array_get(a->rows, i - 1));
}

/* All peers, one after the other. */
static int measure(against *a, int ranks)
{
    int status = 0;
    a->ranks = ranks;
    for (a->peer = 0; a->peer < AGAINST_PEERS && !status; a->peer++) {
        const against_peer *peer = &against_peers[a->peer];
        if (!is_asked_for(a->plan, peer) || !against_is_there(peer))
            continue;
        a->cells[a->peer] = json_array();
        status = against_start(a->plan, peer, ranks, take, a);
    }
    if (!status)
        compare(a);
    for (int p = 0; p < AGAINST_PEERS; p++) {
        json_decref(a->cells[p]);
        a->cells[p] = NULL;
    }
    return status;
}

static int check(const against_plan *plan, int *peers)
{
    *peers = 0;
    for (int p = 0; p < AGAINST_PEERS; p++)
        *peers += is_asked_for(plan, &against_peers[p]) && against_is_there(&against_peers[p]);
    if (!are_known(plan->peers))
        return command_refuse(plan->self, "--against is mpi, openmpi, openmpi-no-cma or mpich, not '%s'", plan->peers);
    for (int i = 0; i < plan->operations; i++)
        if (!command_is(plan->operation[i], COMMAND_COMPARED))
            return command_refuse(plan->self, "--against does not compare %s",
                                  nbcoll_operation_name(plan->operation[i]));
    if (*peers)
        return 0;
    return command_fail(plan->self, "--against %s: neither Open MPI nor MPICH was there when this was built, or its "
                        "mpirun is not installed", plan->peers);
}

/* Are results of nbcoll's own among the wrong ones? */
static int is_refuted(const json_t *wrong)
{
    const json_t *one;
    size_t i;
    json_array_foreach(wrong, i, one) if (json_is_true(json_object_get(one, "ours"))) return 1;
    return 0;
}

static void print_all(const against *a)
{
    json_t *all = json_pack("{s:i, s:i, s:O, s:O}", "abi", (int)NBCOLL_ABI, "rounds", a->plan->rounds, "results",
                            a->rows, "wrong", a->wrong);
    command_print_json(all);
}

int against_run(const against_plan *plan)
{
    against a = {.plan = plan, .rows = json_array(), .wrong = json_array()};
    int peers, status = check(plan, &peers);
    if (!status) {
        int sizes = (int)plan->cases->counts, kinds = plan->buffers == 3 ? 2 : 1;
        int runs = plan->cases->most - plan->cases->fewest + 1;
        command_bar_begin(&a.bar, (double)peers * plan->operations * sizes * kinds * runs, 0);
        against_print_head(plan->format);
    }
    for (int ranks = plan->cases->fewest; ranks <= plan->cases->most && !status; ranks++)
        status = measure(&a, ranks);
    command_bar_clear(&a.bar);
    if (!status && plan->format == BENCH_JSON)
        print_all(&a);
    else if (!status)
        against_print_end(plan->format, a.rows, a.wrong);
    if (!status && plan->plot)
        status = against_plot(plan->self, plan->plot, a.rows);
    if (!status && is_refuted(a.wrong))
        status = COMMAND_REFUTED;
    json_decref(a.rows);
    json_decref(a.wrong);
    return status;
}
