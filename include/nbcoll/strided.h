/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided data: columns of a matrix, faces of a field, sub-arrays, as elements of one type. An element is `block`
 * numbers side by side, that `inner.count` times, `inner.stride` apart, and all of that `outer.count` times,
 * `outer.stride` apart. All is counted in numbers of the predefined type `of`:
 *
 *     nbcoll_strided column;         a column of the matrix double a[rows][columns]; next to it lies the next element
 *     nbcoll_strided_make(&column, NBCOLL_DOUBLE, 1, (nbcoll_steps){rows, columns}, NBCOLL_ONCE, 1);
 *     nbcoll_ibcast(&a[0][3], 2, nbcoll_type_of(&column.type), 0, comm, &request);
 *
 *     nbcoll_strided face;           x = 0 of the field float f[nz][ny][nx]; the next element is x = 1
 *     nbcoll_strided_make(&face, NBCOLL_FLOAT, 1, (nbcoll_steps){ny, nx}, (nbcoll_steps){nz, ny * nx}, 1);
 *
 *     nbcoll_strided tile;           of 4 x 8 numbers of the matrix; the next element is the tile on the right
 *     nbcoll_strided_make(&tile, NBCOLL_DOUBLE, 8, (nbcoll_steps){4, columns}, NBCOLL_ONCE, 8);
 *
 * Such a type may stand wherever a type of the host's may (nbcoll.h), in place too, and with the predefined operations
 * that its numbers have. Its numbers travel side by side: other ranks may have other strides, or none. The library
 * packs them in pieces, between which it sends and answers, however large an element is.
 *
 * A component, a library of its own: nbcoll_elements (pkg-config: nbcoll_elements; CMake: nbcoll::elements). In an
 * embedded copy -DNBCOLL_WITH_ELEMENTS=1 brings it along.
 */
#include "nbcoll.h"

#ifndef NBCOLL_STRIDED_H
#define NBCOLL_STRIDED_H

#if defined NBCOLL_WITH_ELEMENTS && !NBCOLL_WITH_ELEMENTS
#error "nbcoll/strided.h is of the component elements: define NBCOLL_WITH_ELEMENTS=1, or link nbcoll_elements"
#endif

NBCOLLI_BEGIN

typedef struct nbcoll_steps {
    size_t count, stride;
} nbcoll_steps;
#ifdef __cplusplus
#define NBCOLL_ONCE (nbcoll_steps{1, 0})
#else
#define NBCOLL_ONCE ((nbcoll_steps){1, 0})
#endif

/* Used by its address, which its type holds, too: it is made where it stays. The host owns it, as other descriptors. */
typedef struct nbcoll_strided {
    nbcoll_host_type type; /* nbcoll_type_of(&strided.type) */
    size_t block;          /* bytes */
    nbcoll_steps inner, outer; /* strides in bytes */
} nbcoll_strided;

/* Element i of a buffer begins i * extent numbers behind the first one. Elements may be interleaved (a column's extent
 * is 1). Numbers that are sent may overlap, those that are received do not. With extent = 0 all elements are the same
 * numbers: they can be sent to many places, but a call that receives more than one such element gets ERR_TYPE. A block
 * or count of 0 makes elements without bytes. The length of a buffer is its elements' extents for nbcoll_arrived. Any
 * thread. Errors: ERR_NULL, ERR_TYPE (`of` is not predefined), ERR_COUNT (bytes overflow). */
NBCOLL_API nbcoll_status nbcoll_strided_make(nbcoll_strided *out, nbcoll_type of, size_t block, nbcoll_steps inner,
                                             nbcoll_steps outer, size_t extent);

/* An operation of sums.h for strided elements:
 *
 *     nbcoll_strided_sum mean;
 *     nbcoll_strided_sum_make(&mean, &column, nbcoll_average());
 *     nbcoll_iallreduce(&a[0][3], &b[0][3], 1, nbcoll_type_of(&column.type), nbcoll_op_of(&mean.op), comm, &request);
 *
 * Used by its address, and the host's as the type is. It is for calls with that type alone (else ERR_OP). Requests that
 * have it at once are of one collective, on as many ranks. Other ranks may sum plain numbers, by the same operation of
 * sums.h. The members are the library's but for `op`. */
typedef struct nbcoll_strided_sum {
    nbcoll_host_op op;
    const nbcoll_strided *strided;
    nbcoll_op sum;
    nbcoll_host_type inner; /* of the last call: what one number becomes */
    nbcoll_host_op by;      /* what combines its bins */
    size_t item, state;     /* bytes of what one state is made of, and of that */
} nbcoll_strided_sum;

/* `sum` is copied where it is an address only: a factor's operation stays. Any thread. Errors: ERR_NULL, ERR_OP (not of
 * sums.h). */
NBCOLL_API nbcoll_status nbcoll_strided_sum_make(nbcoll_strided_sum *out, const nbcoll_strided *strided, nbcoll_op sum);

NBCOLLI_END
#endif
