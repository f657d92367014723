/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the ranks find each other. Rank 0 is the host: it listens in the hall until each of the others, its guests, has
 * said hello; makes the segment; and hands it out with everyone's descriptors. Each step ends with one verdict for all,
 * so that all join or all fail for the same reason. When something went wrong, the host tells all that have come at
 * once, and goes on telling those that come until all have been told, or its deadline. For that it needs one descriptor
 * at a time, which it sets aside.
 *
 * A guest's hello carries its own pidfd: opened by the process itself, it cannot name another that got the same number.
 *
 * A process that connects may be no rank: only a hello takes a rank's place. Those that have said nothing yet wait in
 * the hall beside the ranks. If they are too many, the host turns away the one that has been silent for longest; when
 * the ranks are there, all of them; at once, one that says what no version says. The log names their processes. A rank
 * may have been one of the silent, since a busy machine did not let it speak: the answer is ERR_BUSY, and it connects
 * again.
 */

#include "socket.h"

#define NBCOLLI_SHM_SILENT 16 /* that have said nothing, at once, beside as many as there are ranks */

struct nbcolli_shm_guest {
    int socket; /* -1: a message to it failed, and it is lost */
    int rank; /* 0 until it has said hello */
    int pid;  /* as the kernel says */
    int number; /* in the order in which they came */
    int event, watch;
    uint64_t home;
    bool heard;
};

struct nbcolli_shm_hall {
    struct nbcolli_shm_boot *boot;
    int listener, reserve; /* `reserve`: kept open, to make room for a guest when descriptors run out */
    int dismissed;         /* guests that were told of an error, and have left the hall */
    int guests, heard;     /* in the hall; of these, those that have said hello, or an error */
    int came;              /* guests so far */
    nbcoll_status verdict; /* the first thing that went wrong */
    uint64_t secret;
    struct nbcolli_shm_guest guest[NBCOLL_SHM_RANKS + NBCOLLI_SHM_SILENT];
};

static void nbcolli_shm_close_all(const struct nbcolli_shm_system *os, int fd[], int fds)
{
    while (fds)
        os->close(fd[--fds]);
}

/* Tells it why, and closes the connection. */
static void nbcolli_shm_refuse(const struct nbcolli_shm_boot *b, int socket, nbcoll_status why)
{
    struct nbcolli_shm_control l = nbcolli_shm_control(b, NBCOLLI_SHM_HELLO, why);

    nbcolli_shm_send(b->os, socket, &l, NULL, 0);
    b->os->close(socket);
}

/* Waits for the next control message: of that stage, with `most` descriptors or (if it names a home) none. Else returns
 * why it is not, or the error in it; then it leaves no descriptors. */
static nbcoll_status nbcolli_shm_next_letter(struct nbcolli_shm_boot *b, int socket, enum nbcolli_shm_stage stage,
                                             struct nbcolli_shm_control *l, int fd[], int most)
{
    int fds = 0;
    struct pollfd ready = {socket, POLLIN, 0};
    nbcoll_status s = NBCOLL_PENDING;

    while (s == NBCOLL_PENDING) {
        s = nbcolli_shm_await(b, &ready, 1, 1000);
        if (s == NBCOLL_OK)
            s = nbcolli_shm_receive(b->os, socket, l, fd, &fds);
    }
    if (s != NBCOLL_OK)
        return s;
    if (l->status == NBCOLL_OK && l->stage == (uint32_t)stage && fds == (l->home ? 0 : most))
        return NBCOLL_OK;
    nbcolli_shm_close_all(b->os, fd, fds);
    return l->status == NBCOLL_OK ? NBCOLL_ERR_ABI : (nbcoll_status)l->status;
}

/* ---- the host: hearing ------------------------------------------------------------------------------------------- */

static void nbcolli_shm_hall_blame(struct nbcolli_shm_hall *hall, nbcoll_status s)
{
    if (hall->verdict == NBCOLL_OK)
        hall->verdict = s;
}

