/* SPDX-License-Identifier: BSD-3-Clause
 * The agent's commands. The first byte says which side is real: the process, whose two ranks say and write anything,
 * control messages and slots; or a rank, whose process does. The other side acts whenever the real one would sleep.
 * Whatever it does: a named end. Nothing is touched but the command area, what the rank has shared, and buffers of the
 * program. */
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "../../src/offload/commands.h"
#include "nbcoll/loopback.h"
#include "nbcoll/verify.h"

enum { RANKS = 2, PROGRAMS = 2, TABLES = 4096, COPIED = 256, SCRATCH = 512, SEGMENT = 8192, COUNT = 5 };

/* Of an allreduce: what a rank would hand over; and of relays that stand on two ranks. */
static nbcoll_program *program[RANKS];
static char packed[2][RANKS][TABLES];
static size_t packed_bytes[2];

static void write_relays(int rank)
{
    const nbcolli_node_relays_end in = {1 - rank, 1, 4}, out = {1 - rank, 0, 8};
    const nbcolli_node_relays_relay relays[] = {{0, 1, NULL, &out}, {1, 0, &in, NULL}};
    const nbcolli_node_relays_config c = {.relays = 2, .relay = relays, .store.shape = {1, 8, 4, 56}};
    packed_bytes[1] = nbcolli_node_bytes_bytes(&c);
    nbcolli_node_bytes_write(&c, packed[1][rank]);
    nbcolli_node_bytes_meet(packed[1][rank], 1 - rank, NBCOLLI_NODE_RELAYS_SETS * NBCOLLI_NODE_RELAYS_NUMBERS);
}

static void compile(void)
{
    const nbcolli_binding unbound = {0};
    const nbcoll_program_config usual = {.size = sizeof usual, .eager = 64, .threshold = 64};
    const nbcoll_case c = {.size = sizeof c, .operation = NBCOLL_OPERATION_ALLREDUCE, .ranks = RANKS, .count = COUNT,
                           .reduction = {NBCOLL_INT32, NBCOLL_SUM}};
    const nbcoll_algorithm *algorithm = nbcoll_algorithm_find(c.operation, "recursive_doubling");
    nbcoll_schedule *schedule[RANKS];
    for (int i = 0; i < RANKS; i++)
        FUZZ_NEVER(nbcoll_build_case(algorithm, &c, i, NULL, &schedule[i]) != NBCOLL_OK);
    FUZZ_NEVER(nbcoll_compile((const nbcoll_schedule *const *)schedule, RANKS, &usual, 0, RANKS, program, NULL) !=
               NBCOLL_OK);
    packed_bytes[0] = nbcolli_packed_program_bytes(program[0]);
    FUZZ_NEVER(packed_bytes[0] > TABLES || nbcolli_packed_program_bytes(program[1]) != packed_bytes[0]);
    for (int i = 0; i < RANKS; i++) {
        nbcolli_packed_program_write(program[i], &unbound, program[i]->info.extent, packed[0][i]);
        write_relays(i);
        nbcoll_schedule_free(schedule[i]);
    }
}

/* ---- the process ------------------------------------------------------------------------------------------------- */

typedef struct rank {
    int socket; /* -1: it has gone */
    int segment;
    nbcolli_commands_control shape;
    nbcolli_commands *commands;
    uint32_t slot;
} rank;

typedef struct scene {
    fuzz_input in;
    rank rank[RANKS];
} scene;

static void go(rank *r)
{
    if (r->commands)
        nbcolli_commands_unmap(r->commands, nbcolli_commands_bytes(&r->shape));
    if (r->socket >= 0)
        close(r->socket);
    if (r->segment >= 0)
        close(r->segment);
    *r = (rank){.socket = -1, .segment = -1};
}

static void be_greeted(rank *r)
{
    nbcolli_commands_control l;
    void *commands = NULL;
    int fd;
    if (r->socket < 0 || r->commands || nbcolli_commands_receive(r->socket, &l, &fd) != NBCOLL_OK || fd < 0)
        return;
    r->shape = l;
    FUZZ_NEVER(nbcolli_commands_map(fd, nbcolli_commands_bytes(&l), &commands) != NBCOLL_OK);
    r->commands = commands;
    close(fd);
}

/* Bytes at places that the input says, over what is there. */
static void damage(fuzz_input *in, void *what, size_t bytes)
{
    for (unsigned n = fuzz_byte(in) % 4; n > 0; n--) {
        size_t at = (fuzz_byte(in) | fuzz_byte(in) << 8) % bytes, length = fuzz_byte(in) % 9;
        fuzz_take(in, (char *)what + at, length < bytes - at ? length : bytes - at);
    }
}

