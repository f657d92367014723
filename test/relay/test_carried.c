/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that carry out the calls of their communicator, moved by the ranks' engines or by agents: requests are like
 * others, whoever is late passes on what others contribute; short calls go by relays and long ones by schedules, in one
 * order. By agents a rank that is late calls nothing at all. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/offload.h"
#include "nbcoll/relay.h"
#include "nbcoll/select.h"
#include "world.h"

enum { RANKS = 5, NEAR = 2, AT_ONCE = 2, MANY = 9, BYTES = 13, LONG = 100, LOOKS = 4000 };

static int by_agents; /* they move them, in this run of the tests */

typedef struct party {
    world w;
    nbcoll_agent *agent[RANKS]; /* of the first rank of each node, by agents */
    unsigned late;              /* bits of ranks that call nothing */
    nbcoll_relays *relays[RANKS];
    unsigned char send[RANKS][MANY][BYTES], recv[RANKS][MANY][RANKS * BYTES];
    nbcoll_request request[RANKS][MANY];
} party;

/* Fragments of 8 bytes, two a block. */
static nbcoll_relays_config carrying(nbcoll_wiring_kind kind)
{
    nbcoll_relays_config c = NBCOLL_RELAYS_DEFAULTS;
    c.wiring = kind;
    c.at_once = AT_ONCE;
    c.fragments = 2;
    c.fragment = 8;
    c.carries = 16;
    c.by_agents = (uint32_t)by_agents;
    return c;
}

/* One progress of each rank that is not late, and of each agent. */
static void step(party *p)
{
    int first = (int)(world_random(&p->w.random) % (unsigned)p->w.ranks);
    for (int i = 0; i < p->w.ranks; i++) {
        int r = (first + i) % p->w.ranks;
        if (!(p->late >> r & 1))
            nbcoll_progress(p->w.context[r]);
        nbcoll_agent_progress(p->agent[r]);
    }
}

static void steps(party *p, int many)
{
    for (int looks = 0; looks < many; looks++)
        step(p);
}

static void settle_all(party *p, size_t n, nbcoll_request q[], nbcoll_status s[])
{
    size_t left = n;
    memset(s, 0, n * sizeof *s);
    for (int looks = 0; left; looks++) {
        world_watchdog(&p->w, looks < LOOKS);
        step(p);
        for (size_t i = left = 0; i < n; i++) {
            s[i] = q[i].at ? nbcoll_test(&q[i]) : s[i];
            left += s[i] == NBCOLL_PENDING;
        }
    }
}

static void finish_all(party *p, size_t n, nbcoll_request q[])
{
    nbcoll_status s[RANKS * AT_ONCE];
    settle_all(p, n, q, s);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(s[i], NBCOLL_OK);
}

/* Ranks on nodes of two, with an agent for each node. */
static void open_ranks(party *p, int ranks, const nbcoll_context_config *context, const nbcoll_comm_config *config)
{
    nbcoll_loopback_config loopback = world_variant(0, 1);
    nbcoll_agent_config agent = {.size = sizeof agent};
    nbcoll_request q[RANKS];
    memset(p, 0, sizeof *p);
    loopback.flags |= by_agents ? NBCOLL_LOOPBACK_SHARED : 0;
    world_open_contexts(&p->w, ranks, &loopback, context);
    for (int r = 0; r < ranks; r++) {
        nbcoll_comm_config comm = *config;
        comm.node = by_agents ? 1 + (uint64_t)(r / NEAR) : 0;
        EXPECT(OK, nbcoll_comm_icreate(p->w.context[r], p->w.endpoint[r], &comm, &p->w.comm[r], &q[r]));
    }
    world_finish(&p->w, (size_t)ranks, q);
    for (int r = 0; by_agents && r < ranks; r += NEAR)
        EXPECT(OK, nbcoll_agent_open(p->w.endpoint[r], &agent, &p->agent[r]));
}

static nbcoll_status open_relays(party *p, int rank, nbcoll_relays_config config)
{
    config.agent = p->agent[rank];
    return nbcoll_relays_open(p->w.comm[rank], &config, &p->relays[rank]);
}

/* Schedules broadcast along a chain, which a late rank breaks. */
static void open_all(party *p, int ranks, nbcoll_relays_config config, const nbcoll_context_config *context)
{
    nbcoll_rule rules[] = {{.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "relays")},
                           {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "chain_pipelined")}};
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    comm.rules = rules;
    comm.rule_count = 2;
    open_ranks(p, ranks, context, &comm);
    for (int r = 0; r < ranks; r++)
        EXPECT(OK, open_relays(p, r, config));
    for (int r = 0; r < ranks; r++)
        for (int o = 0; o < MANY; o++)
            for (int i = 0; i < BYTES; i++)
                p->send[r][o][i] = (unsigned char)(r * 31 + o * 7 + i + 1);
}

static void close_relays(party *p)
{
    unsigned left = (1u << p->w.ranks) - 1;
    for (int looks = 0; left; looks++) {
        world_watchdog(&p->w, looks < LOOKS);
        for (int r = 0; r < p->w.ranks; r++)
            if (left >> r & 1 && nbcoll_relays_close(p->relays[r], 0) == NBCOLL_OK)
                left &= ~(1u << r);
            else
                nbcoll_progress(p->w.context[r]);
        for (int r = 0; r < p->w.ranks; r++)
            nbcoll_agent_progress(p->agent[r]);
    }
}

static void close_ranks(party *p)
{
    for (int r = 0; r < p->w.ranks; r++)
        if (p->agent[r])
            EXPECT(OK, nbcoll_agent_close(p->agent[r]));
    world_close(&p->w);
}