static void nbcolli_shm_guest_close(const struct nbcolli_shm_system *os, struct nbcolli_shm_guest *g)
{
    nbcolli_shm_close(os, &g->socket);
    nbcolli_shm_close(os, &g->event);
    nbcolli_shm_close(os, &g->watch);
}

/* Tells a guest why it must go; the last guest takes its place. */
static void nbcolli_shm_hall_send_away(struct nbcolli_shm_hall *hall, struct nbcolli_shm_guest *g, nbcoll_status why)
{
    nbcolli_shm_refuse(hall->boot, g->socket, why);
    g->socket = -1;
    nbcolli_shm_guest_close(hall->boot->os, g);
    hall->heard -= g->heard;
    *g = hall->guest[--hall->guests];
}

static void nbcolli_shm_hall_say(const struct nbcolli_shm_hall *hall, const struct nbcolli_shm_guest *g,
                                 nbcoll_status why, const char *what)
{
    nbcolli_log(hall->boot->host, why, "process %d has connected to rank 0 and %s", g->pid, what);
}

/* Turns away a connection that, as far as is known, is no rank. */
static void nbcolli_shm_hall_disown(struct nbcolli_shm_hall *hall, struct nbcolli_shm_guest *g, nbcoll_status why,
                                    const char *what)
{
    nbcolli_shm_hall_say(hall, g, why, what);
    nbcolli_shm_hall_send_away(hall, g, why);
}

/* The guest that has been silent for longest, or null. */
static struct nbcolli_shm_guest *nbcolli_shm_hall_silent(struct nbcolli_shm_hall *hall)
{
    struct nbcolli_shm_guest *oldest = NULL;

    for (struct nbcolli_shm_guest *g = hall->guest; g < hall->guest + hall->guests; g++)
        if (!g->heard && (!oldest || g->number < oldest->number))
            oldest = g;
    return oldest;
}

/* Turns silent guests away, when all ranks have come or the waiting is over. */
static void nbcolli_shm_hall_clear(struct nbcolli_shm_hall *hall)
{
    struct nbcolli_shm_guest *g;
    nbcoll_status why = hall->verdict == NBCOLL_OK ? NBCOLL_ERR_DUPLICATE : hall->verdict;

    while ((g = nbcolli_shm_hall_silent(hall)))
        nbcolli_shm_hall_disown(hall, g, why, "has said nothing");
}

/* Tells the ranks that have come what went wrong, and frees their descriptors for those that come later. */
static void nbcolli_shm_hall_dismiss(struct nbcolli_shm_hall *hall)
{
    hall->dismissed += hall->heard;
    for (int i = hall->guests; i-- > 0;)
        if (hall->guest[i].heard)
            nbcolli_shm_hall_send_away(hall, &hall->guest[i], hall->verdict);
}

/* No descriptor for the next guest: gives up a silent guest, else the reserve. */
static void nbcolli_shm_hall_make_room(struct nbcolli_shm_hall *hall, nbcoll_status s)
{
    struct nbcolli_shm_guest *silent = s == NBCOLL_ERR_UNSUPPORTED ? NULL : nbcolli_shm_hall_silent(hall);

    if (silent) {
        nbcolli_shm_hall_disown(hall, silent, NBCOLL_ERR_BUSY, "has said nothing");
        return;
    }
    nbcolli_shm_hall_blame(hall, s);
    if (s == NBCOLL_ERR_UNSUPPORTED) /* for good: guests only see the listener close */
        hall->dismissed = (int)hall->boot->layout.ranks - 1;
    else if (hall->reserve < 0 && hall->guests == 0) /* others of this process have taken its place */
        nbcolli_shm_await(hall->boot, NULL, 0, 10);
    nbcolli_shm_close(hall->boot->os, &hall->reserve);
}

