/* SPDX-License-Identifier: BSD-3-Clause
 * What the parts of `nbcoll sim` share. */
#ifndef COMMAND_SIM_H
#define COMMAND_SIM_H

#include <stdio.h>

#include <nbcoll/select.h>
#include <nbcoll/simulate.h>

#include "command.h"

/* A preset's name, or a file: lines of a name and a number, which the help of the command lists; what a file does not
 * name is 0. 0, or COMMAND_USAGE after naming what is wrong. */
int sim_take_model(const command *self, const char *value, nbcoll_sim_model *out);

/* What selection is told of a machine: what the dearest messages among the ranks of the terms cost. */
void sim_price(const nbcoll_sim_model *model, nbcoll_terms *terms);

/* All that happened. */
typedef struct sim_timeline {
    nbcoll_sim_event *event;
    size_t used, room;
    int has_failed; /* there was no memory */
    int ranks, node;
} sim_timeline;

void sim_timeline_add(sim_timeline *t, const nbcoll_sim_event *event);
void sim_timeline_chrome(const sim_timeline *t, FILE *out);
void sim_timeline_svg(const sim_timeline *t, FILE *out);

#endif
