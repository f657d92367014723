/* SPDX-License-Identifier: BSD-3-Clause
 * Single elements, in plain serial C: of every predefined type, of a host type that travels as it is, and of one that
 * packs; what they are combined to by every predefined operation, a commutative one of the host's, one whose order
 * matters, and one that rounds. Nothing here calls the library's reductions: see plain.h. */
#ifndef ELEMENTS_H
#define ELEMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "nbcoll/nbcoll.h"

/* Types and operations by number: the predefined ones, then these. */
enum { ELEMENT_CONTIGUOUS = NBCOLL_TYPE_COUNT, ELEMENT_PACKED, ELEMENT_TYPES };
enum { ELEMENT_COMMUTATIVE = NBCOLL_OP_COUNT, ELEMENT_ORDERED, ELEMENT_ROUNDING, ELEMENT_NO_OP, ELEMENT_OPS };
enum { ELEMENT_SIZE_MOST = 32 };

/* Once, before the host operations are used. */
void elements_open(void);

nbcoll_type element_type(int type);
nbcoll_op element_op(int op); /* not of ELEMENT_NO_OP */
const char *element_type_name(int type);
const char *element_op_name(int op);

/* Bytes in the caller's buffers, and as it travels. */
size_t element_size(int type);
size_t element_travels(int type);
/* Does the operation apply? ELEMENT_NO_OP and the host's do to all. */
int element_has(int op, int type);

/* The class that the manual gives the type. */
typedef enum element_kind { SIGNED, UNSIGNED, FLOATING, NARROW, COMPLEX, LOGICAL, BYTES, PAIR, HOST } element_kind;
element_kind element_kind_of(int type);

/* A rank's operand. Without `is_rounded` floating ones are chosen so that every order of combination is exact, with it
 * so that orders differ. */
void element_make(int type, int op, int is_rounded, int rank, uint64_t random, void *at);
/* As it travels, and back; back leaves the bytes that do not travel. */
void element_pack(int type, const void *at, void *packed);
void element_unpack(int type, const void *packed, void *at);
/* result = left op right, of elements as they travel. */
void element_combine(int type, int op, void *result, const void *left, const void *right);
/* Are results of combination the same? Padding is not looked at; exact complex zeros may differ in their sign. */
int element_is_same(int type, int op, int is_rounded, const void *a, const void *b);

#endif