static void nbcolli_shm_hall_accept(struct nbcolli_shm_hall *hall)
{
    nbcoll_status refused;
    int fd, pid;
    nbcoll_status s = nbcolli_shm_accept(hall->boot->os, hall->listener, &fd, &pid, &refused);

    if (s == NBCOLL_PENDING)
        return;
    if (s != NBCOLL_OK) {
        nbcolli_shm_hall_make_room(hall, s);
        return;
    }
    if (refused == NBCOLL_ERR_ACCESS) { /* a stranger: no rank of ours */
        nbcolli_shm_refuse(hall->boot, fd, refused);
        return;
    }
    if (hall->guests == (int)hall->boot->layout.ranks - 1 + NBCOLLI_SHM_SILENT)
        nbcolli_shm_hall_disown(hall, nbcolli_shm_hall_silent(hall), NBCOLL_ERR_BUSY, "has said nothing");
    hall->guest[hall->guests++] = (struct nbcolli_shm_guest){
        .socket = fd, .pid = pid, .number = hall->came++, .event = -1, .watch = -1};
    if (refused != NBCOLL_OK)
        nbcolli_shm_hall_blame(hall, refused);
}

static nbcoll_status nbcolli_shm_hall_check_hello(const struct nbcolli_shm_hall *hall,
                                                  const struct nbcolli_shm_guest *g,
                                                  const struct nbcolli_shm_control *l, int fds)
{
    uint32_t space = hall->boot->os->space("pid");

    if (l->stage != NBCOLLI_SHM_HELLO)
        return NBCOLL_ERR_ABI;
    if (l->self != g->pid || (l->pid_space && space && l->pid_space != space))
        return NBCOLL_ERR_NAMESPACE;
    if (l->status != NBCOLL_OK)
        return (nbcoll_status)l->status;
    if (fds != 2)
        return NBCOLL_ERR_ABI;
    if (memcmp(&l->layout, &hall->boot->layout, sizeof l->layout) != 0)
        return NBCOLL_ERR_MISMATCH;
    if (l->rank < 1 || l->rank >= (int)l->layout.ranks)
        return NBCOLL_ERR_RANK;
    for (int i = 0; i < hall->guests; i++)
        if (hall->guest[i].rank == l->rank)
            return NBCOLL_ERR_DUPLICATE;
    return NBCOLL_OK;
}

static void nbcolli_shm_hall_hear(struct nbcolli_shm_hall *hall, struct nbcolli_shm_guest *g)
{
    int fd[NBCOLLI_SHM_CONTROL_FDS], fds;
    struct nbcolli_shm_control l = {0};
    nbcoll_status s = nbcolli_shm_receive(hall->boot->os, g->socket, &l, fd, &fds);

    if (s == NBCOLL_PENDING)
        return;
    if (s == NBCOLL_ERR_ABI && l.magic != NBCOLLI_SHM_MAGIC) {
        nbcolli_shm_hall_disown(hall, g, s, "has not said what a rank says");
        return;
    }
    if (s == NBCOLL_ERR_PEER_LOST)
        nbcolli_shm_hall_say(hall, g, s, "closed its connection without a word: a rank has died");
    g->heard = true;
    hall->heard++;
    if (s == NBCOLL_OK)
        s = nbcolli_shm_hall_check_hello(hall, g, &l, fds);
    if (s == NBCOLL_OK) {
        g->rank = l.rank;
        g->event = fd[0];
        g->watch = fd[1];
    } else {
        nbcolli_shm_close_all(hall->boot->os, fd, fds);
        nbcolli_shm_hall_blame(hall, s);
    }
}

