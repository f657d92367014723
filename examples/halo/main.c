/* SPDX-License-Identifier: BSD-3-Clause
 * A pattern of your own: a halo exchange, built once as a schedule and started in each round. A plate of N x N cells
 * lies over a grid of ranks. Each rank has a tile, with a halo of one cell around it, and needs the outermost cells of
 * the tiles above, below, left and right of its own. While they travel it computes the cells that do not need them.
 * Start it by
 *
 *     nbcoll run -n 4 halo
 *
 * or without `nbcoll run`, as one rank. However many ranks there are, the last change is the same to the bit.
 */
#include <stdio.h>
#include <stdlib.h>

#include <nbcoll/launch.h>
#include <nbcoll/schedule.h>

enum { N = 48, ROUNDS = 500 };

/* ---- the pattern ------------------------------------------------------------------------------------------------- */

typedef struct tile {
    int rows, columns;             /* of the tile; the field has two more of each */
    int above, below, left, right; /* ranks; -1: the plate ends there */
} tile;

static nbcoll_addr cell(const tile *t, int row, int column)
{
    return (nbcoll_addr){NBCOLL_BUFFER_RECV, sizeof(double) * (size_t)(row * (t->columns + 2) + column)};
}

/* A column does not lie in one piece: two steps that the host executes copy it, one before it travels, one after. */
static nbcoll_status pack(void *user, const nbcoll_memory memory[])
{
    const tile *t = user;
    for (int row = 0; row < t->rows; row++)
        ((double *)memory[1].at)[row] = ((const double *)memory[0].at)[row * (t->columns + 2)];
    return NBCOLL_OK;
}

static nbcoll_status unpack(void *user, const nbcoll_memory memory[])
{
    const tile *t = user;
    for (int row = 0; row < t->rows; row++)
        ((double *)memory[1].at)[row * (t->columns + 2)] = ((const double *)memory[0].at)[row];
    return NBCOLL_OK;
}

static void exchange_row(nbcoll_builder *b, const tile *t, int peer, int mine, int halo)
{
    if (peer < 0)
        return;
    nbcoll_add_send(b, peer, cell(t, mine, 1), sizeof(double) * (size_t)t->columns);
    nbcoll_add_recv(b, peer, cell(t, halo, 1), sizeof(double) * (size_t)t->columns);
}

static void exchange_column(nbcoll_builder *b, tile *t, int peer, int mine, int halo)
{
    size_t bytes = sizeof(double) * (size_t)t->rows,
           reach = bytes + sizeof(double) * (size_t)((t->rows - 1) * (t->columns + 1));
    if (peer < 0)
        return;
    nbcoll_addr out = nbcoll_add_scratch(b, bytes), in = nbcoll_add_scratch(b, bytes);
    nbcoll_region from = nbcoll_span(cell(t, 1, mine), reach), to = nbcoll_span(cell(t, 1, halo), reach);
    nbcoll_region packed = nbcoll_span(out, bytes), arrived = nbcoll_span(in, bytes);
    nbcoll_step packs = nbcoll_add_call(b, pack, t, 1, &from, 1, &packed);
    nbcoll_after(b, nbcoll_add_send(b, peer, out, bytes), packs);
    nbcoll_after(b, nbcoll_add_call(b, unpack, t, 1, &arrived, 1, &to), nbcoll_add_recv(b, peer, in, bytes));
}

static nbcoll_status build(tile *t, int rank, int ranks, nbcoll_schedule **out)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = ranks};
    nbcoll_builder *b;
    nbcoll_status status = nbcoll_builder_open(&config, &b);

    if (status != NBCOLL_OK)
        return status;
    exchange_row(b, t, t->above, 1, 0);
    exchange_row(b, t, t->below, t->rows, t->rows + 1);
    exchange_column(b, t, t->left, 1, 0);
    exchange_column(b, t, t->right, t->columns, t->columns + 1);
    nbcoll_set_name(b, "halo");
    return nbcoll_builder_finish(b, out);
}

/* ---- the plate --------------------------------------------------------------------------------------------------- */

