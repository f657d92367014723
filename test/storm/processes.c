/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes, as shm sees them: each rank is one, with descriptors, bells, locks and deaths of its own, and a view of
 * the one segment; another's memory is read by a call that may be refused, cut short, or find another program there.
 * All of it is private memory of this process. Each call takes its time, and lets others go on. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shm.h"

process *shm_caller(void)
{
    storm *s = storm_running();
    return &s->shm->process[s->turn->actor->rank];
}

process *shm_of_pid(storm *s, int pid)
{
    return pid >= PID_FIRST && pid < PID_FIRST + s->plan.ranks ? &s->shm->process[pid - PID_FIRST] : NULL;
}

int shm_call(process *p)
{
    storm *s = p->actor->storm;
    const weather *w = &s->shm->weather;
    storm_step(s, p->actor);
    if (!p->is_opening || w->refuses != 1 + p->actor->rank || (int)p->calls++ != w->refused_call || s->ends)
        return 0;
    storm_note(s, p->actor->rank, NOTE_REFUSED, (uint64_t)w->refused_with, 0);
    storm_cause(s, p->actor->rank, BAD_OPENING);
    p->is_deaf = p->has_tried;
    return w->refused_with;
}

bool shm_is_interrupted(process *p)
{
    return storm_chance(p->actor->storm, p->actor->storm->shm->weather.interrupted);
}

static int fails(int why)
{
    errno = why;
    return -1;
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

file *shm_file(process *p, file_kind kind)
{
    struct shm *w = p->actor->storm->shm;
    file *f = calloc(1, sizeof *f);
    f->kind = kind;
    f->process = p->actor->rank;
    f->next = w->files;
    return w->files = f;
}

int shm_descriptor(process *p, file *f)
{
    struct shm *w = p->actor->storm->shm;
    if (w->descriptors == w->descriptors_room) {
        w->descriptors_room = w->descriptors_room ? 2 * w->descriptors_room : 64;
        w->descriptor = realloc(w->descriptor, w->descriptors_room * sizeof *w->descriptor);
    }
    w->descriptor[w->descriptors] = (descriptor){f, p->actor->rank};
    f->users++;
    p->descriptors++;
    return FD_FIRST + (int)w->descriptors++;
}

static descriptor *descriptor_of(process *p, int fd)
{
    struct shm *w = p->actor->storm->shm;
    if (fd >= FD_FIRST && (size_t)(fd - FD_FIRST) < w->descriptors) {
        descriptor *d = &w->descriptor[fd - FD_FIRST];
        if (d->file && d->process == p->actor->rank)
            return d;
    }
    if (!p->is_gone) /* who has died has none, and goes on when all others are through */
        storm_find(p->actor->storm, "rank %d uses descriptor %d, which it has not", p->actor->rank, fd);
    return NULL;
}

file *shm_file_of(process *p, int fd, file_kind kind)
{
    descriptor *d = descriptor_of(p, fd);
    if (!d || d->file->kind != kind) {
        if (d)
            storm_find(p->actor->storm, "rank %d: descriptor %d is of another kind", p->actor->rank, fd);
        errno = EBADF;
        return NULL;
    }
    return d->file;
}

void shm_release(storm *s, file *f)
{
    if (--f->users == 0)
        shm_file_ends(s, f);
}

static void drop(process *p, descriptor *d)
{
    file *f = d->file;
    if (f->kind == FILE_MEMORY)
        memset(p->is_locked, 0, sizeof p->is_locked);
    d->file = NULL;
    p->descriptors--;
    shm_release(p->actor->storm, f);
}

int shm_close(int fd)
{
    process *p = shm_caller();
    descriptor *d = descriptor_of(p, fd);
    storm_step(p->actor->storm, p->actor);
    if (!d || !(d = descriptor_of(p, fd)))
        return fails(EBADF);
    drop(p, d);
    return 0;
}

static int os_copy(int fd)
{
    process *p = shm_caller();
    int why = shm_call(p);
    descriptor *d = descriptor_of(p, fd);
    return why || !d ? fails(why ? why : EBADF) : shm_descriptor(p, d->file);
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

static int os_pid(void)
{
    return PID_FIRST + shm_caller()->actor->rank;
}

static uint32_t os_space(const char *name)
{
    storm_step(storm_running(), storm_running()->turn->actor);
    return 3 + (uint32_t)name[0];
}

static nbcolli_cores os_cores(void)
{
    process *p = shm_caller();
    nbcolli_cores set = {{0}};
    switch (p->actor->storm->shm->weather.cores) {
    case 0:
        set.word[0] = UINT64_C(1) << p->actor->rank;
        break;
    case 1:
        set.word[0] = 1;
        break;
    case 2:
        break;
    default:
        set.word[0] = UINT64_C(1) << p->actor->rank / 2;
    }
    return set;
}

static ssize_t os_random(void *to, size_t bytes, unsigned flags)
{
    process *p = shm_caller();
    int why = shm_call(p);
    (void)flags;
    if (why || shm_is_interrupted(p))
        return fails(why ? why : EINTR);
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)to)[i] = (unsigned char)storm_random(p->actor->storm, 256);
    return (ssize_t)bytes;
}

