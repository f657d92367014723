/* SPDX-License-Identifier: BSD-3-Clause
 * Timelines, simulated and recorded: gathered, written and read as traces, drawn, and what ranks waited for in them. */
#ifndef COMMAND_TIMELINE_H
#define COMMAND_TIMELINE_H

#include <nbcoll/simulate.h>

#include "command.h"

#define TIMELINE_NAME 32
#define TIMELINE_US 9e12 /* a time is less; written and read with three decimals */
enum { TIMELINE_ROUND = 1000, TIMELINE_ROUNDS = 64 }; /* ns; so many are drawn at most */

/* All that happened. */
typedef struct timeline {
    nbcoll_sim_event *event;
    size_t used, room;
    int ranks;
    const nbcoll_nodes *nodes;
    char title[160], terms[224]; /* of a drawing: what is shown, on what machine */
    int rounds;                  /* 0, or it is one of so many rounds: of what is sent, copied and combined in them */
    char (*name)[TIMELINE_NAME]; /* [operations]: what they are; null: the title says it */
    size_t operations, names; /* room for so many */
} timeline;

/* A message for which its receiver waited to its end, which is there: nobody has sent it. */
static inline int timeline_is_missing(const nbcoll_sim_event *e)
{
    return e->what == NBCOLL_SIM_MESSAGE && e->kind == NBCOLL_JOIN;
}

static inline double in_us(uint64_t ns)
{
    return (double)ns / 1e3;
}

void timeline_add(timeline *t, const nbcoll_sim_event *event);
void timeline_free(timeline *t);
/* Rising by `begin`; at the same time a start comes first, then steps, messages, an end. */
void timeline_sort(timeline *t);
/* Of two rows of n numbers: -1, 0 or 1. */
int timeline_order(const uint64_t a[], const uint64_t b[], int n);
/* Lists of things that begin with so many numbers, uint64_t, by which they are sorted. The first thing of a sorted one
 * that is not before this one; and the one that has its numbers, or null. */
void timeline_order_all(void *list, size_t n, size_t bytes, int numbers);
size_t timeline_first(const void *wanted, const void *list, size_t n, size_t bytes, int numbers);
const void *timeline_find(const void *wanted, const void *list, size_t n, size_t bytes, int numbers);
/* When the core of its sender had done its part of a message, which leaves when the interface is free: where the step
 * ends that was told before it. */
uint64_t timeline_given(const timeline *t, size_t message);

/* Write a timeline, which the first argument is (command_write_file). A trace for Chrome and Perfetto: a row for each
 * rank, with steps and waits, and arrows for messages; and a drawing. */
command_writer timeline_chrome, timeline_svg;
/* Reads such a file, or says what is wrong, and where. */
void timeline_read(const command *self, const char *file, timeline *out);

/* ---- timeline_waits.c -------------------------------------------------------------------------------------------- */

/* A rank had operations under way, and nothing to do for them. */
typedef struct timeline_wait {
    uint64_t rank, end, begin;
    uint32_t operation;
    ptrdiff_t message; /* the event of the message that ended it; -1: none did */
} timeline_wait;

/* When a rank began an operation. */
typedef struct timeline_begin {
    uint64_t operation, rank, ns;
} timeline_begin;

/* What a rank waited for, ns. */
typedef struct timeline_cause {
    uint64_t late; /* for a rank that had not begun the operation */
    uint64_t busy; /* for one that had, and did something else before it sent */
} timeline_cause;

typedef struct timeline_rank {
    size_t operations;
    uint64_t inside;      /* with operations under way */
    uint64_t waited, way; /* for messages; the part of it when they had been sent */
} timeline_rank;

typedef struct timeline_waits {
    const timeline *t;
    timeline_wait *wait; /* by rank, then by begin */
    size_t waits, room;
    timeline_begin *begin; /* by operation and rank */
    size_t begins;
    timeline_rank *rank;   /* [ranks] */
    timeline_cause *cause; /* [rank that waited][rank that it waited for] */
} timeline_waits;

/* Only the waits themselves; and what they were for. */
void timeline_waits_find(const timeline *t, timeline_waits *out);
void timeline_waits_explain(timeline_waits *w);
void timeline_waits_free(timeline_waits *w);
/* The rank that most of one wait was for, and the reason in words. */
int timeline_waits_reason(const timeline_waits *w, const timeline_wait *wait, const char **why);

#endif
