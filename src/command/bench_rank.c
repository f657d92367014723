/* SPDX-License-Identifier: BSD-3-Clause
 * What each rank of a benchmark does. All ranks go through the same iterations; before each they meet, and while they
 * wait there they progress, because others may still need that. What is compared takes turns: a batch of iterations of
 * each form of each entry, and so on for so many rounds. */
#include <sched.h>
#include <stdatomic.h>

#include "bench.h"
#include "crew.h"
#include "run.h"

#define DEADLINE UINT64_C(120000000000) /* ns for one operation, */
#define TIMEOUT UINT64_C(20000000000)   /* and to find each other, on a machine under load */
#define WRONG 120

/* What the ranks of a crew share: each its own row of samples. */
typedef struct bench_shared {
    _Alignas(128) atomic_int failed; /* the first status by which a rank has failed: the others give up */
    int is_crowded;                  /* fewer cores than ranks */
    double loops;                    /* of the computation: in a microsecond; then in all of it */
    command_chosen chosen[BENCH_ENTRIES]; /* rank 0's */
    nbcoll_terms terms;                   /* of the crew's communicator, without rules */
    /* Which result was wrong, where `failed` is ERR_VERIFY: "slots, start + wait: rank 1 has a wrong byte 8". */
    char wrong[WRONG];
    atomic_int is_told;
    _Alignas(128) atomic_ulong met;
    _Alignas(128) double sample[]; /* [ranks][entries][BENCH_FORMS][rounds * iterations] */
} bench_shared;

enum { WARM = 100, WARM_BATCH = 2, CALIBRATION = 100000, CHECKS = 3 };

#define PATIENCE 1000           /* looks at the others until one may have lost its core to other programs */
#define POOL ((size_t)16 << 20) /* bytes of the changing buffers: more than a private cache holds */

typedef struct bench_rank {
    const bench_plan *plan;
    bench_shared *shared;
    nbcoll_context *context;
    int number;
    unsigned long meetings;
    uint64_t random;
    nbcoll_comm *comm[BENCH_ENTRIES];  /* of each entry, whose rules force the algorithm */
    size_t *counts, *displs, *offsets; /* of equal blocks; displs in elements, offsets in bytes */
    nbcoll_type *types;
    uint64_t loops;          /* of the computation */
    nbcoll_request *request; /* [instances] */
    unsigned char *send, *recv;
    size_t stride, buffers, next; /* bytes from one buffer to the next; how many; where the next iteration begins */
} bench_rank;

/* A rank that fails tells the others, and ends with its process: peers may still read what is lent to them, and that
 * takes all with it. */
static void must(const bench_rank *me, nbcoll_status status)
{
    if (status == NBCOLL_OK)
        return;
    atomic_compare_exchange_strong(&me->shared->failed, &(int){NBCOLL_OK}, (int)status);
    _exit(0);
}

/* ---- the call of an operation: blocks are equal, nothing is in place --------------------------------------------- */

