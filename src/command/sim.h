/* SPDX-License-Identifier: BSD-3-Clause
 * What the parts of `nbcoll sim` share. */
#ifndef COMMAND_SIM_H
#define COMMAND_SIM_H

#include <nbcoll/nic.h>

#include "timeline.h"

/* Plays one case on a machine on which a message takes TIMELINE_ROUND ns, and all else nothing, and whose nodes have so
 * many ranks. */
nbcoll_status sim_play_rounds(const nbcoll_algorithm *algorithm, const nbcoll_case *at, int node,
                              void (*event)(void *user, const nbcoll_sim_event *event), void *user,
                              nbcoll_sim_result *out);

/* Gives a row up to those that will be JSON; without these it prints the row, after a head unless that is null. */
void sim_add_row(json_t *rows, json_t *row, const char *head, const char *format);

/* What a drawing says above itself: its algorithm; and the begin of its terms, "8 ranks, 10 INT32 (40 bytes)". */
void sim_entitle(timeline *t, const nbcoll_case *c, const nbcoll_choice *choice);

/* The numbers of a machine, as files name them. */
extern const command_option sim_model_names[];
/* Stores a number that has one of these names. */
void sim_take_named(const command *self, const char *where, const command_option names[], const char *name,
                    const char *value, void *out);
/* Numbers of a struct, by their names. */
json_t *sim_numbers(const command_option names[], const void *of, int with_zeros);

/* A preset's name, or a file: lines of a name and a number, which the help of the command lists; what a file does not
 * name is 0. `out` has its size. */
void sim_take_model(const command *self, const char *value, nbcoll_sim_model *out);

/* What the value of --arrival says. */
void sim_take_arrival(const command *self, const char *value, nbcoll_sim_arrival *out);

/* What it costs that ranks are late, and what came before the last one, per operation. */
typedef struct sim_arrivals {
    uint64_t after; /* ns from the last rank's start to the end of all, of the operation where that is longest */
    double mean;    /* ns from a rank's start to its end, of all ranks and operations */
    uint64_t messages[2], bytes[2]; /* for ranks that started before the last one; those that were there when it did */
    /* While it is found out: [operations][ranks], and when the last rank of each operation started. */
    const nbcoll_sim_rank *rank;
    uint64_t *last;
    int ranks;
} sim_arrivals;

/* nbcoll_simulate_cases, which tells that, too: it plays twice. */
nbcoll_status sim_play_arrivals(const nbcoll_sim_config *config, const nbcoll_sim_case cases[], nbcoll_sim_result *out,
                                sim_arrivals *told);
/* Percent of the bytes (of the messages, if these have none) that were there; -1: all ranks started at once. */
int sim_came(const sim_arrivals *told);

#define SIM_RANKS (1 << 24) /* at most */
#define SIM_US (NBCOLL_SIM_MOST_NS / 1000)
#define SIM_STARTS 64
#define SIM_ACTIONS 256

/* operation -1, or that of the command line and no algorithm: what the command line says. */
typedef struct sim_start {
    int operation;
    const nbcoll_algorithm *algorithm;
} sim_start;

typedef struct sim_program {
    nbcoll_sim_action action[SIM_ACTIONS];
    sim_start start[SIM_STARTS];
    unsigned actions, starts;
} sim_program;

/* A program, which the help of the command describes. */
void sim_take_program(const command *self, const char *value, sim_program *out);

/* The benchmark of Denis et al. (nbcoll/split.h), of a tree that can be split: a computation that all `cores` ranks do
 * in as long as the operation blocks them; fewer ranks do the same work between start and wait, and leave their cores
 * to drivers. From half of the cores on, a row of the table for each number of ranks. */
void sim_fixed_work(const nbcoll_sim_case *of, const nbcoll_sim_config *config, int cores, json_t *rows);

/* `nbcoll sim --nic`: collectives as programs on the nodes' NICs. */
typedef struct sim_nic {
    nbcoll_nic_model model;
    uint64_t test_every; /* ns: the host's engine is tested so often, */
    uint64_t test_bytes; /* or once for so many bytes of a block; 0: not at all */
} sim_nic;

/* Sets the model: the NIC of `machine`, and what `words` (null: nothing) say, "nics=2,task=100". */
void sim_take_nic(const command *self, const char *words, const nbcoll_sim_model *machine, nbcoll_nic_model *out);

/* A row of the table for a case, or into `rows` unless it is null; `is_first`: below the heads. `host`
 * has the machine. What is refused is a row, too. */
nbcoll_status sim_nic_row(const sim_nic *nic, const nbcoll_sim_case *of, const nbcoll_sim_config *host, int is_first,
                          json_t *rows);

#endif
