/* SPDX-License-Identifier: BSD-3-Clause
 * The ranks' cores, their clock, and the memory in which they meet: neither library's, so that it favours none. */
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "against.h"

enum { LOOKS = 64, YIELDS = 20, TRIPS = 400, WINDOWS = 21 };

#define PATIENCE 120e6 /* us to wait for the others */

struct shared {
    _Alignas(128) atomic_uint met;
    _Alignas(128) atomic_uint sleepers;
    _Alignas(128) atomic_int ping;
    _Alignas(128) atomic_int pong;
    _Alignas(128) double said[RANKS_MOST];
};

void give_up(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    _exit(3); /* the launcher ends the others */
}

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

void world_bind(world *w, int rank)
{
    cpu_set_t allowed, mine;
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        give_up("sched_getaffinity fails");
    w->cores = CPU_COUNT(&allowed);
    int left = rank % w->cores, core = 0;
    while (!CPU_ISSET(core, &allowed) || left-- > 0)
        core++;
    CPU_SET(core, &mine);
    if (sched_setaffinity(0, sizeof mine, &mine) < 0)
        give_up("rank %d cannot be bound to processor %d", rank, core);
}

/* In the real-time class a rank that spins for another one of its core would wait for ever: only where ranks have a
 * core each, or the MPI yields. */
static void settle(world *w)
{
    struct sched_param first = {.sched_priority = 1};
    double least = 1e9;
    w->is_crowded = w->is_relaxed || w->ranks > w->cores;
    w->is_fifo = !w->is_relaxed && (!w->is_crowded || theirs_yield()) && sched_setscheduler(0, SCHED_FIFO, &first) == 0;
    for (int i = 0; i < 2000; i++) {
        double at = now(), took = now() - at;
        least = took < least ? took : least;
    }
    w->clock = least;
}

static int map(world *w, int fd, size_t arena_bytes)
{
    size_t bytes = sizeof(shared) + (size_t)w->ranks * arena_bytes;
    unsigned char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return -1;
    w->shared = (shared *)at;
    w->arena = at + sizeof(shared);
    w->arena_bytes = arena_bytes;
    settle(w);
    return 0;
}

void world_relax(void)
{
    struct sched_param none = {.sched_priority = 0};
    sched_setscheduler(0, SCHED_OTHER, &none);
}

int world_make(world *w, size_t arena_bytes, int *fd)
{
    *fd = memfd_create("against", MFD_CLOEXEC);
    if (*fd < 0 || ftruncate(*fd, (off_t)(sizeof(shared) + (size_t)w->ranks * arena_bytes)) < 0)
        return -1;
    return map(w, *fd, arena_bytes);
}

int world_join(world *w, int pid, int fd, size_t arena_bytes)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/%d/fd/%d", pid, fd);
    int here = open(name, O_RDWR | O_CLOEXEC);
    int failed = here < 0 || map(w, here, arena_bytes) < 0;
    if (here >= 0)
        close(here);
    return failed ? -1 : 0;
}

/* ---- meeting ----------------------------------------------------------------------------------------------------- */

static void doze(shared *s, uint32_t seen)
{
    struct timespec limit = {.tv_nsec = 2000000};
    atomic_fetch_add(&s->sleepers, 1);
    syscall(SYS_futex, &s->met, FUTEX_WAIT, seen, &limit, NULL, 0);
    atomic_fetch_sub(&s->sleepers, 1);
}

/* Ranks that share a core hand it over, and sleep where that does not help. */
static void wait_for(world *w, uint32_t all, void (*progress)(void *), void *user)
{
    shared *s = w->shared;
    double since = 0;
    uint32_t seen;
    for (unsigned long looks = 1; (int32_t)((seen = atomic_load_explicit(&s->met, memory_order_acquire)) - all) < 0;
         looks++) {
        if (progress && (w->is_crowded || looks % LOOKS == 0))
            progress(user);
        if (w->is_crowded && looks > YIELDS)
            doze(s, seen);
        else if (w->is_crowded)
            sched_yield();
        if (looks % 65536)
            continue;
        since = since > 0 ? since : now();
        if (now() - since > PATIENCE)
            give_up("rank %d: the others do not come", w->rank);
    }
}

void meet(world *w, void (*progress)(void *), void *user)
{
    shared *s = w->shared;
    uint32_t all = ++w->meetings * (uint32_t)w->ranks;
    if (atomic_fetch_add(&s->met, 1) + 1 != all)
        wait_for(w, all, progress, user);
    else if (w->is_crowded && atomic_load(&s->sleepers))
        syscall(SYS_futex, &s->met, FUTEX_WAKE, RANKS_MOST, NULL, NULL, 0);
}

double world_most(world *w, double mine)
{
    double most = mine;
    w->shared->said[w->rank] = mine;
    meet(w, NULL, NULL);
    for (int r = 0; r < w->ranks; r++)
        most = w->shared->said[r] > most ? w->shared->said[r] : most;
    meet(w, NULL, NULL);
    return most;
}

double world_sum(world *w, double mine)
{
    double sum = 0;
    w->shared->said[w->rank] = mine;
    meet(w, NULL, NULL);
    for (int r = 0; r < w->ranks; r++)
        sum += w->shared->said[r];
    meet(w, NULL, NULL);
    return sum;
}

/* ---- the latency class ------------------------------------------------------------------------------------------- */

int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void await(atomic_int *line, int value)
{
    while (atomic_load_explicit(line, memory_order_acquire) != value)
        ;
}

/* Ranks 0 and 1 pass a line to and fro while the others wait. */
double world_latency(world *w)
{
    double window[WINDOWS] = {0};
    shared *s = w->shared;
    int is_measurable = w->cores > 1 && w->ranks > 1;
    s->ping = s->pong = 0;
    meet(w, NULL, NULL);
    for (int i = 0; is_measurable && w->rank < 2 && i < WINDOWS; i++) {
        double at = now();
        for (int trip = 1; trip <= TRIPS; trip++) {
            int value = i * TRIPS + trip;
            if (w->rank == 1)
                await(&s->ping, value);
            atomic_store_explicit(w->rank ? &s->pong : &s->ping, value, memory_order_release);
            if (w->rank == 0)
                await(&s->pong, value);
        }
        window[i] = (now() - at) / (2 * TRIPS);
    }
    qsort(window, WINDOWS, sizeof *window, ascending);
    return world_most(w, w->rank == 0 ? window[WINDOWS / 2] : 0);
}