static void close_all(party *p)
{
    close_relays(p);
    close_ranks(p);
}

static void open_wide(party *p)
{
    for (int r = 0; r < p->w.ranks; r++)
        for (int looks = 0; nbcoll_relays_test(p->relays[r], 0) == NBCOLL_PENDING; looks++) {
            world_watchdog(&p->w, looks < LOOKS);
            step(p);
        }
    for (int r = 0; r < p->w.ranks; r++)
        EXPECT(OK, nbcoll_relays_test(p->relays[r], 0));
}

static void gather(party *p, int rank, int o)
{
    EXPECT(OK, nbcoll_iallgather(p->send[rank][o], p->recv[rank][o], BYTES, NBCOLL_BYTE, p->w.comm[rank],
                                 &p->request[rank][o]));
}

static void gathered(const party *p, int rank, int o)
{
    for (int of = 0; of < p->w.ranks; of++)
        assert_memory_equal(&p->recv[rank][o][of * BYTES], p->send[of][o], BYTES);
}

static void finish(party *p, int o)
{
    nbcoll_request q[RANKS];
    for (int r = 0; r < p->w.ranks; r++)
        q[r] = p->request[r][o];
    finish_all(p, (size_t)p->w.ranks, q);
}

/* ---- late ranks ------------------------------------------------------------------------------------------------ */

/* The first that is not late broadcasts F times: it comes to all who have started. Then the late ones start. */
static void some_are_late(nbcoll_wiring_kind kind, int ranks, unsigned late)
{
    static party p;
    int root = 0;
    open_all(&p, ranks, carrying(kind), NULL);
    open_wide(&p);
    while (late >> root & 1)
        root++;
    for (int turn = 0; turn < 2; turn++) {
        nbcoll_request q[RANKS * AT_ONCE];
        size_t n = 0;
        p.late = by_agents && !turn ? late : 0;
        for (int o = 0; o < AT_ONCE; o++)
            for (int r = 0; r < ranks; r++)
                if ((late >> r & 1) == (unsigned)turn) {
                    memcpy(p.recv[r][o], p.send[r][o], BYTES);
                    EXPECT(OK, nbcoll_ibcast(p.recv[r][o], BYTES, NBCOLL_BYTE, root, p.w.comm[r], &q[n++]));
                }
        finish_all(&p, n, q);
    }
    for (int o = 0; o < AT_ONCE; o++)
        for (int r = 0; r < ranks; r++)
            assert_memory_equal(p.recv[r][o], p.send[root][o], BYTES);
    close_all(&p);
}

static void a_late_rank_passes_on_what_calls_contribute(void **state)
{
    (void)state;
    for (int kind = 0; kind < NBCOLL_WIRING_COUNT; kind++)
        for (int ranks = 2; ranks <= RANKS; ranks++)
            for (unsigned late = 0; late < (1u << ranks) - 1; late++)
                some_are_late((nbcoll_wiring_kind)kind, ranks, late);
}

/* Started before the relays are there, and more of them than may be under way. */
static void calls_beyond_those_at_once_wait(void **state)
{
    static party p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_WIRING_COUNT; kind++) {
        open_all(&p, RANKS, carrying((nbcoll_wiring_kind)kind), NULL);
        for (int r = 0; r < RANKS; r++)
            for (int o = 0; o < MANY; o++)
                gather(&p, r, o);
        for (int o = MANY; o-- > 0;)
            finish(&p, o);
        for (int r = 0; r < RANKS; r++)
            for (int o = 0; o < MANY; o++)
                gathered(&p, r, o);
        close_all(&p);
    }
}

/* ---- forms ----------------------------------------------------------------------------------------------------- */

static const uint64_t deadline = 60000000000u;

static atomic_int agents_rest;

static void *move_agents(void *user)
{
    const party *p = user;
    while (!atomic_load(&agents_rest)) {
        int moved = 0;
        for (int r = 0; r < p->w.ranks; r++)
            moved |= nbcoll_agent_progress(p->agent[r]);
        if (!moved)
            sched_yield();
    }
    return NULL;
}

/* One for each rank, and one for all agents. The ranks close relays. */
static void with_threads(party *p, void (*rank)(world *w, int rank, void *user))
{
    pthread_t agents;
    atomic_store(&agents_rest, 0);
    assert_int_equal(pthread_create(&agents, NULL, move_agents, p), 0);
    world_threads(&p->w, rank, p);
    atomic_store(&agents_rest, 1);
    pthread_join(agents, NULL);
    close_ranks(p);
}

/* Short and long, nonblocking, persistent and blocking, and other collectives between them. */
static void one_rank(world *w, int rank, void *user)
{
    party *p = user;
    nbcoll_comm *comm = w->comm[rank];
    nbcoll_request all, some;
    unsigned char mine[LONG] = {0}, theirs[RANKS * LONG] = {0}, told[LONG] = {0};
    int own = rank, sum = 0;
    EXPECT(OK, nbcoll_allgather_init(mine, theirs, BYTES, NBCOLL_BYTE, comm, &all));
    for (int turn = 0; turn < 12; turn++) {
        size_t bytes = turn % 2 ? LONG : BYTES;
        memset(mine, 100 + turn + rank, sizeof mine);
        EXPECT(OK, nbcoll_start(&all));
        EXPECT(OK, nbcoll_wait(&all, deadline));
        for (int of = 0; of < w->ranks; of++)
            assert_int_equal(theirs[of * BYTES + BYTES - 1], 100 + turn + of);
        memset(told, rank ? 0 : turn + 1, sizeof told);
        EXPECT(OK, nbcoll_ibcast(told, turn % 3 ? LONG : BYTES, NBCOLL_BYTE, 0, comm, &some));
        EXPECT(OK, nbcoll_allgather(mine, theirs, bytes, NBCOLL_BYTE, comm, deadline));
        EXPECT(OK, nbcoll_allreduce(&own, &sum, 1, NBCOLL_INT32, NBCOLL_SUM, comm, deadline));
        EXPECT(OK, nbcoll_wait(&some, deadline));
        assert_int_equal(told[BYTES - 1], turn + 1);
        assert_int_equal(sum, w->ranks * (w->ranks - 1) / 2);
        for (int of = 0; of < w->ranks; of++)
            assert_int_equal(theirs[(size_t)of * bytes + bytes - 1], 100 + turn + of);
    }
    EXPECT(OK, nbcoll_relays_close(p->relays[rank], deadline));
    EXPECT(ERR_REQUEST, nbcoll_start(&all));
    EXPECT(OK, nbcoll_request_free(&all));
    EXPECT(OK, nbcoll_allgather(mine, theirs, BYTES, NBCOLL_BYTE, comm, deadline));
}