static void os_allow_ptracer(void)
{
}

static bool os_join_barriers(void)
{
    process *p = shm_caller();
    storm *s = p->actor->storm;
    storm_step(s, p->actor);
    return s->shm->weather.barriers != 1 || mix(s->plan.seed, 41 + (uint64_t)p->actor->rank) % 4;
}

static bool os_barrier(void)
{
    process *p = shm_caller();
    storm_step(p->actor->storm, p->actor);
    return p->actor->storm->shm->weather.barriers != 2 || p->barriers++ < 20;
}

static bool is_over(const process *p)
{
    return p->is_gone || p->actor->storm->ends || p->actor->is_over;
}

/* When its end is seen: by a watch, or by its locks, which another program does not have either. */
static bool is_seen(const process *p, uint64_t at)
{
    return (p->is_gone && at <= p->actor->storm->now) || p->actor->is_over || p->actor->storm->ends;
}

void process_dies(process *p)
{
    storm *s = p->actor->storm;
    uint64_t late = s->shm->weather.late;
    p->is_gone = true;
    p->has_exec = storm_chance(s, s->shm->weather.execs);
    p->watch_at = p->has_exec ? UINT64_MAX : s->now + storm_random(s, late);
    p->lock_at = s->now + storm_random(s, late);
    for (size_t i = 0; i < s->shm->descriptors; i++)
        if (s->shm->descriptor[i].file && s->shm->descriptor[i].process == p->actor->rank)
            drop(p, &s->shm->descriptor[i]);
    for (int r = 0; r < s->plan.ranks && !p->has_exec; r++)
        storm_ring(s, r, p->watch_at);
}

void process_is_clean(process *p)
{
    if (p->is_gone || !p->descriptors)
        ;
    else
        storm_find(p->actor->storm, "rank %d has left %d descriptors open", p->actor->rank, p->descriptors);
    if (p->maps)
        storm_find(p->actor->storm, "rank %d has left %d pieces of memory mapped", p->actor->rank, p->maps);
}

/* ---- another's memory -------------------------------------------------------------------------------------------- */

/* Why a process may not touch another's, at its call number n; or 0. */
static int why_not(const process *p, int pid, uint64_t n)
{
    const weather *w = &p->actor->storm->shm->weather;
    uint64_t both = mix(p->actor->storm->plan.seed ^ 43, (uint64_t)(pid * 100 + p->actor->rank));
    bool is_own = pid == PID_FIRST + p->actor->rank;
    if (w->copies == 4)
        return ENOSYS;
    if (is_own || w->copies == 0)
        return 0;
    return w->copies == 1 || (w->copies == 2 && both % 3 == 0) || (w->copies == 3 && n > 10) ? EPERM : 0;
}

static size_t bytes_of(const struct iovec *piece, unsigned long n)
{
    size_t bytes = 0;
    for (unsigned long i = 0; i < n; i++)
        bytes += piece[i].iov_len;
    return bytes;
}

/* By the kernel, which says where there is no memory; or, where it is not to be asked, without. */
static ssize_t copy_really(const struct iovec *to, const struct iovec *from, unsigned long n, bool writes)
{
    ssize_t bytes = writes ? process_vm_writev(getpid(), to, n, from, n, 0)
                           : process_vm_readv(getpid(), to, n, from, n, 0);
    if (bytes >= 0 || errno == EFAULT)
        return bytes;
    for (unsigned long i = 0; i < n; i++)
        memcpy(writes ? from[i].iov_base : to[i].iov_base, writes ? to[i].iov_base : from[i].iov_base, to[i].iov_len);
    return (ssize_t)bytes_of(to, n);
}

/* Another program: there is no such memory, or it holds other things. */
static ssize_t read_stranger(storm *s, const struct iovec *to, unsigned long n)
{
    if (storm_chance(s, 500))
        return fails(EFAULT);
    for (unsigned long i = 0; i < n; i++)
        if (to[i].iov_len)
            memset(to[i].iov_base, 0x5a, to[i].iov_len);
    return (ssize_t)bytes_of(to, n);
}