/* X(OPERATION, name, what goes before the communicator). */
#define TYPE me->plan->at.reduction.type
#define VECTOR me->plan->at.count, TYPE
#define OP me->plan->at.reduction.op
#define ROOT me->plan->at.root
#define ARRAYS me->counts, me->offsets, me->types
#define CALL_LIST(X)                                                                                                   \
    X(BARRIER, barrier, )                                                                                              \
    X(BCAST, bcast, recv, VECTOR, ROOT, )                                                                              \
    X(SCATTER, scatter, send, recv, VECTOR, ROOT, )                                                                    \
    X(GATHER, gather, send, recv, VECTOR, ROOT, )                                                                      \
    X(ALLGATHER, allgather, send, recv, VECTOR, )                                                                      \
    X(REDUCE, reduce, send, recv, VECTOR, OP, ROOT, )                                                                  \
    X(ALLREDUCE, allreduce, send, recv, VECTOR, OP, )                                                                  \
    X(SCATTERV, scatterv, send, me->counts, me->displs, recv, VECTOR, ROOT, )                                          \
    X(GATHERV, gatherv, send, me->plan->at.count, recv, me->counts, me->displs, TYPE, ROOT, )                          \
    X(ALLGATHERV, allgatherv, send, recv, me->counts, me->displs, TYPE, )                                              \
    X(ALLTOALL, alltoall, send, recv, VECTOR, )                                                                        \
    X(ALLTOALLV, alltoallv, send, me->counts, me->displs, recv, me->counts, me->displs, TYPE, )                        \
    X(ALLTOALLW, alltoallw, send, ARRAYS, recv, ARRAYS, )                                                              \
    X(REDUCE_SCATTER, reduce_scatter, send, recv, me->counts, TYPE, OP, )                                              \
    X(REDUCE_SCATTER_BLOCK, reduce_scatter_block, send, recv, VECTOR, OP, )                                            \
    X(SCAN, scan, send, recv, VECTOR, OP, )                                                                            \
    X(EXSCAN, exscan, send, recv, VECTOR, OP, )

#define CALL(OPERATION, name, ...)                                                                                     \
    case NBCOLL_OPERATION_##OPERATION:                                                                                 \
        return request ? nbcoll_i##name(__VA_ARGS__ comm, request) : nbcoll_##name(__VA_ARGS__ comm, DEADLINE);

/* Starts the call of an entry; where `request` is null, it blocks instead. */
static nbcoll_status perform_call(const bench_rank *me, size_t entry, void *send, void *recv, nbcoll_request *request)
{
    nbcoll_comm *comm = me->comm[entry];
    switch (me->plan->at.operation) {
        CALL_LIST(CALL)
    default:
        return NBCOLL_ERR_ARGUMENT;
    }
}