static void short_and_long_calls_of_all_forms_go_in_one_order(void **state)
{
    static party p;
    (void)state;
    open_all(&p, 4, carrying(NBCOLL_WIRING_BRUCK), NULL);
    with_threads(&p, one_rank);
}

/* Of carried calls and one by a schedule among them, each is given out once, when its data are there: first one at a
 * time, then some. */
static void one_rank_takes_them_as_they_end(world *w, int rank, void *user)
{
    party *p = user;
    nbcoll_comm *comm = w->comm[rank];
    unsigned char mine[LONG], theirs[RANKS * LONG] = {0};
    memset(mine, rank + 1, sizeof mine);
    for (int turn = 0; turn < 8; turn++) {
        size_t indices[MANY], ended, taken = 0;
        nbcoll_request *q = p->request[rank];
        memset(p->recv[rank], 0, sizeof p->recv[rank]);
        for (int o = 0; o + 1 < MANY; o++)
            gather(p, rank, o);
        EXPECT(OK, nbcoll_iallgather(mine, theirs, LONG, NBCOLL_BYTE, comm, &q[MANY - 1]));
        for (; taken < MANY; taken += ended) {
            ended = 1;
            if (turn % 2)
                EXPECT(OK, nbcoll_wait_some(MANY, q, &ended, indices, NULL, deadline));
            else
                EXPECT(OK, nbcoll_wait_any(MANY, q, indices, deadline));
            for (size_t i = 0; i < ended; i++)
                if (indices[i] + 1 < MANY)
                    gathered(p, rank, (int)indices[i]);
        }
        assert_int_equal(taken, MANY);
        assert_int_equal(theirs[RANKS * LONG - 1], RANKS);
        EXPECT(OK, nbcoll_wait_any(MANY, q, indices, deadline));
        assert_int_equal(indices[0], MANY); /* none is left */
    }
    EXPECT(OK, nbcoll_relays_close(p->relays[rank], deadline));
}

static void calls_are_taken_as_they_end(void **state)
{
    static party p;
    (void)state;
    open_all(&p, RANKS, carrying(NBCOLL_WIRING_CAYLEY), NULL);
    with_threads(&p, one_rank_takes_them_as_they_end);
}

static void a_callback_reports_the_end(nbcoll_request request, nbcoll_status s, void *user)
{
    (void)request;
    *(nbcoll_status *)user = s;
}

static void calls_have_callbacks_and_in_place(void **state)
{
    static party p;
    nbcoll_status told[RANKS];
    (void)state;
    open_all(&p, RANKS, carrying(NBCOLL_WIRING_CAYLEY), NULL);
    for (int r = 0; r < RANKS; r++) {
        told[r] = NBCOLL_PENDING;
        memcpy(&p.recv[r][0][r * BYTES], p.send[r][0], BYTES);
        EXPECT(OK, nbcoll_iallgather(NBCOLL_IN_PLACE, p.recv[r][0], BYTES, NBCOLL_BYTE, p.w.comm[r], &p.request[r][0]));
        EXPECT(OK, nbcoll_on_done(p.request[r][0], a_callback_reports_the_end, &told[r]));
    }
    steps(&p, LOOKS);
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, told[r]);
        gathered(&p, r, 0);
    }
    close_all(&p);
}

/* ---- types that pack --------------------------------------------------------------------------------------------- */

/* Two of three bytes travel; the last one is a gap. */
enum { LOOSE = 3, TIGHT = 2, ELEMENTS = 7, GAP = 0x77 };

static int packing_fails;

static nbcoll_status pack(void *user, const void *elements, void *packed, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy((char *)packed + i * TIGHT, (const char *)elements + i * LOOSE, TIGHT);
    return user && packing_fails ? NBCOLL_ERR_ARGUMENT : NBCOLL_OK;
}

static nbcoll_status unpack(void *user, const void *packed, void *elements, size_t count)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        memcpy((char *)elements + i * LOOSE, (const char *)packed + i * TIGHT, TIGHT);
    return NBCOLL_OK;
}

static const nbcoll_host_type with_gaps = {sizeof with_gaps, LOOSE, TIGHT, NULL, pack, unpack};
static const nbcoll_host_type failing = {sizeof failing, LOOSE, TIGHT, &packing_fails, pack, unpack};

static unsigned char loose[RANKS][RANKS][ELEMENTS][LOOSE];

static void fill_loose(int rank, int block, int turn)
{
    for (int i = 0; i < ELEMENTS; i++)
        loose[rank][block][i][0] = loose[rank][block][i][1] = (unsigned char)(turn + 10 * block + i);
}

