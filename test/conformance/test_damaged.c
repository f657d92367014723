/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One header field of one message is damaged on its way, in every way in which data moves: what is under way ends, well
 * or with an error of its own, or when the program gives up: first its operations, then those ranks. Likewise when a
 * copy, damaged or not, comes at any other time. Under the address sanitizer that also says that nothing beyond any
 * buffer is touched. And what no rank may send is found at once: its sender is lost, with a reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/engine/state/communicator.h"
#include "../../src/engine/state/message.h"
#include "../../src/engine/wire/control.h"
#include "damaging.h"
#include "operation.h"
#include "rdma_like.h"
#include "world.h"

enum { RANKS = 3, OPERATIONS = 5, CALLS = RANKS * (OPERATIONS + 1), ROUNDS = 400, LOOPBACKS = 5, WAYS = LOOPBACKS + 4 };

static const uint32_t loopbacks[LOOPBACKS] = {0, NBCOLL_LOOPBACK_NO_BULK, NBCOLL_LOOPBACK_NO_GET,
                                              NBCOLL_LOOPBACK_SHARED, NBCOLL_LOOPBACK_LEND};
static const operation operations[OPERATIONS] = {
    {.what = NBCOLL_OPERATION_BCAST, .count = 1000, .how = {NBCOLL_UINT8, NBCOLL_SUM}, .seed = 1},
    {.what = NBCOLL_OPERATION_ALLTOALL, .count = 8, .how = {NBCOLL_UINT8, NBCOLL_SUM}, .seed = 2},
    {.what = NBCOLL_OPERATION_ALLREDUCE, .count = 100, .how = {NBCOLL_INT64, NBCOLL_SUM}, .seed = 3},
    {.what = NBCOLL_OPERATION_GATHER, .root = 1, .count = 200, .how = {NBCOLL_UINT8, NBCOLL_SUM}, .seed = 4},
    {.what = NBCOLL_OPERATION_ALLREDUCE, .count = 1, .how = {NBCOLL_INT32, NBCOLL_SUM}, .seed = 5},
};

typedef struct scene {
    world w;
    rdma_like *rdma; /* or null */
    damaging_plan plan[RANKS];
    nbcoll_comm *twin[RANKS];
    nbcoll_request q[CALLS];
    nbcoll_status status[CALLS];
    share shares[RANKS][OPERATIONS];
} scene;

static void open_scene(scene *s, int way, const nbcoll_context_config *context)
{
    const nbcoll_loopback_config loopback = {
        .size = sizeof loopback, .payload = 1024, .flags = way < LOOPBACKS ? loopbacks[way] : 0};
    const nbcoll_comm_config config = {
        .size = sizeof config, .slots = 4, .cells = 8, .schedules = 16, .eager = 64, .large = 2048};

    memset(s, 0, sizeof *s);
    world_open_contexts(&s->w, RANKS, &loopback, context);
    if (way >= LOOPBACKS)
        s->rdma = rdma_like_make(way < LOOPBACKS + 3 ? (uint32_t)(way - LOOPBACKS) : RDMA_LIKE_LINES);
    for (int r = 0; r < RANKS; r++) {
        s->plan[r].type = -1;
        s->w.endpoint[r]->limits.payload = s->rdma ? 1024 : 256;
        if (s->rdma)
            s->w.endpoint[r] = rdma_like_open(s->rdma, s->w.endpoint[r]);
        s->w.endpoint[r] = damaging_open(s->w.endpoint[r], &s->plan[r]);
        EXPECT(OK, nbcoll_comm_icreate(s->w.context[r], s->w.endpoint[r], &config, &s->w.comm[r], &s->q[r]));
    }
    world_finish(&s->w, RANKS, s->q);
}

/* Each rank starts all operations, and then makes a communicator. */
static void start(scene *s)
{
    for (int r = 0; r < RANKS; r++) {
        nbcoll_request *q = &s->q[r * (OPERATIONS + 1)];
        for (int i = 0; i < OPERATIONS; i++) {
            s->shares[r][i] = share_make(&operations[i], r, RANKS);
            EXPECT(OK, operation_start(&operations[i], &s->shares[r][i], s->w.comm[r], &q[i]));
        }
        EXPECT(OK, nbcoll_comm_idup(s->w.comm[r], &s->twin[r], &q[OPERATIONS]));
    }
    for (int i = 0; i < CALLS; i++)
        s->status[i] = NBCOLL_PENDING;
}

