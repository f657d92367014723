/* SPDX-License-Identifier: BSD-3-Clause
 * The ranks of a benchmark: processes or threads of this machine, their cores, where they meet, and what they open over
 * shm. */
#ifndef BENCH_RANKS_H
#define BENCH_RANKS_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nbcoll/shm.h"
#include "timing.h"

/* Memory for processes that are made later, zeroed. */
static inline void *share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        must(NBCOLL_ERR_MEMORY);
    return memory;
}

/* Runs each rank in a child. Returns what main returns: 0 if all went well. */
static inline int run_ranks(int ranks, void (*run_rank)(void *shared, int rank), void *shared)
{
    int is_wrong = 0, how;

    for (int r = 0; r < ranks; r++)
        if (fork() == 0) {
            run_rank(shared, r);
            fflush(stdout);
            _exit(0);
        }
    for (int r = 0; r < ranks; r++)
        is_wrong |= wait(&how) < 0 || how != 0;
    return is_wrong;
}

enum { THREADS_MOST = 256 };

/* Runs a thread for each thing of the array, so many bytes each. */
static inline void run_threads(int threads, void *(*run)(void *one), void *array, size_t bytes)
{
    pthread_t thread[THREADS_MOST];

    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, run, (char *)array + (size_t)i * bytes))
            must(NBCOLL_ERR_MEMORY);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
}

static inline void bind_to(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) {
        perror("core");
        _exit(1);
    }
}

/* Where all ranks meet: each has one. */
typedef struct meeting {
    atomic_uint *here; /* those that have come, of all meetings */
    unsigned ranks, times;
    unsigned sleeps; /* us between looks; 0: it yields */
} meeting;

static inline void meet(meeting *m)
{
    unsigned all = ++m->times * m->ranks;
    for (atomic_fetch_add(m->here, 1); atomic_load(m->here) < all;)
        m->sleeps ? usleep(m->sleeps) : sched_yield();
}

/* A communicator over shm, in a context of its own with these flags. */
static inline nbcoll_comm *open_shm(const nbcoll_shm_id *id, int rank, int ranks, uint32_t flags,
                                    const nbcoll_comm_config *with, nbcoll_context **context)
{
    nbcoll_shm_config shm = {.size = sizeof shm, .id = *id, .rank = rank, .ranks = ranks};
    nbcoll_context_config config = {.size = sizeof config, .flags = flags};
    nbcoll_endpoint *ep;
    nbcoll_comm *comm;

    must(nbcoll_shm_open(&shm, &ep));
    must(nbcoll_context_create(NBCOLL_ABI, &config, context));
    must(nbcoll_comm_create(*context, ep, with, &comm, NBCOLL_FOREVER));
    return comm;
}

static inline void close_context(nbcoll_context *context)
{
    while (nbcoll_context_free(context) == NBCOLL_ERR_BUSY)
        nbcoll_progress(context);
}

/* ---- how far apart cores are ------------------------------------------------------------------------------------ */

typedef struct line_end {
    atomic_int *line;
    int core, first; /* -1: it runs anywhere */
    double ns;
} line_end;

/* Hands a line to and fro; the least of several windows. */
static inline void *pass_line(void *of)
{
    enum { WINDOWS = 100, PASSES = 200 };
    line_end *e = of;
    int at = e->first;
    if (e->core >= 0)
        bind_to(e->core);
    for (int w = 0; w < WINDOWS; w++) {
        double begun = now(), took;
        for (int i = 0; i < PASSES; i++, at += 2) {
            while (atomic_load(e->line) != at)
                ;
            atomic_store(e->line, at + 1);
        }
        took = (now() - begun) / (2 * PASSES);
        e->ns = w == 0 || took < e->ns ? took : e->ns;
    }
    return NULL;
}

/* Nanoseconds of a line from one core to another; -1: wherever the threads run. */
static inline double line_ns(int one, int other)
{
    static _Alignas(128) atomic_int line;
    line_end ends[2] = {{&line, one, 0, 0}, {&line, other, 1, 0}};
    atomic_store(&line, 0);
    run_threads(2, pass_line, ends, sizeof *ends);
    return ends[0].ns;
}

#endif
