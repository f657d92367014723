/* SPDX-License-Identifier: BSD-3-Clause
 * Types and operations as numbers: predefined ones, the host's descriptors, and what is neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/reduce/packed.h"
#include <nbcoll/nbcoll.h>

#include "plain.h"

/* ---- predefined ------------------------------------------------------------------------------------------------ */

static void types_have_the_sizes_of_their_c_types(void **state)
{
    (void)state;
#define CHECK_SIZE(name, ctype, kind) assert_int_equal(nbcoll_type_size(NBCOLL_##name), sizeof(ctype));
    NBCOLL_TYPE_LIST(CHECK_SIZE)
    assert_int_equal(nbcoll_type_size(NBCOLL_INT16), 2);
    assert_int_equal(nbcoll_type_size(NBCOLL_BFLOAT16), 2);
    assert_int_equal(nbcoll_type_size(NBCOLL_DOUBLE_COMPLEX), 16);
}

static void complex_types_lie_as_those_of_c_do(void **state)
{
    (void)state;
    double _Complex z = 3;
    nbcoll_double_complex parts;
    __imag__ z = 4;
    assert_int_equal(sizeof z, sizeof parts);
    memcpy(&parts, &z, sizeof z);
    assert_true(parts.re == 3 && parts.im == 4);
    assert_int_equal(sizeof(float _Complex), sizeof(nbcoll_float_complex));
    assert_int_equal(sizeof(long double _Complex), sizeof(nbcoll_long_double_complex));
}

static void names_are_those_of_the_lists(void **state)
{
    (void)state;
    assert_string_equal(nbcoll_type_name(NBCOLL_FLOAT), "FLOAT");
    assert_string_equal(nbcoll_type_name(NBCOLL_BYTE), "BYTE");
    assert_string_equal(nbcoll_type_name(NBCOLL_LONG_DOUBLE_INT), "LONG_DOUBLE_INT");
    assert_string_equal(nbcoll_op_name(NBCOLL_SUM), "SUM");
    assert_string_equal(nbcoll_op_name(NBCOLL_MAXLOC), "MAXLOC");
}

