/* SPDX-License-Identifier: BSD-3-Clause
 * The three callers at the top of neighbor.h: a halo of rows and strided columns, an irregular mesh, and all neighbours
 * in a cube, over places that are dealt by nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "nbcoll/neighbor.h"
#include "nbcoll/strided.h"
#include "joined.h"
#include "world.h"

enum { ROWS = 4, COLUMNS = 3, WIDTH = COLUMNS + 2 };

static double cell_of(int rank, int round, int i)
{
    return rank * 1000 + round * 100 + i;
}

static size_t place(int row, int column)
{
    return sizeof(double) * (size_t)(row * WIDTH + column);
}

/* The grid is 3 x 2, periodic downwards. */
static void halo(world *w, int rank, void *user)
{
    nbcoll_strided column;
    nbcoll_neighbor_grid grid = {.size = sizeof grid, .dims = 2, .extent = (int[]){3, 2}, .periodic = (int[]){1, 0}};
    size_t counts[4] = {COLUMNS, COLUMNS, 1, 1};
    size_t inner[4] = {place(1, 1), place(ROWS, 1), place(1, 1), place(1, COLUMNS)};
    size_t outer[4] = {place(0, 1), place(ROWS + 1, 1), place(1, 0), place(1, COLUMNS + 1)};
    nbcoll_type types[4] = {NBCOLL_DOUBLE, NBCOLL_DOUBLE, nbcoll_type_of(&column.type), nbcoll_type_of(&column.type)};
    int above = (rank + 4) % 6, below = (rank + 2) % 6, is_right = rank % 2;
    double field[(ROWS + 2) * WIDTH];
    nbcoll_neighborhood about = {.size = sizeof about};
    nbcoll_neighbors *around;
    nbcoll_request request;

    (void)user;
    EXPECT(OK, nbcoll_strided_make(&column, NBCOLL_DOUBLE, 1, (nbcoll_steps){ROWS, WIDTH}, NBCOLL_ONCE, 1));
    EXPECT(OK, nbcoll_neighbors_of_grid(w->comm[rank], &grid, &around, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_neighbors_query(around, &about));
    assert_int_equal(about.sources, 4);
    assert_int_equal(about.source[0], above);
    assert_int_equal(about.destination[1], below);
    assert_int_equal(about.source[2], is_right ? rank - 1 : -1);
    assert_int_equal(about.source[3], is_right ? -1 : rank + 1);
    assert_int_equal(about.coordinate[0], rank / 2);
    EXPECT(OK,
           nbcoll_neighbor_alltoallw_init(field, counts, inner, types, field, counts, outer, types, around, &request));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < (ROWS + 2) * WIDTH; i++)
            field[i] = cell_of(rank, round, i);
        EXPECT(OK, nbcoll_start(&request));
        EXPECT(OK, nbcoll_wait(&request, NBCOLL_FOREVER));
        for (int i = 0; i < COLUMNS; i++) {
            assert_true(field[1 + i] == cell_of(above, round, ROWS * WIDTH + 1 + i));
            assert_true(field[(ROWS + 1) * WIDTH + 1 + i] == cell_of(below, round, WIDTH + 1 + i));
        }
        for (int i = 1; i <= ROWS; i++) { /* where there is no neighbour nothing has changed */
            assert_true(field[i * WIDTH] ==
                        (is_right ? cell_of(rank - 1, round, i * WIDTH + COLUMNS) : cell_of(rank, round, i * WIDTH)));
            assert_true(field[i * WIDTH + COLUMNS + 1] == (is_right ? cell_of(rank, round, i * WIDTH + COLUMNS + 1)
                                                                    : cell_of(rank + 1, round, i * WIDTH + 1)));
        }
    }
    EXPECT(OK, nbcoll_request_free(&request));
    EXPECT(OK, nbcoll_neighbors_free(around));
}

static void a_halo_of_rows_and_columns(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config config = world_variant(variant, 5);
        world w;
        world_open(&w, 6, &config, NULL, NULL);
        world_threads(&w, halo, NULL);
        world_close(&w);
    }
}

