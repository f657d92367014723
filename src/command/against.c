/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll bench --against`: nbcoll beside the MPIs of this machine, in one process with each. A *peer* is an MPI as its
 * launcher is told to run it. The programs of bench/against hold nbcoll and one MPI; the command starts one for each
 * peer, reads a line of JSON for each *cell* (an operation, a size, how buffers are used), and puts those of all peers
 * together. */
#include "bench.h"

enum { PEERS = 3, LINE = 4096 /* of a shell */ };

/* ---- the peers --------------------------------------------------------------------------------------------------- */

typedef struct against_peer {
    const char *name;     /* as the user says it */
    const char *suffix;   /* behind the MPI's name and version */
    const char *program;  /* its name in bench/against */
    const char *launcher; /* and if that is not installed, mpirun; */
    const char *options;  /* what it is told */
} against_peer;

#define NO_CMA " --mca btl_vader_single_copy_mechanism none"
#define OPEN_MPI "--oversubscribe --bind-to none"

static const against_peer against_peers[PEERS] = {
    {"openmpi", "", "openmpi", "mpirun.openmpi", OPEN_MPI},
    {"openmpi-no-cma", " without CMA", "openmpi", "mpirun.openmpi", OPEN_MPI NO_CMA},
    {"mpich", "", "mpich", "mpirun.mpich", "-bind-to none"},
};

/* Seen from this command, where it was built, or installed. 0 if it is not there. */
static int find_program(const against_peer *peer, char file[4200])
{
    return command_find_beside("bench/against", "", peer->program, "", file, 4200) ||
           command_find_beside("../libexec/nbcoll", "", peer->program, "", file, 4200);
}

static const char *launcher_of(const against_peer *peer)
{
    return command_is_installed(peer->launcher) ? peer->launcher : "mpirun";
}

/* Is its program built, and its launcher installed? */
static int is_there(const against_peer *peer)
{
    char file[4200];
    return find_program(peer, file) && command_is_installed(launcher_of(peer));
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* For Open MPI's launcher, where nothing else is said. It takes ranks that outnumber what it calls slots for a reason
 * to yield, and slots may be fewer than processors: so it is told. */
#define UNLESS_SAID(name) name "=${" name "-"
#define VARIABLES                                                                                                      \
    "export " UNLESS_SAID("OMPI_ALLOW_RUN_AS_ROOT") "1} " UNLESS_SAID("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") "1} "          \
    UNLESS_SAID("OMPI_MCA_mpi_yield_when_idle") "%d}; "

/* What the shell is to run, and what ends with this command. */
static void write_line(char line[LINE], const benchmark *b, const against_peer *peer, int ranks)
{
    static const char *const buffers[] = {"reused", "changing", "both"};
    snprintf(line, LINE, VARIABLES "exec setpriv --pdeathsig TERM %s %s -n %d \"$NBCOLL_AGAINST\"",
             ranks > bench_cores(), launcher_of(peer), peer->options, ranks);
    for (int i = 0; i < b->operations; i++)
        command_add(line, LINE, " -o %s", nbcoll_operation_name(b->operation[i]));
    for (size_t i = 0; i < b->cases.counts; i++)
        command_add(line, LINE, " -c %zu", b->cases.count[i]);
    command_add(line, LINE, " -b %s -r %d -i %d%s%s", buffers[b->buffers - 1], b->plan.rounds, b->plan.iterations,
                b->is_relaxed ? " -k" : "", b->has_parts ? " -x" : "");
    if (b->latency)
        command_add(line, LINE, " -l %s -h %s", *b->latency == 'X' ? "0.13" : *b->latency == 'C' ? "0.038" : "0",
                    *b->latency == 'S' ? "0.038" : *b->latency == 'C' ? "0.13" : "1e9");
}

/* ---- statistics -------------------------------------------------------------------------------------------------- */

/* How many rounds of an entry there are, and how long they took. */
static size_t read_rounds(const json_t *entry, double out[AGAINST_ROUNDS])
{
    const json_t *us = json_object_get(entry, "us");
    size_t n = json_array_size(us) < AGAINST_ROUNDS ? json_array_size(us) : AGAINST_ROUNDS;
    for (size_t i = 0; i < n; i++)
        out[i] = json_number_value(json_array_get(us, i));
    return n;
}

/* Gives each entry of a cell the median of its rounds, `median`. */
static void take_medians(const json_t *cell)
{
    json_t *entry;
    size_t i, n;
    double us[AGAINST_ROUNDS];
    json_array_foreach(json_object_get(cell, "entries"), i, entry)
        if ((n = read_rounds(entry, us)) > 0)
            json_object_set_new(entry, "median", json_real(bench_spread_of(us, n).median));
}

/* Of the entries of a library, a memory and a form, which both may be null for any, the one that is the fastest;
 * null: none was timed. */
static const json_t *fastest(const json_t *cell, const char *library, const char *memory, const char *form)
{
    const json_t *best = NULL, *entry;
    size_t i;
    json_array_foreach(json_object_get(cell, "entries"), i, entry)
        if (row_is(entry, "library", library) && (!memory || row_is(entry, "memory", memory)) &&
            (!form || row_is(entry, "form", form)) && json_object_get(entry, "median") &&
            (!best || row_real(entry, "median") < row_real(best, "median")))
            best = entry;
    return best;
}

/* The parts of the time of a start and its wait, persistent or not, where they were measured. Calls: what they take
 * where nobody waits and no line crosses, of 8 bytes; copies: the bare ones; lines: what is left of start and wait with
 * a meeting between; waiting: what they take more without it. */
static void add_parts(json_t *row, const json_t *cell, const char *memory, const char *form)
{
    int is_persistent = strcmp(form, "persistent") == 0;
    const json_t *apart = fastest(cell, "nbcoll", memory, is_persistent ? "apart" : "started apart");
    double calls = row_real(cell, is_persistent ? "calls" : "started_calls"), us = row_real(apart, "median");
    double copies = row_real(row, "copies");
    if (apart)
        json_object_update_new(row, json_pack("{s:{s:f, s:f, s:f, s:f}}", "parts", "calls", calls, "copies", copies,
                                              "lines", us - calls - copies, "waiting", row_real(row, "us") - us));
}

/* A form of nbcoll's beside the peer's fastest one. Null: there is nothing to compare. */
static json_t *row_of(const json_t *cell, const char *memory, const char *form)
{
    const json_t *ours = fastest(cell, "nbcoll", memory, form), *theirs = fastest(cell, "mpi", NULL, NULL);
    const json_t *copies = fastest(cell, "copies", memory, NULL);
    double us[AGAINST_ROUNDS], peer_us[AGAINST_ROUNDS];
    size_t n = read_rounds(ours, us);
    if (n == 0 || read_rounds(theirs, peer_us) != n)
        return NULL;
    against_interval ratio = against_ratio(us, peer_us, n);
    json_t *row = row_part(cell, "operation,ranks,bytes,peer,cores,line_us,retaken,preempted");
    json_object_update_new(
        row, json_pack("{s:s, s:s, s:s, s:f, s:f, s:s, s:f, s:f, s:f, s:f}", "buffers",
                       row_number(cell, "turns") > 1 ? "in turn" : "reused", "memory", memory, "form", form, "us",
                       row_real(ours, "median"), "p99", row_real(ours, "p99"), "peer_form", row_text(theirs, "form"),
                       "peer_us", row_real(theirs, "median"), "ratio", ratio.median, "low", ratio.low, "high",
                       ratio.high));
    if (copies)
        json_object_update_new(row, json_pack("{s:f, s:O}", "copies", row_real(copies, "median"), "copies_by",
                                              json_object_get(copies, "form")));
    if (strcmp(form, "blocking") != 0)
        add_parts(row, cell, memory, form);
    return row;
}

/* The row of the peer that is furthest ahead, or null. */
static json_t *worst_row(json_t *const cells[PEERS], size_t i, const char *memory, const char *form)
{
    json_t *worst = NULL;
    for (int p = 0; p < PEERS; p++) {
        json_t *row = row_of(json_array_get(cells[p], i), memory, form);
        int is_worse = row && row_real(row, "ratio") > row_real(worst, "ratio");
        json_decref(is_worse ? worst : row);
        worst = is_worse ? row : worst;
    }
    return worst;
}

/* Compares cell i of all peers, whose entries have medians: cells[p] are those of peer p, null if it was not run.
 * Appends rows to `rows`, an array, one for each memory and form of nbcoll's. 0: nobody has a cell i. */
static int compare_cell(json_t *const cells[PEERS], size_t i, json_t *rows)
{
    static const char *const memories[] = {"private", "shared"};
    static const char *const forms[] = {"blocking", "nonblocking", "persistent"};
    int is_there = 0;
    for (int m = 0; m < 2; m++)
        for (int f = 0; f < 3; f++)
            json_array_append_new(rows, worst_row(cells, i, memories[m], forms[f])); /* null: nothing is appended */
    for (int p = 0; p < PEERS; p++)
        is_there |= i < json_array_size(cells[p]);
    return is_there;
}

/* ---- a table, or CSV --------------------------------------------------------------------------------------------- */

#define CSV                                                                                                            \
    "operation,ranks,bytes,buffers,memory,form,us,p99,peer,peer_form,peer_us,ratio,low,high,copies,line_us.0,"         \
    "line_us.1,retaken,preempted,parts.calls,parts.lines,parts.waiting"

static void print_head(bench_format format)
{
    if (format == BENCH_TABLE)
        puts(" memory  form              us     peer ratio  95% between     copies");
    if (format == BENCH_CSV)
        puts("operation,ranks,bytes,buffers,memory,form,us,p99,peer,peer_form,peer_us,ratio,low,high,copies,"
             "line_before,line_after,retaken,preempted,calls,lines,waiting");
}

/* Below what a row is about, where that is not as in the row before. */
static void print_table_row(const json_t *row, const json_t *before)
{
    if (!before || !row_same(before, row, "operation,ranks,bytes,buffers,peer,peer_form,line_us"))
        row_print(row, "%s{operation}, %d{ranks} ranks, %d{bytes} bytes, buffers %s{buffers}; a line %.3f{line_us.0}, "
                       "%.3f{line_us.1} us;\n  beside %s{peer}, %s{peer_form}\n");
    row_print(row, " %-7s{memory} %-11s{form} %8.2f{us} %8.2f{peer_us} %5.2f{ratio} %5.2f{low} %5.2f{high}");
    row_print(row, json_object_get(row, "copies") ? " %10t{copies}\n" : "\n");
    if (json_object_get(row, "parts"))
        row_print(row,
                  "                       = %.2f{parts.calls} calls + %.2f{parts.copies} copies + %.2f{parts.lines} "
                  "lines + %.2f{parts.waiting} waiting\n");
    if (row_number(row, "preempted"))
        row_print(row, "                       (%d{preempted} batches with a preempted rank)\n");
}

/* `before`: the row before, or null. */
static void print_row(bench_format format, const json_t *row, const json_t *before)
{
    if (format == BENCH_TABLE)
        print_table_row(row, before);
    if (format == BENCH_CSV)
        row_print_csv(row, CSV);
    fflush(stdout);
}

/* ---- the summary ------------------------------------------------------------------------------------------------- */

/* The rows of a group, by its name: how many there are, the median of their ratios, and the worst of them. */
static void print_group(const char *name, const json_t *rows)
{
    size_t n = json_array_size(rows), i;
    double *ratio = malloc(n * sizeof *ratio);
    const json_t *row, *worst = NULL;
    json_array_foreach(rows, i, row)
    {
        if (ratio)
            ratio[i] = row_real(row, "ratio");
        worst = !worst || row_real(row, "ratio") > row_real(worst, "ratio") ? row : worst;
    }
    if (ratio)
        printf("%s %5zu %6.2f %5.2f %s %lld\n", name, n, bench_spread_of(ratio, n).median, row_real(worst, "ratio"),
               row_text(worst, "operation"), row_number(worst, "bytes"));
    free(ratio);
}

/* Rows that are alike in ranks, size or memory, kind of operation and form are a group. */
static void print_summary(const json_t *rows)
{
    json_t *groups = json_object(), *row;
    const char *name;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        char group[64];
        long long bytes = row_number(row, "bytes");
        int is_shared = row_is(row, "memory", "shared");
        snprintf(group, sizeof group, "%5lld %-8s %-6s %-11s", row_number(row, "ranks"),
                 is_shared ? "shared" : bytes <= 1024 ? "to 1 K" : bytes < 262144 ? "16, 64 K" : "256 K up",
                 strstr(row_text(row, "operation"), "reduce") ? "reduce" : "data", row_text(row, "form"));
        if (!json_object_get(groups, group))
            json_object_set_new(groups, group, json_array());
        json_array_append(json_object_get(groups, group), row);
    }
    puts("\nranks bytes    kind   form        cells median worst ratio");
    json_object_foreach(groups, name, row)
        print_group(name, row);
    json_decref(groups);
}

/* `wrong`: an object, of which the names say what was. */
static void print_end(bench_format format, const json_t *rows, json_t *wrong)
{
    const char *what;
    json_t *one;
    if (format == BENCH_TABLE && json_array_size(rows))
        print_summary(rows);
    json_object_foreach(wrong, what, one)
        fprintf(format == BENCH_TABLE ? stdout : stderr, "wrong, not timed: %s\n", what);
}

/* ---- a picture --------------------------------------------------------------------------------------------------- */

/* nbcoll's lines, and behind the persistent one of each kind of buffers that of the best peer. */
static void plot(const command *self, const char *file, const json_t *rows)
{
    json_t *pictures = json_object(), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        const char *buffers = row_text(row, "buffers");
        bench_add_point(pictures, row, row_real(row, "us"), "nbcoll, %s, %s, %s", row_text(row, "form"),
                        row_text(row, "memory"), buffers);
        if (row_is(row, "form", "persistent") && !row_is(row, "memory", "shared"))
            bench_add_point(pictures, row, row_real(row, "peer_us"), "best peer, %s", buffers);
    }
    bench_draw(self, file, pictures);
}

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

typedef struct against {
    const benchmark *asked;
    json_t *cells[PEERS]; /* arrays; null for a peer that is not compared */
    char name[PEERS][128];
    int is_compared[PEERS], peer, ranks, cores;
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
static void take(against *a, json_t *object)
{
    const against_peer *peer = &against_peers[a->peer];
    const char *mpi = row_text(object, "mpi");
    if (*mpi) {
        a->cores = (int)row_number(object, "cores");
        snprintf(a->name[a->peer], sizeof a->name[0], "%s%s", mpi, peer->suffix);
        if (row_number(object, "ranks") != a->ranks)
            command_fail(a->asked->self, "--against %s: %s is the launcher of another MPI", peer->name,
                         peer->launcher);
    }
    if (!json_object_get(object, "operation"))
        return;
    json_object_update_new(object, json_pack("{s:s, s:i, s:i, s:O}", "peer", a->name[a->peer], "ranks", a->ranks,
                                             "cores", a->cores, "line_us", json_object_get(object, "latency")));
    take_wrong(a, object);
    take_medians(object);
    json_array_append(a->cells[a->peer], object);
    command_bar_add(&a->bar, 1, a->name[a->peer]);
}

static void compare(against *a)
{
    size_t before = json_array_size(a->rows);
    for (size_t i = 0; compare_cell(a->cells, i, a->rows); i++)
        ;
    command_bar_clear(&a->bar);
    for (size_t i = before; i < json_array_size(a->rows); i++)
        print_row(a->asked->format, json_array_get(a->rows, i), json_array_get(a->rows, i - 1));
}

/* Starts a peer's program, and takes its lines. */
static void run_peer(against *a)
{
    const benchmark *b = a->asked;
    const against_peer *peer = &against_peers[a->peer];
    char program[4200], line[LINE], *text = NULL;
    size_t size = 0;
    find_program(peer, program);
    setenv("NBCOLL_AGAINST", program, 1);
    write_line(line, b, peer, a->ranks);
    FILE *from = popen(line, "r");
    while (from && getline(&text, &size, from) > 0) {
        json_t *object = json_loads(text, 0, NULL); /* what it says else is not for us */
        if (json_is_object(object))
            take(a, object);
        json_decref(object);
    }
    free(text);
    if (!from || pclose(from) != 0)
        command_fail(b->self, "--against %s: %s did not end well", peer->name, launcher_of(peer));
}

/* All peers, one after the other. */
static void measure(against *a, int ranks)
{
    a->ranks = ranks;
    for (a->peer = 0; a->peer < PEERS; a->peer++) {
        if (!a->is_compared[a->peer])
            continue;
        a->cells[a->peer] = json_array();
        run_peer(a);
    }
    compare(a);
    for (int p = 0; p < PEERS; p++) {
        json_decref(a->cells[p]);
        a->cells[p] = NULL;
    }
}

/* Which peers are compared, and how many? */
static int find_peers(against *a)
{
    const benchmark *b = a->asked;
    const char *at = b->against;
    int peers = 0;
    do {
        char name[COMMAND_WORD];
        int is_known = 0;
        at = command_next_name(at, name);
        for (int p = 0; p < PEERS; p++)
            if (strcmp(name, "mpi") == 0 || strcmp(name, against_peers[p].name) == 0) {
                is_known = 1;
                a->is_compared[p] = is_there(&against_peers[p]);
                peers += a->is_compared[p];
            }
        if (!is_known)
            command_refuse(b->self, "--against is mpi, openmpi, openmpi-no-cma or mpich, not '%s'", b->against);
    } while (*at);
    for (int i = 0; i < b->operations; i++)
        if (!command_is(b->operation[i], COMMAND_COMPARED))
            command_refuse(b->self, "--against does not compare %s", nbcoll_operation_name(b->operation[i]));
    if (!peers)
        command_fail(b->self, "--against %s: neither Open MPI nor MPICH was there when this was built, or its mpirun "
                     "is not installed", b->against);
    return peers;
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

void against_run(const benchmark *b)
{
    against a = {.asked = b, .rows = json_array(), .wrong = json_object()};
    int peers = find_peers(&a), cells = b->operations * (int)b->cases.counts * (b->buffers == 3 ? 2 : 1);
    command_bar_begin(&a.bar, (double)peers * cells * (b->cases.most - b->cases.fewest + 1), 0);
    print_head(b->format);
    for (int ranks = b->cases.fewest; ranks <= b->cases.most; ranks++)
        measure(&a, ranks);
    command_bar_clear(&a.bar);
    if (b->format == BENCH_JSON)
        print_all(&a);
    else
        print_end(b->format, a.rows, a.wrong);
    if (b->plot)
        plot(b->self, b->plot, a.rows);
    json_decref(a.rows);
    json_decref(a.wrong);
    command_exit(a.is_refuted ? COMMAND_REFUTED : COMMAND_OK);
}