static void write_packed(fuzz_input *in, rank *r, int who)
{
    nbcolli_commands_control l = nbcolli_commands_control_of(who, RANKS);
    unsigned how = fuzz_byte(in);
    if (r->segment < 0)
        FUZZ_NEVER(nbcolli_commands_make(SEGMENT, &r->segment) != NBCOLL_OK);
    l.segment = SEGMENT;
    damage(in, &l, sizeof l);
    l.pid = getpid();
    if (how & 1)
        (void)!send(r->socket, &l, how % sizeof l, MSG_NOSIGNAL | MSG_DONTWAIT);
    else
        nbcolli_commands_send(r->socket, &l, how & 2 ? -1 : how & 4 ? r->socket : r->segment);
}

/* Into the next slot, or another one. */
static void hand(fuzz_input *in, rank *r, int who, int is_relays)
{
    if (!r->commands)
        return;
    unsigned how = fuzz_byte(in);
    uint32_t at = (r->slot++ + (how >> 7)) % PROGRAMS;
    nbcolli_commands_slot *slot = &r->commands->slot[at];
    slot->kind = is_relays ? NBCOLLI_COMMANDS_RELAYS : NBCOLLI_COMMANDS_PROGRAM;
    slot->where[0] = how & 1 || is_relays ? NBCOLLI_COMMANDS_SEGMENT : NBCOLLI_COMMANDS_COPY;
    slot->where[1] = how & 2 ? NBCOLLI_COMMANDS_SEGMENT : NBCOLLI_COMMANDS_COPY;
    slot->offset[0] = slot->offset[1] = 64 * (uint64_t)(how >> 2 & 7);
    slot->bytes = packed_bytes[is_relays];
    slot->has_scratch = how >> 5 & 1;
    slot->number = r->slot;
    char *tables = nbcolli_commands_tables(r->commands, &r->shape, at);
    memcpy(tables, packed[is_relays][who], packed_bytes[is_relays]);
    damage(in, tables, packed_bytes[is_relays]);
    damage(in, &slot->status, sizeof *slot - offsetof(nbcolli_commands_slot, status));
    atomic_store(&slot->state, how >> 6 & 1 ? fuzz_byte(in) : NBCOLLI_COMMANDS_HANDED);
    nbcolli_commands_ring(r->socket);
}

static void work(void *user)
{
    scene *s = user;
    unsigned act = fuzz_byte(&s->in);
    int who = act >> 7;
    rank *r = &s->rank[who];
    for (int i = 0; i < RANKS; i++)
        be_greeted(&s->rank[i]);
    if (!s->in.left)
        for (int i = 0; i < RANKS; i++)
            go(&s->rank[i]);
    switch (act & 7) {
    case 0:
        write_packed(&s->in, r, who);
        break;
    case 1:
    case 2:
        hand(&s->in, r, who, 0);
        break;
    case 3:
        hand(&s->in, r, who, 1);
        break;
    case 4:
        if (r->commands)
            damage(&s->in, r->commands, nbcolli_commands_bytes(&r->shape));
        nbcolli_commands_ring(r->socket);
        break;
    case 5:
        go(r);
        break;
    case 6:
        if (r->commands)
            atomic_store(&r->commands->is_cancelled, 1);
        nbcolli_commands_ring(r->socket);
        break;
    default:
        nbcolli_commands_ring(r->socket);
        break;
    }
}

static void be_process(fuzz_input in)
{
    const nbcoll_loopback_config loopback = {.size = sizeof loopback, .ranks = RANKS, .pairs = nbcoll_loopback_pairs()};
    const nbcoll_host host = fuzz_host();
    const nbcoll_agent_config agent = {.size = sizeof agent, .host = &host, .eager = 64, .depth = 4};
    scene s = {.in = in};
    nbcoll_loopback *world;
    nbcoll_endpoint *end[RANKS];
    int theirs[RANKS];
    FUZZ_NEVER(nbcoll_loopback_create(&loopback, &world) != NBCOLL_OK);
    for (int i = 0; i < RANKS; i++) {
        int pair[2];
        FUZZ_NEVER(nbcoll_loopback_open(world, i, &end[i]) != NBCOLL_OK);
        FUZZ_NEVER(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0);
        s.rank[i] = (rank){.socket = pair[0], .segment = -1};
        theirs[i] = pair[1];
    }
    const nbcoll_serve_config config = {.size = sizeof config, .agent = &agent, .endpoints = end, .sockets = theirs,
                                        .count = RANKS, .programs = PROGRAMS, .tables = TABLES, .copied = COPIED,
                                        .scratch = SCRATCH};
    fuzz_other_user = &s;
    fuzz_other_side = work;
    FUZZ_NEVER(nbcoll_agent_serve(&config) != NBCOLL_OK);
    fuzz_other_side = NULL;
    for (int i = 0; i < RANKS; i++)
        go(&s.rank[i]);
    FUZZ_NEVER(nbcoll_loopback_free(world) != NBCOLL_OK);
}

/* ---- the rank ---------------------------------------------------------------------------------------------------- */