/* Rank r sends r + 1 numbers to each of the ranks above it. */
static void mesh(world *w, int rank, void *user)
{
    int owners[8], users[8];
    size_t give[8], give_at[8] = {0}, take[8], take_at[8], ghosts_at = 0;
    double shared[8], ghosts[64];
    nbcoll_neighbor_graph graph = {.size = sizeof graph, .source = owners, .destination = users};
    nbcoll_neighbors *around;

    (void)user;
    for (int r = 0; r < rank; r++) {
        take[r] = (size_t)r + 1;
        take_at[r] = ghosts_at;
        ghosts_at += take[r];
        owners[graph.sources++] = r;
    }
    for (int r = rank + 1; r < w->ranks; r++) {
        give[graph.destinations] = (size_t)rank + 1;
        users[graph.destinations++] = r;
    }
    for (int i = 0; i <= rank; i++)
        shared[i] = rank + i / 100.0;
    EXPECT(OK, nbcoll_neighbors_of_graph(w->comm[rank], &graph, &around, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_neighbor_alltoallv(shared, give, give_at, ghosts, take, take_at, NBCOLL_DOUBLE, around,
                                         NBCOLL_FOREVER));
    for (int r = 0; r < rank; r++)
        for (int i = 0; i <= r; i++)
            assert_true(ghosts[take_at[r] + (size_t)i] == r + i / 100.0);
    EXPECT(OK, nbcoll_barrier(w->comm[rank], NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_neighbors_free(around));
}

static void an_irregular_mesh(void **state)
{
    world w;
    (void)state;
    world_open(&w, 7, NULL, NULL, NULL);
    world_threads(&w, mesh, NULL);
    world_close(&w);
}

/* 2 x 4 x 2 places: two nodes of eight. */
static void cube(world *w, int rank, void *user)
{
    int offset[26][3], extent[3] = {2, 4, 2}, n = 0, at[3];
    double out[26], in[26];
    nbcoll_neighborhood about = {.size = sizeof about};
    nbcoll_neighbors *around;
    nbcoll_request request;

    (void)user;
    for (int i = 0; i < 27; i++)
        if (i != 13) {
            offset[n][0] = i / 9 - 1;
            offset[n][1] = i / 3 % 3 - 1;
            offset[n++][2] = i % 3 - 1;
        }
    nbcoll_neighbor_grid grid = {.size = sizeof grid,
                                 .dims = 3,
                                 .extent = extent,
                                 .neighbors = 26,
                                 .reorder = 1,
                                 .offset = &offset[0][0],
                                 .periodic = (int[]){1, 1, 0}};
    EXPECT(OK, nbcoll_neighbors_of_grid(w->comm[rank], &grid, &around, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_neighbors_query(around, &about));
    assert_true(about.comm != w->comm[rank]);
    int me = nbcoll_comm_rank(about.comm);
    assert_int_equal(me, (about.coordinate[0] * 4 + about.coordinate[1]) * 2 + about.coordinate[2]);
    /* a node has a brick of 2 x 2 x 2, as far as it can choose: its ranks are even and odd ones */
    assert_int_equal(about.coordinate[1] / 2, rank % 2);
    for (int i = 0; i < 26; i++)
        out[i] = me * 100 + i;
    EXPECT(OK, nbcoll_ineighbor_alltoall(out, in, 1, NBCOLL_DOUBLE, around, &request));
    EXPECT(OK, nbcoll_wait(&request, NBCOLL_FOREVER));
    for (int i = 0; i < 26; i++) {
        for (int k = 0; k < 3; k++)
            at[k] = (about.coordinate[k] + offset[i][k] + extent[k]) % extent[k];
        int from = (at[0] * 4 + at[1]) * 2 + at[2], z = about.coordinate[2] + offset[i][2];
        assert_int_equal(about.source[i], z < 0 || z > 1 ? -1 : from);
        if (about.source[i] >= 0)
            assert_true(in[i] == from * 100 + 25 - i); /* the opposite offset */
    }
    EXPECT(OK, nbcoll_barrier(about.comm, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_neighbors_free(around));
}

static void a_cube_over_nodes(void **state)
{
    int node[16];
    nbcoll_nodes *nodes;
    joined j;
    (void)state;
    for (int r = 0; r < 16; r++)
        node[r] = r % 2;
    EXPECT(OK, nbcoll_nodes_make(node, 16, NULL, &nodes));
    joined_open(&j, nodes, NULL, NULL, NULL, NULL);
    world_threads(&j.w, cube, NULL);
    joined_close(&j);
    nbcoll_nodes_free(nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_halo_of_rows_and_columns),
                                       cmocka_unit_test(an_irregular_mesh), cmocka_unit_test(a_cube_over_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
