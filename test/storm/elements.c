/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations and types of components: averages, sums with a factor for each rank, sums in more bits and sums whose bits
 * are the same in any order, of which the results are known to the bit, also of strided columns, where each rank has a
 * stride of its own; lists of buffers, which each rank cuts otherwise; least and greatest values of 64 bits with their
 * places. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rank.h"
#include "nbcoll/lists.h"
#include "nbcoll/strided.h"
#include "nbcoll/sums.h"

/* From SCALED on: from edition 25 on. */
typedef enum elements_kind { AVERAGE, WIDE, REPRODUCIBLE, COLUMNS, LISTS, SCALED, SUMMED_COLUMNS, PLACES,
    ELEMENTS_KINDS } elements_kind;

enum { ROWS_MOST = 40, WORDS_MOST = 1200, PIECES = 4 };

typedef struct elements {
    rank *rank;
    const item *item;
    int index, at, ranks, root;
    elements_kind what;
    size_t count, stride; /* of columns: rows, and words from one to the next; else 1 */
    nbcoll_strided column;
    nbcoll_strided_sum sum;
    double factor;
    nbcoll_host_op scaled;
    union {
        nbcoll_int64_int64 whole;
        nbcoll_double_int64 real;
    } place[2][WORDS_MOST];
    nbcoll_lists *lists;
    double doubles[2][WORDS_MOST]; /* SEND, RECV */
    float floats[2][WORDS_MOST];
    int32_t ints[WORDS_MOST * 2];
} elements;

__extension__ typedef __int128 wide;

/* What a rank has of number k: small, so that sums are exact; or anything. */
static int32_t small_of(const elements *x, int whose, size_t k)
{
    return (int32_t)(mix(x->item->salt + k, (uint64_t)whose) % 1000) - 500;
}

static double double_of(const elements *x, int whose, size_t k)
{
    uint64_t bits = mix(x->item->salt + k, (uint64_t)whose);
    double number = (double)(int64_t)bits;
    for (uint64_t n = bits % 40; n; n--)
        number /= 3;
    return number;
}

/* Exact with the sums of small ones. */
static double factor_of(int whose)
{
    return 0.5 * (1 + whose % 3);
}

/* Many ranks have the same value; places need more than 32 bits. */
static nbcoll_int64_int64 place_of(const elements *x, int whose, size_t k)
{
    uint64_t bits = mix(x->item->salt + k, (uint64_t)whose);
    return (nbcoll_int64_int64){((int64_t)(bits % 4) - 2) * (INT64_C(1) << 60),
                                (INT64_C(1) << 40) * ((int64_t)(bits / 4 % 5) - 2) + (int64_t)(bits / 20 % 2)};
}

static bool has_reals(const elements *x)
{
    return x->item->salt % 2;
}

static bool wants_least(const elements *x)
{
    return x->item->salt / 2 % 2;
}

/* ---- inputs and results ------------------------------------------------------------------------------------------ */

static void fill(elements *x)
{
    memset(x->ints, 0xee, sizeof x->ints);
    memset(x->floats[1], 0xee, sizeof x->floats[1]);
    for (size_t k = 0; k < x->count; k++) {
        x->doubles[0][k] = double_of(x, x->at, k);
        x->floats[0][x->what == SUMMED_COLUMNS ? k * x->stride : k] = (float)small_of(x, x->at, k);
        nbcoll_int64_int64 place = place_of(x, x->at, k);
        if (has_reals(x))
            x->place[0][k].real = (nbcoll_double_int64){(double)place.value, place.index};
        else
            x->place[0][k].whole = place;
        if (x->what == LISTS)
            x->ints[k + k * PIECES / x->count] = small_of(x, x->at, k);
        else if (x->what == COLUMNS && x->at == x->root)
            x->ints[k * x->stride] = small_of(x, x->root, k);
    }
}

static bool is_placed(const elements *x, size_t k)
{
    nbcoll_int64_int64 best = place_of(x, 0, k);
    for (int q = 1; q < x->ranks; q++) {
        nbcoll_int64_int64 next = place_of(x, q, k);
        bool is_better = wants_least(x) ? next.value < best.value : next.value > best.value;
        if (is_better || (next.value == best.value && next.index < best.index))
            best = next;
    }
    return has_reals(x)
               ? x->place[1][k].real.value == (double)best.value && x->place[1][k].real.index == best.index
               : x->place[1][k].whole.value == best.value && x->place[1][k].whole.index == best.index;
}