/* The rows and columns first..last become the mean of their neighbours; returns the largest change. */
static double smooth(const tile *t, const double *old, double *now, int row, int last_row, int column, int last_column)
{
    double most = 0;
    int width = t->columns + 2;
    for (; row <= last_row; row++)
        for (int i = row * width + column; i <= row * width + last_column; i++) {
            now[i] = ((old[i - width] + old[i + width]) + (old[i - 1] + old[i + 1])) / 4;
            double by = now[i] > old[i] ? now[i] - old[i] : old[i] - now[i];
            most = by > most ? by : most;
        }
    return most;
}

static double round_of(const tile *t, const double *old, double *now, nbcoll_request *halo, nbcoll_status *status)
{
    int rows = t->rows, columns = t->columns;
    double change[5] = {0};

    if ((*status = nbcoll_start(halo)) != NBCOLL_OK)
        return 0;
    change[0] = smooth(t, old, now, 2, rows - 1, 2, columns - 1); /* without the halo */
    if ((*status = nbcoll_wait(halo, NBCOLL_FOREVER)) != NBCOLL_OK)
        return 0;
    change[1] = smooth(t, old, now, 1, 1, 1, columns);
    change[2] = smooth(t, old, now, rows, rows, 1, columns);
    change[3] = smooth(t, old, now, 2, rows - 1, 1, 1);
    change[4] = smooth(t, old, now, 2, rows - 1, columns, columns);
    for (int i = 1; i < 5; i++)
        change[0] = change[i] > change[0] ? change[i] : change[0];
    return change[0];
}

static nbcoll_status run(nbcoll_comm *comm)
{
    int rank = nbcoll_comm_rank(comm), ranks = nbcoll_comm_size(comm), across = 1;
    while ((across + 1) * (across + 1) <= ranks || ranks % across)
        across++;
    int down = ranks / across, i = rank / across, j = rank % across;
    tile t = {N / down,
              N / across,
              i ? rank - across : -1,
              i + 1 < down ? rank + across : -1,
              j ? rank - 1 : -1,
              j + 1 < across ? rank + 1 : -1};
    size_t cells = (size_t)(t.rows + 2) * (size_t)(t.columns + 2);
    double *field[2] = {calloc(cells, sizeof(double)), calloc(cells, sizeof(double))}, change = 0, most = 0;
    nbcoll_schedule *schedule = NULL;
    nbcoll_request halo[2] = {NBCOLL_REQUEST_NULL, NBCOLL_REQUEST_NULL}; /* one for each field */
    nbcoll_status status = N % down || N % across ? NBCOLL_ERR_COUNT : build(&t, rank, ranks, &schedule);

    if (status == NBCOLL_OK && (!field[0] || !field[1]))
        status = NBCOLL_ERR_MEMORY;
    for (int f = 0; f < 2 && status == NBCOLL_OK; f++) {
        for (int column = 0; i == 0 && column < t.columns + 2; column++)
            field[f][column] = 100; /* the upper end is hot, the others are cold */
        status = nbcoll_schedule_init(schedule, NULL, field[f], comm, &halo[f]);
    }
    for (int round = 0; round < ROUNDS && status == NBCOLL_OK; round++)
        change = round_of(&t, field[round % 2], field[1 - round % 2], &halo[round % 2], &status);
    if (status == NBCOLL_OK)
        status = nbcoll_allreduce(&change, &most, 1, NBCOLL_DOUBLE, NBCOLL_MAX, comm, NBCOLL_FOREVER);
    if (status == NBCOLL_OK && rank == 0)
        printf("%d x %d ranks: in round %d no cell changed by more than %.17g\n", down, across, ROUNDS, most);
    for (int f = 0; f < 2; f++) {
        nbcoll_request_free(&halo[f]);
        free(field[f]);
    }
    nbcoll_schedule_free(schedule);
    return status;
}

int main(void)
{
    nbcoll_context *context;
    nbcoll_comm *comm;

    nbcoll_status status = nbcoll_launch_join_or_alone(&context, &comm);
    if (status == NBCOLL_OK)
        status = run(comm);
    if (status != NBCOLL_OK)
        fprintf(stderr, "halo: %s\n", nbcoll_status_text(status));
    nbcoll_launch_leave(context, status);
    return status != NBCOLL_OK;
}