/* Steps till all have ended, or so often. Returns how many have not. */
static int step(scene *s, int rounds)
{
    int left = CALLS;

    for (int i = 0; i < rounds && left; i++) {
        left = 0;
        for (int k = 0; k < CALLS; k++) {
            if (s->status[k] == NBCOLL_PENDING)
                s->status[k] = nbcoll_test(&s->q[k]);
            left += s->status[k] == NBCOLL_PENDING;
        }
        world_step(&s->w);
    }
    return left;
}

static void give_up(scene *s)
{
    for (int k = 0; k < CALLS; k++)
        if (s->status[k] == NBCOLL_PENDING)
            EXPECT(OK, nbcoll_cancel(s->q[k]));
    if (!step(s, ROUNDS))
        return;
    for (int r = 0; r < RANKS; r++)
        for (int other = 0; other < RANKS; other++)
            if (other != r)
                EXPECT(OK, nbcoll_comm_declare_lost(s->w.comm[r], other));
}

static void close_scene(scene *s)
{
    world_close(&s->w);
    rdma_like_free(s->rdma);
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < OPERATIONS; i++)
            share_free(&s->shares[r][i]);
}

/* Which of these were damaged, and how the calls ended. */
typedef struct tally {
    int damaged, well, badly, given_up;
} tally;

/* Does the message then mean another operation, or another place? Nothing but its contents could tell. */
static int moves_elsewhere(int field)
{
    const char *name = damaging_name(field);
    return !strcmp(name, "tag") || !strcmp(name, "number") || !strcmp(name, "bytes");
}

static void run(int way, int field, int at, uint64_t seed, tally *t)
{
    const nbcoll_context_config context = {.size = sizeof context, .credits = 3};
    scene s;
    open_scene(&s, way, &context);
    for (int r = 0; r < RANKS; r++)
        s.plan[r] = (damaging_plan){.seed = seed, .field = field, .at = r == (int)(seed % RANKS) ? at : 0, .type = -1};
    start(&s);
    if (step(&s, ROUNDS)) {
        t->given_up++;
        give_up(&s);
    }
    int left = step(&s, 20 * ROUNDS);
    if (left)
        print_message("way %d, %s of message %d (type %d), seed %llu: %d calls have not ended\n", way,
                      damaging_name(field), at, s.plan[seed % RANKS].type, (unsigned long long)seed, left);
    assert_int_equal(left, 0);
    for (int k = 0; k < CALLS; k++)
        *(s.status[k] == NBCOLL_OK ? &t->well : &t->badly) += 1;
    for (int r = 0; r < RANKS && !moves_elsewhere(field); r++)
        for (int i = 0; i < OPERATIONS; i++)
            if (s.status[r * (OPERATIONS + 1) + i] == NBCOLL_OK)
                operation_check(&operations[i], &s.shares[r][i], r, RANKS);
    t->damaged += s.plan[seed % RANKS].type != -1;
    close_scene(&s);
}

static void whatever_field_is_damaged_all_operations_end(void **state)
{
    tally t = {0};
    uint64_t seed = 20261126;
    (void)state;

    print_message("seed %llu\n", (unsigned long long)seed);
    for (int way = 0; way < WAYS; way++)
        for (int field = 0; field < DAMAGING_FIELDS; field++)
            for (int at = 1; at < 60; at += 1 + (int)(seed % 7), seed++)
                run(way, field, at, seed, &t);
    print_message("%d damaged; calls: %d well, %d not; given up %d times\n", t.damaged, t.well, t.badly, t.given_up);
    assert_true(t.damaged > 300 && t.badly > 300 && t.well > 300);
}

/* ---- copies that come at any time -------------------------------------------------------------------------------- */

/* Without those of executors, which nobody sends here. */
enum { TYPES = NBCOLLI_EXECUTED, MS = 1000000, TURNS = 40, AGAIN = 4 };

static uint64_t clock_now(void *user)
{
    return *(uint64_t *)user;
}

/* A job in which messages of all types are sent. A copy of one comes once more `delay` turns after it. */
typedef struct job {
    scene s;
    uint64_t clock;
    int delay;
    nbcoll_comm *rest[RANKS];
    nbcoll_request q[8 * RANKS];
    size_t started;
} job;

static void take(job *j, nbcoll_status s)
{
    j->started += s == NBCOLL_OK;
}