size_t bench_buffer_bytes(const bench_plan *plan)
{
    size_t blocks = command_is(plan->at.operation, COMMAND_BLOCKS) ? (size_t)plan->at.ranks : 1;
    return plan->at.count * nbcoll_type_size(plan->at.reduction.type) * blocks;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* A communicator for the calls of an entry. */
static nbcoll_comm *make_comm(const bench_rank *me, const bench_entry *entry, nbcoll_comm *parent,
                              command_chosen *chosen)
{
    const nbcoll_algorithm *algorithm = entry->choice.algorithm;
    nbcoll_rule forced = command_rule(&entry->choice);
    nbcoll_case at = me->plan->at;
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_comm *comm;
    config.rules = algorithm ? &forced : me->plan->rules->rules;
    config.rule_count = algorithm ? 1 : me->plan->rules->count;
    at.known |= algorithm && algorithm->flags & NBCOLL_ALGORITHM_COUNTS;
    config.flags = at.known ? NBCOLL_COUNTS_KNOWN : 0;
    must(me, nbcoll_comm_dup_with(parent, &config, &comm, TIMEOUT));
    must(me, nbcoll_comm_terms(comm, &terms));
    must(me, command_choose(NULL, me->plan->rules, &terms, &at, chosen));
    if (algorithm && chosen->choice.algorithm != algorithm)
        must(me, NBCOLL_ERR_UNSUPPORTED); /* it cannot serve the call */
    return comm;
}

/* Collective over `comm`. */
static void open_calls(bench_rank *me, nbcoll_comm *comm)
{
    const nbcoll_case *at = &me->plan->at;
    size_t ranks = (size_t)at->ranks, element = nbcoll_type_size(at->reduction.type);
    command_chosen one;
    for (size_t i = 0; i < ranks; i++) {
        me->counts[i] = at->count;
        me->displs[i] = i * at->count;
        me->offsets[i] = i * at->count * element;
        me->types[i] = at->reduction.type;
    }
    for (size_t e = 0; e < me->plan->entries; e++)
        me->comm[e] = make_comm(me, &me->plan->entry[e], comm, me->number ? &one : &me->shared->chosen[e]);
}

/* ---- are results right? ------------------------------------------------------------------------------------------ */

/* Each rank's input is made of its number, the place in it and a round, so that each part of a result can be computed
 * where it is looked at. What it must be, the operation's meaning says. */

#define BYTE_UNTOUCHED 0xa5 /* in receive buffers, before */

/* ---- elements of reductions: small whole numbers, so that no order of operands rounds ---------------------------- */

#define CHECKED_TYPES(X)                                                                                               \
    X(BYTE, unsigned char) X(INT8, int8_t) X(INT16, int16_t) X(INT32, int32_t) X(INT64, int64_t) X(UINT8, uint8_t)     \
    X(UINT16, uint16_t) X(UINT32, uint32_t) X(UINT64, uint64_t) X(FLOAT, float) X(DOUBLE, double)

/* How many bytes it has stored; 0: of this type nothing is checked. */
static size_t store(nbcoll_type type, void *at, int64_t value)
{
#define STORE(name, ctype)                                                                                             \
    if (type == NBCOLL_##name) {                                                                                       \
        memcpy(at, &(ctype){(ctype)value}, sizeof(ctype));                                                             \
        return sizeof(ctype);                                                                                          \
    }
    CHECKED_TYPES(STORE)
#undef STORE
    return 0;
}

static int64_t combine(nbcoll_op op, int64_t left, int64_t right)
{
    switch (op) {
    case NBCOLL_SUM: return left + right;
    case NBCOLL_PROD: return left * right;
    case NBCOLL_MIN: return left < right ? left : right;
    case NBCOLL_MAX: return left > right ? left : right;
    case NBCOLL_LAND: return left && right;
    case NBCOLL_LOR: return left || right;
    case NBCOLL_LXOR: return !left != !right;
    case NBCOLL_BAND: return left & right;
    case NBCOLL_BOR: return left | right;
    default: return left ^ right;
    }
}

/* What is looked at one by one: elements that are combined, or bytes. */
static nbcoll_type unit_of(const bench_plan *plan)
{
    return command_is(plan->at.operation, COMMAND_REDUCES) ? plan->at.reduction.type : (nbcoll_type)NBCOLL_BYTE;
}

/* A rank's input at a place. Of what is combined, one, but for every 61st, which is two: a product of 256 ranks fits in
 * any type that is looked at. */
static int64_t value_of(const bench_plan *plan, int rank, size_t at, unsigned round)
{
    if (command_is(plan->at.operation, COMMAND_REDUCES))
        return 1 + ((at + 7 * (size_t)rank + 13 * (size_t)round) % 61 == 0);
    return (unsigned char)(at * 7 + (at >> 8) + (size_t)rank * 131 + (size_t)round * 29);
}

int bench_can_check(const bench_plan *plan)
{
    unsigned char any[16];
    return store(unit_of(plan), any, 0) > 0 &&
           (!command_is(plan->at.operation, COMMAND_REDUCES) || plan->at.reduction.op < NBCOLL_MINLOC);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

/* Gives a rank the input of a round, and spoils its receive buffer. */
static void fill(const bench_plan *plan, int rank, unsigned round, unsigned char *send, unsigned char *recv)
{
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_type unit = unit_of(plan);
    memset(recv, BYTE_UNTOUCHED, bench_buffer_bytes(plan));
    if (nbcoll_meaning_of(&plan->at, 0, &meaning) != NBCOLL_OK)
        return; /* the calls will say so */
    nbcoll_region input = meaning.input(&meaning, rank);
    unsigned char *to = (input.at.buffer == NBCOLL_BUFFER_SEND ? send : recv) + input.at.offset;
    for (size_t i = 0; i < input.bytes / nbcoll_type_size(unit); i++)
        to += store(unit, to, value_of(plan, rank, i, round));
}

/* The first byte of a wrong unit of what is claimed; SIZE_MAX: there is none. */
static size_t wrong_byte(const bench_plan *plan, const nbcoll_claim *claim, unsigned round, const unsigned char *recv)
{
    nbcoll_type unit = unit_of(plan);
    size_t bytes = nbcoll_type_size(unit);
    for (size_t at = 0; at < claim->bytes && claim->first <= claim->last; at += bytes) {
        unsigned char right[16];
        size_t element = (claim->from + at) / bytes;
        int64_t value = value_of(plan, claim->first, element, round);
        for (int rank = claim->first + 1; rank <= claim->last; rank++)
            value = combine(plan->at.reduction.op, value, value_of(plan, rank, element, round));
        store(unit, right, value);
        if (memcmp(recv + claim->offset + at, right, bytes) != 0)
            return claim->offset + at;
    }
    return SIZE_MAX;
}

/* The first wrong byte of its receive buffer, after that; SIZE_MAX: there is none. */
static size_t wrong_at(const bench_plan *plan, int rank, unsigned round, const unsigned char *recv)
{
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_claim claim = {0};
    size_t wrong = SIZE_MAX;
    if (nbcoll_meaning_of(&plan->at, 0, &meaning) == NBCOLL_OK)
        for (size_t i = 0; wrong == SIZE_MAX && meaning.claim(&meaning, rank, i, &claim); i++)
            wrong = wrong_byte(plan, &claim, round, recv);
    return wrong;
}

/* ---- what the ranks share ---------------------------------------------------------------------------------------- */

static size_t samples_of(const bench_plan *plan)
{
    return (size_t)plan->rounds * (size_t)plan->iterations;
}

/* Where a rank leaves its times: [rounds * iterations]. */
static double *samples_at(const bench_plan *plan, bench_shared *s, int number, size_t entry, bench_form form)
{
    return s->sample + (((size_t)number * plan->entries + entry) * BENCH_FORMS + form) * samples_of(plan);
}

static size_t shared_bytes(const bench_plan *plan)
{
    size_t samples = (size_t)plan->at.ranks * plan->entries * BENCH_FORMS * samples_of(plan);
    return sizeof(bench_shared) + samples * sizeof(double);
}

/* Makes rank 0's samples those of the slowest rank in each iteration. */
static double *slowest(const bench_plan *plan, bench_shared *s, size_t entry, bench_form form, size_t n)
{
    double *most = samples_at(plan, s, 0, entry, form);
    for (int r = 1; r < plan->at.ranks; r++) {
        const double *other = samples_at(plan, s, r, entry, form);
        for (size_t i = 0; i < n; i++)
            most[i] = other[i] > most[i] ? other[i] : most[i];
    }
    return most;
}

static void collect(const bench_plan *plan, bench_shared *s, bench_result results[])
{
    size_t n = samples_of(plan);
    if (plan->terms)
        *plan->terms = s->terms;
    for (size_t e = 0; e < plan->entries; e++) {
        results[e].chosen = s->chosen[e];
        for (int form = 0; form < BENCH_FORMS; form++)
            results[e].form[form] = bench_spread_of(slowest(plan, s, e, (bench_form)form, n), n);
    }
}

static void meet(bench_rank *me)
{
    unsigned long all = ++me->meetings * (unsigned long)me->plan->at.ranks;
    int looks = 0;
    atomic_fetch_add(&me->shared->met, 1);
    while (atomic_load_explicit(&me->shared->met, memory_order_acquire) < all) {
        must(me, nbcoll_progress(me->context));
        must(me, (nbcoll_status)atomic_load(&me->shared->failed));
        if (me->shared->is_crowded || ++looks > PATIENCE)
            sched_yield();
    }
}

/* ---- one iteration ----------------------------------------------------------------------------------------------- */

static void work(uint64_t loops)
{
    uint64_t x = loops;
    while (loops--) {
        x = x * 6364136223846793005u + 1;
        __asm__ volatile("" : "+r"(x));
    }
}

static void spin(double us)
{
    double until = command_now() + us;
    while (command_now() < until)
        ;
}

/* Comes late, where that is asked for. */
static void dawdle(bench_rank *me)
{
    const bench_plan *plan = me->plan;
    if (plan->late > 0 && me->meetings % (unsigned long)plan->at.ranks == (unsigned long)me->number)
        spin(plan->late);
    if (plan->noise > 0) {
        me->random = me->random * 6364136223846793005u + 1442695040888963407u;
        spin(plan->noise * (double)(me->random >> 40) / (double)(1 << 24));
    }
}

/* The first buffer of an iteration. */
static size_t take_buffers(bench_rank *me, size_t entry)
{
    size_t instances = (size_t)me->plan->instances;
    if (!me->plan->entry[entry].is_changing)
        return 0;
    size_t first = me->next + instances <= me->buffers ? me->next : 0;
    me->next = first + instances;
    return first;
}

static void call_all(bench_rank *me, size_t entry, bench_form form, size_t buffer)
{
    for (int i = 0; i < me->plan->instances; i++, buffer++)
        must(me,
         perform_call(me, entry, me->send + buffer * me->stride, me->recv + buffer * me->stride,
                                 form == BENCH_BLOCKING ? NULL : &me->request[i]));
}

static void wait_all(bench_rank *me)
{
    must(me, me->plan->instances == 1 ? nbcoll_wait(me->request, DEADLINE)
                                                    : nbcoll_wait_all((size_t)me->plan->instances, me->request, NULL,
                                                                      DEADLINE));
}

/* Computes, and tests in between if asked to. */
static void compute(bench_rank *me, int is_testing)
{
    uint64_t parts = (uint64_t)me->plan->tests + 1;
    nbcoll_status status = NBCOLL_PENDING;
    for (uint64_t i = 0; i < parts; i++) {
        work(me->loops / parts);
        if (is_testing && i + 1 < parts && status == NBCOLL_PENDING)
            status = me->plan->instances == 1
                         ? nbcoll_test(me->request)
                         : nbcoll_test_all((size_t)me->plan->instances, me->request, NULL);
    }
    must(me, status == NBCOLL_PENDING ? NBCOLL_OK : status);
}

static void perform(bench_rank *me, size_t entry, bench_form form, size_t buffer)
{
    if (form != BENCH_COMPUTING)
        call_all(me, entry, form, buffer);
    if (form == BENCH_OVERLAPPED || form == BENCH_COMPUTING)
        compute(me, form == BENCH_OVERLAPPED);
    if (form == BENCH_NONBLOCKING || form == BENCH_OVERLAPPED)
        wait_all(me);
}

/* How many microseconds it took. */
static double iterate(bench_rank *me, size_t entry, bench_form form)
{
    size_t buffer = take_buffers(me, entry);
    meet(me);
    dawdle(me);
    double at = command_now();
    perform(me, entry, form, buffer);
    return command_now() - at;
}

/* ---- are the results right? -------------------------------------------------------------------------------------- */

/* The first rank that finds something wrong says what. */
static void tell_wrong(bench_rank *me, size_t entry, bench_form form, size_t at)
{
    static const char *const names[] = {"blocking", "start + wait", "start + compute + wait"};
    const nbcoll_algorithm *algorithm = me->plan->entry[entry].choice.algorithm;
    int nobody = 0;
    if (atomic_compare_exchange_strong(&me->shared->is_told, &nobody, 1))
        snprintf(me->shared->wrong, sizeof me->shared->wrong, "%s, %s: rank %d has a wrong byte %zu",
                 algorithm ? algorithm->name : "default", names[form], me->number, at);
    must(me, NBCOLL_ERR_VERIFY);
}

static void check_once(bench_rank *me, size_t entry, bench_form form, unsigned round)
{
    size_t first = take_buffers(me, entry), end = first + (size_t)me->plan->instances;
    for (size_t b = first; b < end; b++)
        fill(me->plan, me->number, round + (unsigned)b, me->send + b * me->stride, me->recv + b * me->stride);
    meet(me);
    perform(me, entry, form, first);
    for (size_t b = first; b < end; b++) {
        size_t at = wrong_at(me->plan, me->number, round + (unsigned)b, me->recv + b * me->stride);
        if (at != SIZE_MAX)
            tell_wrong(me, entry, form, at);
    }
}

/* Each form of each entry, a few times on other data. */
static void check(bench_rank *me)
{
    for (size_t e = 0; e < me->plan->entries && me->plan->is_checked; e++)
        for (int form = 0; form < BENCH_COMPUTING; form++)
            for (unsigned round = 0; round < CHECKS; round++)
                check_once(me, e, (bench_form)form, round);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* How fast work() is, while all ranks do it; rank 0's is taken. */
static void time_work(bench_rank *me)
{
    double sample[5];
    for (int i = 0; i < 5; i++) {
        double at = command_now();
        work(CALIBRATION);
        sample[i] = command_now() - at;
    }
    if (me->number == 0)
        me->shared->loops = CALIBRATION / bench_spread_of(sample, 5).least;
    meet(me);
}

/* Warms an entry up, and then measures it. */
static void batch(bench_rank *me, size_t entry, bench_form form, int warm, int iterations, double *to)
{
    for (int i = -warm; i < iterations; i++) {
        double us = iterate(me, entry, form);
        if (i >= 0)
            to[i] = us;
    }
}

/* Warms all up, and gives the computation its length, the same on all ranks, after the slowest entry. */
static void calibrate(bench_rank *me)
{
    const bench_plan *plan = me->plan;
    int n = samples_of(plan) < WARM ? (int)samples_of(plan) : WARM;
    double us = 0;
    for (size_t e = 0; e < plan->entries; e++)
        batch(me, e, BENCH_NONBLOCKING, n, n, samples_at(plan, me->shared, me->number, e, BENCH_NONBLOCKING));
    meet(me);
    if (me->number == 0) {
        for (size_t e = 0; e < plan->entries; e++) {
            double *most = slowest(plan, me->shared, e, BENCH_NONBLOCKING, (size_t)n);
            double median = bench_spread_of(most, (size_t)n).median;
            us = median > us ? median : us;
        }
        me->shared->loops *= us * plan->compute;
    }
    meet(me);
    me->loops = (uint64_t)me->shared->loops;
}

static void measure(bench_rank *me)
{
    const bench_plan *plan = me->plan;
    if (plan->entries) {
        time_work(me);
        calibrate(me);
    }
    check(me);
    for (int round = 0; round < plan->rounds; round++)
        for (size_t e = 0; e < plan->entries; e++)
            for (int i = 0; i < BENCH_FORMS; i++) { /* each comes first in its turn */
                bench_form form = (bench_form)((i + round) % BENCH_FORMS);
                double *to = samples_at(plan, me->shared, me->number, e, form) + round * plan->iterations;
                if (!plan->only || plan->only & 1u << form)
                    batch(me, e, form, WARM_BATCH, plan->iterations, to);
            }
    check(me);
    meet(me);
}

static void prepare(bench_rank *me)
{
    const bench_plan *plan = me->plan;
    size_t instances = (size_t)plan->instances, bytes = bench_buffer_bytes(plan), ranks = (size_t)plan->at.ranks;
    me->stride = bytes ? (bytes + 127) / 128 * 128 : 128;
    me->buffers = instances;
    for (size_t e = 0; e < plan->entries; e++)
        if (plan->entry[e].is_changing)
            me->buffers = POOL / me->stride > 2 * instances ? POOL / me->stride : 2 * instances;
    if (me->buffers > SIZE_MAX / 2 / me->stride)
        must(me, NBCOLL_ERR_MEMORY);
    me->request = calloc(instances, sizeof *me->request);
    me->send = aligned_alloc(128, me->buffers * me->stride);
    me->recv = aligned_alloc(128, me->buffers * me->stride);
    me->counts = calloc(3 * ranks, sizeof *me->counts);
    me->types = calloc(ranks, sizeof *me->types);
    if (!me->request || !me->send || !me->recv || !me->counts || !me->types)
        must(me, NBCOLL_ERR_MEMORY);
    me->displs = me->counts + ranks;
    me->offsets = me->displs + ranks;
    memset(me->send, 0x3c, me->buffers * me->stride); /* a page that was never written is no memory yet */
    memset(me->recv, 0x3c, me->buffers * me->stride);
}

/* Between opening its end and closing it. */
static void work_through(bench_rank *me, nbcoll_comm *comm)
{
    nbcoll_terms *terms = &me->shared->terms;
    if (me->number == 0 && nbcoll_comm_terms(comm, terms) == NBCOLL_OK) {
        terms->rules = NULL; /* these two: the communicator's, and of another process */
        terms->rule_count = 0;
        terms->nodes = me->plan->at.nodes; /* as does its table */
    }
    prepare(me);
    open_calls(me, comm);
    measure(me);
    for (size_t e = 0; e < me->plan->entries; e++)
        nbcoll_comm_free(me->comm[e]); /* where a message is still to be handed over, it ends with its context */
    free(me->request);
    free(me->send);
    free(me->recv);
    free(me->counts);
    free(me->types);
}

/* ---- the crew, over shared memory, of which a piece is shared with the command: samples go there ----------------- */

typedef struct bench_crew {
    const bench_plan *plan;
    bench_shared *shared;
    nbcoll_shm_id id;
    const run_binding *binding;
} bench_crew;

static void live(void *user, int number)
{
    const bench_crew *c = user;
    bench_rank me = {.plan = c->plan, .shared = c->shared, .number = number, .random = (uint64_t)number + 1};
    int ranks = c->plan->at.ranks;
    const nbcoll_nodes *nodes = c->plan->at.nodes, *domains = nodes ? nbcoll_nodes_domains(nodes) : NULL;
    nbcoll_transport_open *transport = c->plan->transport;
    nbcoll_shm_config config = {.size = sizeof config, .id = c->id, .rank = number, .ranks = ranks,
                                .timeout = TIMEOUT};
    nbcoll_comm_config named = NBCOLL_COMM_DEFAULTS;
    nbcoll_endpoint *end = NULL;
    nbcoll_comm *comm;
    nbcoll_status status;
    run_bind_here(c->binding, number); /* where it cannot be, the rank runs anywhere */
    if (nodes)
        named.node = 1 + (uint64_t)nbcoll_node_of(nodes, number);
    if (domains)
        named.domain = 1 + (uint64_t)nbcoll_node_of(domains, number);
    config.quota = nbcoll_shm_quota(ranks) + c->plan->entries * nbcoll_cells_bytes(NULL, ranks); /* for each entry */
    must(&me, transport ? transport(c->id.text, number, ranks, &end) : nbcoll_shm_open(&config, &end));
    must(&me, nbcoll_context_create(NBCOLL_ABI, NULL, &me.context));
    must(&me, nbcoll_comm_create(me.context, end, &named, &comm, TIMEOUT));
    work_through(&me, comm);
    must(&me, nbcoll_barrier(comm, TIMEOUT));
    while ((status = nbcoll_context_free(me.context)) == NBCOLL_ERR_BUSY)
        must(&me, nbcoll_progress(me.context));
    must(&me, status);
}

/* What the crew measures, or why it could not; `wrong`: which result, where that is ERR_VERIFY. */
static nbcoll_status run_crew(const command *self, const bench_plan *plan, bench_result results[],
                              char wrong[WRONG])
{
    size_t bytes = shared_bytes(plan);
    run_binding *binding = run_bind_find(self, plan->bind, plan->at.ranks);
    bench_crew c = {.plan = plan, .binding = binding, .shared = crew_share(bytes)};
    nbcoll_status why = c.shared ? nbcoll_shm_id_make(&c.id) : NBCOLL_ERR_MEMORY;
    if (why == NBCOLL_OK) {
        c.shared->is_crowded = bench_cores() < plan->at.ranks;
        c.shared->terms.size = sizeof c.shared->terms;
        why = crew_run(&(crew){.ranks = plan->at.ranks, .together = plan->are_threads ? plan->at.ranks : 1,
                               .live = live, .user = &c, /* nobody waits for a rank that died: */
                               .failed = &c.shared->failed});
        if (atomic_load(&c.shared->failed) != NBCOLL_OK)
            why = (nbcoll_status)atomic_load(&c.shared->failed);
        memcpy(wrong, c.shared->wrong, WRONG);
    }
    if (why == NBCOLL_OK)
        collect(plan, c.shared, results);
    crew_unshare(c.shared, bytes);
    run_bind_free(binding);
    return why;
}

void bench_run(const command *self, const bench_plan *plan, bench_result results[])
{
    char wrong[WRONG];
    nbcoll_status why = run_crew(self, plan, results, wrong);
    if (why != NBCOLL_OK)
        command_fail(self, "%s of %d ranks, %zu elements: %s",
                     plan->is_pair ? "point-to-point" : nbcoll_operation_name(plan->at.operation), plan->at.ranks,
                     plan->at.count, why == NBCOLL_ERR_VERIFY ? wrong : nbcoll_status_text(why));
}

nbcoll_status command_terms_here(const command *self, int ranks, nbcoll_terms *out)
{
    static const command_rules none = {0};
    const bench_plan plan = {.at.ranks = ranks, .rules = &none, .rounds = 1, .iterations = 1, .terms = out};
    char wrong[WRONG];
    return ranks > NBCOLL_SHM_RANKS ? NBCOLL_ERR_LIMIT : run_crew(self, &plan, NULL, wrong);
}

/* ---- the machine's latency class --------------------------------------------------------------------------------- */

/* Where a hypervisor places the cores is not ours to see, and changes; but how long a line takes from one of them to
 * the other tells, and what is compared must have been measured in one latency class. */

enum { WINDOWS = 21, TRIPS = 400 };

typedef struct ping_pong {
    const run_binding *binding;
    _Alignas(128) atomic_int ping;
    _Alignas(128) atomic_int pong;
    double window[WINDOWS];
} ping_pong;

static void await(atomic_int *line, int value)
{
    while (atomic_load_explicit(line, memory_order_acquire) != value)
        ;
}

/* One asks, and the other one answers. */
static void pass_line(void *user, int rank)
{
    ping_pong *p = user;
    run_bind_here(p->binding, rank);
    for (int w = 0, i = 0; w < WINDOWS; w++) {
        double at = command_now();
        for (int trip = 0; trip < TRIPS; trip++) {
            if (rank == 1)
                await(&p->ping, i + 1);
            atomic_store_explicit(rank == 0 ? &p->ping : &p->pong, ++i, memory_order_release);
            if (rank == 0)
                await(&p->pong, i);
        }
        if (rank == 0)
            p->window[w] = (command_now() - at) / (2 * TRIPS);
    }
}

int bench_cores(void)
{
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

bench_latency bench_probe(const command *self, const char *bind)
{
    run_binding *binding = bench_cores() < 2 ? NULL : run_bind_find(self, bind, 2);
    ping_pong *p = bench_cores() < 2 ? NULL : crew_share(sizeof *p);
    bench_latency latency = {'-', 0};
    if (p) {
        p->binding = binding;
        if (crew_run(&(crew){.ranks = 2, .together = 2, .live = pass_line, .user = p}) == NBCOLL_OK) {
            latency.us = bench_spread_of(p->window, WINDOWS).median;
            latency.letter = latency.us < 0.038 ? 'S' : latency.us < 0.13 ? 'C' : 'X';
        }
    }
    run_bind_free(binding);
    crew_unshare(p, sizeof *p);
    return latency;
}
