/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical relays: what ranks contribute comes to all who have started, whoever is late, as long as leaders'
 * contexts move; a rank that leads no node may be away altogether. The leader has the store of its node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/relay.h"
#include "purse.h"
#include "stepped.h"
#include "world.h"

enum { RANKS = 5, AT_ONCE = 2, MANY = 9, BYTES = 13, LOOKS = 4000, CREDITS = 4 };
enum { SHORT = 8, LONG = 200 }; /* bytes of a fragment: one that a cell holds, and one that is read where it lies */

/* A loopback, and how long fragments are: messages; cells; cells, and memory that is read in place. */
static const struct {
    int variant;
    uint32_t fragment;
} ways[] = {{0, SHORT}, {WORLD_SHARED, SHORT}, {WORLD_SHARED, LONG}, {WORLD_SHARED + 1, LONG}};

enum { WAYS = sizeof ways / sizeof *ways };

/* Nodes of ranks. */
typedef struct place {
    int ranks;
    uint64_t node[RANKS];
} place;

static const place places[] = {
    {2, {1, 1}}, {3, {1, 1, 2}}, {4, {1, 2, 1, 2}}, {4, {1, 1, 1, 1}}, {5, {3, 1, 3, 3, 1}}};

enum { PLACES = sizeof places / sizeof *places };

typedef struct party {
    world w;
    const place *at;
    nbcoll_relays *relays[WORLD_MOST];
    unsigned late; /* bits of ranks that call nothing but nbcoll_progress */
    unsigned away; /* of those that do not even call that */
    size_t bytes;
    unsigned char send[RANKS][MANY][LONG + BYTES], recv[RANKS][MANY][RANKS * (LONG + BYTES)];
    uint64_t number[RANKS][MANY];
} party;

/* Fragments of which a block takes two. */
static nbcoll_relays_config plain(nbcoll_topology_kind kind, uint32_t fragment)
{
    nbcoll_relays_config c = NBCOLL_RELAYS_DEFAULTS;
    c.topology = kind;
    c.at_once = AT_ONCE;
    c.fragments = 2;
    c.fragment = fragment;
    c.hierarchical = 1;
    return c;
}

static int leads(const party *p, int rank)
{
    int first = 0;
    while (p->at->node[first] != p->at->node[rank])
        first++;
    return first == rank;
}

/* One look of each rank. */
static void step(party *p)
{
    for (int r = 0; r < p->w.ranks; r++)
        if (p->away >> r & 1)
            continue;
        else if (p->late >> r & 1 || !p->relays[r])
            nbcoll_progress(p->w.context[r]);
        else
            nbcoll_relays_test(p->relays[r], 0);
}

static void open_world(party *p, const place *at, int way, const nbcoll_context_config *context)
{
    nbcoll_context_config own = {.size = sizeof own, .credits = CREDITS};
    nbcoll_loopback_config loopback = world_variant(ways[way].variant, 1);
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    nbcoll_request q[RANKS];
    memset(p, 0, sizeof *p);
    p->at = at;
    p->bytes = ways[way].fragment + BYTES - SHORT;
    world_open_contexts(&p->w, at->ranks, &loopback, context ? context : &own);
    for (int r = 0; r < at->ranks; r++) {
        comm.node = at->node[r];
        EXPECT(OK, nbcoll_comm_icreate(p->w.context[r], p->w.endpoint[r], &comm, &p->w.comm[r], &q[r]));
    }
    world_finish(&p->w, (size_t)at->ranks, q);
}

/* Till all ranks have their relays. */
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

static void look_on(party *p)
{
    for (int looks = 0; looks < LOOKS / 4; looks++)
        step(p);
}

static void open_all(party *p, const place *at, int way, nbcoll_relays_config config)
{
    open_world(p, at, way, NULL);
    for (int r = 0; r < at->ranks; r++)
        EXPECT(OK, nbcoll_relays_open(p->w.comm[r], &config, &p->relays[r]));
    open_wide(p);
    assert_int_equal(nbcoll_comm_shares(p->w.comm[0], at->ranks - 1), ways[way].variant >= WORLD_SHARED);
    for (int r = 0; r < at->ranks; r++)
        for (int o = 0; o < MANY; o++)
            for (size_t i = 0; i < p->bytes; i++)
                p->send[r][o][i] = (unsigned char)((size_t)r * 31 + (size_t)o * 7 + i + 1);
}