/* Takes guests until as many as there are other ranks have been heard or dismissed. */
static void nbcolli_shm_hall_gather(struct nbcolli_shm_hall *hall)
{
    int others = (int)hall->boot->layout.ranks - 1;

    while (hall->heard + hall->dismissed < others) {
        struct pollfd fd[NBCOLL_SHM_RANKS + NBCOLLI_SHM_SILENT + 1];
        int n = hall->guests;
        for (int i = 0; i < n; i++)
            fd[i] = (struct pollfd){hall->guest[i].heard ? -1 : hall->guest[i].socket, POLLIN, 0};
        fd[n] = (struct pollfd){hall->listener, POLLIN, 0};
        nbcoll_status s = nbcolli_shm_await(hall->boot, fd, (nfds_t)n + 1, 1000);
        if (s == NBCOLL_PENDING)
            continue;
        if (s != NBCOLL_OK) {
            nbcolli_shm_hall_blame(hall, s);
            break;
        }
        for (int i = n; i-- > 0;) /* the last guest takes the place of one that goes */
            if (fd[i].revents)
                nbcolli_shm_hall_hear(hall, &hall->guest[i]);
        if (fd[n].revents && hall->heard + hall->dismissed < others)
            nbcolli_shm_hall_accept(hall);
        if (hall->verdict != NBCOLL_OK)
            nbcolli_shm_hall_dismiss(hall);
    }
    nbcolli_shm_hall_clear(hall);
}

/* Waits for the guest's answer of that stage. */
static void nbcolli_shm_hall_answer(struct nbcolli_shm_hall *hall, struct nbcolli_shm_guest *g,
                                    enum nbcolli_shm_stage stage)
{
    int fd[NBCOLLI_SHM_CONTROL_FDS];
    struct nbcolli_shm_control l = {0};
    nbcoll_status s = NBCOLL_ERR_PEER_LOST;

    if (g->socket >= 0)
        s = nbcolli_shm_next_letter(hall->boot, g->socket, stage, &l, fd, 0);
    g->home = l.home;
    nbcolli_shm_hall_blame(hall, s);
}

/* Returns why a message to some guest failed. That guest finds its socket closed, and fails. */
static nbcoll_status nbcolli_shm_hall_tell(struct nbcolli_shm_hall *hall, enum nbcolli_shm_stage stage)
{
    struct nbcolli_shm_control l = nbcolli_shm_control(hall->boot, stage, hall->verdict);
    nbcoll_status all = NBCOLL_OK;

    for (int i = 0; i < hall->guests; i++) {
        int *socket = &hall->guest[i].socket;
        nbcoll_status s = *socket < 0 ? NBCOLL_OK : nbcolli_shm_send(hall->boot->os, *socket, &l, NULL, 0);
        if (s == NBCOLL_OK)
            continue;
        all = all == NBCOLL_OK ? s : all;
        nbcolli_shm_close(hall->boot->os, socket);
    }
    return all;
}

/* ---- the host: handing out --------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_shm_take_seat(struct nbcolli_shm_end *e)
{
    struct nbcolli_shm_seat *seat = nbcolli_shm_seat(e->home, e->base.rank);
    nbcolli_cores cores = e->os->cores();
    nbcoll_status s = nbcolli_shm_watch(e);

    if (s != NBCOLL_OK)
        return s;
    for (int i = 0; i < NBCOLLI_CORES / 64; i++) /* relaxed: read when all have said that they have joined */
        atomic_store_explicit(&seat->cores[i], cores.word[i], memory_order_relaxed);
    atomic_store_explicit(&seat->has_barriers, e->os->join_barriers(), memory_order_relaxed);
    nbcolli_shm_rings(e);
    atomic_store_explicit(&seat->token, (uintptr_t)e->home->token, memory_order_release); /* it is there */
    atomic_store(&seat->state, NBCOLLI_SHM_PRESENT);
    return NBCOLL_OK;
}

