/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What vectors are worth in reductions: REDUCE steps as the library runs them, beside the same loop over single
 * elements, compiled here and kept from being vectorised. Sizes go from the level 1 cache to memory. The library works
 * once on buffers aligned as its scratch memory is, and once an element further on. All are measured in turns, so that
 * they see the same disturbances; figures are medians. The library's include its engine's cost of a step.
 *
 *     reduce [ROUNDS]       21 unless given
 */
#include <nbcoll/loopback.h>
#include <nbcoll/schedule.h>

#include "timing.h"

#define MOST_ROUNDS 1001
#define LARGEST (16u << 20)
#define L1 16384u /* bytes an operand, up to which two of them fit into any level 1 cache of today */

typedef void element_loop(void *result, const void *left, const void *right, size_t count);

#define ELEMENT_LOOP(name, T, value)                                                                                   \
    static void name(void *result, const void *left, const void *right, size_t count)                                  \
    {                                                                                                                  \
        T *z = result;                                                                                                 \
        const T *x = left, *y = right;                                                                                 \
        for (size_t i = 0; i < count; i++) {                                                                           \
            __asm__(""); /* no compiler makes vectors across this */                                                   \
            z[i] = value;                                                                                              \
        }                                                                                                              \
    }
ELEMENT_LOOP(sum_float, float, x[i] + y[i])
ELEMENT_LOOP(sum_double, double, x[i] + y[i])
ELEMENT_LOOP(sum_int32, uint32_t, x[i] + y[i])
ELEMENT_LOOP(sum_int64, uint64_t, x[i] + y[i])
ELEMENT_LOOP(max_int16, int16_t, x[i] > y[i] ? x[i] : y[i])
ELEMENT_LOOP(xor_uint8, uint8_t, x[i] ^ y[i])
ELEMENT_LOOP(product, nbcoll_float_complex,
             ((nbcoll_float_complex){x[i].re * y[i].re - x[i].im * y[i].im, x[i].re * y[i].im + x[i].im * y[i].re}))
ELEMENT_LOOP(minloc, nbcoll_double_int,
             x[i].value < y[i].value || (x[i].value == y[i].value && x[i].index <= y[i].index) ? x[i] : y[i])

static float from_bfloat16(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float f;
    memcpy(&f, &word, sizeof f);
    return f;
}

static uint16_t to_bfloat16(float f)
{
    uint32_t word;
    memcpy(&word, &f, sizeof word);
    return (uint16_t)(f != f ? word >> 16 | 0x40 : (word + 0x7fff + (word >> 16 & 1)) >> 16);
}
ELEMENT_LOOP(sum_bfloat16, uint16_t, to_bfloat16(from_bfloat16(x[i]) + from_bfloat16(y[i])))

typedef struct subject {
    nbcoll_reduction how;
    element_loop *loop;
} subject;

static const subject subjects[] = {
    {{NBCOLL_FLOAT, NBCOLL_SUM}, sum_float},  {{NBCOLL_DOUBLE, NBCOLL_SUM}, sum_double},
    {{NBCOLL_INT32, NBCOLL_SUM}, sum_int32},  {{NBCOLL_INT64, NBCOLL_SUM}, sum_int64},
    {{NBCOLL_INT16, NBCOLL_MAX}, max_int16},  {{NBCOLL_UINT8, NBCOLL_BXOR}, xor_uint8},
    {{NBCOLL_BFLOAT16, NBCOLL_SUM}, sum_bfloat16},
    {{NBCOLL_FLOAT_COMPLEX, NBCOLL_PROD}, product},
    {{NBCOLL_DOUBLE_INT, NBCOLL_MINLOC}, minloc},
};

/* The one rank, its buffers, and how many rounds it measures. */
typedef struct bench {
    nbcoll_context *context;
    nbcoll_comm *comm;
    char *send, *recv;
    int rounds;
} bench;

