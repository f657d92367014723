/* SPDX-License-Identifier: BSD-3-Clause
 * What the chapters share: a play on a machine, by the host's engine or the NICs, and how long it takes. */
#ifndef NICS_H
#define NICS_H

#include <stddef.h>
#include <stdint.h>

#include "nbcoll/nic.h"
#include "nbcoll/pattern.h"
#include "nbcoll/verify.h"

enum { MOST = 128 };

/* How a rank deals its connections over its NIC's ports: by turns, in the order in which its schedule first names
 * them, but for what is said. */
typedef struct dealing {
    const char *name;
    int by_message;     /* ports take messages by turns, whatever their connections */
    int is_apart;       /* connections that send by turns, and those that receive */
    int is_of_round;    /* so those of a round, beginning with the first port again */
    int begins_by_rank; /* each rank of a node with another port */
} dealing;

typedef struct play {
    const nbcoll_sim_model *machine;
    const nbcoll_algorithm *algorithm;
    int ranks, node; /* of a node */
    size_t bytes;    /* of a block */
    unsigned ports;
    uint32_t nics, used; /* NICs of a node; of a NIC's ports, 0: all */
    size_t eager;         /* longest eager message; 0: 16384 */
    uint64_t test_bytes;
    const nbcoll_nodes *nodes; /* of the host's engine; null: neighbours */
    int in_place;
    int is_rotated;       /* by the host's core, when all has come */
    int copies_own;       /* its own block, by the host's core */
    const dealing *deals; /* null: by turns */
} play;

/* ns; `free`: in percent. */
typedef struct outcome {
    double alone, free;
} outcome;

/* ---- plays.c ----------------------------------------------------------------------------------------------------- */

void expect(nbcoll_status status, const char *what);
nbcoll_sim_model machine_of(const char *name);
const nbcoll_algorithm *allgather(const char *name);

extern int wants_last; /* the last rank's, not the mean of all */

double free_of(double alone, double computed, double with);
/* The thesis' threshold is of a block, the compiler's of a message. */
size_t eager_of(int ranks, size_t bytes);
/* Finds the algorithm. What the compiler makes of copies has a NIC do them; as in the thesis the host copies a rank's
 * own block, and puts Bruck's in order. Of eager ones each is copied from its buffer to its place. */
void take(play *p, const char *algorithm);

/* The schedule of a rank of a play: for nbcoll_simulate. */
nbcoll_status build(void *user, uint32_t operation, int rank, nbcoll_schedule **out);
/* When each rank's wait returns. */
void engine_ends(play *p, uint64_t compute, double end[MOST]);
outcome engine(play p);

/* MVAPICH2's allgather, which the thesis compares with: recursive doubling over one interface of each node. A round is
 * a call that sends and receives, and so ends when both have: of a message that was announced, when it has left. */
extern const nbcoll_algorithm in_rounds;
extern int ends_by_receives; /* 1: a round ends when its message has come, whatever its own does */
nbcoll_sim_model baseline_machine(const nbcoll_sim_model *m);
outcome baseline(play p);

/* Null, or changes the NICs of all plays. */
extern void (*change_nic)(nbcoll_nic_model *nic);
nbcoll_nic_model nic_of(const nbcoll_sim_model *machine);

void compile_all(const play *p, nbcoll_program *program[MOST]);
void free_all(const play *p, nbcoll_program *program[MOST]);
void play_all(const play *p, nbcoll_program *program[MOST], uint64_t start, uint64_t compute,
              nbcoll_nic_rank rank[MOST]);
/* With a computation of `compute`, or, if that is 0, one as long as the operation: *with is when that has ended. */
outcome offloaded_beside(play p, double compute, double *with);
outcome offloaded(play p);
/* us of a flat allgather on a machine. */
double offloaded_us(const char *machine, int ranks, int node, const char *algorithm, unsigned ports,
                    const dealing *deals, size_t bytes);

/* ---- dealing.c --------------------------------------------------------------------------------------------------- */

/* For the NICs of a play, until the next one is dealt; null: messages take ports by turns. */
nbcoll_nic_port *deal(const play *p);

/* ---- levels.c ---------------------------------------------------------------------------------------------------- */

/* The leaders' part, p, has blocks of a node's ranks (or of a leader's share); then `all` bytes are copied. */
typedef struct levels {
    play leaders;
    size_t own, all; /* bytes of a rank's block, and of the result */
    int is_hosts;    /* the host's engine works for the leaders */
    int has_driver;  /* a core takes the copies */
    int is_rotated;  /* by the leader's core, before others copy */
} levels;

outcome by_levels(levels l, double compute, double *with);
/* `leaders` of each node, each with its share of the node's blocks. */
levels levels_of(const nbcoll_sim_model *m, int nodes, int leaders, const char *algorithm, unsigned ports,
                 size_t bytes);
outcome hierarchical(const nbcoll_sim_model *m, int nodes, const char *algorithm, unsigned ports, size_t bytes,
                     int has_driver);

/* ---- leaders.c --------------------------------------------------------------------------------------------------- */

/* Leaders of the same place in their nodes exchange among themselves, each its share. One such thing at a time. */
levels levels_of_groups(const nbcoll_sim_model *m, int nodes, int groups, size_t bytes);

/* ---- pipelined.c ------------------------------------------------------------------------------------------------- */

/* Of one leader a node; `at_once` of them at a time. */
outcome pipelined(const nbcoll_sim_model *m, const char *algorithm, unsigned ports, size_t bytes, int at_once);

/* ---- pieces.c ---------------------------------------------------------------------------------------------------- */

extern const nbcoll_algorithm *pieces_go_by;
extern size_t piece; /* bytes */
extern const nbcoll_algorithm in_pieces;
/* Bruck's, whose blocks stay as they have come: each rank's as if its own were the first. */
extern const nbcoll_algorithm unrotated;

/* ---- chapters ---------------------------------------------------------------------------------------------------- */

static const size_t sizes[] = {1, 16, 256, 1024, 4096, 16384, 65536, 262144};
enum { SIZES = sizeof sizes / sizeof *sizes };

static const char *const flat_ones[] = {"recursive_doubling", "bruck", "ring"};

enum { FRAGMENT = 1024, SMALL = 7 }; /* bytes: the network's largest packet on cluster B; sizes of chapter 5 */

void print_rendezvous(void);
void print_flat(void);
void print_hierarchical(void);
void print_ports(void);
void print_leaders(void);
void print_memory(void);
void print_radix(void);
void print_pipelined(void);
void print_parallel(void);
void print_noise(void);
void print_reasons(void);
void print_causes(void);
void print_baseline(void);

#endif