static void close_all(party *p)
{
    stepped_close(&p->w, p->relays);
    world_close(&p->w);
}

static nbcoll_status start(party *p, int rank, int o)
{
    return nbcoll_relays_allgather(p->relays[rank], p->send[rank][o], p->recv[rank][o], p->bytes, &p->number[rank][o]);
}

static void has_all(const party *p, int rank, int o)
{
    for (int of = 0; of < p->w.ranks; of++)
        assert_memory_equal(&p->recv[rank][o][(size_t)of * p->bytes], p->send[of][o], p->bytes);
}

static int all_have_come(const party *p, int o, unsigned late)
{
    for (int r = 0; r < p->w.ranks; r++)
        for (int of = 0; of < p->w.ranks && !(late >> r & 1); of++)
            if (!(late >> of & 1) && nbcoll_relays_arrived(p->relays[r], p->number[r][o], of) != NBCOLL_OK)
                return 0;
    return 1;
}

static void all_end(party *p, uint64_t operation)
{
    for (int r = 0; r < p->w.ranks; r++)
        for (int looks = 0; nbcoll_relays_test(p->relays[r], operation) == NBCOLL_PENDING; looks++) {
            world_watchdog(&p->w, looks < LOOKS);
            step(p);
        }
}

/* ---- late ranks -------------------------------------------------------------------------------------------------- */

/* Those that are not late start F operations: their blocks come to each other. Then the late ones do. */
static void some_are_late(party *p, unsigned late, unsigned away)
{
    p->late = late & ~away;
    p->away = away;
    for (int turn = 0; turn < 2; turn++) {
        for (int o = 0; o < AT_ONCE; o++)
            for (int r = 0; r < p->w.ranks; r++)
                if ((late >> r & 1) == (unsigned)turn)
                    EXPECT(OK, start(p, r, o));
        for (int looks = 0; !all_have_come(p, 0, turn ? 0 : late) || !all_have_come(p, 1, turn ? 0 : late); looks++) {
            world_watchdog(&p->w, looks < LOOKS);
            step(p);
        }
        p->late = p->away = 0;
    }
    all_end(p, AT_ONCE);
    for (int o = 0; o < AT_ONCE; o++)
        for (int r = 0; r < p->w.ranks; r++)
            has_all(p, r, o);
}

static void blocks_come_to_all_who_have_started_whoever_is_late(void **state)
{
    static party p;
    (void)state;
    for (int way = 0; way < WAYS; way++)
        for (int at = 0; at < PLACES; at++)
            for (unsigned late = 0; late < 1u << places[at].ranks; late++) {
                int kind = (int)(late + (unsigned)at) % NBCOLL_TOPOLOGY_COUNT;
                open_all(&p, &places[at], way, plain((nbcoll_topology_kind)kind, ways[way].fragment));
                some_are_late(&p, late, 0);
                close_all(&p);
            }
}

/* Whose contexts nobody moves: leaders hold nothing back. */
static void who_leads_no_node_may_be_away(void **state)
{
    static party p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (int way = 0; way < WAYS; way++)
            for (int at = 0; at < PLACES; at++) {
                unsigned led = 0;
                p.at = &places[at];
                for (int r = 0; r < places[at].ranks; r++)
                    led |= (unsigned)!leads(&p, r) << r;
                for (unsigned away = 1; away < 1u << places[at].ranks; away++)
                    if ((away & ~led) == 0) {
                        open_all(&p, &places[at], way, plain((nbcoll_topology_kind)kind, ways[way].fragment));
                        some_are_late(&p, away, away);
                        close_all(&p);
                    }
            }
}

/* Nobody moves the context of the leader of 0, 2 and 3: these have nothing of each other, nor of 1 and 4, which have
 * each other's. Then it moves, and they have it, though that rank starts nothing. */