/* The host's own home: from now on it owns the guests' descriptors. */
static nbcoll_status nbcolli_shm_hall_settle(struct nbcolli_shm_hall *hall, struct nbcolli_shm_end *e)
{
    int memory = -1;
    nbcoll_status s = hall->boot->os->make(hall->boot->layout.bytes, &memory);
    if (s == NBCOLL_OK)
        s = nbcolli_shm_home_make(hall->boot->os, &hall->boot->layout, memory, true, &e->home);
    if (s != NBCOLL_OK) {
        nbcolli_shm_close(hall->boot->os, &memory);
        return s;
    }
    struct nbcolli_shm_home *h = e->home;
    h->secret = hall->secret;
    h->place[0] = (struct nbcolli_shm_place){.pid = h->pid, .event = e->event, .watch = e->watch};
    e->event = e->watch = -1;
    for (int i = 0; i < hall->guests; i++) {
        struct nbcolli_shm_guest *g = &hall->guest[i];
        h->place[g->rank] = (struct nbcolli_shm_place){.pid = g->pid, .event = g->event, .watch = g->watch};
        g->event = g->watch = -1;
    }
    s = nbcolli_shm_home_show(h, 0);
    return s == NBCOLL_OK ? nbcolli_shm_take_seat(e) : s;
}

static struct nbcolli_shm_guest *nbcolli_shm_hall_guest(struct nbcolli_shm_hall *hall, int rank)
{
    for (int i = 0; i < hall->guests; i++)
        if (hall->guest[i].rank == rank)
            return &hall->guest[i];
    return NULL;
}

/* The home of the guest's process, if a rank before it has one. */
static uint64_t nbcolli_shm_hall_home(struct nbcolli_shm_hall *hall, const struct nbcolli_shm_end *e,
                                      const struct nbcolli_shm_guest *g)
{
    if (g->pid == e->home->pid)
        return (uintptr_t)e->home;
    for (int rank = 1; rank < g->rank; rank++)
        if (nbcolli_shm_hall_guest(hall, rank)->pid == g->pid)
            return nbcolli_shm_hall_guest(hall, rank)->home;
    return 0;
}

/* One guest after the other, so that few descriptors are under way at a time: the system counts them. */
static void nbcolli_shm_hall_welcome(struct nbcolli_shm_hall *hall, const struct nbcolli_shm_end *e,
                                     struct nbcolli_shm_guest *g)
{
    int ranks = (int)hall->boot->layout.ranks;
    struct nbcolli_shm_control l = nbcolli_shm_control(hall->boot, NBCOLLI_SHM_WELCOME, NBCOLL_OK);
    nbcoll_status s = NBCOLL_OK;

    l.secret = hall->secret;
    l.home = nbcolli_shm_hall_home(hall, e, g);
    for (int first = 0; first < ranks && s == NBCOLL_OK; first += NBCOLLI_SHM_BATCH) {
        int fd[NBCOLLI_SHM_CONTROL_FDS], fds = 0;
        l.rank = first;
        if (l.home && first)
            break;
        if (first == 0)
            fd[fds++] = e->home->memory;
        for (int r = first; r < ranks && r < first + NBCOLLI_SHM_BATCH; r++) {
            const struct nbcolli_shm_place *p = &e->home->place[r];
            l.pid[r - first] = p->pid;
            fd[fds++] = p->event;
            fd[fds++] = p->watch;
        }
        s = nbcolli_shm_send(hall->boot->os, g->socket, &l, fd, l.home ? 0 : fds);
    }
    if (s != NBCOLL_OK)
        nbcolli_shm_hall_blame(hall, s);
    else
        nbcolli_shm_hall_answer(hall, g, NBCOLLI_SHM_MAPPED);
}

