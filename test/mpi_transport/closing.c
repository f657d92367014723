/* SPDX-License-Identifier: BSD-3-Clause
 * An endpoint closes while another thread of its process is in the midst of sending it a message: at each place where
 * that thread unlocks a mutex in the MPI, in turn. What the endpoint has freed is written by nobody, and an endpoint
 * that is opened before the thread goes on receives what is sent to it, and nothing else. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nbcoll/mpi.h>

#define CHECK(condition) ((condition) ? (void)0 : fails(__LINE__, #condition))

enum { FREED = 0xa5, MOST = 1000, PATIENCE_S = 1 };

static atomic_int stage; /* of a round: the sender sends, is in the midst of it; the other end is closed */
enum { SENDS, IS_INSIDE, CLOSED };
static _Thread_local int unlocks = -1; /* until the sender stops; -1: never */

static void fails(int line, const char *what)
{
    fprintf(stderr, "closing.c:%d: %s\n", line, what);
    exit(1);
}

/* Until the other end is closed, or it cannot be: its thread waits for what this one holds. */
static void wait_inside(void)
{
    time_t late = time(NULL) + PATIENCE_S + 1;

    atomic_store(&stage, IS_INSIDE);
    while (atomic_load(&stage) != CLOSED && time(NULL) < late)
        sched_yield();
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    static int (*real)(pthread_mutex_t *);
    if (!real)
        real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    int said = real(mutex);
    if (unlocks >= 0 && unlocks-- == 0)
        wait_inside();
    return said;
}

/* What is freed stays, with a pattern, until the round is over. */
static struct {
    void *memory;
    size_t bytes;
} freed[MOST];
static int frees;

static void *keeping_alloc(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void keeping_free(void *user, void *memory, size_t bytes)
{
    (void)user;
    if (!memory)
        return;
    CHECK(frees < MOST);
    memset(memory, FREED, bytes);
    freed[frees].memory = memory;
    freed[frees++].bytes = bytes;
}

static void look_at_freed(void)
{
    for (; frees; frees--) {
        const unsigned char *memory = freed[frees - 1].memory;
        for (size_t i = 0; i < freed[frees - 1].bytes; i++)
            CHECK(memory[i] == FREED);
        free(freed[frees - 1].memory);
    }
}

static nbcoll_posted post(nbcoll_endpoint *ep, int to, uint64_t word)
{
    static nbcoll_work work;
    return ep->transport->post(ep, to, &(nbcoll_header){{word}}, "payload", 8, &work);
}

/* The first word of the header of what has arrived; 0: nothing has. */
static uint64_t arrived(nbcoll_endpoint *ep)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
    ep->transport->progress(ep, &found);
    return found.arrived ? found.arrived->header.word[0] : 0;
}

struct sender {
    nbcoll_endpoint *ep;
    int stop; /* at this unlock */
    int left; /* of `unlocks` after the post: below 0, if it has stopped */
};

static void *send_one(void *argument)
{
    struct sender *s = argument;
    unlocks = s->stop;
    CHECK(post(s->ep, 0, 1) == NBCOLL_POST_DONE);
    s->left = unlocks;
    unlocks = -1;
    atomic_store(&stage, IS_INSIDE);
    return NULL;
}

static nbcoll_endpoint *open_rank(MPI_Comm *comm, int rank)
{
    static const int process[] = {0, 0, 0};
    nbcoll_endpoint *end = NULL;
    nbcoll_mpi_config config = {
        .size = sizeof config, .comm = comm, .process = process, .rank = rank, .ranks = 3, .receives = 2};

    config.host = (nbcoll_host){.alloc = keeping_alloc, .free = keeping_free};
    CHECK(nbcoll_mpi_open(&config, &end) == NBCOLL_OK);
    return end;
}

/* False: the sender has not stopped there. */
static int close_at(int stop)
{
    MPI_Comm comm;
    pthread_t thread;
    uint64_t word = 0;

    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    nbcoll_endpoint *closing = open_rank(&comm, 0);
    struct sender s = {.ep = open_rank(&comm, 1), .stop = stop};
    atomic_store(&stage, SENDS);
    CHECK(pthread_create(&thread, NULL, send_one, &s) == 0);
    while (atomic_load(&stage) != IS_INSIDE)
        sched_yield();
    nbcoll_endpoint_close(closing);
    nbcoll_endpoint *later = open_rank(&comm, 2);
    atomic_store(&stage, CLOSED);
    pthread_join(thread, NULL);
    look_at_freed();
    CHECK(arrived(later) == 0);
    CHECK(post(s.ep, 2, 7) == NBCOLL_POST_DONE);
    while (!word)
        word = arrived(later);
    CHECK(word == 7);
    nbcoll_endpoint_close(s.ep);
    nbcoll_endpoint_close(later);
    look_at_freed();
    MPI_Comm_free(&comm);
    return s.left < 0;
}

int main(void)
{
    int level, stop = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    CHECK(level == MPI_THREAD_MULTIPLE);
    while (close_at(stop))
        stop++;
    printf("%d places\n", stop);
    CHECK(stop > 0);
    MPI_Finalize();
    return 0;
}