static void a_leader_is_waited_for_while_nobody_moves_its_context(void **state)
{
    static party p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (int way = 0; way < WAYS; way++) {
            open_all(&p, &places[4], way, plain((nbcoll_topology_kind)kind, ways[way].fragment));
            p.away = 1;
            for (int r = 1; r < RANKS; r++)
                EXPECT(OK, start(&p, r, 0));
            look_on(&p);
            for (int r = 1; r < RANKS; r++)
                for (int of = 1; of < RANKS; of++)
                    if (r == of || (r % 3 == 1 && of % 3 == 1))
                        EXPECT(OK, nbcoll_relays_arrived(p.relays[r], 1, of));
                    else
                        EXPECT(PENDING, nbcoll_relays_arrived(p.relays[r], 1, of));
            p.away = 0;
            p.late = 1;
            for (int looks = 0; !all_have_come(&p, 0, 1); looks++) {
                world_watchdog(&p.w, looks < LOOKS);
                step(&p);
            }
            p.late = 0;
            EXPECT(OK, start(&p, 0, 0));
            all_end(&p, 1);
            for (int r = 0; r < RANKS; r++)
                has_all(&p, r, 0);
            close_all(&p);
        }
}

/* Each rank starts its next operation when it may, at random. */
static void ranks_go_on_at_their_own_pace(void **state)
{
    static party p;
    (void)state;
    for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
        for (int way = 0; way < WAYS; way++) {
            int next[RANKS] = {0}, least = 0;
            open_all(&p, &places[4], way, plain((nbcoll_topology_kind)kind, ways[way].fragment));
            for (int looks = 0; least < MANY; looks++) {
                world_watchdog(&p.w, looks < 50 * LOOKS);
                int r = (int)(world_random(&p.w.random) % RANKS);
                nbcoll_status s = next[r] < MANY ? start(&p, r, next[r]) : NBCOLL_ERR_BUSY;
                next[r] += s == NBCOLL_OK;
                assert_true(s == NBCOLL_OK || s == NBCOLL_ERR_BUSY);
                step(&p);
                least = MANY;
                for (int i = 0; i < RANKS; i++)
                    least = next[i] < least ? next[i] : least;
            }
            all_end(&p, MANY);
            for (int o = 0; o < MANY; o++)
                for (int r = 0; r < RANKS; r++)
                    has_all(&p, r, o);
            close_all(&p);
        }
}

/* ---- a full store ------------------------------------------------------------------------------------------------ */

/* Rank 1 broadcasts for as long as it may, while rank 3, on another node, is away: its leader's places fill, and rank 1
 * is held back. Its other streams, and the communicator's barrier, go on; then the late one comes, and all is there. */
static void fill(int way, nbcoll_topology_kind kind)
{
    static party p;
    static unsigned char buffer[RANKS][20][LONG + BYTES];
    enum { FROM = 1, LATE = 3 };
    uint64_t number[RANKS] = {0}, other = 0;
    nbcoll_request q[RANKS];
    open_all(&p, &places[4], way, plain(kind, ways[way].fragment));
    p.away = 1u << LATE;
    memset(buffer[FROM], 7, sizeof buffer[FROM]);
    int held = 0;
    for (int count = 0; count < 20 && !held; count++)
        for (int r = FROM; r < FROM + RANKS && !held; r++)
            for (int looks = 0; r % RANKS != LATE; looks++) {
                int rank = r % RANKS;
                nbcoll_status s = nbcoll_relays_bcast(p.relays[rank], buffer[rank][count], p.bytes, FROM,
                                                      &number[rank]);
                held = s == NBCOLL_ERR_BUSY && looks > 500;
                if (s == NBCOLL_OK || held)
                    break;
                assert_int_equal(s, NBCOLL_ERR_BUSY);
                step(&p);
            }
    assert_int_equal(number[FROM], 4 * AT_ONCE); /* places for 3 F, and F wait for one */
    for (int r = 0; r < RANKS; r++)
        if (r != FROM && r != LATE) {
            EXPECT(OK, nbcoll_relays_test(p.relays[r], 3 * AT_ONCE));
            EXPECT(PENDING, nbcoll_relays_test(p.relays[r], 3 * AT_ONCE + 1));
        }
    p.away = 0;
    p.late = 1u << LATE;
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibarrier(p.w.comm[r], &q[r]));
    world_finish(&p.w, RANKS, q);
    p.late = 0;
    for (uint64_t o = 1; o <= number[FROM]; o++)
        for (int looks = 0; nbcoll_relays_bcast(p.relays[LATE], buffer[LATE][o - 1], p.bytes, FROM, &other); looks++) {
            world_watchdog(&p.w, looks < LOOKS);
            step(&p);
        }
    for (int looks = 0; nbcoll_relays_test(p.relays[LATE], other) == NBCOLL_PENDING; looks++) {
        world_watchdog(&p.w, looks < LOOKS);
        step(&p);
    }
    for (uint64_t o = 0; o < number[FROM]; o++)
        assert_memory_equal(buffer[LATE][o], buffer[FROM][o], p.bytes);
    look_on(&p);
    close_all(&p);
}