static void turn(job *j)
{
    j->clock += 10 * MS;
    world_step(&j->s.w);
    for (int r = 0; r < RANKS; r++) {
        damaging_plan *p = &j->s.plan[r];
        nbcoll_endpoint *from = p->is_kept == 1 ? j->s.w.endpoint[p->source] : NULL;
        nbcoll_work work = {0};
        if (from && j->delay-- <= 0 && from->transport->post(from, r, &p->header, p->payload, p->bytes, &work) ==
                                           NBCOLL_POST_DONE)
            p->is_kept = 2;
    }
}

static void turns(job *j, int n)
{
    for (int i = 0; i < n; i++)
        turn(j);
}

/* Those that have not ended then are cancelled. */
static void end_all(job *j)
{
    for (int n = 0, left = 1; left; n++) {
        left = 0;
        for (size_t i = 0; i < j->started; i++) {
            int is_pending = nbcoll_test(&j->q[i]) == NBCOLL_PENDING;
            if (is_pending && n == TURNS)
                EXPECT(OK, nbcoll_cancel(j->q[i]));
            left += is_pending;
        }
        if (n == 2 * TURNS)
            for (int r = 0; r < RANKS; r++)
                for (int other = 0; other < RANKS; other++)
                    if (other != r)
                        EXPECT(OK, nbcoll_comm_declare_lost(j->s.w.comm[r], other));
        assert_true(n < 10 * TURNS);
        turn(j);
    }
    j->started = 0;
}

/* Rank 2 comes late to more than it has credits for, and to a barrier; a bcast is cancelled before the others call it;
 * rank 1 calls something else. */
static void differ(job *j)
{
    static unsigned char data[RANKS][1000];
    nbcoll_comm **comm = j->s.twin[0] && j->s.twin[1] && j->s.twin[2] ? j->s.twin : j->s.w.comm;

    for (int r = 0; r < RANKS; r++) {
        for (int i = 0; i < 5; i++)
            take(j, nbcoll_ibcast(data[r], 10, NBCOLL_UINT8, 0, comm[r], &j->q[j->started]));
        take(j, nbcoll_ibarrier(comm[r], &j->q[j->started]));
        if (r)
            turns(j, TURNS);
    }
    end_all(j);
    take(j, nbcoll_ibcast(data[0], 1000, NBCOLL_UINT8, 0, comm[0], &j->q[j->started]));
    turns(j, 2);
    if (j->started)
        EXPECT(OK, nbcoll_cancel(j->q[0]));
    for (int r = 1; r < RANKS; r++)
        take(j, nbcoll_ibcast(data[r], 1000, NBCOLL_UINT8, 0, comm[r], &j->q[j->started]));
    end_all(j);
    for (int r = 0; r < RANKS; r++)
        take(j, r == 1 ? nbcoll_ibarrier(comm[r], &j->q[j->started])
                       : nbcoll_ibcast(data[r], 100, NBCOLL_UINT8, 0, comm[r], &j->q[j->started]));
    end_all(j);
    for (int r = 0; r < RANKS; r++)
        (void)nbcoll_comm_free(j->s.twin[r]);
}

/* Ranks 0 and 1 go on without rank 2. */
static void shrink(job *j)
{
    for (int r = 0; r < 2; r++) {
        EXPECT(OK, nbcoll_comm_declare_lost(j->s.w.comm[r], 2));
        take(j, nbcoll_comm_ishrink(j->s.w.comm[r], &j->rest[r], &j->q[j->started]));
    }
    end_all(j);
}

/* Where messages of that type are sent: without bulk data, since the keys of copies would be of memory that is lent no
 * more; but PUTs, which carry none. */
static int way_of(int type)
{
    return type == NBCOLLI_PUT ? 2 : 1;
}

/* Returns whether there was such a message. */
static int run_again(int type, int field, int delay, uint64_t seed)
{
    job j = {.clock = 1, .delay = delay};
    nbcoll_context_config context = {.size = sizeof context, .credits = 3,
                                     .host = {.size = sizeof context.host, .user = &j.clock, .now = clock_now}};
    int was_kept = 0;

    open_scene(&j.s, way_of(type), &context);
    for (int r = 0; r < RANKS; r++)
        j.s.plan[r] = (damaging_plan){
            .seed = seed, .field = field, .kept_type = 1 + type, .at = 1 + (int)(seed % 3)};
    start(&j.s);
    if (type == NBCOLLI_AGENT) /* as if each one's had failed */
        for (int r = 0; r < RANKS; r++)
            nbcolli_tell_all(j.s.w.comm[r], NBCOLLI_AGENT, 0, NBCOLL_ERR_CANCELLED, j.s.w.comm[r]->rank, 0);
    for (int i = 0; i < 2 * TURNS && step(&j.s, 1); i++)
        turn(&j);
    if (step(&j.s, 1))
        give_up(&j.s);
    assert_int_equal(step(&j.s, 20 * ROUNDS), 0);
    differ(&j);
    shrink(&j);
    turns(&j, TURNS);
    for (int r = 0; r < RANKS; r++)
        was_kept |= j.s.plan[r].is_kept != 0;
    close_scene(&j.s);
    return was_kept;
}