static void nbcolli_shm_hall_join(struct nbcolli_shm_hall *hall, struct nbcolli_shm_end *e)
{
    nbcolli_shm_hall_blame(hall, nbcolli_shm_hall_settle(hall, e));
    for (int rank = 1; rank <= hall->guests && hall->verdict == NBCOLL_OK; rank++)
        nbcolli_shm_hall_welcome(hall, e, nbcolli_shm_hall_guest(hall, rank));
    nbcoll_status told = nbcolli_shm_hall_tell(hall, NBCOLLI_SHM_MAPPED);
    if (hall->verdict != NBCOLL_OK)
        return;
    nbcolli_shm_hall_blame(hall, told);
    nbcolli_shm_try(e);
    nbcolli_shm_measure(e);
    for (int i = 0; i < hall->guests; i++)
        nbcolli_shm_hall_answer(hall, &hall->guest[i], NBCOLLI_SHM_TRIED);
    nbcolli_shm_hall_tell(hall, NBCOLLI_SHM_TRIED); /* the last message: a guest that misses it fails alone */
    nbcolli_shm_tried(e);
}

/* Turns away guests that came too late, or twice. */
static void nbcolli_shm_hall_turn_away(struct nbcolli_shm_hall *hall)
{
    nbcoll_status refused, all = hall->verdict == NBCOLL_OK ? NBCOLL_ERR_DUPLICATE : hall->verdict;
    int fd, pid;

    while (nbcolli_shm_accept(hall->boot->os, hall->listener, &fd, &pid, &refused) == NBCOLL_OK)
        nbcolli_shm_refuse(hall->boot, fd, refused == NBCOLL_OK ? all : refused);
}

nbcoll_status nbcolli_shm_host(struct nbcolli_shm_boot *b, struct nbcolli_shm_end *e, nbcoll_status own)
{
    struct nbcolli_shm_hall hall = {.boot = b, .verdict = own};
    nbcoll_status s = nbcolli_shm_listen(b->os, &b->config->id, b->config->ranks, &hall.listener);

    if (s != NBCOLL_OK)
        return own == NBCOLL_OK ? s : own;
    hall.reserve = b->os->copy(hall.listener);
    if (hall.reserve < 0) {
        b->os->close(hall.listener);
        return NBCOLL_ERR_TRANSPORT;
    }
    if (own == NBCOLL_OK)
        nbcolli_shm_hall_blame(&hall, nbcolli_shm_descriptors(e));
    nbcolli_shm_hall_blame(&hall, nbcolli_shm_random(b->os, &hall.secret, sizeof hall.secret));
    nbcolli_shm_hall_gather(&hall);
    nbcolli_shm_close(b->os, &hall.reserve);
    if (hall.verdict == NBCOLL_OK)
        nbcolli_shm_hall_join(&hall, e);
    else
        nbcolli_shm_hall_dismiss(&hall);
    nbcolli_shm_hall_turn_away(&hall);
    b->os->close(hall.listener);
    while (hall.guests)
        nbcolli_shm_guest_close(b->os, &hall.guest[--hall.guests]);
    return hall.verdict;
}

/* ---- a guest ----------------------------------------------------------------------------------------------------- */

/* If the host has already turned us away its answer says so. Returns `own`, or why our descriptors could not be sent,
 * which the host learns, too. */
static nbcoll_status nbcolli_shm_guest_hello(struct nbcolli_shm_boot *b, int socket, const struct nbcolli_shm_end *e,
                                             nbcoll_status own)
{
    struct nbcolli_shm_control l = nbcolli_shm_control(b, NBCOLLI_SHM_HELLO, own);

    l.pid_space = b->os->space("pid");
    l.self = b->os->pid();
    if (own == NBCOLL_OK) {
        own = nbcolli_shm_send(b->os, socket, &l, (const int[]){e->event, e->watch}, 2);
        if (own == NBCOLL_OK || own == NBCOLL_ERR_PEER_LOST)
            return NBCOLL_OK;
        l.status = own;
    }
    nbcolli_shm_send(b->os, socket, &l, NULL, 0);
    return own;
}