static void a_full_store_of_a_node_holds_back_its_stream_alone(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++)
        for (int kind = 0; kind < NBCOLL_TOPOLOGY_COUNT; kind++)
            fill(way, (nbcoll_topology_kind)kind);
}

/* What the late ones have not started is dropped. */
static void they_are_closed_with_operations_that_nobody_has_read(void **state)
{
    static party p;
    (void)state;
    for (int way = 0; way < WAYS; way++)
        for (int at = 0; at < PLACES; at++)
            for (int r = 0; r < places[at].ranks; r++) {
                uint64_t number;
                int root = r ? 0 : 1;
                open_all(&p, &places[at], way, plain(NBCOLL_TOPOLOGY_CAYLEY, ways[way].fragment));
                for (int o = 0; o < AT_ONCE; o++)
                    for (int other = 0; other < places[at].ranks; other++)
                        if (other != r)
                            EXPECT(OK, nbcoll_relays_bcast(p.relays[other], p.send[other][o], p.bytes, root, &number));
                p.late = 1u << r;
                look_on(&p);
                close_all(&p);
            }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* As relay.h says: a leader has 3 F f fragments for each rank, another rank as many for its own blocks, and two for
 * each other rank's; beside them less than 2 KiB for each fragment and 8 KiB for each rank. */
static void memory_is_as_documented(void **state)
{
    static party p;
    static purse mine[RANKS];
    const size_t fragment = 64 * 1024, places_of_all = 3 * AT_ONCE * 2;
    (void)state;
    for (int way = 0; way < 2; way++) { /* the store of leaders is the host's memory; or shared memory */
        open_world(&p, &places[4], way, NULL);
        for (int r = 0; r < RANKS; r++) {
            nbcoll_host host = purse_host(&mine[r]);
            nbcoll_relays_config config = plain(NBCOLL_TOPOLOGY_BRUCK, (uint32_t)fragment - 32);
            mine[r] = (purse){.left = 1 << 20};
            config.host = &host;
            EXPECT(OK, nbcoll_relays_open(p.w.comm[r], &config, &p.relays[r]));
        }
        look_on(&p);
        for (int r = 0; r < RANKS; r++) {
            size_t count = leads(&p, r) ? places_of_all * RANKS : places_of_all + 2 * (RANKS - 1);
            size_t store = leads(&p, r) && way ? 0 : count * fragment, beside = 2048 * count + 8192 * (RANKS + 2);
            EXPECT(OK, nbcoll_relays_test(p.relays[r], 0));
assert_in_range(mine[r].out, store, store + beside);
        }
        close_all(&p);
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(mine[r].out, 0);
    }
}

/* Each time it runs out later, of a leader, while no other rank has begun. */
static void without_memory_nothing_is_opened_and_nothing_kept(void **state)
{
    static party p;
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        nbcoll_status s = NBCOLL_ERR_MEMORY;
        purse mine = {0};
        nbcoll_host host = purse_host(&mine);
        nbcoll_relays_config config = plain(NBCOLL_TOPOLOGY_CAYLEY, ways[way].fragment);
        int failed = 0;
        open_world(&p, &places[1], way, NULL);
        for (config.host = &host; s == NBCOLL_ERR_MEMORY; failed++) {
            mine.left = failed;
            s = nbcoll_relays_open(p.w.comm[0], &config, &p.relays[0]);
            if (s != NBCOLL_OK)
                assert_int_equal(mine.out, 0);
        }
        EXPECT(OK, s);
        assert_in_range(failed, 5, 1000);
        mine.left = 1000;
        config.host = NULL;
        for (int r = 1; r < p.w.ranks; r++)
            EXPECT(OK, nbcoll_relays_open(p.w.comm[r], &config, &p.relays[r]));
        look_on(&p);
        some_are_late(&p, 0, 0);
        close_all(&p);
        assert_int_equal(mine.out, 0);
    }
}