typedef struct process {
    fuzz_input in;
    int socket, greetings;
    nbcolli_commands_control shape;
    nbcolli_commands *commands;
} process;

static void forget(process *p)
{
    if (p->commands)
        nbcolli_commands_unmap(p->commands, nbcolli_commands_bytes(&p->shape));
    p->commands = NULL;
}

/* A commands as large as the control message says that it is. */
static int make_commands(process *p, const nbcolli_commands_control *l)
{
    size_t bytes = nbcolli_commands_bytes(l);
    void *commands = NULL;
    int fd = -1;
    forget(p);
    if (bytes > 1 << 20 || nbcolli_commands_make(bytes, &fd) != NBCOLL_OK)
        return -1;
    FUZZ_NEVER(nbcolli_commands_map(fd, bytes, &commands) != NBCOLL_OK);
    p->shape = *l;
    p->commands = commands;
    return fd;
}

static void greet(process *p)
{
    nbcolli_commands_control l = nbcolli_commands_control_of(0, RANKS);
    unsigned how = fuzz_byte(&p->in);
    l.eager = 64;
    l.depth = 4;
    l.in_flight = 1;
    l.programs = PROGRAMS;
    l.tables = TABLES;
    l.copied = COPIED;
    l.scratch = SCRATCH;
    l.commands = 1;
    damage(&p->in, &l, sizeof l);
    l.pid = l.pid > 0 ? getpid() : l.pid;
    int fd = how & 1 || p->greetings++ ? -1 : make_commands(p, &l);
    if (how & 2)
        (void)!send(p->socket, &l, how % sizeof l, MSG_NOSIGNAL | MSG_DONTWAIT);
    else
        nbcolli_commands_send(p->socket, &l, fd);
    if (fd >= 0)
        close(fd);
}

static void answer(void *user)
{
    process *p = user;
    greet(p);
}

/* The process has the command area, and ends what it likes. */
static void scribble(process *p)
{
    nbcolli_commands_slot *slot = &p->commands->slot[0];
    unsigned how = fuzz_byte(&p->in);
    damage(&p->in, p->commands, nbcolli_commands_bytes(&p->shape));
    damage(&p->in, &slot->status, sizeof *slot - offsetof(nbcolli_commands_slot, status));
    atomic_store(&slot->state, how & 1 ? NBCOLLI_COMMANDS_ENDED : how >> 1);
}

static void start(process *p, nbcoll_agent *agent)
{
    int32_t *send = calloc(COUNT, sizeof *send), *recv = calloc(COUNT, sizeof *recv); /* a byte further is nobody's */
    nbcoll_program_run *run = NULL;
    nbcoll_status status = nbcoll_agent_start(agent, program[0], send, recv, &run);
    for (int looks = 100; looks > 0 && run;) {
        if (p->in.left)
            scribble(p);
        else if (looks-- == 100) /* it ends: sooner or later the rank looks */
            shutdown(p->socket, SHUT_RDWR);
        status = nbcoll_agent_test(run);
        if (status != NBCOLL_PENDING)
            break;
    }
    FUZZ_NAMED(status);
    FUZZ_NEVER(run && status == NBCOLL_PENDING);
    free(send);
    free(recv);
}

static void be_rank(fuzz_input in)
{
    const nbcoll_loopback_config loopback = {.size = sizeof loopback, .ranks = RANKS, .pairs = nbcoll_loopback_pairs()};
    const nbcoll_host host = fuzz_host();
    process p = {.in = in};
    nbcoll_agent *agent = NULL;
    nbcoll_loopback *world;
    nbcoll_endpoint *end;
    int pair[2];
    FUZZ_NEVER(nbcoll_loopback_create(&loopback, &world) != NBCOLL_OK ||
               nbcoll_loopback_open(world, 0, &end) != NBCOLL_OK);
    FUZZ_NEVER(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0);
    p.socket = pair[1];
    const nbcoll_attach_config config = {.size = sizeof config, .host = &host, .socket = pair[0],
                                         .timeout = UINT64_C(2000000000)};
    fuzz_other_user = &p;
    fuzz_other_side = answer;
    nbcoll_status status = nbcoll_agent_attach(end, &config, &agent);
    fuzz_other_side = NULL;
    FUZZ_NAMED(status);
    FUZZ_NEVER((status == NBCOLL_OK) != (agent != NULL));
    if (agent && p.commands)
        start(&p, agent);
    close(p.socket);
    forget(&p);
    if (agent)
        nbcoll_agent_close(agent);
    nbcoll_endpoint_close(end);
    FUZZ_NEVER(nbcoll_loopback_free(world) != NBCOLL_OK);
}

FUZZ(commands)
{
    fuzz_input in = {data, bytes};
    if (!program[0])
        compile();
    (fuzz_byte(&in) & 1 ? be_rank : be_process)(in);
    return 0;
}
