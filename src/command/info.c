/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll info`: what this build of the library has, and what it finds on this machine. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "catalogue.h"
#include "command.h"
#include "info.h"
#include "json.h"

enum { INFO_RANKS = 4096 };

#ifndef NBCOLL_TRANSPORTS
#define NBCOLL_TRANSPORTS ""
#endif

/* Adds the words of a text, separated by blanks. */
static json_t *words(const char *text)
{
    json_t *list = json_array();
    while (*(text += strspn(text, " "))) {
        size_t length = strcspn(text, " ");
        json_array_append_new(list, json_stringn(text, length));
        text += length;
    }
    return list;
}

/* What of the processor the reduction kernels ask for. */
static json_t *features(void)
{
#if defined(__x86_64__)
    json_t *list = words("sse2");
    if (__builtin_cpu_supports("avx2"))
        json_array_append_new(list, json_string("avx2"));
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        json_array_append_new(list, json_string("avx512"));
    return list;
#else
    return words("baseline");
#endif
}

static json_t *operations(void)
{
    json_t *all = json_object();
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        json_t *names = json_array();
        const nbcoll_algorithm *algorithm;
        for (unsigned i = 0; (algorithm = catalogue_at((nbcoll_operation)operation, i)); i++)
            json_array_append_new(names, json_string(algorithm->name));
        json_object_set_new(all, nbcoll_operation_name((nbcoll_operation)operation), names);
    }
    return all;
}

static json_t *types(void)
{
    json_t *sizes = json_object();
    for (int type = 0; type < NBCOLL_TYPE_COUNT; type++)
        json_object_set_new(sizes, nbcoll_type_name((nbcoll_type)type),
                            json_integer((json_int_t)nbcoll_type_size((nbcoll_type)type)));
    return sizes;
}

static json_t *reductions(void)
{
    json_t *names = json_array();
    for (int op = 0; op < NBCOLL_OP_COUNT; op++)
        json_array_append_new(names, json_string(nbcoll_op_name((nbcoll_op)op)));
    return names;
}

static json_t *collect(int ranks)
{
    json_t *all = json_object();
    json_object_set_new(all, "version", json_string(NBCOLL_VERSION));
    json_object_set_new(all, "abi", json_integer(NBCOLL_ABI));
    json_object_set_new(all, "operations", operations());
    json_object_set_new(all, "types", types());
    json_object_set_new(all, "reductions", reductions());
    json_object_set_new(all, "transports", words(NBCOLL_TRANSPORTS));
    json_object_set_new(all, "vectors", features());
    json_object_set_new(all, "copy_paths", info_paths());
    json_object_set_new(all, "cells", info_cells());
    json_object_set_new(all, "schedules", info_schedules());
    json_object_set_new(all, "machine", info_machine());
    json_object_set_new(all, "prices", info_prices());
    if (ranks) {
        json_object_set_new(all, "places", info_places(ranks));
        json_object_set_new(all, "bind", info_bindings(ranks));
    }
    return all;
}

/* The texts of a list, or what is said where there are none. */
static void print_words(const json_t *list, const char *none)
{
    size_t i;
    json_t *name;
    json_array_foreach(list, i, name)
        printf(" %s", json_string_value(name));
    puts(json_array_size(list) ? "" : none);
}

static void print_list(const char *title, const json_t *list)
{
    printf("%-21s", title);
    print_words(list, " -");
}

static void print_path(const char *title, const json_t *found)
{
    const char *path = row_text(found, "path");
    const char *why = row_text(found, "why");
    printf("%-12s %s%s%s\n", title, path ? path : "not found out", *why ? ", since: " : "", why);
}

static void print_places(const json_t *all)
{
    size_t i;
    json_t *place;
    if (all)
        row_print(all, "\nplaces: %s{why}\n");
    json_array_foreach(json_object_get(all, "places"), i, place)
    {
        printf("rank %-3zu     ", i);
        row_print(place, row_number(place, "driver") < 0
                             ? "on processor %d{rank}\n"
                             : "on processor %d{rank}, its driver on %d{driver}: they share %s{share}\n");
    }
}

static void print_machine(const json_t *machine)
{
    if (json_object_get(machine, "why"))
        row_print(machine, "\nthe machine: %s{why}\n");
    else if (json_object_size(machine))
        row_print(machine, "\nthe machine: %d{packages} packages, %d{memories} memories, %d{cores} cores, "
                           "%d{processors} processors\n");
    rows_print(json_object_get(machine, "caches"),
               "L%d{level} caches    %d{count} of %k{bytes} KiB, each for %d{processors} processors\n");
}

static void print_bindings(const json_t *all)
{
    const char *way;
    json_t *places;
    if (all)
        puts("\nprocessors of the ranks, in turn, by --bind:");
    json_object_foreach((json_t *)(uintptr_t)all, way, places)
    {
        printf("%-12s", way);
        print_words(places, " not known");
    }
}

static void print_all(json_t *all)
{
    const char *name;
    json_t *value;
    row_print(all, "nbcoll %s{version}, ABI %d{abi}\n\nalgorithms of each operation, for small data first, for large "
                   "data second:\n");
    json_object_foreach(json_object_get(all, "operations"), name, value)
        print_list(name, value);
    printf("\n%-21s", "types");
    json_object_foreach(json_object_get(all, "types"), name, value)
        printf(" %s(%lld)", name, (long long)json_integer_value(value));
    puts("");
    print_list("reductions", json_object_get(all, "reductions"));
    print_list("transports", json_object_get(all, "transports"));
    print_list("vectors", json_object_get(all, "vectors"));
    if (json_object_size(json_object_get(all, "copy_paths")))
        puts("\nhow large data moves over shared memory, by trial:");
    json_object_foreach(json_object_get(all, "copy_paths"), name, value)
        print_path(name, value);
    if (json_array_size(json_object_get(all, "cells")))
        puts("\ncells of a communicator, by default, in the shared memory of each rank:");
    rows_print(
        json_object_get(all, "cells"),
        "%3d{ranks} ranks    %d{bytes} bytes; the quota of %d{quota} has room for %d{communicators} communicators\n");
    row_print(all,
              "\nschedules    %d{schedules.most} bytes of them a communicator keeps by default; a call unlike all kept "
              "ones, if in its\n             count alone, builds one: nbcoll_comm_schedules says how many were, and\n"
              "             nbcoll_comm_config.schedule_bytes sets the bound\n");
    print_machine(json_object_get(all, "machine"));
    puts("\nwhat messages cost, as ends of one rank say it to the choice of algorithms (nbcoll/select.h):");
    rows_print(json_object_get(all, "prices"),
               "%-12s{transport} alpha %d{alpha_ns} ns, overhead %d{overhead_ns} ns, beta %d{beta_ps} ps, gamma "
               "%d{gamma_ps} ps, eager %d{eager_ps} ps, get %d{get_ns} ns;\n             payload %d{payload} bytes\n");
    print_places(json_object_get(all, "places"));
    print_bindings(json_object_get(all, "bind"));
}

static int print_catalogue(const command *self)
{
    puts("# The algorithms\n\n"
         "Made by `nbcoll info --algorithms` from the source: what each does, from the comment of its file; what it\n"
         "costs 8 ranks (rounds: messages that wait for each other); who sends to whom (in shared memory: is read by\n"
         "whom) in which round, as far as a line goes; and when a communicator with the defaults chooses it, by ranks\n"
         "and bytes as rules count them: of the vector, or of the block.");
    return command_fail_status(self, info_algorithms());
}

typedef struct wish {
    int ranks, has_json, has_algorithms;
} wish;

static int run(const command *self, int argc, char *argv[])
{
    wish w = {0};
    int status = command_take_options(self, argc, argv, &w, NULL);
    if (status)
        return status;
    if (optind < argc)
        return command_refuse(self, "it takes no words: '%s'", argv[optind]);
    if (w.has_algorithms && (w.has_json || w.ranks))
        return command_refuse(self, "--algorithms stands alone");
    if (w.has_algorithms)
        return print_catalogue(self);
    json_t *all = collect(w.ranks);
    if (w.has_json)
        command_print_json(all);
    else {
        print_all(all);
        json_decref(all);
    }
    return COMMAND_OK;
}

static const command_option options[] = {
    {"json", NULL, "one object", COMMAND_IN(wish, has_json)},
    {"ranks", "N",
     "also where N ranks would run, scattered over the cores that may be used, and where the drivers of their "
     "progress: on the cores between, dealt evenly, nearest first; and where --bind puts them",
     COMMAND_IN(wish, ranks), 1, INFO_RANKS},
    {"algorithms", NULL,
     "the catalogue: of each algorithm its idea, its source, what it costs 8 ranks, who sends to whom, and when it "
     "is chosen; a page of Markdown", COMMAND_IN(wish, has_algorithms)},
    {0},
};

const command command_info = {
    .name = "info",
    .purpose = "lists operations, algorithms, types, reductions, transports and copy paths",
    .help =
    "usage: nbcoll info [--json] [--ranks N]\n"
    "       nbcoll info --algorithms\n\n"
    "Lists what this build has: its version, the algorithms of each operation, types and their sizes in bytes,\n"
    "reductions, transports, and the vector instructions of this processor that reductions use. Then the best copy\n"
    "path of shared memory, found by trial between two threads and between two processes: by reference,\n"
    "process_vm_readv, pieces that both copy through shared memory, or fragments that travel as messages; whether all\n"
    "read memory of nbcoll_mem_alloc in place; and why a path is not a better one. Then what the cells of a\n"
    "communicator take of each rank's shared memory, by the number of ranks: a communicator for which one has no room\n"
    "left works by messages alone. Last, cores and caches of the machine, and what the transports' messages cost.\n\n",
    .run = run,
    .options = options,
};