/* Puts one control message's descriptors into the home, which then owns them. */
static void nbcolli_shm_guest_place(struct nbcolli_shm_home *h, const struct nbcolli_shm_control *l, const int fd[])
{
    for (int r = l->rank; r < (int)h->layout.ranks && r < l->rank + NBCOLLI_SHM_BATCH; r++, fd += 2) {
        h->place[r] = (struct nbcolli_shm_place){.pid = l->pid[r - l->rank], .event = fd[0], .watch = fd[1]};
        if (h->place[r].pid == h->pid)
            nbcolli_shm_close(h->os, &h->place[r].watch);
    }
}

static int nbcolli_shm_guest_batch(const struct nbcolli_shm_boot *b, int first)
{
    int rest = (int)b->layout.ranks - first;
    return 2 * (rest < NBCOLLI_SHM_BATCH ? rest : NBCOLLI_SHM_BATCH);
}

/* Makes a home from the welcome. */
static nbcoll_status nbcolli_shm_guest_settle(struct nbcolli_shm_boot *b, int socket, struct nbcolli_shm_end *e)
{
    int fd[NBCOLLI_SHM_CONTROL_FDS], batch = nbcolli_shm_guest_batch(b, 0);
    struct nbcolli_shm_control l;
    nbcoll_status s = nbcolli_shm_next_letter(b, socket, NBCOLLI_SHM_WELCOME, &l, fd, 1 + batch);

    if (s != NBCOLL_OK)
        return s;
    if (l.home) {
        e->home = (struct nbcolli_shm_home *)(uintptr_t)l.home;
        nbcolli_shm_home_join(e->home);
        return NBCOLL_OK;
    }
    s = l.rank == 0 ? nbcolli_shm_home_make(b->os, &b->layout, fd[0], false, &e->home) : NBCOLL_ERR_ABI;
    if (s != NBCOLL_OK) {
        nbcolli_shm_close_all(b->os, fd, 1 + batch);
        return s;
    }
    e->home->secret = l.secret;
    nbcolli_shm_guest_place(e->home, &l, fd + 1);
    for (int first = NBCOLLI_SHM_BATCH; first < b->config->ranks; first += NBCOLLI_SHM_BATCH) {
        batch = nbcolli_shm_guest_batch(b, first);
        s = nbcolli_shm_next_letter(b, socket, NBCOLLI_SHM_WELCOME, &l, fd, batch);
        if (s != NBCOLL_OK)
            return s;
        if (l.home || l.rank != first) {
            nbcolli_shm_close_all(b->os, fd, l.home ? 0 : batch);
            return NBCOLL_ERR_ABI;
        }
        nbcolli_shm_guest_place(e->home, &l, fd);
    }
    return nbcolli_shm_home_show(e->home, e->base.rank);
}

/* Tells the host how a stage went here, and waits for its verdict. */
static nbcoll_status nbcolli_shm_guest_stage(struct nbcolli_shm_boot *b, int socket, const struct nbcolli_shm_end *e,
                                             enum nbcolli_shm_stage stage, nbcoll_status own)
{
    struct nbcolli_shm_control l = nbcolli_shm_control(b, stage, own);
    int fd[NBCOLLI_SHM_CONTROL_FDS];

    l.home = (uintptr_t)e->home;
    nbcoll_status s = nbcolli_shm_send(b->os, socket, &l, NULL, 0);
    return s == NBCOLL_OK ? nbcolli_shm_next_letter(b, socket, stage, &l, fd, 0) : s;
}