/* The sums of columns, by number: the predefined one, average, with factors, wide, reproducible. */
static uint64_t sum_of_columns(const elements *x)
{
    return mix(x->item->salt, 81) % 5;
}

static float sum_expected(const elements *x, size_t k)
{
    bool is_scaled = x->what == SCALED || (x->what == SUMMED_COLUMNS && sum_of_columns(x) == 2);
    bool is_average = x->what == AVERAGE || (x->what == SUMMED_COLUMNS && sum_of_columns(x) == 1);
    double sum = 0;
    for (int q = 0; q < x->ranks; q++)
        sum += small_of(x, q, k) * (is_scaled ? factor_of(q) : 1);
    return is_average ? (float)sum / (float)x->ranks : (float)sum;
}

/* As sums.h says: of each number what is below the third digit of 28 bits, counted from the highest one of the largest
 * number, is dropped. The rest is one integer of that digit's unit, rounded once. */
static double reproducible_expected(const elements *x, size_t k)
{
    int highest = -1073;
    wide sum = 0;
    for (int q = 0; q < x->ranks; q++) {
        int bits;
        frexp(double_of(x, q, k), &bits);
        highest = bits > highest ? bits : highest;
    }
    int unit = (highest - 1 + 1074) / 28 * 28 - 1074 - 2 * 28;
    for (int q = 0; q < x->ranks; q++)
        sum += (wide)ldexp(double_of(x, q, k), -unit);
    return ldexp((double)sum, unit);
}

static bool is_right(const elements *x, size_t k)
{
    double expected = reproducible_expected(x, k);
    int32_t sum = 0;
    for (int q = 0; q < x->ranks; q++)
        sum += small_of(x, q, k);
    switch (x->what) {
    case AVERAGE:
    case WIDE:
    case SCALED:
        return x->floats[1][k] == sum_expected(x, k);
    case SUMMED_COLUMNS:
        return x->floats[1][k * x->stride] == sum_expected(x, k);
    case PLACES:
        return is_placed(x, k);
    case REPRODUCIBLE:
        return memcmp(&x->doubles[1][k], &expected, sizeof expected) == 0;
    case COLUMNS:
        return x->ints[k * x->stride] == small_of(x, x->root, k);
    default:
        return x->ints[k + k * PIECES / x->count] == sum;
    }
}