static void has_loose(int rank, int block, int turn)
{
    for (int i = 0; i < ELEMENTS; i++) {
        assert_int_equal(loose[rank][block][i][0], turn + 10 * block + i);
        assert_int_equal(loose[rank][block][i][1], turn + 10 * block + i);
        assert_int_equal(loose[rank][block][i][2], GAP);
    }
}

static nbcoll_status gather_loose(party *p, int rank, const void *send, const nbcoll_host_type *type, nbcoll_request *q)
{
    return nbcoll_iallgather(send, loose[rank], ELEMENTS, nbcoll_type_of(type), p->w.comm[rank], q);
}

/* Fragments of 8 bytes end where elements of 2 do, but of 7 no block does. In place and not, and broadcasts; the second
 * rank passes what travels as it is. Gaps stay. */
static void elements_that_pack_travel_packed(void **state)
{
    static party p;
    unsigned char tight[ELEMENTS * TIGHT], all[RANKS * ELEMENTS * TIGHT], mine[RANKS][ELEMENTS][LOOSE];
    nbcoll_request q[RANKS];
    (void)state;
    open_all(&p, RANKS, carrying(NBCOLL_WIRING_CAYLEY), NULL);
    for (int turn = 1; turn < 7; turn++) {
        memset(loose, GAP, sizeof loose);
        for (int r = 0; r < RANKS; r++) {
            fill_loose(r, r, turn);
            memcpy(mine[r], loose[r][r], sizeof mine[r]);
            if (turn % 2)
                memset(loose[r][r], GAP, sizeof loose[r][r]);
            if (r == 1)
                pack(NULL, mine[r], tight, ELEMENTS);
            if (turn % 3 == 0)
                EXPECT(OK, nbcoll_ibcast(r ? loose[r][2] : mine[0], ELEMENTS, nbcoll_type_of(&with_gaps), 0,
                                         p.w.comm[r], &q[r]));
            else if (r == 1)
                EXPECT(OK, nbcoll_iallgather(tight, all, sizeof tight, NBCOLL_BYTE, p.w.comm[1], &q[1]));
            else
                EXPECT(OK, gather_loose(&p, r, turn % 2 ? mine[r] : NBCOLL_IN_PLACE, &with_gaps, &q[r]));
        }
        finish_all(&p, RANKS, q);
        for (int r = 0; r < RANKS; r++)
            for (int of = 0; of < RANKS; of++)
                if (turn % 3 == 0)
                    assert_memory_equal(r ? loose[r][2] : mine[0], mine[0], sizeof mine[0]);
                else if (r != 1)
                    has_loose(r, of, turn);
                else
                    assert_int_equal(all[of * (int)sizeof tight], turn + 10 * of);
    }
    close_all(&p);
}

/* Nothing is unpacked of a call that is cancelled, or of which a rank cannot pack; others go on. */
static void calls_that_pack_fail_alone(void **state)
{
    static party p;
    nbcoll_request q[RANKS];
    (void)state;
    open_all(&p, RANKS, carrying(NBCOLL_WIRING_RING), NULL);
    open_wide(&p);
    for (int how = 0; how < 2; how++) {
        memset(loose, GAP, sizeof loose);
        packing_fails = how;
        for (int r = 0; r < RANKS; r++) {
            if (r + 1 == RANKS && !how) { /* this one is late, and may have all blocks */
                EXPECT(OK, nbcoll_cancel(q[1]));
                steps(&p, LOOKS / 10);
            }
            EXPECT(OK, gather_loose(&p, r, p.send[r], r ? &with_gaps : &failing, &q[r]));
            gather(&p, r, how);
        }
        nbcoll_status s[RANKS];
        settle_all(&p, RANKS, q, s);
        for (int r = 1; r + !how < RANKS; r++)
            EXPECT(ERR_CANCELLED, s[r]);
        assert_int_equal(s[0], how ? NBCOLL_ERR_CALL : NBCOLL_ERR_CANCELLED);
        for (size_t i = 0; i < sizeof loose - (how ? 0 : sizeof *loose); i++)
            assert_int_equal(((unsigned char *)loose)[i], GAP);
        finish(&p, how);
        for (int r = 0; r < RANKS; r++)
            gathered(&p, r, how);
    }
    close_all(&p);
}

/* ---- ends ------------------------------------------------------------------------------------------------------ */

static void settle(party *p, int o, nbcoll_status wanted)
{
    nbcoll_request q[RANKS];
    nbcoll_status s[RANKS];
    for (int r = 0; r < p->w.ranks; r++)
        q[r] = p->request[r][o];
    settle_all(p, (size_t)p->w.ranks, q, s);
    for (int r = 0; r < p->w.ranks; r++)
        assert_int_equal(s[r], wanted);
}

/* On all ranks, also on one that starts it later. The others go on. */
static void a_cancelled_call_ends_alone(void **state)
{
    static party p;
    nbcoll_request q[RANKS];
    (void)state;
    for (int kind = 0; kind < NBCOLL_WIRING_COUNT; kind++) {
        open_all(&p, RANKS, carrying((nbcoll_wiring_kind)kind), NULL);
        open_wide(&p);
        for (int r = 0; r + 1 < RANKS; r++) {
            gather(&p, r, 0);
            gather(&p, r, 1);
            q[r] = p.request[r][0];
        }
        EXPECT(ERR_BUSY, nbcoll_relays_close(p.relays[0], 0));
        EXPECT(OK, nbcoll_cancel(p.request[1][0]));
        steps(&p, LOOKS / 10);
        for (int r = 0; r + 1 < RANKS; r++)
            EXPECT(ERR_CANCELLED, nbcoll_test(&q[r]));
        gather(&p, RANKS - 1, 0);
        gather(&p, RANKS - 1, 1);
        finish(&p, 1);
        for (int r = 0; r < RANKS; r++)
            gathered(&p, r, 1);
        for (int looks = 0; nbcoll_test(&p.request[RANKS - 1][0]) == NBCOLL_PENDING; looks++) {
            world_watchdog(&p.w, looks < LOOKS);
            step(&p);
        }
        close_all(&p);
    }
}

