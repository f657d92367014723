/* SPDX-License-Identifier: BSD-3-Clause
 * Recordings: a file with a head of a page, then a part for each rank, which is a page and a ring of events. */
#include "nbcoll/timeline.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../engine/state/context.h"
#include "../host/host.h"

#define NBCOLLI_TIMELINE_PAGE 65536u /* the largest of any machine */
#define NBCOLLI_TIMELINE_RANKS 65536

typedef struct nbcolli_timeline_head {
    char what[16];
    uint32_t version, ranks;
} nbcolli_timeline_head;

static const nbcolli_timeline_head nbcolli_timeline_file = {"nbcoll timeline", 1, 0};

typedef struct nbcolli_timeline_place {
    _Atomic uint64_t serial; /* 1 + the number of the event that is here whole */
    nbcoll_timeline_event event;
} nbcolli_timeline_place;

typedef struct nbcolli_timeline_part {
    _Atomic uint64_t told;
    char unused[NBCOLLI_TIMELINE_PAGE - sizeof(uint64_t)];
    nbcolli_timeline_place place[NBCOLL_TIMELINE_EVENTS];
} nbcolli_timeline_part;

nbcoll_status nbcoll_timeline_create(int descriptor, int ranks)
{
    nbcolli_timeline_head head = nbcolli_timeline_file;

    if (ranks < 1 || ranks > NBCOLLI_TIMELINE_RANKS)
        return NBCOLL_ERR_CONFIG;
    head.ranks = (uint32_t)ranks;
    if (ftruncate(descriptor, NBCOLLI_TIMELINE_PAGE + (off_t)ranks * (off_t)sizeof(nbcolli_timeline_part)) < 0 ||
        pwrite(descriptor, &head, sizeof head, 0) != (ssize_t)sizeof head)
        return NBCOLL_ERR_MEMORY;
    return NBCOLL_OK;
}