/* Neither the relays nor the contexts take any. */
static void operations_take_no_memory(void **state)
{
    static party p;
    (void)state;
    for (int way = 0; way < WAYS; way++) {
        purse mine = {.left = 1 << 20};
        nbcoll_context_config context = {.size = sizeof context, .host = purse_host(&mine)};
        nbcoll_relays_config config = plain(NBCOLL_TOPOLOGY_RING, ways[way].fragment);
        int left = 0;
        config.host = &context.host;
        open_world(&p, &places[4], way, &context);
        for (int r = 0; r < RANKS; r++)
            EXPECT(OK, nbcoll_relays_open(p.w.comm[r], &config, &p.relays[r]));
        for (int o = 0; o < 40; o++) {
            for (int r = 0; r < RANKS; r++)
                for (int looks = 0; start(&p, r, o % MANY) != NBCOLL_OK; looks++) {
                    world_watchdog(&p.w, looks < LOOKS);
                    step(&p);
                }
            left = o == 20 ? mine.left : left; /* all places have been used */
        }
        all_end(&p, 40);
        assert_int_equal(mine.left, left);
        close_all(&p);
    }
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void ranks_that_differ_are_told(void **state)
{
    static party p;
    (void)state;
    for (int way = 0; way < WAYS; way++)
        for (int how = 0; how < 2; how++) { /* one goes by nodes; in the bytes of a block */
            nbcoll_relays_config config = plain(NBCOLL_TOPOLOGY_DIRECT, ways[way].fragment);
            open_world(&p, &places[0], way, NULL);
            for (int r = 0; r < 2; r++) {
                config.hierarchical = how == 0 ? (unsigned)r : 1;
                EXPECT(OK, nbcoll_relays_open(p.w.comm[r], &config, &p.relays[r]));
            }
            look_on(&p);
            for (int r = 0; r < 2; r++)
                if (how == 0)
                    EXPECT(ERR_MISMATCH, nbcoll_relays_test(p.relays[r], 0));
                else
                    EXPECT(OK, nbcoll_relays_allgather(p.relays[r], p.send[r][0], p.recv[r][0], 5u + (unsigned)r,
                                                       &p.number[r][0]));
            look_on(&p);
            for (int r = 0; r < 2; r++)
                EXPECT(ERR_MISMATCH, nbcoll_relays_test(p.relays[r], how ? 1 : 0));
            close_all(&p);
        }
}

static void bad_configurations_are_refused(void **state)
{
    static party p;
    nbcoll_relays_config config = plain(NBCOLL_TOPOLOGY_DIRECT, SHORT);
    nbcoll_relays *relays = NULL;
    (void)state;
    open_world(&p, &places[0], 0, NULL);
    config.hierarchical = 2;
    EXPECT(ERR_CONFIG, nbcoll_relays_open(p.w.comm[0], &config, &relays));
    assert_null(relays);
    world_close(&p.w);
}

/* Of a leader, and of a rank that it leads. */
static void a_lost_rank_ends_what_is_under_way_and_they_can_be_closed(void **state)
{
    static party p;
    (void)state;
    for (int way = 0; way < WAYS; way++)
        for (int lost = 0; lost < RANKS; lost++) {
            open_all(&p, &places[4], way, plain(NBCOLL_TOPOLOGY_CAYLEY, ways[way].fragment));
            for (int r = 0; r < RANKS; r++)
                if (r != lost) {
                    EXPECT(OK, start(&p, r, 0));
                    EXPECT(OK, nbcoll_comm_declare_lost(p.w.comm[r], lost));
                }
            p.late = 1u << lost;
            look_on(&p);
            for (int r = 0; r < RANKS; r++)
                if (r != lost) {
                    EXPECT(ERR_PEER_LOST, nbcoll_relays_test(p.relays[r], 1));
                    EXPECT(ERR_PEER_LOST, start(&p, r, 1));
                }
            p.late = 0;
            look_on(&p);
            close_all(&p);
        }
}

/* ---- carried calls ----------------------------------------------------------------------------------------------- */

/* Nobody does more than make passes. */
static void calls_end(party *p, size_t n, nbcoll_request q[])
{
    p->late = ~0u;
    for (int looks = 0; nbcoll_test_all(n, q, NULL) == NBCOLL_PENDING; looks++) {
        world_watchdog(&p->w, looks < LOOKS);
        step(p);
    }
}

/* The first that is not late broadcasts F times: it comes to all who have started, though late leaders only make
 * passes, and others not even that. Then the late ones start. */
static void carry(int way, const place *at, nbcoll_topology_kind kind, unsigned late)
{
    static party p;
    nbcoll_relays_config config = plain(kind, ways[way].fragment);
    int root = 0;
    config.carries = (size_t)config.fragments * config.fragment;
    open_all(&p, at, way, config);
    while (late >> root & 1)
        root++;
    for (int r = 0; r < at->ranks; r++)
        p.away |= leads(&p, r) ? 0 : late & 1u << r;
    for (int turn = 0; turn < 2; turn++, p.away = 0) {
        nbcoll_request q[RANKS * AT_ONCE];
        size_t n = 0;
        for (int o = 0; o < AT_ONCE; o++)
            for (int r = 0; r < at->ranks; r++)
                if ((late >> r & 1) == (unsigned)turn) {
                    memcpy(p.recv[r][o], p.send[r][o], p.bytes);
                    EXPECT(OK, nbcoll_ibcast(p.recv[r][o], p.bytes, NBCOLL_BYTE, root, p.w.comm[r], &q[n++]));
                }
        calls_end(&p, n, q);
    }
    for (int o = 0; o < AT_ONCE; o++)
        for (int r = 0; r < at->ranks; r++)
            assert_memory_equal(p.recv[r][o], p.send[root][o], p.bytes);
    close_all(&p);
}

static void calls_come_to_all_who_have_started_whoever_is_late(void **state)
{
    (void)state;
    for (int way = 0; way < WAYS; way++)
        for (int at = 0; at < PLACES; at++)
            for (unsigned late = 0; late < (1u << places[at].ranks) - 1; late++)
                carry(way, &places[at], (nbcoll_topology_kind)((late + (unsigned)way) % NBCOLL_TOPOLOGY_COUNT), late);
}

/* Whoever does it, of those that are started, while rank 3, led, is late: that one has its own block and all others, or
 * learns of it when it starts the call. Others go on. */
static void a_cancelled_call_ends_alone(void **state)
{
    static party p;
    (void)state;
    for (int way = 0; way < WAYS; way++)
        for (int who = 0; who < 3; who++) {
            nbcoll_relays_config config = plain(NBCOLL_TOPOLOGY_BRUCK, ways[way].fragment);
            nbcoll_request q[RANKS] = {{0}}, then[RANKS];
            config.carries = (size_t)config.fragments * config.fragment;
            open_all(&p, &places[4], way, config);
            for (int r = 0; r < RANKS; r++)
                if (r != 3)
                    EXPECT(OK, nbcoll_iallgather(p.send[r][0], p.recv[r][0], p.bytes, NBCOLL_BYTE, p.w.comm[r], &q[r]));
            look_on(&p);
            EXPECT(OK, nbcoll_cancel(q[who]));
            look_on(&p);
            for (int r = 0; r < RANKS; r++)
                if (r != 3)
                    EXPECT(ERR_CANCELLED, nbcoll_test(&q[r]));
            EXPECT(OK, nbcoll_iallgather(p.send[3][0], p.recv[3][0], p.bytes, NBCOLL_BYTE, p.w.comm[3], &q[3]));
            look_on(&p);
            nbcoll_status s = nbcoll_test(&q[3]);
            assert_true(s == NBCOLL_OK || s == NBCOLL_ERR_CANCELLED);
            if (s == NBCOLL_OK)
                has_all(&p, 3, 0);
            for (int r = 0; r < RANKS; r++)
                EXPECT(OK,
                       nbcoll_iallgather(p.send[r][1], p.recv[r][1], p.bytes, NBCOLL_BYTE, p.w.comm[r], &then[r]));
            look_on(&p);
            for (int r = 0; r < RANKS; r++) {
                EXPECT(OK, nbcoll_test(&then[r]));
                has_all(&p, r, 1);
            }
            close_all(&p);
        }
}

static const uint64_t deadline = 60000000000u;

/* Each rank waits by itself, so that leaders sleep while a rank that they lead is late. */
static void waits_alone(world *w, int rank, void *user)
{
    party *p = user;
    if (rank == 3) /* led: it comes when all others have theirs */
        for (int other = 0; other < RANKS; other++)
            while (other != rank && !__atomic_load_n(&p->number[other][MANY - 1], __ATOMIC_ACQUIRE))
                nbcoll_progress(w->context[rank]);
    for (int o = 0; o < AT_ONCE; o++) {
        uint64_t number;
        memcpy(p->recv[rank][o], p->send[rank][o], p->bytes);
        if (p->late)
            EXPECT(OK, nbcoll_bcast(p->recv[rank][o], p->bytes, NBCOLL_BYTE, 1, w->comm[rank], deadline));
        else {
            EXPECT(OK, nbcoll_relays_bcast(p->relays[rank], p->recv[rank][o], p->bytes, 1, &number));
            EXPECT(OK, nbcoll_relays_wait(p->relays[rank], number, deadline));
        }
        assert_memory_equal(p->recv[rank][o], p->send[1][o], p->bytes);
    }
    __atomic_store_n(&p->number[rank][MANY - 1], 1, __ATOMIC_RELEASE);
    EXPECT(OK, nbcoll_relays_close(p->relays[rank], deadline));
}

static void a_leader_that_waits_is_told_though_a_rank_that_it_leads_is_late(void **state)
{
    static party p;
    (void)state;
    for (int way = 0; way < WAYS; way++)
        for (unsigned carries = 0; carries < 2; carries++) {
            nbcoll_relays_config config = plain(NBCOLL_TOPOLOGY_BRUCK, ways[way].fragment);
            config.carries = carries ? (size_t)config.fragments * config.fragment : 0;
            open_all(&p, &places[4], way, config);
            p.late = carries; /* these are threads: here it says how they call */
            world_threads(&p.w, waits_alone, &p);
            world_close(&p.w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_come_to_all_who_have_started_whoever_is_late),
        cmocka_unit_test(who_leads_no_node_may_be_away),
        cmocka_unit_test(a_leader_is_waited_for_while_nobody_moves_its_context),
        cmocka_unit_test(ranks_go_on_at_their_own_pace),
        cmocka_unit_test(a_full_store_of_a_node_holds_back_its_stream_alone),
        cmocka_unit_test(they_are_closed_with_operations_that_nobody_has_read),
        cmocka_unit_test(memory_is_as_documented),
        cmocka_unit_test(without_memory_nothing_is_opened_and_nothing_kept),
        cmocka_unit_test(operations_take_no_memory),
        cmocka_unit_test(ranks_that_differ_are_told),
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test(a_lost_rank_ends_what_is_under_way_and_they_can_be_closed),
        cmocka_unit_test(calls_come_to_all_who_have_started_whoever_is_late),
        cmocka_unit_test(a_cancelled_call_ends_alone),
        cmocka_unit_test(a_leader_that_waits_is_told_though_a_rank_that_it_leads_is_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