static int broadcasts(int o)
{
    return o % 3 == 1;
}

static void start_one(party *p, int rank, int o)
{
    if (!broadcasts(o)) {
        gather(p, rank, o);
        return;
    }
    if (rank == o % RANKS)
        memcpy(p->recv[rank][o], p->send[rank][o], BYTES);
    EXPECT(OK, nbcoll_ibcast(p->recv[rank][o], BYTES, NBCOLL_BYTE, o % RANKS, p->w.comm[rank], &p->request[rank][o]));
}

/* 1: it has ended. Then its memory is the test's. */
static int look_at_one(party *p, int rank, int o, unsigned ended[])
{
    enum { MARK = 0xee };
    if (!p->request[rank][o].at)
        return 1;
    nbcoll_status s = nbcoll_test(&p->request[rank][o]);
    if (s == NBCOLL_PENDING)
        return 0;
    assert_true(s == NBCOLL_OK || (s == NBCOLL_ERR_CANCELLED && o + 1 < MANY));
    if (s == NBCOLL_OK && broadcasts(o))
        assert_memory_equal(p->recv[rank][o], p->send[o % RANKS][o], BYTES);
    else if (s == NBCOLL_OK)
        gathered(p, rank, o);
    ended[s == NBCOLL_OK]++;
    memset(p->recv[rank][o], MARK, sizeof p->recv[rank][o]);
    return 1;
}

/* Far more than may be under way, which ranks start and cancel in a seeded order. One of them is late, so that others
 * find no room for their blocks. Each ends, well only with all data, and writes nothing later; the last one, which
 * nobody cancels, ends well. */
static void cancel_at_random(unsigned turn, unsigned ended[])
{
    static party p;
    int started[RANKS] = {0};
    open_all(&p, RANKS, carrying((nbcoll_wiring_kind)(turn % NBCOLL_WIRING_COUNT)), NULL);
    open_wide(&p);
    p.w.random = turn + 1;
    for (int left = 1, looks = 0; left; looks++) {
        int r = (int)(world_random(&p.w.random) % RANKS), some = (int)(world_random(&p.w.random) % (MANY - 1));
        world_watchdog(&p.w, looks < 10 * LOOKS);
        uint64_t pace = r == (int)turn % RANKS ? 64 : 4;
        if (started[r] < MANY && world_random(&p.w.random) % pace == 0)
            start_one(&p, r, started[r]++);
        else if (p.request[r][some].at && world_random(&p.w.random) % 16 == 0)
            EXPECT(OK, nbcoll_cancel(p.request[r][some]));
        step(&p);
        for (r = left = 0; r < RANKS; r++)
            for (int o = 0; o < MANY; o++)
                left += o >= started[r] || !look_at_one(&p, r, o, ended);
    }
    close_all(&p);
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < sizeof p.recv[r]; i++)
            assert_int_equal(((unsigned char *)p.recv[r])[i], 0xee);
}

static void calls_cancelled_in_any_order_leave_the_others(void **state)
{
    unsigned ended[2] = {0}; /* as cancelled; well */
    (void)state;
    for (unsigned turn = 0; turn < 40; turn++)
        cancel_at_random(turn, ended);
    assert_true(ended[0] > 100 && ended[1] > 400);
}

static void broadcast(party *p, int rank, int root, int o)
{
    if (rank == root)
        memcpy(p->recv[rank][o], p->send[rank][o], BYTES);
    EXPECT(OK, nbcoll_ibcast(p->recv[rank][o], BYTES, NBCOLL_BYTE, root, p->w.comm[rank], &p->request[rank][o]));
}

/* Rank 1 has filled its stream, of which rank 2, late, has taken nothing, when rank 0 cancels a call: for that one rank
 * 1 has sent nothing, rank 0 all of its block, and of a later call. Rank 2 is told as it starts that call, and not only
 * when it starts the later one; whether the others then go on or close. */
static void cancel_without_room(int closes)
{
    enum { FILL = 6, REVOKED = FILL, BEHIND, LATER };
    static party p;
    open_all(&p, 3, carrying(NBCOLL_WIRING_DIRECT), NULL);
    steps(&p, LOOKS / 10);
    for (int o = 0; o < FILL; o++) {
        for (int r = 0; r < 2; r++)
            broadcast(&p, r, 1, o);
        steps(&p, LOOKS / 10);
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_test(&p.request[r][o]));
    }
    for (int r = 0; r < 2; r++) {
        gather(&p, r, REVOKED);
        broadcast(&p, r, 0, BEHIND);
    }
    steps(&p, LOOKS / 10);
    EXPECT(OK, nbcoll_cancel(p.request[0][REVOKED]));
    steps(&p, LOOKS / 10);
    for (int r = 0; r < 2; r++) {
        EXPECT(ERR_CANCELLED, nbcoll_test(&p.request[r][REVOKED]));
        EXPECT(OK, nbcoll_test(&p.request[r][BEHIND]));
        if (closes)
            EXPECT(ERR_TIMEOUT, nbcoll_relays_close(p.relays[r], 0));
        else
            gather(&p, r, LATER);
    }
    if (closes > 1) { /* also the late one, which has started nothing */
        close_all(&p);
        return;
    }
    for (int o = 0; o < FILL; o++)
        broadcast(&p, 2, 1, o);
    gather(&p, 2, REVOKED);
    for (int looks = 0; looks < 10; looks++) {
        steps(&p, LOOKS / 10);
        for (int r = 0; r < 2 && closes; r++)
            EXPECT(ERR_TIMEOUT, nbcoll_relays_close(p.relays[r], 0));
    }
    for (int o = 0; o < FILL; o++)
        EXPECT(OK, nbcoll_test(&p.request[2][o]));
    EXPECT(ERR_CANCELLED, nbcoll_test(&p.request[2][REVOKED]));
    broadcast(&p, 2, 0, BEHIND);
    if (!closes)
        gather(&p, 2, LATER);
    steps(&p, LOOKS / 10);
    EXPECT(OK, nbcoll_test(&p.request[2][BEHIND]));
    for (int r = 0; r < 3 && !closes; r++) {
        EXPECT(OK, nbcoll_test(&p.request[r][LATER]));
        gathered(&p, r, LATER);
    }
    close_all(&p);
}

