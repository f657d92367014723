/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What kernels of reductions are made of. A level names a set of vector instructions: baseline (../reduce), avx2 and
 * avx512 (../wide). Each level uses the macro NBCOLLI_REDUCE_LEVEL_OF (level.h) once, with NBCOLLI_REDUCE_LEVEL,
 * NBCOLLI_TARGET (an attribute), NBCOLLI_REDUCE_WIDTH (bytes of a vector), NBCOLLI_REDUCE_LANES_32 and
 * NBCOLLI_REDUCE_LANES_64 (elements of that many bits in it) defined. The compiler's generic vectors do not depend on
 * its optimiser, so a host may build this as it likes.
 */
#ifndef NBCOLL_REDUCE_VECTORS_H
#define NBCOLL_REDUCE_VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "reduce.h"

#define NBCOLLI_REDUCE_PASTED(a, b) a##_##b
#define NBCOLLI_REDUCE_PASTE(a, b) NBCOLLI_REDUCE_PASTED(a, b)

#define NBCOLLI_REDUCE_NAME(name) NBCOLLI_REDUCE_PASTE(nbcolli_reduce_##name, NBCOLLI_REDUCE_LEVEL)

/* Around all kernels. No fused multiply-add, also where a host compiles this with its own options: the same bits on
 * every machine. */
#if defined(__clang__)
#define NBCOLLI_REDUCE_BEGIN _Pragma("STDC FP_CONTRACT OFF")
#define NBCOLLI_REDUCE_END _Pragma("STDC FP_CONTRACT DEFAULT")
#else
#define NBCOLLI_REDUCE_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"fp-contract=off\")")
#define NBCOLLI_REDUCE_END _Pragma("GCC pop_options")
#endif

#define NBCOLLI_REDUCE_FUNCTION(name)                                                                                  \
    static NBCOLLI_TARGET void NBCOLLI_REDUCE_NAME(name)(char *result, const char *left, const char *right,            \
                                                         size_t bytes)

/* ---- elements that are numbers --------------------------------------------------------------------------------- */

/* Vectors of `width` bytes from byte `i` on, while they last. `value` computes a vector of type V from l and r; M is a
 * vector of integers of the same shape, as comparisons give. Both operands are loaded before the result is stored. */
#define NBCOLLI_REDUCE_VECTORS(T, I, width, value)                                                                     \
    for (; bytes - i >= (width); i += (width)) {                                                                       \
        typedef T V __attribute__((vector_size(width), aligned(1), may_alias));                                        \
        typedef I M __attribute__((vector_size(width), aligned(1), may_alias, unused));                                \
        const V l = *(const V *)(left + i), r = *(const V *)(right + i);                                               \
        *(V *)(result + i) = (V)(value);                                                                               \
    }

/* What remains, one by one. The empty asm keeps the compiler from making yet more vectors of so few elements. */
#define NBCOLLI_REDUCE_ELEMENTS(T, value)                                                                              \
    for (; i < bytes; i += sizeof(T)) {                                                                                \
        typedef T E __attribute__((aligned(1), may_alias));                                                            \
        __asm__("");                                                                                                   \
        const T l = *(const E *)(left + i), r = *(const E *)(right + i);                                               \
        *(E *)(result + i) = (T)(value);                                                                               \
    }

#define NBCOLLI_REDUCE_KERNEL(name, T, I, vector, element)                                                             \
    NBCOLLI_REDUCE_FUNCTION(name)                                                                                      \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        NBCOLLI_REDUCE_VECTORS(T, I, NBCOLLI_REDUCE_WIDTH, vector)                                                     \
        NBCOLLI_REDUCE_VECTORS(T, I, 16, vector)                                                                       \
        NBCOLLI_REDUCE_ELEMENTS(T, element)                                                                            \
    }

/* ---- choices ----------------------------------------------------------------------------------------------------- */

/* Left where the condition holds, else right. */
#define NBCOLLI_REDUCE_SELECT(condition) (((condition) & (M)l) | (~(condition) & (M)r))

/* Equal operands differ in their bits only if they are zeros: the sign is set in a minimum if it is in one of them, in
 * a maximum if it is in both. */
