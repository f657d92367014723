/* SPDX-License-Identifier: BSD-3-Clause
 * What programs of these tests draw and say. */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 16 };

static inline uint64_t sum_of(uint64_t sum, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ ((const unsigned char *)data)[i]) * 1099511628211u;
    return sum;
}

/* One line for all ranks' sums. */
static inline void say(const char *what, int n, uint64_t mine)
{
    uint64_t sums[RANKS], all = 0;
    int me, world;
    PMPI_Gather(&mine, 1, MPI_UINT64_T, sums, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    for (int i = 0; me == 0 && i < world; i++)
        all = all * 31 + sums[i];
    if (me == 0) {
        printf("%s %d %016llx\n", what, n, (unsigned long long)all);
        fflush(stdout);
    }
}

/* Pairs of ints: as two ints, with a gap, backwards, in a struct with an int before it. All have the same signature. */
static inline MPI_Datatype pair(int layout)
{
    MPI_Datatype type, inner;
    const int ones[] = {1, 1}, backwards[] = {1, 0};
    if (layout == 0) {
        MPI_Type_contiguous(2, MPI_INT, &type);
    } else if (layout == 1) {
        MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
        MPI_Type_create_resized(inner, 0, 4 * sizeof(int), &type);
        MPI_Type_free(&inner);
    } else if (layout == 2) {
        MPI_Type_indexed(2, ones, backwards, MPI_INT, &type);
    } else {
        const MPI_Aint at[] = {sizeof(int), 2 * sizeof(int)};
        const MPI_Datatype ints[] = {MPI_INT, MPI_INT};
        MPI_Type_create_struct(2, ones, at, ints, &inner);
        MPI_Type_create_resized(inner, 0, 3 * sizeof(int), &type);
        MPI_Type_free(&inner);
    }
    MPI_Type_commit(&type);
    return type;
}

/* a then b: of pairs that are affine maps, or of ints, which are the factor and the summand of one. It does not
 * commute. */
static inline void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
    MPI_Aint lb, extent, first, span;
    MPI_Type_get_extent(*type, &lb, &extent);
    MPI_Type_get_true_extent(*type, &first, &span);
    for (int i = 0; i < *n; i++) {
        unsigned *a = (unsigned *)((char *)in + i * extent + first);
        unsigned *b = (unsigned *)((char *)inout + i * extent + first);
        size_t last = (size_t)span / sizeof(int) - 1;
        b[last] = b[0] * a[last] + b[last];
        b[0] = a[0] * b[0];
    }
}