static void who_had_no_room_for_its_block_says_that_the_call_is_revoked(void **state)
{
    (void)state;
    for (int closes = 0; closes < 3; closes++)
        cancel_without_room(closes);
}

/* By agents, where revoked calls are among those at once until all ranks have started them: F are revoked, after all of
 * their blocks have gone, while rank 2 is late; the next one waits until it comes. 1: the others close meanwhile. */
static void cancel_ahead(int closes)
{
    enum { NEXT = AT_ONCE };
    static party p;
    open_all(&p, 3, carrying(NBCOLL_WIRING_RING), NULL);
    open_wide(&p);
    p.late = 1u << 2;
    for (int r = 0; r < 2; r++)
        for (int o = 0; o < NEXT + !closes; o++)
            gather(&p, r, o);
    steps(&p, LOOKS / 10);
    for (int o = 0; o < AT_ONCE; o++)
        EXPECT(OK, nbcoll_cancel(p.request[o % 2][o]));
    steps(&p, LOOKS / 10);
    for (int r = 0; r < 2; r++)
        for (int o = 0; o < AT_ONCE; o++)
            EXPECT(ERR_CANCELLED, nbcoll_test(&p.request[r][o]));
    for (int r = 0; r < 2 && closes; r++)
        EXPECT(ERR_TIMEOUT, nbcoll_relays_close(p.relays[r], 0));
    steps(&p, LOOKS / 10);
    p.late = 0;
    for (int o = 0; o < NEXT + !closes; o++)
        gather(&p, 2, o);
    steps(&p, LOOKS / 10);
    for (int o = 0; o < AT_ONCE; o++)
        EXPECT(ERR_CANCELLED, nbcoll_test(&p.request[2][o]));
    if (!closes) {
        finish(&p, NEXT);
        for (int r = 0; r < 3; r++)
            gathered(&p, r, NEXT);
    }
    close_all(&p);
}

static void by_agents_revoked_calls_count_until_all_have_started_them(void **state)
{
    (void)state;
    for (int closes = 0; closes < 2; closes++)
        cancel_ahead(closes);
}

/* The communicator has an agent, on nodes of one rank, and tolerates arrivals. */
static void open_with_agents(party *p, int ranks)
{
    nbcoll_loopback_config loopback = world_variant(0, 1);
    nbcoll_agent_config agent = {.size = sizeof agent};
    nbcoll_request q[RANKS];
    memset(p, 0, sizeof *p);
    world_open_contexts(&p->w, ranks, &loopback, NULL);
    for (int r = 0; r < ranks; r++) {
        nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
        comm.flags = NBCOLL_ARRIVAL_TOLERANT;
        comm.node = 1 + (uint64_t)r;
        EXPECT(OK, nbcoll_agent_open(p->w.endpoint[r], &agent, &p->agent[r]));
        comm.agent = p->agent[r];
        EXPECT(OK, nbcoll_comm_icreate(p->w.context[r], p->w.endpoint[r], &comm, &p->w.comm[r], &q[r]));
    }
    world_finish(&p->w, (size_t)ranks, q);
    for (int r = 0; r < ranks; r++)
        EXPECT(OK, open_relays(p, r, carrying(NBCOLL_WIRING_RING)));
    open_wide(p);
}

static void close_with_agents(party *p)
{
    for (int r = 0; r < p->w.ranks; r++)
        EXPECT(OK, nbcoll_comm_free(p->w.comm[r]));
    for (int r = 0; r < p->w.ranks; r++)
        p->w.comm[r] = NULL;
    close_ranks(p);
}

/* Of a persistent allgather what is there comes to all who have started it, though the late one calls nothing; longer
 * ones are programs of the same agents. */
static void a_tolerant_communicator_with_an_agent_waits_for_nobody_else(void **state)
{
    enum { LATE = 1, TURNS = 6 };
    static party p;
    static unsigned char mine[RANKS][LONG], all[RANKS][RANKS * LONG];
    nbcoll_request q[RANKS], of[RANKS];
    (void)state;
    open_with_agents(&p, RANKS);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_allgather_init(mine[r], all[r], BYTES, NBCOLL_BYTE, p.w.comm[r], &of[r]));
    for (int turn = 1; turn <= TURNS; turn++) {
        for (int r = 0; r < RANKS; r++)
            memset(mine[r], turn * 10 + r, sizeof mine[r]);
        p.late = 1u << LATE;
        for (int r = 0; r < RANKS; r++)
            if (r != LATE)
                EXPECT(OK, nbcoll_start(&of[r]));
        for (int looks = 0; all[0][4 * BYTES + BYTES - 1] != turn * 10 + 4; looks++) {
            world_watchdog(&p.w, looks < LOOKS);
            step(&p);
        }
        p.late = 0;
        EXPECT(OK, nbcoll_start(&of[LATE]));
        finish_all(&p, RANKS, of);
        for (int r = 0; r < RANKS; r++)
            for (int k = 0; k < RANKS; k++)
                assert_int_equal(all[r][k * BYTES + BYTES - 1], turn * 10 + k);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_iallgather(mine[r], all[r], LONG, NBCOLL_BYTE, p.w.comm[r], &q[r]));
        finish_all(&p, RANKS, q);
        for (int k = 0; k < RANKS; k++)
            assert_int_equal(all[LATE][k * LONG + LONG - 1], turn * 10 + k);
    }
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_request_free(&of[r]));
    close_relays(&p);
    close_with_agents(&p);
}