#define NBCOLLI_REDUCE_VECTOR_FMIN (NBCOLLI_REDUCE_SELECT((l < r) | (r != r)) | ((l == r) & (M)l))
#define NBCOLLI_REDUCE_VECTOR_FMAX (NBCOLLI_REDUCE_SELECT((l > r) | (r != r)) & (~(l == r) | (M)l))
#define NBCOLLI_REDUCE_ELEMENT_FMIN (l < r || r != r || (l == r && __builtin_signbit(l)) ? l : r)
#define NBCOLLI_REDUCE_ELEMENT_FMAX (l > r || r != r || (l == r && !__builtin_signbit(l)) ? l : r)

/* ---- elements of several lanes, or of another width inside ----------------------------------------------------- */

/* What is left behind the last whole vector, of `width` bytes: as one that ends in zeros, which are not stored. */
static __attribute__((noinline)) void nbcolli_reduce_rest(nbcolli_reduce_kernel *kernel, char *result, const char *left,
                                                          const char *right, size_t bytes, size_t width)
{
    char l[64] = {0}, r[64] = {0};

    memcpy(l, left, bytes);
    memcpy(r, right, bytes);
    kernel(l, l, r, width);
    memcpy(result, l, bytes);
}

/* A kernel of vectors of type V, each made by block(l, r). */
#define NBCOLLI_REDUCE_BLOCKS(name, V, block)                                                                          \
    NBCOLLI_REDUCE_FUNCTION(name)                                                                                      \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        for (; bytes - i >= sizeof(V); i += sizeof(V)) {                                                               \
            V l, r;                                                                                                    \
            memcpy(&l, left + i, sizeof(V));                                                                           \
            memcpy(&r, right + i, sizeof(V));                                                                          \
            l = block(l, r);                                                                                           \
            memcpy(result + i, &l, sizeof(V));                                                                         \
        }                                                                                                              \
        if (i < bytes)                                                                                                 \
            nbcolli_reduce_rest(NBCOLLI_REDUCE_NAME(name), result + i, left + i, right + i, bytes - i, sizeof(V));     \
    }

/* The lanes of v (M is the vector of integers of its shape) in another order. */
#if defined(__clang__)
#define NBCOLLI_REDUCE_SHUFFLE(v, M, ...) __builtin_shufflevector(v, v, __VA_ARGS__)
#else
#define NBCOLLI_REDUCE_SHUFFLE(v, M, ...) __builtin_shuffle(v, (M){__VA_ARGS__})
#endif

/* Of each pair of lanes the even one, the odd one, or both exchanged. */
#define NBCOLLI_REDUCE_EVEN_2 0, 0
#define NBCOLLI_REDUCE_EVEN_4 NBCOLLI_REDUCE_EVEN_2, 2, 2
#define NBCOLLI_REDUCE_EVEN_8 NBCOLLI_REDUCE_EVEN_4, 4, 4, 6, 6
#define NBCOLLI_REDUCE_EVEN_16 NBCOLLI_REDUCE_EVEN_8, 8, 8, 10, 10, 12, 12, 14, 14
#define NBCOLLI_REDUCE_ODD_2 1, 1
#define NBCOLLI_REDUCE_ODD_4 NBCOLLI_REDUCE_ODD_2, 3, 3
#define NBCOLLI_REDUCE_ODD_8 NBCOLLI_REDUCE_ODD_4, 5, 5, 7, 7
#define NBCOLLI_REDUCE_ODD_16 NBCOLLI_REDUCE_ODD_8, 9, 9, 11, 11, 13, 13, 15, 15
#define NBCOLLI_REDUCE_SWAP_2 1, 0
#define NBCOLLI_REDUCE_SWAP_4 NBCOLLI_REDUCE_SWAP_2, 3, 2
#define NBCOLLI_REDUCE_SWAP_8 NBCOLLI_REDUCE_SWAP_4, 5, 4, 7, 6
#define NBCOLLI_REDUCE_SWAP_16 NBCOLLI_REDUCE_SWAP_8, 9, 8, 11, 10, 13, 12, 15, 14

#endif