static void a_damaged_copy_of_any_message_does_no_harm_whenever_it_comes(void **state)
{
    uint64_t seed = 20261127;
    int missing = 0;
    (void)state;

    print_message("seed %llu\n", (unsigned long long)seed);
    for (int type = 0; type < TYPES; type++)
        for (int field = 0; field <= DAMAGING_FIELDS; field++) {
            int kept = 0;
            for (int i = 0; i < AGAIN; i++, seed++)
                kept += run_again(type, field, (int)(seed * 7 % TURNS), seed);
            if (!kept)
                print_message("type %d, field %d: there was none to copy\n", type, field);
            missing += !kept;
        }
    assert_int_equal(missing, 0);
}

/* ---- what no rank may send --------------------------------------------------------------------------------------- */

/* Rank 1 sends it to rank 0 with so many bytes of payload. */
static void send_to_0(world *w, nbcolli_header h, size_t bytes)
{
    static const unsigned char payload[512];
    nbcoll_work work = {0};

    h.comm = h.comm ? h.comm : w->comm[0]->id;
    h.source = h.source ? h.source : 1;
    const nbcoll_header wire = nbcolli_pack(&h);
    assert_int_equal(w->endpoint[1]->transport->post(w->endpoint[1], 0, &wire, payload, bytes, &work),
                     NBCOLL_POST_DONE);
}

static void what_no_rank_may_send_is_the_loss_of_its_sender(void **state)
{
    static const struct {
        nbcolli_header header;
        size_t bytes;
    } wrong[] = {
        {{.type = NBCOLLI_EXECUTED + 1}, 0},
        {{.type = 255}, 0},
        {{.type = NBCOLLI_EAGER, .bytes = 9}, 8},
        {{.type = NBCOLLI_EAGER, .bytes = 8, .status = NBCOLL_ERR_MISMATCH}, 8},
        {{.type = NBCOLLI_RTS, .bytes = 100}, 7},
        {{.type = NBCOLLI_RTS}, 0},
        {{.type = NBCOLLI_FIN}, 8},
        {{.type = NBCOLLI_FIN, .status = NBCOLL_ERR_CALL}, 0},
        {{.type = NBCOLLI_CTS}, 100},
        {{.type = NBCOLLI_DATA}, 0},
        {{.type = NBCOLLI_DATA, .bytes = UINT64_MAX}, 8},
        {{.type = NBCOLLI_REVOKE, .number = 1, .status = NBCOLL_OK}, 0},
        {{.type = NBCOLLI_REVOKE, .number = 7, .status = NBCOLL_ERR_CALL}, 0},
        {{.type = NBCOLLI_REVOKE, .number = 1, .status = NBCOLL_ERR_CALL, .tag = UINT64_MAX, .count = 1}, 0},
        {{.type = NBCOLLI_REVOKE, .number = 1, .status = 200}, 0},
        {{.type = NBCOLLI_LOST, .number = 2, .status = NBCOLL_ERR_PEER_LOST}, 0},
        {{.type = NBCOLLI_LOST, .number = 1, .status = NBCOLL_OK}, 0},
        {{.type = NBCOLLI_LOST, .number = 1, .status = NBCOLL_ERR_MISMATCH, .count = 2}, 0},
        {{.type = NBCOLLI_LOST, .number = UINT32_MAX, .status = NBCOLL_ERR_MISMATCH, .count = 1}, 0}, /* nobody has */
        {{.type = NBCOLLI_LOST, .number = 1, .status = NBCOLL_ERR_CANCELLED, .count = 1}, 0},
        {{.type = NBCOLLI_LOST, .number = 1, .status = NBCOLL_ERR_MISMATCH, .tag = UINT64_MAX}, 0},
        {{.type = NBCOLLI_CREDIT}, 0},                                                 /* of a communicator */
        {{.type = NBCOLLI_CREDIT, .comm = NBCOLLI_NO_COMM, .credits = UINT16_MAX}, 0}, /* which were not taken */
        {{.type = NBCOLLI_EAGER, .comm = NBCOLLI_NO_COMM}, 0},
        {{.type = NBCOLLI_GIVE_UP, .comm = NBCOLLI_NO_COMM, .bytes = 2}, 0},
        {{.type = NBCOLLI_AGREE}, 8},
        {{.type = NBCOLLI_AGREE, .status = NBCOLL_ERR_CALL}, 500},
        {{.type = NBCOLLI_WANT}, 1},
        {{.type = NBCOLLI_WHERE, .status = 200}, 0},
        {{.type = NBCOLLI_PUT, .status = NBCOLL_ERR_MEMORY}, 0},
        {{.type = NBCOLLI_CALL}, 1},
        {{.type = NBCOLLI_CALL, .status = NBCOLLI_CALLED_LONG_AGO + 1}, 0},
        {{.type = NBCOLLI_CHANNEL}, 0},
        {{.type = NBCOLLI_QUERY, .source = 5}, 0},
        {{.type = NBCOLLI_QUERY, .to = 1}, 0},
    };
    (void)state;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        nbcoll_failure failure;
        nbcoll_request q[2];
        nbcoll_status status[2];
        world w;
        world_open(&w, 2, NULL, NULL, NULL);
        EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[0]));
        print_message("message %zu\n", i);
        send_to_0(&w, wrong[i].header, wrong[i].bytes);
        world_settle(&w, 1, q, status);
        assert_int_equal(status[0], NBCOLL_ERR_PEER_LOST);
        EXPECT(OK, nbcoll_comm_failure(w.comm[0], &failure));
        assert_int_equal(failure.rank, 1);
        assert_non_null(failure.reason.text);
        assert_non_null(strstr(failure.reason.text, "no rank of this version sends"));
        world_close(&w);
    }
}