static void what_relays_carry_out_is_not_called_offloaded(void **state)
{
    nbcoll_args args = {.size = sizeof args,
                        .operation = NBCOLL_OPERATION_ALLGATHER,
                        .count = BYTES,
                        .reduction = {NBCOLL_BYTE, NBCOLL_SUM}};
    nbcoll_refusal why = {.size = sizeof why};
    static party p;
    (void)state;
    open_with_agents(&p, 2);
    EXPECT(ERR_UNSUPPORTED, nbcoll_comm_offloads(p.w.comm[0], &args, &why));
    assert_int_equal(why.reason, NBCOLL_REFUSAL_CARRIED);
    assert_string_equal(why.text, nbcoll_refusal_text(NBCOLL_REFUSAL_CARRIED));
    args.count = LONG;
    EXPECT(OK, nbcoll_comm_offloads(p.w.comm[0], &args, &why));
    close_relays(&p);
    args.count = BYTES;
    EXPECT(OK, nbcoll_comm_offloads(p.w.comm[0], &args, &why));
    close_with_agents(&p);
}

static void a_call_is_cancelled_before_the_relays_are_there(void **state)
{
    static party p;
    const nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    nbcoll_relays_config config = carrying(NBCOLL_WIRING_RING);
    (void)state;
    open_ranks(&p, 3, NULL, &comm);
    EXPECT(OK, open_relays(&p, 0, config));
    gather(&p, 0, 0);
    EXPECT(ERR_BUSY, nbcoll_relays_close(p.relays[0], 0));
    EXPECT(OK, nbcoll_cancel(p.request[0][0]));
    EXPECT(ERR_CANCELLED, nbcoll_test(&p.request[0][0]));
    for (int r = 1; r < 3; r++) {
        EXPECT(OK, open_relays(&p, r, config));
        gather(&p, r, 0);
    }
    for (int r = 1; r < 3; r++)
        for (int looks = 0; nbcoll_test(&p.request[r][0]) == NBCOLL_PENDING; looks++) {
            world_watchdog(&p.w, looks < LOOKS);
            step(&p);
        }
    close_all(&p);
}

/* It says so at the deadline, with the first rank whose block has not come, and takes back what it has started. */
static void a_blocking_call_ends_at_its_deadline(void **state)
{
    static party p;
    nbcoll_failure failure = {0};
    (void)state;
    open_all(&p, 2, carrying(NBCOLL_WIRING_DIRECT), NULL);
    open_wide(&p);
    EXPECT(ERR_TIMEOUT, nbcoll_allgather(p.send[0][0], p.recv[0][0], BYTES, NBCOLL_BYTE, p.w.comm[0], 1000000));
    EXPECT(OK, nbcoll_comm_failure(p.w.comm[0], &failure));
    EXPECT(ERR_TIMEOUT, failure.status);
    assert_int_equal(failure.rank, 1);
    for (int looks = 0; nbcoll_comm_active(p.w.comm[0]); looks++) {
        world_watchdog(&p.w, looks < LOOKS);
        step(&p);
    }
    close_all(&p);
}

/* Of several that are late the first; of a broadcast the root, though others are late, too. */
static void a_wait_names_whose_block_has_not_come(void **state)
{
    static party p;
    const int late[] = {1, 3};
    nbcoll_failure failure = {0};
    nbcoll_request q[RANKS];
    (void)state;
    open_all(&p, RANKS, carrying(NBCOLL_WIRING_RING), NULL);
    open_wide(&p);
    for (int turn = 0; turn < 2; turn++) {
        for (int r = 0; r < RANKS; r++)
            if (r != late[0] && r != late[1])
                gather(&p, r, turn);
        steps(&p, LOOKS);
        for (int r = 0; r < RANKS; r += 2) {
            EXPECT(ERR_TIMEOUT, nbcoll_wait(&p.request[r][turn], 1000000));
            EXPECT(OK, nbcoll_comm_failure(p.w.comm[r], &failure));
            assert_int_equal(failure.rank, late[0]);
        }
        gather(&p, late[0], turn);
        steps(&p, LOOKS);
        EXPECT(ERR_TIMEOUT, nbcoll_wait(&p.request[0][turn], 1000000));
        EXPECT(OK, nbcoll_comm_failure(p.w.comm[0], &failure));
        assert_int_equal(failure.rank, late[1]);
        gather(&p, late[1], turn);
        finish(&p, turn);
    }
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_ibcast(p.recv[r][2], BYTES, NBCOLL_BYTE, 3, p.w.comm[r], &q[r]));
        if (!r)
            EXPECT(ERR_TIMEOUT, nbcoll_wait(&q[0], 1000000));
        if (!r)
            EXPECT(OK, nbcoll_comm_failure(p.w.comm[0], &failure));
    }
    assert_int_equal(failure.rank, 3);
    finish_all(&p, RANKS, q);
    close_all(&p);
}