/* Each macro names the type with the C type's size and signedness. */
static void c_integers_have_their_types(void **state)
{
    (void)state;
#define CHECK_INTEGER(name, ctype)                                                                                     \
    do {                                                                                                               \
        int is_signed = NBCOLL_##name >= NBCOLL_INT8 && NBCOLL_##name <= NBCOLL_INT64;                                 \
        int is_unsigned = NBCOLL_##name >= NBCOLL_UINT8 && NBCOLL_##name <= NBCOLL_UINT64;                             \
        assert_int_equal(nbcoll_type_size(NBCOLL_##name), sizeof(ctype));                                              \
        assert_true(((ctype)-1 < (ctype)1) ? is_signed : is_unsigned);                                                 \
    } while (0)
    CHECK_INTEGER(CHAR, char);
    CHECK_INTEGER(SCHAR, signed char);
    CHECK_INTEGER(SHORT, short);
    CHECK_INTEGER(INT, int);
    CHECK_INTEGER(LONG, long);
    CHECK_INTEGER(LLONG, long long);
    CHECK_INTEGER(PTRDIFF, ptrdiff_t);
    CHECK_INTEGER(UCHAR, unsigned char);
    CHECK_INTEGER(USHORT, unsigned short);
    CHECK_INTEGER(UINT, unsigned int);
    CHECK_INTEGER(ULONG, unsigned long);
    CHECK_INTEGER(ULLONG, unsigned long long);
    CHECK_INTEGER(SIZE, size_t);
    CHECK_INTEGER(WCHAR, wchar_t);
}

static void operations_apply_to_the_classes_of_the_table(void **state)
{
    (void)state;
    int pairs = 0;
    for (nbcoll_type type = 0; type < NBCOLL_TYPE_COUNT; type++)
        for (nbcoll_op op = 0; op < NBCOLL_OP_COUNT; op++) {
            assert_int_equal(nbcoll_op_applies(op, type), plain_applies(op, type));
            pairs += nbcoll_op_applies(op, type);
        }
    assert_int_equal(pairs, 8 * 10 + 5 * 4 + 3 * 2 + 3 + 3 + 8 * 2);
}

static void predefined_operations_commute(void **state)
{
    (void)state;
    for (nbcoll_op op = 0; op < NBCOLL_OP_COUNT; op++) {
        assert_true(nbcolli_commutes(op));
        assert_int_equal(nbcolli_op_number(op), op);
    }
}

/* ---- the host's ------------------------------------------------------------------------------------------------ */

static nbcoll_status pack(void *user, const void *elements, void *packed, size_t count)
{
    (void)user, (void)elements, (void)packed, (void)count;
    return NBCOLL_OK;
}

/* What combine was called with. */
typedef struct calls {
    unsigned times;
    size_t count;
    nbcoll_type type;
    nbcoll_status answer;
} calls;

/* left - right, of int32_t: does not commute. */
static nbcoll_status subtract(void *user, void *result, const void *left, const void *right, size_t count,
                              nbcoll_type type)
{
    calls *c = user;
    for (size_t i = 0; i < count; i++)
        ((int32_t *)result)[i] = ((const int32_t *)left)[i] - ((const int32_t *)right)[i];
    c->times++;
    c->count = count;
    c->type = type;
    return c->answer;
}

static const nbcoll_host_type plain_host_type = {.size = sizeof(nbcoll_host_type), .extent = 24};
static const nbcoll_host_type packed_host_type = {
    .size = sizeof(nbcoll_host_type), .extent = 24, .packed = 12, .pack = pack, .unpack = pack};
static const nbcoll_host_op minus = {.size = sizeof(nbcoll_host_op), .combine = subtract};

static void host_types_travel_as_they_are_or_packed(void **state)
{
    (void)state;
    nbcoll_type as_is = nbcoll_type_of(&plain_host_type), packed = nbcoll_type_of(&packed_host_type);
    assert_int_equal(nbcoll_type_size(as_is), 24);
    assert_int_equal(nbcolli_packed_size(as_is), 24);
    assert_false(nbcolli_packs(as_is));
    assert_int_equal(nbcoll_type_size(packed), 24);
    assert_int_equal(nbcolli_packed_size(packed), 12);
    assert_true(nbcolli_packs(packed));
    assert_int_equal(nbcolli_packed_size(NBCOLL_DOUBLE), 8);
    assert_false(nbcolli_packs(NBCOLL_DOUBLE));
    assert_string_equal(nbcoll_type_name(as_is), "HOST");
}

static void descriptors_of_later_headers_are_known(void **state)
{
    (void)state;
    nbcoll_host_type type = plain_host_type;
    nbcoll_host_op op = minus;
    type.size += 64;
    op.size += 64;
    assert_int_equal(nbcoll_type_size(nbcoll_type_of(&type)), 24);
    assert_string_equal(nbcoll_op_name(nbcoll_op_of(&op)), "HOST");
}

static void host_operations_apply_to_every_known_type_predefined_ones_to_no_host_type(void **state)
{
    (void)state;
    nbcoll_op op = nbcoll_op_of(&minus);
    for (nbcoll_type type = 0; type < NBCOLL_TYPE_COUNT; type++)
        assert_true(nbcoll_op_applies(op, type));
    assert_true(nbcoll_op_applies(op, nbcoll_type_of(&plain_host_type)));
    assert_true(nbcoll_op_applies(op, nbcoll_type_of(&packed_host_type)));
    assert_false(nbcoll_op_applies(op, NBCOLL_TYPE_COUNT));
    for (nbcoll_op predefined = 0; predefined < NBCOLL_OP_COUNT; predefined++)
        assert_false(nbcoll_op_applies(predefined, nbcoll_type_of(&plain_host_type)));
}

static void host_operations_get_operands_in_order_and_answer_for_themselves(void **state)
{
    (void)state;
    calls seen = {.answer = NBCOLL_OK};
    nbcoll_host_op descriptor = minus;
    descriptor.user = &seen;
    const nbcoll_reduction how = {NBCOLL_INT32, nbcoll_op_of(&descriptor)};
    int32_t x[3] = {10, 20, 30}, y[3] = {1, 2, 3};

    assert_int_equal(nbcolli_reduce(nbcolli_reducers, how, y, x, y, 3), NBCOLL_OK);
    assert_true(y[0] == 9 && y[1] == 18 && y[2] == 27);
    assert_int_equal(seen.times, 1);
    assert_int_equal(seen.count, 3);
    assert_true(seen.type == NBCOLL_INT32);
    seen.answer = NBCOLL_ERR_ARGUMENT;
    assert_int_equal(nbcolli_reduce(nbcolli_reducers, how, y, x, y, 3), NBCOLL_ERR_ARGUMENT);
}

static void host_operations_commute_if_they_say_so(void **state)
{
    (void)state;
    nbcoll_host_op plus = minus;
    plus.commutative = 1;
    assert_false(nbcolli_commutes(nbcoll_op_of(&minus)));
    assert_true(nbcolli_commutes(nbcoll_op_of(&plus)));
    assert_int_equal(nbcolli_op_number(nbcoll_op_of(&minus)), NBCOLL_OP_COUNT);
    assert_int_equal(nbcolli_op_number(nbcoll_op_of(&plus)), NBCOLL_OP_COUNT + 1);
}

/* ---- neither --------------------------------------------------------------------------------------------------- */

static void check_unknown_type(nbcoll_type type)
{
    assert_int_equal(nbcoll_type_size(type), 0);
    assert_int_equal(nbcolli_packed_size(type), 0);
    assert_false(nbcolli_packs(type));
    assert_string_equal(nbcoll_type_name(type), "?");
    assert_false(nbcoll_op_applies(NBCOLL_SUM, type));
    assert_false(nbcoll_op_applies(nbcoll_op_of(&minus), type));
}

static void check_unknown_op(nbcoll_op op)
{
    assert_string_equal(nbcoll_op_name(op), "?");
    assert_false(nbcolli_commutes(op));
    assert_false(nbcoll_op_applies(op, NBCOLL_INT32));
    assert_false(nbcoll_op_applies(op, nbcoll_type_of(&plain_host_type)));
}

static void numbers_that_are_no_descriptors_are_unknown(void **state)
{
    (void)state;
    static const uintptr_t numbers[] = {1000, 4095, UINTPTR_MAX, UINTPTR_MAX - 1, (uintptr_t)INT32_MAX};
    check_unknown_type(NBCOLL_TYPE_COUNT);
    check_unknown_op(NBCOLL_OP_COUNT);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        check_unknown_type(numbers[i]);
        check_unknown_op(numbers[i]);
    }
    check_unknown_type(nbcoll_type_of(NULL));
    check_unknown_op(nbcoll_op_of(NULL));
    check_unknown_type(nbcoll_type_of(&plain_host_type) + 1);
    check_unknown_op(nbcoll_op_of(&minus) + 4);
}

static void incomplete_descriptors_are_unknown(void **state)
{
    (void)state;
    nbcoll_host_type types[] = {packed_host_type, packed_host_type, packed_host_type, packed_host_type};
    types[0].size = 0;
    types[1].size = offsetof(nbcoll_host_type, unpack);
    types[2].pack = NULL;
    types[3].unpack = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        check_unknown_type(nbcoll_type_of(&types[i]));

    nbcoll_host_op ops[] = {minus, minus, minus};
    ops[0].size = 0;
    ops[1].size = offsetof(nbcoll_host_op, commutative);
    ops[2].combine = NULL;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        check_unknown_op(nbcoll_op_of(&ops[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_the_sizes_of_their_c_types),
        cmocka_unit_test(complex_types_lie_as_those_of_c_do),
        cmocka_unit_test(names_are_those_of_the_lists),
        cmocka_unit_test(c_integers_have_their_types),
        cmocka_unit_test(operations_apply_to_the_classes_of_the_table),
        cmocka_unit_test(predefined_operations_commute),
        cmocka_unit_test(host_types_travel_as_they_are_or_packed),
        cmocka_unit_test(descriptors_of_later_headers_are_known),
        cmocka_unit_test(host_operations_apply_to_every_known_type_predefined_ones_to_no_host_type),
        cmocka_unit_test(host_operations_get_operands_in_order_and_answer_for_themselves),
        cmocka_unit_test(host_operations_commute_if_they_say_so),
        cmocka_unit_test(numbers_that_are_no_descriptors_are_unknown),
        cmocka_unit_test(incomplete_descriptors_are_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