/* Maps a rank's part. */
static nbcoll_status nbcolli_timeline_map(int descriptor, int rank, int protection, nbcolli_timeline_part **out)
{
    nbcolli_timeline_head head;
    struct stat file;
    const off_t bytes = (off_t)sizeof(nbcolli_timeline_part);

    if (pread(descriptor, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        memcmp(head.what, nbcolli_timeline_file.what, sizeof head.what) != 0 ||
        head.version != nbcolli_timeline_file.version || rank < 0 || (uint32_t)rank >= head.ranks ||
        fstat(descriptor, &file) < 0 || file.st_size < NBCOLLI_TIMELINE_PAGE + bytes * (off_t)head.ranks)
        return NBCOLL_ERR_CONFIG;
    void *at = mmap(NULL, (size_t)bytes, protection, MAP_SHARED, descriptor, NBCOLLI_TIMELINE_PAGE + bytes * rank);
    if (at == MAP_FAILED)
        return NBCOLL_ERR_MEMORY;
    *out = at;
    return NBCOLL_OK;
}

/* Of a communicator that is only being made, the ranks are those of its endpoint. */
static int32_t nbcolli_timeline_peer(const nbcoll_comm *comm, int peer)
{
    return peer >= 0 && comm->peer ? comm->peer[peer].home : peer;
}

static uint64_t nbcolli_timeline_bytes(const nbcoll_step_view *s)
{
    return s->kind == NBCOLL_SEND || s->kind == NBCOLL_REDUCE ? s->read[0].bytes : s->write.bytes;
}

static void nbcolli_timeline_fill(nbcoll_timeline_event *to, const nbcoll_event *e)
{
    nbcoll_schedule_info info = {.size = sizeof info};
    const nbcoll_step_view *s;

    if (to->noted == NBCOLL_NOTED_BEGIN || to->noted == NBCOLL_NOTED_WAITS) {
        if (nbcoll_schedule_query(e->schedule, &info) == NBCOLL_OK)
            memcpy(to->name, info.name, strnlen(info.name, sizeof to->name - 1));
        to->peer = to->noted == NBCOLL_NOTED_WAITS ? nbcolli_timeline_peer(e->comm, e->peer) : 0;
    } else if (to->noted != NBCOLL_NOTED_END && (s = nbcoll_schedule_step(e->schedule, e->step))) {
        to->kind = (uint8_t)s->kind;
        to->bytes = nbcolli_timeline_bytes(s);
        to->peer = nbcolli_timeline_peer(e->comm, s->peer);
        to->number = s->number;
    }
}

static void nbcolli_timeline_add(nbcolli_timeline_part *part, const nbcoll_timeline_event *event)
{
    /* relaxed: a number of its own for each; who reads goes by the places */
    uint64_t number = atomic_fetch_add_explicit(&part->told, 1, memory_order_relaxed);
    nbcolli_timeline_place *place = &part->place[number % NBCOLL_TIMELINE_EVENTS];

    atomic_store_explicit(&place->serial, 0, memory_order_relaxed); /* not whole: ordered by the fence */
    atomic_thread_fence(memory_order_release);
    place->event = *event;
    atomic_store_explicit(&place->serial, number + 1, memory_order_release); /* with what it holds */
}

static void nbcolli_timeline_note(void *user, const nbcoll_event *e)
{
    const int is_whole = e->step == NBCOLL_START || e->step == NBCOLL_END;

    if (e->moment == NBCOLL_STEP_READY || (is_whole && e->moment == NBCOLL_STEP_STARTED))
        return;
    nbcoll_timeline_event event = {.ns = nbcolli_now(&e->comm->context->host),
                                   .comm = e->comm->id,
                                   .tag = e->tag,
                                   .step = e->step,
                                   .kind = NBCOLL_JOIN,
                                   .noted = e->moment == NBCOLL_RUN_WAITS      ? NBCOLL_NOTED_WAITS
                                            : e->step == NBCOLL_START          ? NBCOLL_NOTED_BEGIN
                                            : e->step == NBCOLL_END            ? NBCOLL_NOTED_END
                                            : e->moment == NBCOLL_STEP_STARTED ? NBCOLL_NOTED_STARTED
                                                                               : NBCOLL_NOTED_ENDED};
    nbcolli_timeline_fill(&event, e);
    nbcolli_timeline_add(user, &event);
}

nbcoll_status nbcoll_timeline_open(const char *file, int rank, nbcoll_observer *out)
{
    nbcolli_timeline_part *part;

    if (!file || !out)
        return NBCOLL_ERR_NULL;
    int descriptor = open(file, O_RDWR | O_CLOEXEC);
    if (descriptor < 0)
        return NBCOLL_ERR_CONFIG;
    nbcoll_status status = nbcolli_timeline_map(descriptor, rank, PROT_READ | PROT_WRITE, &part);
    close(descriptor);
    if (status != NBCOLL_OK)
        return status;
    nbcolli_timeline_add(part, &(nbcoll_timeline_event){.noted = NBCOLL_NOTED_OPENED});
    *out = (nbcoll_observer){sizeof *out, part, nbcolli_timeline_note};
    return NBCOLL_OK;
}

void nbcoll_timeline_close(nbcoll_observer *observer)
{
    if (observer->event)
        munmap(observer->user, sizeof(nbcolli_timeline_part));
    *observer = (nbcoll_observer){0};
}

/* Ranks may have written anything there. */
static int nbcolli_timeline_is_event(const nbcoll_timeline_event *e)
{
    return e->noted <= NBCOLL_NOTED_WAITS && e->kind < NBCOLL_KIND_COUNT && memchr(e->name, 0, sizeof e->name);
}

nbcoll_status nbcoll_timeline_read(int descriptor, int rank, uint64_t *told,
                                   void (*note)(void *user, const nbcoll_timeline_event *event), void *user)
{
    nbcolli_timeline_part *part;

    if (!note)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_timeline_map(descriptor, rank, PROT_READ, &part);
    if (status != NBCOLL_OK)
        return status;
    uint64_t end = atomic_load_explicit(&part->told, memory_order_acquire);
    uint64_t i = end > NBCOLL_TIMELINE_EVENTS ? end - NBCOLL_TIMELINE_EVENTS : 0;
    if (told)
        *told = end;
    for (; i < end; i++) {
        const nbcolli_timeline_place *place = &part->place[i % NBCOLL_TIMELINE_EVENTS];
        uint64_t serial = atomic_load_explicit(&place->serial, memory_order_acquire); /* before what it holds */
        nbcoll_timeline_event event = place->event;
        atomic_thread_fence(memory_order_acquire); /* and again after it */
        if (serial == i + 1 && atomic_load_explicit(&place->serial, memory_order_relaxed) == serial &&
            nbcolli_timeline_is_event(&event))
            note(user, &event);
    }
    munmap(part, sizeof *part);
    return NBCOLL_OK;
}
