/* SPDX-License-Identifier: BSD-3-Clause
 * The copy paths of this machine, found by trial: three ranks open shared memory and tell what each found out about the
 * others. Two of them are threads of one process, the third is another one beside it, as those of `nbcoll run` are: a
 * parent and its child may be allowed more. The third also takes some of the memory that all can read. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "info.h"

#ifdef NBCOLL_WITH_SHM

#include <nbcoll/shm.h>

#define TIMEOUT UINT64_C(5000000000) /* ns to find each other: for a machine under load */

enum { RANKS = 3, APART = 2 }; /* the last rank is a process of its own */

/* What can be found out: between threads, between processes, and with memory of nbcoll_mem_alloc. */
enum { THREADS, PROCESSES, ALLOCATED, MATTERS };

/* What one rank found out. */
typedef struct finding {
    int matter;
    nbcoll_status status;
    int error; /* of a system call that was tried, or 0 */
    char path[32], why[256];
} finding;

typedef struct part {
    nbcoll_shm_config config;
    int out; /* where findings are written */
} part;

/* ---- in the ranks ---------------------------------------------------------------------------------------------- */

static finding look(const nbcoll_endpoint *end, int peer)
{
    static const char *const names[] = {
        [NBCOLL_SHM_BY_REFERENCE] = "by reference",
        [NBCOLL_SHM_BY_CMA] = "process_vm_readv",
        [NBCOLL_SHM_BY_PIECES] = "pieces",
    };
    nbcoll_shm_peer is = {.size = sizeof is};
    finding f = {.status = nbcoll_shm_describe(end, peer, &is)};
    if (f.status != NBCOLL_OK)
        return f;
    f.error = is.error;
    snprintf(f.path, sizeof f.path, "%s", names[is.path]);
    snprintf(f.why, sizeof f.why, "%s", is.why);
    return f;
}

static finding reserve(nbcoll_endpoint *end)
{
    const nbcoll_shared *shared = end->transport->shared;
    uint64_t at;
    finding f = {.status = NBCOLL_ERR_UNSUPPORTED, .path = "in place"};
    if (shared)
        f.status = shared->reserve(end, 1, &at);
    if (f.status == NBCOLL_OK)
        shared->release(end, at);
    return f;
}

/* Tells what this rank found, or, by an error, why it did not. */
static void tell(const part *p, nbcoll_endpoint *end, nbcoll_status status)
{
    int rank = p->config.rank;
    for (int peer = 0; peer < RANKS; peer++) {
        if (peer == rank && peer != APART)
            continue;
        finding f = {.status = status};
        if (status == NBCOLL_OK)
            f = peer == rank ? reserve(end) : look(end, peer);
        f.matter = peer == rank ? ALLOCATED : (peer == APART) != (rank == APART) ? PROCESSES : THREADS;
        if (write(p->out, &f, sizeof f) < 0) /* whole: it is smaller than PIPE_BUF */
            break;
    }
}

static void *take_part(void *user)
{
    const part *p = user;
    nbcoll_endpoint *end = NULL;
    nbcoll_status status = nbcoll_shm_open(&p->config, &end);
    tell(p, end, status);
    if (end)
        nbcoll_endpoint_close(end);
    return NULL;
}

static void be_apart(part p)
{
    p.config.rank = APART;
    take_part(&p);
}

static void be_threads(part p)
{
    part other = p;
    pthread_t thread;
    other.config.rank = 1;
    if (pthread_create(&thread, NULL, take_part, &other) != 0) {
        tell(&p, NULL, NBCOLL_ERR_MEMORY);
        return;
    }
    take_part(&p);
    pthread_join(thread, NULL);
}

/* ---- around them ----------------------------------------------------------------------------------------------- */

/* Of what several ranks say, the most telling: a rank that failed, rather than those that then lack it; a rank that
 * could not read, rather than the one that it could not read. */
static int weight(const finding *f)
{
    if (f->status == NBCOLL_ERR_PEER_LOST || f->status == NBCOLL_ERR_TIMEOUT)
        return 3;
    return f->status != NBCOLL_OK ? 4 : f->error ? 2 : 1;
}

/* Fills found[matter]; its status is PENDING where nothing was found. 0 or an errno. */
static int collect_findings(const part *p, int in, finding found[])
{
    static void (*const be[2])(part) = {be_threads, be_apart};
    pid_t pids[2] = {0, 0};
    int error = 0;
    for (int i = 0; i < 2 && !error; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            be[i](*p);
            _exit(0);
        }
        error = pids[i] < 0 ? errno : 0;
    }
    if (error && pids[0] > 0)
        kill(pids[0], SIGKILL);
    close(p->out);
    for (finding f; read(in, &f, sizeof f) == sizeof f;)
        if (found[f.matter].status == NBCOLL_PENDING || weight(&f) > weight(&found[f.matter]))
            found[f.matter] = f;
    for (int i = 0; i < 2; i++)
        if (pids[i] > 0)
            waitpid(pids[i], NULL, 0);
    return error;
}

static int try_paths(finding found[])
{
    part p = {.config = {.size = sizeof p.config, .ranks = RANKS, .timeout = TIMEOUT}};
    int ends[2];
    nbcoll_status status = nbcoll_shm_id_make(&p.config.id);
    if (status != NBCOLL_OK) {
        for (int i = 0; i < MATTERS; i++)
            found[i].status = status;
        return 0;
    }
    if (pipe2(ends, O_CLOEXEC) < 0)
        return errno;
    p.out = ends[1];
    int error = collect_findings(&p, ends[0], found);
    close(ends[0]);
    return error;
}

static json_t *path_object(const finding *f, int error)
{
    if (f->status == NBCOLL_OK && f->error)
        return json_pack("{s:s, s:o}", "path", f->path, "why", json_sprintf("%s (%s)", f->why, strerror(f->error)));
    if (f->status == NBCOLL_OK)
        return json_pack("{s:s, s:s}", "path", f->path, "why", f->why);
    if (error)
        return json_pack("{s:n, s:s}", "path", "why", strerror(error));
    if (f->status == NBCOLL_PENDING)
        return json_pack("{s:n, s:s}", "path", "why", "the ranks ended before they could tell");
    return json_pack("{s:n, s:o}", "path", "why",
                     json_sprintf("%s: %s", nbcoll_status_name(f->status), nbcoll_status_text(f->status)));
}

json_t *info_paths(void)
{
    static const char *const names[] = {[THREADS] = "threads", [PROCESSES] = "processes", [ALLOCATED] = "mem_alloc"};
    finding found[MATTERS] = {{.status = NBCOLL_PENDING}, {.status = NBCOLL_PENDING}, {.status = NBCOLL_PENDING}};
    int error = try_paths(found);
    json_t *all = json_object();
    for (int i = 0; i < MATTERS; i++)
        json_object_set_new(all, names[i], path_object(&found[i], error));
    return all;
}

#else

json_t *info_paths(void)
{
    return json_object();
}

#endif