/* A request for so many REDUCE steps in a row, recv = recv op send, from `offset` on in both buffers. */
static nbcoll_request make(const bench *e, nbcoll_reduction how, size_t offset, size_t count, int steps,
                           nbcoll_schedule **schedule)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = 0, .ranks = 1};
    nbcoll_addr send = {NBCOLL_BUFFER_SEND, offset}, recv = {NBCOLL_BUFFER_RECV, offset};
    nbcoll_builder *b;
    nbcoll_request request;
    nbcoll_step last = NBCOLL_START;
    must(nbcoll_builder_open(&config, &b));
    for (int i = 0; i < steps; i++) {
        nbcoll_step step = nbcoll_add_combine(b, recv, recv, send, count, how);
        nbcoll_after(b, step, last);
        last = step;
    }
    must(nbcoll_builder_finish(b, schedule));
    must(nbcoll_schedule_init(*schedule, e->send, e->recv, e->comm, &request));
    return request;
}

static void run(nbcoll_request *request)
{
    must(nbcoll_start(request));
    must(nbcoll_wait(request, NBCOLL_FOREVER));
}

/* Measures one reduction at one size; prints a line; returns how many times faster the aligned library is. */
static double measure(const bench *e, const subject *s, size_t bytes)
{
    static double sample[3][MOST_ROUNDS]; /* loop, aligned, shifted */
    size_t size = nbcoll_type_size(s->how.type), count = bytes / size;
    int steps = bytes < (1u << 20) ? (int)((1u << 20) / bytes) : 1;
    nbcoll_schedule *schedule[2];
    nbcoll_request request[2];
    for (int k = 0; k < 2; k++) {
        request[k] = make(e, s->how, k ? size : 0, count, steps, &schedule[k]);
        run(&request[k]); /* to warm up */
    }
    for (int round = 0; round < e->rounds; round++)
        for (int k = 0; k < 3; k++) {
            double begin = now();
            if (k > 0)
                run(&request[k - 1]);
            for (int i = 0; k == 0 && i < steps; i++)
                s->loop(e->recv, e->recv, e->send, count);
            sample[k][round] = (now() - begin) / steps;
        }
    for (int k = 0; k < 2; k++) {
        must(nbcoll_request_free(&request[k]));
        must(nbcoll_schedule_free(schedule[k]));
    }
    double loop = median(sample[0], e->rounds), aligned = median(sample[1], e->rounds);
    double shifted = median(sample[2], e->rounds);
    printf("%-13s %-6s %9zu %11.0f %11.0f %11.0f %8.1f %8.1f\n", nbcoll_type_name(s->how.type),
           nbcoll_op_name(s->how.op), bytes, loop, aligned, shifted, loop / aligned, loop / shifted);
    return loop / aligned;
}

int main(int argc, char *argv[])
{
    static const size_t sizes[] = {256, 1024, 4096, L1, 65536, 1u << 20, LARGEST};
    bench e = {.send = aligned_alloc(64, LARGEST + 64), .recv = aligned_alloc(64, LARGEST + 64),
               .rounds = argc > 1 ? atoi(argv[1]) : 21};
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = 1};
    nbcoll_loopback *world;
    nbcoll_endpoint *endpoint;
    double best = 0;
    if (!e.send || !e.recv || e.rounds < 1 || e.rounds > MOST_ROUNDS) {
        fprintf(stderr, "usage: reduce [ROUNDS], 1 to %d\n", MOST_ROUNDS);
        return 2;
    }
    memset(e.send, 0, LARGEST + 64);
    memset(e.recv, 0, LARGEST + 64);
    must(nbcoll_loopback_create(&config, &world));
    must(nbcoll_loopback_open(world, 0, &endpoint));
    must(nbcoll_context_create(NBCOLL_ABI, NULL, &e.context));
    must(nbcoll_comm_create(e.context, endpoint, NULL, &e.comm, NBCOLL_FOREVER));

    puts("nanoseconds a reduction, and how many times the loop over elements\n\n"
         "                         bytes        loop     aligned     shifted  aligned  shifted");
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            double ratio = measure(&e, &subjects[i], sizes[k]);
            if (i == 0 && sizes[k] <= L1 && ratio > best)
                best = ratio;
        }
    printf("\nFLOAT SUM in the level 1 cache: %.1f times\n", best);

    must(nbcoll_context_free(e.context));
    must(nbcoll_loopback_free(world));
    free(e.send);
    free(e.recv);
    return 0;
}
