/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll bench --against`: nbcoll beside the MPIs of this machine, in one process with each. */
#include <stdio.h>
#include <string.h>

#include "against.h"

typedef struct against {
    const benchmark *asked;
    json_t *cells[AGAINST_PEERS]; /* arrays; null for a peer that is not compared */
    char name[AGAINST_PEERS][128];
    int is_compared[AGAINST_PEERS], peer, ranks, cores;
    json_t *rows, *wrong; /* an array; an object, whose names say what was wrong */
    int is_refuted;       /* something of nbcoll's own was wrong */
    command_bar bar;
} against;

/* Takes results that were wrong, and not timed, out of a cell, and notes them: a form of an operation once, whatever
 * the size. */
static void take_wrong(against *a, const json_t *cell)
{
    json_t *entries = json_object_get(cell, "entries");
    for (size_t i = json_array_size(entries); i-- > 0;) {
        const json_t *entry = json_array_get(entries, i);
        if (json_is_true(json_object_get(entry, "right")))
            continue;
        char what[256];
        int is_ours = row_is(entry, "library", "nbcoll");
        const char *library = is_ours ? "nbcoll" : a->name[a->peer];
        const char *form = row_text(entry, "form"), *operation = row_text(cell, "operation");
        snprintf(what, sizeof what, "%s, %s %s of %d ranks", library, form, operation, a->ranks);
        json_object_set_new(a->wrong, what, json_pack("{s:s, s:b, s:s, s:s, s:i}", "library", library, "ours", is_ours,
                                                      "form", form, "operation", operation, "ranks", a->ranks));
        a->is_refuted |= is_ours;
        json_array_remove(entries, i);
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
            return command_fail(a->asked->self, "--against %s: %s is the launcher of another MPI", peer->name,
                                peer->launcher);
        return 0;
    }
    if (!json_object_get(object, "operation"))
        return 0;
    json_object_update_new(object, json_pack("{s:s, s:i, s:i, s:O}", "peer", a->name[a->peer], "ranks", a->ranks,
                                             "cores", a->cores, "line_us", json_object_get(object, "latency")));
    take_wrong(a, object);
    against_take_medians(object);
    json_array_append(a->cells[a->peer], object);
    command_bar_add(&a->bar, 1, a->name[a->peer]);
    return 0;
}

static void compare(against *a)
{
    size_t before = json_array_size(a->rows);
    for (size_t i = 0; against_compare(a->cells, i, a->rows); i++)
        ;
    command_bar_clear(&a->bar);
    for (size_t i = before; i < json_array_size(a->rows); i++)
        against_print_row(a->asked->format, json_array_get(a->rows, i), json_array_get(a->rows, i - 1));
}

/* All peers, one after the other. */
static int measure(against *a, int ranks)
{
    int status = 0;
    a->ranks = ranks;
    for (a->peer = 0; a->peer < AGAINST_PEERS && !status; a->peer++) {
        if (!a->is_compared[a->peer])
            continue;
        a->cells[a->peer] = json_array();
        status = against_start(a->asked, &against_peers[a->peer], ranks, take, a);
    }
    if (!status)
        compare(a);
    for (int p = 0; p < AGAINST_PEERS; p++) {
        json_decref(a->cells[p]);
        a->cells[p] = NULL;
    }
    return status;
}

/* Which peers are compared, and how many? 0, or an exit status after naming what is wrong. */
static int find_peers(against *a, int *peers)
{
    const benchmark *b = a->asked;
    const char *at = b->against;
    *peers = 0;
    do {
        char name[COMMAND_WORD];
        int is_known = 0;
        at = command_next_name(at, name);
        for (int p = 0; p < AGAINST_PEERS; p++)
            if (strcmp(name, "mpi") == 0 || strcmp(name, against_peers[p].name) == 0) {
                is_known = 1;
                a->is_compared[p] = against_is_there(&against_peers[p]);
                *peers += a->is_compared[p];
            }
        if (!is_known)
            return command_refuse(b->self, "--against is mpi, openmpi, openmpi-no-cma or mpich, not '%s'", b->against);
    } while (*at);
    for (int i = 0; i < b->operations; i++)
        if (!command_is(b->operation[i], COMMAND_COMPARED))
            return command_refuse(b->self, "--against does not compare %s", nbcoll_operation_name(b->operation[i]));
    if (*peers)
        return 0;
    return command_fail(b->self, "--against %s: neither Open MPI nor MPICH was there when this was built, or its "
                        "mpirun is not installed", b->against);
}

static void print_all(const against *a)
{
    json_t *wrong = json_array(), *one;
    const char *what;
    json_object_foreach(a->wrong, what, one)
        json_array_append(wrong, one);
    command_print_json(json_pack("{s:i, s:i, s:O, s:o}", "abi", (int)NBCOLL_ABI, "rounds", a->asked->plan.rounds,
                                 "results", a->rows, "wrong", wrong));
}

int against_run(const benchmark *b)
{
    against a = {.asked = b, .rows = json_array(), .wrong = json_object()};
    int peers, status = find_peers(&a, &peers);
    if (!status) {
        int cells = b->operations * (int)b->cases.counts * (b->buffers == 3 ? 2 : 1);
        command_bar_begin(&a.bar, (double)peers * cells * (b->cases.most - b->cases.fewest + 1), 0);
        against_print_head(b->format);
    }
    for (int ranks = b->cases.fewest; ranks <= b->cases.most && !status; ranks++)
        status = measure(&a, ranks);
    command_bar_clear(&a.bar);
    if (!status && b->format == BENCH_JSON)
        print_all(&a);
    else if (!status)
        against_print_end(b->format, a.rows, a.wrong);
    if (!status && b->plot)
        status = against_plot(b->self, b->plot, a.rows);
    if (!status && a.is_refuted)
        status = COMMAND_REFUTED;
    json_decref(a.rows);
    json_decref(a.wrong);
    return status;
}