static void check(elements *x)
{
    size_t touched = 0, all = sizeof x->ints / sizeof *x->ints;
    const int32_t untouched = (int32_t)0xeeeeeeee;
    for (size_t k = 0; k < x->count; k++)
        if (!is_right(x, k)) {
            storm_find(x->rank->storm, "rank %d, item %d: element %zu of %zu, of kind %d, is wrong",
                       x->rank->actor->rank, x->index, k, x->count, (int)x->what);
            return;
        }
    for (size_t k = 0; k < all && (x->what == COLUMNS || x->what == LISTS); k++)
        touched += x->ints[k] != untouched;
    for (size_t k = 0; k < WORDS_MOST && x->what == SUMMED_COLUMNS; k++)
        touched += memcmp(&x->floats[1][k], &untouched, sizeof untouched) != 0;
    if (touched > x->count)
        storm_find(x->rank->storm, "rank %d, item %d: what lies between its elements was touched", x->rank->actor->rank,
                   x->index);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Pieces of consecutive numbers, with a word between them. */
static nbcoll_status make_lists(elements *x)
{
    nbcoll_list_piece piece[PIECES];
    size_t next = 0;
    for (size_t p = 0; p < PIECES; p++) {
        size_t first = next;
        while (next < x->count && next * PIECES / x->count == p)
            next++;
        piece[p] = (nbcoll_list_piece){next > first ? &x->ints[first + p] : NULL, next - first};
    }
    return nbcoll_lists_make(x->rank->context, NBCOLL_INT32, NBCOLL_SUM, 0, NULL, PIECES, piece, &x->lists);
}

static nbcoll_status make(elements *x)
{
    nbcoll_op sums[] = {NBCOLL_SUM, nbcoll_average(), nbcoll_op_of(&x->scaled), nbcoll_sum_wide(),
                        nbcoll_sum_reproducible()};
    nbcoll_status status = NBCOLL_OK;
    x->factor = factor_of(x->at);
    x->scaled = nbcoll_sum_scaled(&x->factor);
    if (x->what == COLUMNS || x->what == SUMMED_COLUMNS)
        status = nbcoll_strided_make(&x->column, x->what == COLUMNS ? NBCOLL_INT32 : NBCOLL_FLOAT, 1,
                                     (nbcoll_steps){x->count, x->stride}, NBCOLL_ONCE, 1);
    if (x->what == SUMMED_COLUMNS && sum_of_columns(x) && status == NBCOLL_OK)
        status = nbcoll_strided_sum_make(&x->sum, &x->column, sums[sum_of_columns(x)]);
    if (status != NBCOLL_OK)
        return status;
    return x->what == LISTS ? make_lists(x) : NBCOLL_OK;
}

static nbcoll_status start(elements *x, nbcoll_request *request)
{
    nbcoll_comm *comm = x->rank->comm[x->item->comm];
    switch (x->what) {
    case AVERAGE:
    case WIDE:
        return nbcoll_iallreduce(x->floats[0], x->floats[1], x->count, NBCOLL_FLOAT,
                                 x->what == WIDE ? nbcoll_sum_wide() : nbcoll_average(), comm, request);
    case SCALED:
        return nbcoll_iallreduce(x->floats[0], x->floats[1], x->count, NBCOLL_FLOAT, nbcoll_op_of(&x->scaled), comm,
                                 request);
    case SUMMED_COLUMNS:
        return nbcoll_iallreduce(x->floats[0], x->floats[1], 1, nbcoll_type_of(&x->column.type),
                                 sum_of_columns(x) ? nbcoll_op_of(&x->sum.op) : NBCOLL_SUM, comm, request);
    case PLACES:
        return nbcoll_iallreduce(x->place[0], x->place[1], x->count,
                                 has_reals(x) ? NBCOLL_DOUBLE_INT64 : NBCOLL_INT64_INT64,
                                 wants_least(x) ? NBCOLL_MINLOC : NBCOLL_MAXLOC, comm, request);
    case REPRODUCIBLE:
        return nbcoll_iallreduce(x->doubles[0], x->doubles[1], x->count, NBCOLL_DOUBLE, nbcoll_sum_reproducible(), comm,
                                 request);
    case COLUMNS:
        return nbcoll_ibcast(x->ints, 1, nbcoll_type_of(&x->column.type), x->root, comm, request);
    default:
        return nbcoll_iallreduce(x->lists->send, x->lists->recv, x->lists->received, x->lists->type, x->lists->op, comm,
                                 request);
    }
}

static void execute(elements *x)
{
    rank *r = x->rank;
    nbcoll_request request;
    nbcoll_status status;
    int tries = 0;

    fill(x);
    while ((status = start(x, &request)) != NBCOLL_OK)
        if (!rank_is_refused(r, x->index, status, tries++))
            return;
    storm_note(r->storm, r->actor->rank, NOTE_STARTS, (uint64_t)x->index, 8);
    status = rank_wait(r, &request);
    nbcoll_failure failure = rank_failure(r, x->item->comm);
    storm_note(r->storm, r->actor->rank, NOTE_ENDS, (uint64_t)x->index, status);
    judge_end(r->actor, x->item, x->index, status, &failure, NULL);
    if (status == NBCOLL_OK && !r->actor->is_dead && !r->storm->ends &&
        !(r->storm->bad_anywhere & (BAD_DIFFERS | BAD_HEADER)))
        check(x);
}

void elements_run(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n];
    place_in at = r->storm->plan.place[i->comm][r->actor->rank];
    uint64_t random = mix(i->salt, 80);
    nbcoll_status status;
    int tries = 0;
    elements *x = calloc(1, sizeof *x);

    *x = (elements){.rank = r, .item = i, .index = n, .at = at.rank, .ranks = at.size};
    x->what = (elements_kind)(next_random(&random) %
                              (r->storm->plan.edition < EDITION_OF_FORMS ? SCALED : ELEMENTS_KINDS));
    x->root = (int)(next_random(&random) % (uint64_t)at.size);
    uint64_t drawn = next_random(&random);
    x->count = 1 + drawn % (x->what == COLUMNS || x->what == SUMMED_COLUMNS || next_random(&random) % 4 ? ROWS_MOST
                                                                                                       : WORDS_MOST);
    x->stride = 1 + (size_t)r->actor->rank % 20;
    r->builds = true; /* outside of its context */
    while ((status = make(x)) != NBCOLL_OK && rank_is_refused(r, n, status, tries++))
        ;
    r->builds = false;
    for (int t = 0; t < i->times && status == NBCOLL_OK && !r->is_broken[i->comm]; t++)
        execute(x);
    nbcoll_lists_free(x->lists);
    free(x);
}
