/* SPDX-License-Identifier: BSD-3-Clause
 * What the calls of an operation cost by themselves: all its ranks in one process, stepped by one thread, so that
 * nobody waits and no line crosses to another core. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <nbcoll/shm.h>

#include "against.h"

enum { BATCHES = 21, BATCH = 500 };

typedef struct solo {
    world world; /* of which only rank and ranks are read */
    nbcoll_shm_id id;
    ours *ours;
    pthread_t thread;
    cell cell;
    buffers buffers;
    entry entry;
} solo;

static void *open_one(void *user)
{
    solo *s = user;
    s->ours = ours_open(&s->world, s->id.text, 0);
    return NULL;
}

static void prepare(solo *s, nbcoll_operation operation, form which)
{
    s->cell = (cell){.operation = operation, .count = 2, .bytes = 8, .turns = 1};
    s->buffers.send[0] = calloc((size_t)s->world.ranks, 8);
    s->buffers.recv[0] = calloc((size_t)s->world.ranks, 8);
    s->entry = (entry){.cell = &s->cell, .buffers = &s->buffers};
    if (!s->buffers.send[0] || !s->buffers.recv[0] || ours_entry(s->ours, &s->entry, which) != 0 ||
        (s->entry.open && s->entry.open(&s->entry) != 0))
        give_up("solo: %s does not open", nbcoll_operation_name(operation));
}

static void step(solo all[], int ranks)
{
    int left = ranks;
    for (int r = 0; r < ranks; r++)
        if (all[r].entry.call(&all[r].entry, 0) != 0)
            give_up("solo: a start fails");
    while (left)
        for (int r = left = 0; r < ranks; r++) {
            int status = ours_test(&all[r].entry, 0);
            if (status != NBCOLL_OK && status != NBCOLL_PENDING)
                give_up("solo: an operation fails");
            left += status == NBCOLL_PENDING;
        }
}

double solo_measure(int ranks, nbcoll_operation operation, form which)
{
    solo *all = calloc((size_t)ranks, sizeof *all);
    double batch[BATCHES];
    nbcoll_shm_id id;
    if (!all || nbcoll_shm_id_make(&id) != NBCOLL_OK)
        give_up("solo: no memory");
    for (int r = 0; r < ranks; r++) {
        all[r].world.rank = r;
        all[r].world.ranks = ranks;
        all[r].id = id;
        if (pthread_create(&all[r].thread, NULL, open_one, &all[r]) != 0)
            give_up("solo: no thread");
    }
    for (int r = 0; r < ranks; r++)
        pthread_join(all[r].thread, NULL);
    for (int r = 0; r < ranks; r++)
        prepare(&all[r], operation, which);
    for (int i = 0; i < BATCHES; i++) {
        double at = now();
        for (int j = 0; j < BATCH; j++)
            step(all, ranks);
        batch[i] = (now() - at) / BATCH / ranks;
    }
    for (int r = 0; r < ranks; r++) {
        all[r].entry.close(&all[r].entry);
        ours_abandon(all[r].ours);
        free(all[r].buffers.send[0]);
        free(all[r].buffers.recv[0]);
    }
    free(all);
    qsort(batch, BATCHES, sizeof *batch, ascending);
    return batch[BATCHES / 2];
}
