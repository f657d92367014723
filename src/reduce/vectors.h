/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What kernels of reductions are made of. A level names a set of vector instructions; the files that make its kernels
 * are included once for each, with REDUCE_NAME(x) (x of this level), REDUCE_TARGET (an attribute), REDUCE_WIDTH (bytes
 * of a vector), REDUCE_LANES_32 and REDUCE_LANES_64 (elements of that many bits in it) defined. The compiler's generic
 * vectors do not depend on its optimiser, so a host may build this as it likes.
 */
#ifndef NBCOLL_REDUCE_VECTORS_H
#define NBCOLL_REDUCE_VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define REDUCE_PASTED(a, b) a##_##b
#define REDUCE_PASTE(a, b) REDUCE_PASTED(a, b)

typedef void reduce_kernel(char *result, const char *left, const char *right, size_t bytes);

#define REDUCE_FUNCTION(name)                                                                                          \
    static REDUCE_TARGET void REDUCE_NAME(reduce_##name)(char *result, const char *left, const char *right,            \
                                                         size_t bytes)

/* ---- elements that are numbers --------------------------------------------------------------------------------- */

/* Vectors of `width` bytes from byte `i` on, while they last. `value` computes a vector of type V from l and r; M is a
 * vector of integers of the same shape, as comparisons give. Both operands are loaded before the result is stored. */
#define REDUCE_VECTORS(T, I, width, value)                                                                             \
    for (; bytes - i >= (width); i += (width)) {                                                                       \
        typedef T V __attribute__((vector_size(width), aligned(1), may_alias));                                        \
        typedef I M __attribute__((vector_size(width), aligned(1), may_alias, unused));                                \
        const V l = *(const V *)(left + i), r = *(const V *)(right + i);                                               \
        *(V *)(result + i) = (V)(value);                                                                               \
    }

/* What remains, one by one. The empty asm keeps the compiler from making yet more vectors of so few elements. */
#define REDUCE_ELEMENTS(T, value)                                                                                      \
    for (; i < bytes; i += sizeof(T)) {                                                                                \
        typedef T E __attribute__((aligned(1), may_alias));                                                            \
        __asm__("");                                                                                                   \
        const T l = *(const E *)(left + i), r = *(const E *)(right + i);                                               \
        *(E *)(result + i) = (T)(value);                                                                               \
    }

#define REDUCE_KERNEL(name, T, I, vector, element)                                                                     \
    REDUCE_FUNCTION(name)                                                                                              \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        REDUCE_VECTORS(T, I, REDUCE_WIDTH, vector)                                                                     \
        REDUCE_VECTORS(T, I, 16, vector)                                                                               \
        REDUCE_ELEMENTS(T, element)                                                                                    \
    }

/* ---- choices ----------------------------------------------------------------------------------------------------- */

/* Left where the condition holds, else right. */
#define REDUCE_SELECT(condition) (((condition) & (M)l) | (~(condition) & (M)r))

/* Equal operands differ in their bits only if they are zeros: the sign is set in a minimum if it is in one of them, in
 * a maximum if it is in both. */
#define REDUCE_VECTOR_FMIN (REDUCE_SELECT((l < r) | (r != r)) | ((l == r) & (M)l))
#define REDUCE_VECTOR_FMAX (REDUCE_SELECT((l > r) | (r != r)) & (~(l == r) | (M)l))
#define REDUCE_ELEMENT_FMIN (l < r || r != r || (l == r && __builtin_signbit(l)) ? l : r)
#define REDUCE_ELEMENT_FMAX (l > r || r != r || (l == r && !__builtin_signbit(l)) ? l : r)

/* ---- elements of several lanes, or of another width inside ----------------------------------------------------- */

/* A kernel of vectors of type V, each made by block(l, r). The last one may be partly zeros, which are not stored. */
#define REDUCE_BLOCKS(name, V, block)                                                                                  \
    REDUCE_FUNCTION(name)                                                                                              \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        V l, r;                                                                                                        \
        for (; bytes - i >= sizeof(V); i += sizeof(V)) {                                                               \
            memcpy(&l, left + i, sizeof(V));                                                                           \
            memcpy(&r, right + i, sizeof(V));                                                                          \
            l = block(l, r);                                                                                           \
            memcpy(result + i, &l, sizeof(V));                                                                         \
        }                                                                                                              \
        if (i < bytes) {                                                                                               \
            l = r = (V){0};                                                                                            \
            memcpy(&l, left + i, bytes - i);                                                                           \
            memcpy(&r, right + i, bytes - i);                                                                          \
            l = block(l, r);                                                                                           \
            memcpy(result + i, &l, bytes - i);                                                                         \
        }                                                                                                              \
    }

/* The lanes of v (M is the vector of integers of its shape) in another order. */
#if defined(__clang__)
#define REDUCE_SHUFFLE(v, M, ...) __builtin_shufflevector(v, v, __VA_ARGS__)
#else
#define REDUCE_SHUFFLE(v, M, ...) __builtin_shuffle(v, (M){__VA_ARGS__})
#endif

/* Of each pair of lanes the even one, the odd one, or both exchanged. */
#define REDUCE_EVEN_2 0, 0
#define REDUCE_EVEN_4 REDUCE_EVEN_2, 2, 2
#define REDUCE_EVEN_8 REDUCE_EVEN_4, 4, 4, 6, 6
#define REDUCE_EVEN_16 REDUCE_EVEN_8, 8, 8, 10, 10, 12, 12, 14, 14
#define REDUCE_ODD_2 1, 1
#define REDUCE_ODD_4 REDUCE_ODD_2, 3, 3
#define REDUCE_ODD_8 REDUCE_ODD_4, 5, 5, 7, 7
#define REDUCE_ODD_16 REDUCE_ODD_8, 9, 9, 11, 11, 13, 13, 15, 15
#define REDUCE_SWAP_2 1, 0
#define REDUCE_SWAP_4 REDUCE_SWAP_2, 3, 2
#define REDUCE_SWAP_8 REDUCE_SWAP_4, 5, 4, 7, 6
#define REDUCE_SWAP_16 REDUCE_SWAP_8, 9, 8, 11, 10, 13, 12, 15, 14

#endif