/* The token comes in one piece; behind it a copy may end early, and others go on before its second half. */
static ssize_t os_read_memory(int pid, const struct iovec *to, unsigned long n, const struct iovec *from,
                              unsigned long of_them, unsigned long flags)
{
    process *p = shm_caller(), *of;
    storm *s = p->actor->storm;
    struct iovec piece[2][2];
    (void)flags;
    (void)of_them;
    storm_step(s, p->actor);
    of = shm_of_pid(s, pid);
    int why = !of || (of != p && is_over(of) && !of->has_exec) ? ESRCH : why_not(p, pid, p->copies++);
    if (why || shm_is_interrupted(p))
        return fails(why ? why : EINTR);
    if (of != p && of->has_exec)
        return read_stranger(s, to, n);
    if (n == 2 && to[1].iov_len) {
        const fault *f = storm_fault(s, p->actor, FAULT_GET, &p->actor->gets);
        if (f)
            return fails(EPERM);
    }
    memcpy(piece[0], to, n * sizeof *to);
    memcpy(piece[1], from, n * sizeof *from);
    struct iovec *last = &piece[0][n - 1];
    if (n == 2 && last->iov_len && storm_chance(s, s->shm->weather.unreadable))
        n = 1;
    else if (n == 2 && last->iov_len > 1 && storm_chance(s, s->shm->weather.cut))
        last->iov_len = piece[1][1].iov_len = 1 + storm_random(s, last->iov_len - 1);
    if (p->actor->is_dead)
        return fails(ESRCH);
    ssize_t bytes = copy_really(piece[0], piece[1], n, false);
    storm_step(s, p->actor);
    return bytes;
}

static ssize_t os_write_memory(int pid, const struct iovec *from, unsigned long n, const struct iovec *to,
                               unsigned long of_them, unsigned long flags)
{
    process *p = shm_caller();
    int why = why_not(p, pid, p->copies++);
    (void)of_them;
    (void)flags;
    storm_step(p->actor->storm, p->actor);
    if (pid != PID_FIRST + p->actor->rank)
        storm_find(p->actor->storm, "rank %d writes to the memory of process %d", p->actor->rank, pid);
    return why || shm_is_interrupted(p) ? fails(why ? why : EINTR) : copy_really(from, to, n, true);
}

/* ---- bells and watches ------------------------------------------------------------------------------------------- */

static int os_bell(void)
{
    process *p = shm_caller();
    int why = shm_call(p);
    return why ? fails(why) : shm_descriptor(p, shm_file(p, FILE_BELL));
}

static void os_ring(int bell)
{
    process *p = shm_caller();
    storm *s = p->actor->storm;
    file *f = shm_file_of(p, bell, FILE_BELL);
    storm_step(s, p->actor);
    if (!f)
        return;
    process *rung = &s->shm->process[f->process];
    uint64_t at = s->now + storm_random(s, s->shm->weather.bell);
    storm_note(s, p->actor->rank, NOTE_WAKE, (uint64_t)f->process, 0);
    if (!f->rung++ || at < rung->heard_at)
        rung->heard_at = at;
    storm_ring(s, f->process, at);
}

static uint64_t os_heard(int bell)
{
    process *p = shm_caller();
    file *f = shm_file_of(p, bell, FILE_BELL);
    storm_step(p->actor->storm, p->actor);
    uint64_t rung = f ? f->rung : 0;
    if (f)
        f->rung = 0;
    p->heard_at = UINT64_MAX;
    return rung;
}

static int os_watch(int pid)
{
    process *p = shm_caller();
    int why = shm_call(p);
    if (why || p->actor->storm->shm->weather.has_no_pidfd)
        return fails(why ? why : ENOSYS);
    file *f = shm_file(p, FILE_WATCH);
    f->process = pid - PID_FIRST;
    return shm_descriptor(p, f);
}

static int os_gather(void)
{
    process *p = shm_caller();
    int why = shm_call(p);
    return why ? fails(why) : shm_descriptor(p, shm_file(p, FILE_GATHER));
}

static int os_attend(int all, int what, int fd, struct epoll_event *event)
{
    process *p = shm_caller();
    int why = shm_call(p);
    file *f = shm_file_of(p, all, FILE_GATHER);
    descriptor *d = descriptor_of(p, fd);
    if (why || !f || !d)
        return fails(why ? why : EBADF);
    int i = 0;
    while (i < f->n_watched && f->watched[i] != d->file)
        i++;
    if (what == EPOLL_CTL_DEL && i < f->n_watched) {
        f->watched[i] = f->watched[--f->n_watched];
        f->data[i] = f->data[f->n_watched];
    } else if (what == EPOLL_CTL_ADD && i == f->n_watched && i <= RANKS_MOST) {
        f->watched[f->n_watched] = d->file;
        f->data[f->n_watched++] = event->data.u32;
    } else
        return fails(what == EPOLL_CTL_DEL ? ENOENT : EEXIST);
    return 0;
}

static bool has_come(const struct shm *w, const file *f)
{
    const process *of = &w->process[f->process];
    return f->kind == FILE_BELL ? f->rung > 0 : f->kind == FILE_WATCH && is_seen(of, of->watch_at);
}

