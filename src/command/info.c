/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll info`: what this build of the library has, and what it finds on this machine. */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "info.h"

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
    json_t *all = json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", NBCOLL_VERSION,
                            "abi", (int)NBCOLL_ABI, "operations", operations(), "types", types(), "reductions",
                            reductions(), "transports", words(NBCOLL_TRANSPORTS), "vectors", features(), "copy_paths",
                            info_paths(), "cells", info_cells(), "schedules", info_schedules(), "machine",
                            info_machine(), "prices", info_prices());
    if (ranks)
        json_object_update_new(all, json_pack("{s:o, s:o}", "places", info_places(ranks), "bind",
                                              info_bindings(ranks)));
    return all;
}

/* ---- text: what the object has, a line for each part of it ------------------------------------------------------- */

enum { INFO_COLUMNS = 22 }; /* of names */

/* A name and its line, of a list as many; below that, what has lines of its own. */
static void print_part(int indent, const char *name, json_t *part)
{
    const char *below;
    size_t i;
    json_t *value;
    if (json_is_array(part) && json_is_object(json_array_get(part, 0))) {
        json_array_foreach(part, i, value)
            print_part(indent, name, value);
        return;
    }
    printf("%*s%-*s ", indent, "", INFO_COLUMNS - indent, name);
    row_print_members(part);
    putchar('\n');
    json_object_foreach(part, below, value)
        if (json_is_object(value) || json_is_array(value))
            print_part(indent + 2, below, value);
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
    int status = command_take_options(self, &argc, &argv, &w, NULL);
    if (status)
        return status;
    if (argc)
        return command_refuse(self, "it takes no words: '%s'", *argv);
    if (w.has_algorithms && (w.has_json || w.ranks))
        return command_refuse(self, "--algorithms stands alone");
    if (w.has_algorithms)
        return print_catalogue(self);
    json_t *all = collect(w.ranks);
    if (w.has_json)
        command_print_json(all);
    else {
        const char *name;
        json_t *part;
        json_object_foreach(all, name, part)
            print_part(0, name, part);
        json_decref(all);
    }
    return COMMAND_OK;
}

static const command_option options[] = {
    {"json", NULL, "one object", COMMAND_IN(wish, has_json)},
    {"ranks", "N",
     "also where N ranks would run, scattered over the cores that may be used, and where the drivers of their "
     "progress: on the cores between, dealt evenly, nearest first (-1: none); and where --bind puts them",
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
    "Lists what this build has: its version, the algorithms of each operation (for small data first, for large data\n"
    "second), types and their sizes in bytes, reductions, transports, and the vector instructions of this processor\n"
    "that reductions use. Then the best copy path of shared memory, found by trial between two threads and between\n"
    "two processes: by reference, process_vm_readv, pieces that both copy through shared memory, or fragments that\n"
    "travel as messages; whether all read memory of nbcoll_mem_alloc in place; and why a path is not a better one.\n"
    "Then what the cells of a communicator take of each rank's shared memory, by the number of ranks, and for how\n"
    "many communicators its quota has room: one for which there is none left works by messages alone. Then how many\n"
    "bytes of schedules a communicator keeps (nbcoll_comm_config.schedule_bytes): a call unlike all kept ones, if in\n"
    "its count alone, builds one. Last, cores and caches of the machine, and what messages cost, as the ends of one\n"
    "rank say it to the choice of algorithms (nbcoll/select.h).\n\n",
    .run = run,
    .options = options,
};