static nbcoll_status nbcolli_shm_guest_join(struct nbcolli_shm_boot *b, int socket, struct nbcolli_shm_end *e,
                                            nbcoll_status own)
{
    nbcoll_status verdict, s = nbcolli_shm_guest_hello(b, socket, e, own);

    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_shm_guest_settle(b, socket, e);
    if (s == NBCOLL_OK) {
        nbcolli_shm_close(b->os, &e->event);
        nbcolli_shm_close(b->os, &e->watch);
        s = nbcolli_shm_take_seat(e);
    } else if (s == NBCOLL_ERR_TIMEOUT || s == NBCOLL_ERR_PEER_LOST)
        return s;
    verdict = nbcolli_shm_guest_stage(b, socket, e, NBCOLLI_SHM_MAPPED, s);
    if (s != NBCOLL_OK || verdict != NBCOLL_OK)
        return s != NBCOLL_OK ? s : verdict;
    nbcolli_shm_try(e);
    nbcolli_shm_measure(e);
    verdict = nbcolli_shm_guest_stage(b, socket, e, NBCOLLI_SHM_TRIED, NBCOLL_OK);
    if (verdict == NBCOLL_OK)
        nbcolli_shm_tried(e);
    return verdict;
}

nbcoll_status nbcolli_shm_join(struct nbcolli_shm_boot *b, struct nbcolli_shm_end *e, nbcoll_status own)
{
    int socket = -1;
    nbcoll_status refused = NBCOLL_OK, s;

    do {
        s = nbcolli_shm_connect(b, &b->config->id, &socket, &refused);
        if (s != NBCOLL_OK)
            return own == NBCOLL_OK ? s : own;
        if (own == NBCOLL_OK)
            own = refused == NBCOLL_OK && e->event < 0 ? nbcolli_shm_descriptors(e) : refused;
        s = nbcolli_shm_guest_join(b, socket, e, own); /* the host learns it, too */
        b->os->close(socket);
    } while (s == NBCOLL_ERR_BUSY);
    return s;
}

/* ---- the host's allgather ---------------------------------------------------------------------------------------- */

struct nbcolli_shm_entry {
    uint64_t magic;
    uint32_t abi, version;
    int32_t rank, ranks;
    uint32_t net_space, status;
    nbcoll_shm_id id; /* rank 0's counts */
};

static nbcoll_status nbcolli_shm_entry_check(const struct nbcolli_shm_entry *first, const struct nbcolli_shm_entry *c,
                                            int rank, int ranks)
{
    if (c->magic != NBCOLLI_SHM_MAGIC || c->abi != NBCOLL_ABI || c->version != NBCOLLI_SHM_VERSION)
        return NBCOLL_ERR_ABI;
    if (c->ranks != ranks)
        return NBCOLL_ERR_MISMATCH;
    if (c->rank != rank)
        return NBCOLL_ERR_DUPLICATE;
    return c->net_space == first->net_space ? nbcolli_ended_as(c->status) : NBCOLL_ERR_NAMESPACE;
}

/* All ranks see the same entries, and find the same result. */
nbcoll_status nbcolli_shm_agree(struct nbcolli_shm_boot *b, nbcoll_shm_id *id)
{
    const nbcoll_shm_allgather *ag = b->config->allgather;
    struct nbcolli_shm_entry all[NBCOLL_SHM_RANKS], mine = {.magic = NBCOLLI_SHM_MAGIC,
                                                           .abi = NBCOLL_ABI,
                                                           .version = NBCOLLI_SHM_VERSION,
                                                           .rank = b->config->rank,
                                                           .ranks = b->config->ranks,
                                                           .net_space = b->os->space("net")};
    void *operation;
    nbcoll_status s;

    if (b->config->rank == 0)
        mine.status = nbcolli_shm_id_make(b->os, &mine.id);
    s = ag->start(ag->user, &mine, all, sizeof mine, &operation);
    if (s != NBCOLL_OK)
        return s;
    while ((s = ag->test(ag->user, operation)) == NBCOLL_PENDING)
        if (nbcolli_shm_await(b, NULL, 0, 1) == NBCOLL_ERR_TIMEOUT) {
            s = NBCOLL_ERR_TIMEOUT;
            break;
        }
    ag->free(ag->user, operation);
    for (int r = 0; r < b->config->ranks && s == NBCOLL_OK; r++)
        s = nbcolli_shm_entry_check(&all[0], &all[r], r, b->config->ranks);
    *id = all[0].id;
    return s;
}