static void a_lost_rank_ends_the_calls(void **state)
{
    static party p;
    (void)state;
    open_all(&p, 3, carrying(NBCOLL_WIRING_RING), NULL);
    open_wide(&p);
    for (int r = 0; r < 2; r++)
        gather(&p, r, 0);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_declare_lost(p.w.comm[r], 2));
    for (int r = 0; r < 2; r++)
        for (int looks = 0;; looks++) {
            nbcoll_status s = nbcoll_test(&p.request[r][0]);
            if (s != NBCOLL_PENDING) {
                EXPECT(ERR_PEER_LOST, s);
                break;
            }
            world_watchdog(&p.w, looks < LOOKS);
            step(&p);
        }
    steps(&p, LOOKS);
    close_all(&p);
}

static void ranks_that_differ_in_what_is_carried_are_told(void **state)
{
    static party p;
    const nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    (void)state;
    open_ranks(&p, 2, NULL, &comm);
    for (int r = 0; r < 2; r++) {
        nbcoll_relays_config config = carrying(NBCOLL_WIRING_DIRECT);
        config.carries -= (size_t)r;
        EXPECT(OK, open_relays(&p, r, config));
        gather(&p, r, 0);
    }
    settle(&p, 0, NBCOLL_ERR_MISMATCH);
    close_all(&p);
}

static void bad_calls_are_refused(void **state)
{
    static party p;
    nbcoll_relays *other;
    uint64_t number;
    nbcoll_relays_config config = carrying(NBCOLL_WIRING_DIRECT);
    (void)state;
    open_all(&p, 2, config, NULL);
    EXPECT(ERR_BUSY, nbcoll_relays_open(p.w.comm[0], &config, &other));
    config.carries = 17;
    EXPECT(ERR_CONFIG, nbcoll_relays_open(p.w.comm[0], &config, &other));
    open_wide(&p);
    EXPECT(ERR_UNSUPPORTED, nbcoll_relays_allgather(p.relays[0], NULL, p.recv[0], 8, &number));
    EXPECT(ERR_UNSUPPORTED, nbcoll_relays_bcast(p.relays[0], p.recv[0], 8, 0, &number));
    EXPECT(ERR_REQUEST, nbcoll_relays_test(p.relays[0], 1));
    EXPECT(ERR_REQUEST, nbcoll_relays_arrived(p.relays[0], 1, 0));
    close_all(&p);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

typedef struct purse {
    size_t taken; /* times */
} purse;

static void *take(void *user, size_t bytes, size_t align)
{
    ((purse *)user)->taken++;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void give(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

static void calls_take_no_memory(void **state)
{
    static party p;
    purse mine = {0};
    nbcoll_context_config context = {.size = sizeof context,
                                     .host = {.size = sizeof context.host, .user = &mine, .alloc = take, .free = give}};
    nbcoll_relays_config config = carrying(NBCOLL_WIRING_BRUCK);
    size_t taken = 0;
    (void)state;
    config.host = &context.host;
    open_all(&p, 3, config, &context);
    for (int turn = 0; turn < 40; turn++) {
        taken = turn == 20 ? mine.taken : taken; /* all places have been used */
        for (int r = 0; r < 3; r++)
            gather(&p, r, turn % MANY);
        finish(&p, turn % MANY);
        nbcoll_request q[3];
        for (int r = 0; r < 3; r++)
            EXPECT(OK, gather_loose(&p, r, p.send[r], &with_gaps, &q[r]));
        finish_all(&p, 3, q);
    }
    assert_int_equal(mine.taken, taken);
    close_all(&p);
}

#define OF_ALL_RELAYS                                                                                                  \
    cmocka_unit_test(a_late_rank_passes_on_what_calls_contribute), cmocka_unit_test(calls_beyond_those_at_once_wait),  \
        cmocka_unit_test(short_and_long_calls_of_all_forms_go_in_one_order),                                           \
        cmocka_unit_test(calls_are_taken_as_they_end), cmocka_unit_test(calls_have_callbacks_and_in_place),            \
        cmocka_unit_test(elements_that_pack_travel_packed), cmocka_unit_test(calls_that_pack_fail_alone),              \
        cmocka_unit_test(a_cancelled_call_ends_alone),                                                                 \
        cmocka_unit_test(calls_cancelled_in_any_order_leave_the_others),                                               \
        cmocka_unit_test(a_call_is_cancelled_before_the_relays_are_there),                                             \
        cmocka_unit_test(a_blocking_call_ends_at_its_deadline),                                                        \
        cmocka_unit_test(a_wait_names_whose_block_has_not_come), cmocka_unit_test(a_lost_rank_ends_the_calls),         \
        cmocka_unit_test(ranks_that_differ_in_what_is_carried_are_told), cmocka_unit_test(bad_calls_are_refused),      \
        cmocka_unit_test(calls_take_no_memory)

int main(void)
{
    const struct CMUnitTest engines[] = {
        OF_ALL_RELAYS,
        cmocka_unit_test(who_had_no_room_for_its_block_says_that_the_call_is_revoked),
    };
    const struct CMUnitTest agents[] = {
        OF_ALL_RELAYS,
        cmocka_unit_test(by_agents_revoked_calls_count_until_all_have_started_them),
        cmocka_unit_test(a_tolerant_communicator_with_an_agent_waits_for_nobody_else),
        cmocka_unit_test(what_relays_carry_out_is_not_called_offloaded),
    };
    int failed = cmocka_run_group_tests_name("by engines", engines, NULL, NULL);
    by_agents = 1;
    return failed + cmocka_run_group_tests_name("by agents", agents, NULL, NULL);
}