static int os_ready(int all, struct epoll_event *event, int most, int timeout)
{
    process *p = shm_caller();
    file *f = shm_file_of(p, all, FILE_GATHER);
    int n = 0;
    (void)timeout;
    storm_step(p->actor->storm, p->actor);
    if (!f || shm_is_interrupted(p))
        return fails(f ? EINTR : EBADF);
    for (int i = 0; i < f->n_watched && n < most; i++)
        if (has_come(p->actor->storm->shm, f->watched[i]))
            event[n++] = (struct epoll_event){.events = EPOLLIN, .data.u32 = f->data[i]};
    return n;
}

/* ---- the segment ------------------------------------------------------------------------------------------------- */

static nbcoll_status os_make(size_t bytes, int *fd)
{
    process *p = shm_caller();
    struct shm *w = p->actor->storm->shm;
    int why = shm_call(p);
    if (why)
        return nbcolli_shm_status(why);
    if (w->segment)
        storm_find(p->actor->storm, "rank %d makes a second segment", p->actor->rank);
    w->segment = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    w->segment_bytes = bytes;
    *fd = shm_descriptor(p, shm_file(p, FILE_MEMORY));
    return NBCOLL_OK;
}

static bool os_is_whole(int fd, size_t bytes)
{
    process *p = shm_caller();
    return shm_file_of(p, fd, FILE_MEMORY) && p->actor->storm->shm->segment_bytes == bytes;
}

static void *os_map(int fd, size_t bytes, size_t wiped)
{
    process *p = shm_caller();
    int why = shm_call(p);
    (void)wiped;
    if (why || (fd >= 0 && !shm_file_of(p, fd, FILE_MEMORY))) {
        errno = why ? why : EBADF;
        return NULL;
    }
    p->maps++;
    if (fd >= 0)
        return p->actor->storm->shm->segment;
    void *at = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    memset(at, 0, bytes);
    return at;
}

static int os_unmap(void *at, size_t bytes)
{
    process *p = shm_caller();
    (void)bytes;
    p->maps--;
    if (at != p->actor->storm->shm->segment)
        free(at);
    return 0;
}

static int os_lock(int fd, int byte)
{
    process *p = shm_caller();
    int why = shm_call(p);
    if (why || !shm_file_of(p, fd, FILE_MEMORY))
        return fails(why ? why : EBADF);
    p->is_locked[byte] = true;
    return 0;
}

static bool os_is_locked(int fd, int byte)
{
    process *p = shm_caller();
    storm *s = p->actor->storm;
    storm_step(s, p->actor);
    if (!shm_file_of(p, fd, FILE_MEMORY))
        return true;
    for (int r = 0; r < s->plan.ranks; r++) {
        const process *of = &s->shm->process[r];
        bool holds = of->is_gone ? !is_seen(of, of->lock_at) && r == byte : of->is_locked[byte];
        if (of != p && holds)
            return true;
    }
    return false;
}

const struct nbcolli_shm_system shm_system = {
    .pid = os_pid,
    .space = os_space,
    .cores = os_cores,
    .random = os_random,
    .allow_ptracer = os_allow_ptracer,
    .join_barriers = os_join_barriers,
    .barrier = os_barrier,
    .read_memory = os_read_memory,
    .write_memory = os_write_memory,
    .bell = os_bell,
    .ring = os_ring,
    .heard = os_heard,
    .watch = os_watch,
    .gather = os_gather,
    .attend = os_attend,
    .ready = os_ready,
    .sleep = sockets_sleep,
    .make = os_make,
    .is_whole = os_is_whole,
    .map = os_map,
    .unmap = os_unmap,
    .lock = os_lock,
    .is_locked = os_is_locked,
    .close = shm_close,
    .copy = os_copy,
    .socket = sockets_socket,
    .listen = sockets_listen,
    .connect = sockets_connect,
    .accept = sockets_accept,
    .identify = sockets_identify,
    .send = sockets_send,
    .send_with = sockets_send_with,
    .receive = sockets_receive,
};

/* ---- a world's --------------------------------------------------------------------------------------------------- */

void processes_make(storm *s)
{
    s->shm = calloc(1, sizeof *s->shm);
    for (int r = 0; r < s->plan.ranks; r++)
        s->shm->process[r] = (process){.actor = &s->actor[r], .heard_at = UINT64_MAX, .opened = NBCOLL_PENDING};
}

void processes_free(storm *s)
{
    struct shm *w = s->shm;
    for (file *f = w->files; f; f = f->next)
        shm_file_ends(s, f);
    while (w->files) {
        file *f = w->files;
        w->files = f->next;
        free(f);
    }
    if (w->segment)
        munmap(w->segment, w->segment_bytes);
    free(w->descriptor);
    free(w->entries);
    free(w);
    s->shm = NULL;
}
