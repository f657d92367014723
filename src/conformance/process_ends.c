/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cases of ranks whose processes end or become another program: they are reported lost to all others, within
 * what the transport promises and what a busy machine takes; but not if they had left before.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "player.h"
#include "processes.h"

enum { FATE_RANKS = 4, VICTIM = 1, BUSY_MS = 1000, LONGEST_SLEEP_MS = 100, FATAL_LINES = 1000 };

/* What the ranks say to each other beside the transport. */
struct fate {
    bool is_by_exec, is_slept;
    int longest_ms;       /* of a sleep */
    _Atomic uint64_t end; /* when the victim ended */
    atomic_int pid;       /* of the program that it has become */
    atomic_int here, known;
};
static struct fate *fate;

static void call_exec(void)
{
    atomic_store(&fate->pid, getpid());
    execlp("sleep", "sleep", "100", NULL);
    case_fails("the case needs the program sleep");
}

/* Who comes last ends the program that the victim has become. */
static void end_other_program(int survivors)
{
    await_ranks(NULL, &fate->known, survivors);
    int pid = atomic_exchange(&fate->pid, 0);
    CHECK(pid == 0 || kill(pid, SIGKILL) == 0);
}

static bool is_in_time(const struct player *p)
{
    return now_ns() - atomic_load(&fate->end) < (p->world->c->lost_ms + BUSY_MS) * MILLISECOND;
}

static void await_loss(struct player *p)
{
    bool sleeps = fate->is_slept && p->ep->transport->wakeup;
    while (!p->knows_lost) {
        if (!player_progress(p) && !p->knows_lost && sleeps && player_arm(p) == NBCOLL_OK &&
            !player_is_rung(p, fate->longest_ms) && fate->longest_ms > BUSY_MS)
            player_is_wrong(p, "slept through a death");
        if (atomic_load(&fate->end) && !is_in_time(p))
            player_is_wrong(p, "the loss of rank %d is not reported in time", VICTIM);
    }
}

/* All but the victim are told of its loss once, and can say so of a post. */
static void lose_one(struct player *p)
{
    nbcoll_header header = {{0}};
    nbcoll_work work = {0};

    player_talk(p);
    await_ranks(NULL, &fate->here, FATE_RANKS);
    if (p->rank == VICTIM) {
        atomic_store(&fate->end, now_ns());
        if (fate->is_by_exec)
            call_exec();
        kill(getpid(), SIGKILL);
    }
    await_loss(p);
    for (uint64_t start = now_ns(); now_ns() - start < LONGEST_SLEEP_MS * MILLISECOND;)
        player_progress(p);
    if (p->ep->transport->post(p->ep, VICTIM, &header, NULL, 0, &work) != NBCOLL_POST_LOST)
        player_is_wrong(p, "a post to the lost rank %d does not say so", VICTIM);
    end_other_program(FATE_RANKS - 1);
}

static void run_fate(const nbcoll_conformance *c, void (*main)(struct player *p), int doomed, struct fate how)
{
    struct world *w = world_open(c, FATE_RANKS);
    fate = processes_share(sizeof *fate);
    *fate = how;
    w->doomed = doomed;
    w->killed = VICTIM;
    world_write(w, 100);
    world_run(w, main);
    munmap(fate, sizeof *fate);
    world_close(w);
}

static void a_killed_rank_is_reported_lost_to_all(const nbcoll_conformance *c)
{
    run_fate(c, lose_one, VICTIM, (struct fate){.is_by_exec = false});
}

/* Posts to all others, until it is killed. */
static _Noreturn void post_lines_for_ever(struct player *p)
{
    unsigned char payload[NBCOLL_LINE_PAYLOAD];

    atomic_store(&fate->pid, getpid());
    for (uint64_t turn = 1;; turn++)
        for (int to = 0; to < FATE_RANKS; to++) {
            nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
            memset(payload, (int)(turn % 251), sizeof payload);
            if (to != p->rank)
                p->ep->transport->lines->post(p->ep, to, turn % 2, turn, payload, sizeof payload);
            p->ep->transport->progress(p->ep, &found);
        }
}