/* Rank 0 has not called anything: what is said of any number of operations is noted as one range. */
static void a_revoke_of_any_number_of_operations_takes_no_time(void **state)
{
    const nbcolli_header h = {
        .type = NBCOLLI_REVOKE, .status = NBCOLL_ERR_CALL, .number = 1, .tag = 3, .count = UINT32_MAX};
    nbcoll_request q;
    nbcoll_status status;
    world w;
    (void)state;

    world_open(&w, 2, NULL, NULL, NULL);
    uint64_t next = w.comm[0]->taken;
    send_to_0(&w, h, 0);
    for (int i = 0; i < 10; i++)
        world_step(&w);
    for (uint64_t tag = next; tag < 10; tag++) {
        EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q));
        if (tag < 3)
            EXPECT(OK, nbcoll_cancel(q));
        world_settle(&w, 1, &q, &status);
        assert_int_equal(status, tag < 3 ? NBCOLL_ERR_CANCELLED : NBCOLL_ERR_CALL);
    }
    world_close(&w);
}

/* Rank 0 gets rank 1's vote with another word. Ranks that differ in what may differ make one all the same. */
static void no_communicator_is_made_by_a_vote_that_no_rank_can_give(void **state)
{
    enum { WORDS = sizeof(nbcolli_vote) / sizeof(uint32_t) };
    static const uint32_t values[] = {0, UINT32_MAX};
    const nbcoll_loopback_config loopback = {.size = sizeof loopback, .payload = 1024};
    (void)state;

    for (int i = 0; i < 2 * WORDS; i++) {
        size_t at = (size_t)(i / 2) * sizeof(uint32_t);
        damaging_plan plan[2] = {{.word = i / 2 + 1, .value = values[i % 2]}};
        nbcoll_request q[2];
        nbcoll_status status[2];
        world w;
        world_open_contexts(&w, 2, &loopback, NULL);
        for (int r = 0; r < 2; r++) {
            w.endpoint[r] = damaging_open(w.endpoint[r], &plan[r]);
            EXPECT(OK, nbcoll_comm_icreate(w.context[r], w.endpoint[r], NULL, &w.comm[r], &q[r]));
        }
        world_settle(&w, 2, q, status);
        if (at == offsetof(nbcolli_vote, slots) || at == offsetof(nbcolli_vote, cells))
            EXPECT(ERR_MISMATCH, status[0]);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_rank_may_send_is_the_loss_of_its_sender),
        cmocka_unit_test(a_revoke_of_any_number_of_operations_takes_no_time),
        cmocka_unit_test(no_communicator_is_made_by_a_vote_that_no_rank_can_give),
        cmocka_unit_test(whatever_field_is_damaged_all_operations_end),
        cmocka_unit_test(a_damaged_copy_of_any_message_does_no_harm_whenever_it_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