/* One progress; every line that it brings is whole. Returns how many there were. */
static uint64_t take_whole_lines(struct player *p)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
    uint64_t lines = 0;

    p->ep->transport->progress(p->ep, &found);
    for (const nbcoll_line_arrival *l = found.lines; l; l = l->next, lines++) {
        const unsigned char *payload = l->payload;
        CHECK_EQUAL(l->source, VICTIM);
        CHECK_EQUAL(l->bytes, NBCOLL_LINE_PAYLOAD);
        CHECK_EQUAL(l->channel, l->turn % 2);
        for (int i = 0; i < NBCOLL_LINE_PAYLOAD; i++)
            CHECK_EQUAL(payload[i], l->turn % 251);
    }
    if (found.lost >= 0) {
        CHECK(found.lost == VICTIM && !p->knows_lost);
        p->knows_lost = true;
    }
    return lines;
}

static void lose_one_amid_lines(struct player *p)
{
    uint64_t lines = 0;

    player_talk(p);
    await_ranks(NULL, &fate->here, FATE_RANKS);
    if (p->rank == VICTIM && !p->ep->transport->lines)
        kill(getpid(), SIGKILL);
    if (p->rank == VICTIM)
        post_lines_for_ever(p);
    if (!p->ep->transport->lines)
        return;
    while (lines < FATAL_LINES) {
        lines += take_whole_lines(p);
        case_waits("lines of a rank that will be killed");
    }
    await_ranks(NULL, &fate->known, FATE_RANKS - 1);
    if (p->rank == 0) {
        atomic_store(&fate->end, now_ns());
        CHECK(kill(atomic_exchange(&fate->pid, 0), SIGKILL) == 0);
    }
    while (!p->knows_lost) {
        take_whole_lines(p);
        if (atomic_load(&fate->end) && !is_in_time(p))
            player_is_wrong(p, "the loss of rank %d is not reported in time", VICTIM);
        case_waits("the report that a rank is lost");
    }
    CHECK_EQUAL(p->ep->transport->lines->post(p->ep, VICTIM, 0, 1, NULL, 0), NBCOLL_POST_LOST);
}

static void a_rank_killed_amid_lines_leaves_none_in_part(const nbcoll_conformance *c)
{
    run_fate(c, lose_one_amid_lines, VICTIM, (struct fate){.is_by_exec = false});
}

static void a_killed_rank_ends_a_sleep(const nbcoll_conformance *c)
{
    run_fate(c, lose_one, VICTIM, (struct fate){.is_slept = true, .longest_ms = 10 * BUSY_MS});
}

static void a_rank_that_calls_exec_is_reported_lost_to_all(const nbcoll_conformance *c)
{
    run_fate(c, lose_one, VICTIM, (struct fate){.is_by_exec = true});
    run_fate(c, lose_one, VICTIM,
        (struct fate){.is_by_exec = true, .is_slept = true, .longest_ms = LONGEST_SLEEP_MS});
}

/* The victim leaves and then calls exec, the rank after it leaves and its process ends: neither is lost. */
static void leave_and_end(struct player *p)
{
    player_talk(p);
    await_ranks(NULL, &fate->here, FATE_RANKS); /* all is received: nobody needs them any more */
    if (p->rank == VICTIM || p->rank == VICTIM + 1) {
        nbcoll_endpoint_close(p->ep);
        p->ep = NULL;
        if (p->rank == VICTIM)
            call_exec();
        return;
    }
    for (uint64_t start = now_ns(); now_ns() - start < 2 * p->world->c->lost_ms * MILLISECOND;)
        player_progress(p);
    if (!player_knows_left(p, VICTIM) || !player_knows_left(p, VICTIM + 1))
        player_is_wrong(p, "it is not told who has left");
    end_other_program(FATE_RANKS - 2);
}

static void a_rank_that_has_left_is_not_lost_when_its_process_ends(const nbcoll_conformance *c)
{
    run_fate(c, leave_and_end, -1, (struct fate){.is_by_exec = true});
}
