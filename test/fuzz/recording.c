/* SPDX-License-Identifier: BSD-3-Clause
 * A recording, as the ranks of `nbcoll run --timeline` have left it: killed, or scribbling. The launcher makes a trace
 * of it, which `nbcoll timeline` reads: whatever lies there. Enters: the head; then for two ranks by turns how many
 * events were told, and events. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "nbcoll/timeline.h"
#include "run.h"
#include "timeline.h"

enum { RANKS = 2, PAGE = 65536, HEAD = 24, EVENTS = 40 };
typedef struct place { /* as in src/timeline/timeline.c */
    uint64_t serial;
    nbcoll_timeline_event event;
} place;
static const long part = PAGE + (long)NBCOLL_TIMELINE_EVENTS * (long)sizeof(place);

static void put(int file, const void *what, size_t bytes, long at)
{
    FUZZ_NEVER(pwrite(file, what, bytes, at) != (ssize_t)bytes);
}

/* Of each event a byte says first which of its members are the input's; the others are small numbers, and right. */
static int put_event(int file, fuzz_input *in, int rank, uint64_t number)
{
    unsigned own = fuzz_byte(in), small = fuzz_byte(in);
    place p = {number + 1, {.ns = 1000 + 10 * number, .comm = 1, .tag = small >> 6, .step = small >> 4 & 3,
                            .noted = (uint8_t)(small & 3), .kind = (uint8_t)(fuzz_byte(in) % NBCOLL_KIND_COUNT),
                            .peer = 1 - rank, .bytes = 8, .name = "ring"}};
    if (own & 1)
        fuzz_take(in, &p.event.ns, sizeof p.event.ns);
    if (own & 2)
        fuzz_take(in, &p.event.tag, sizeof p.event.tag);
    if (own & 4)
        fuzz_take(in, &p.event.peer, sizeof p.event.peer);
    if (own & 8)
        fuzz_take(in, p.event.name, sizeof p.event.name);
    if (own & 16)
        fuzz_take(in, &p.event.kind, 1);
    if (own & 32)
        fuzz_take(in, &p.event.bytes, sizeof p.event.bytes);
    if (own & 64)
        fuzz_take(in, &p, sizeof p);
    put(file, &p, sizeof p, PAGE + rank * part + PAGE + (long)(number % NBCOLL_TIMELINE_EVENTS) * (long)sizeof p);
    return in->left > 0;
}

static int record(fuzz_input *in)
{
    int file = memfd_create("recording", MFD_CLOEXEC);
    uint64_t told[RANKS] = {0};
    char head[HEAD];
    unsigned how = fuzz_byte(in);
    FUZZ_NEVER(nbcoll_timeline_create(file, RANKS) != NBCOLL_OK);
    for (int i = 0; i < EVENTS && put_event(file, in, i % RANKS, (uint64_t)(i / RANKS)); i++)
        told[i % RANKS] = (uint64_t)(i / RANKS) + 1;
    for (int rank = 0; rank < RANKS; rank++) {
        if (how & 1)
            fuzz_take(in, &told[rank], sizeof told[rank]);
        put(file, &told[rank], sizeof told[rank], PAGE + rank * part);
    }
    fuzz_take(in, head, sizeof head);
    if (how & 2)
        put(file, head, sizeof head, 0);
    if (how & 4)
        FUZZ_NEVER(ftruncate(file, (long)fuzz_byte(in) * PAGE) != 0);
    return file;
}

/* Reads as a timeline what was written there. */
static int read_again(void *trace)
{
    static const command self = {.name = "run"};
    char path[40];
    timeline t;
    snprintf(path, sizeof path, "/proc/self/fd/%d", *(int *)trace);
    timeline_read(&self, path, &t);
    timeline_free(&t);
    return 0;
}

FUZZ(recording)
{
    static const command self = {.name = "run"};
    static char name[] = "program", late[200], *program[] = {name, NULL};
    fuzz_input in = {data, bytes};
    uint64_t ended[RANKS + 1] = {5000, 6000};
    int trace = memfd_create("trace", MFD_CLOEXEC);
    fuzz_quiet();
    run_plan plan = {.self = &self, .ranks = RANKS, .program = program, .timeline = "trace", .begun = 100,
                     .ended = ended, .recording = record(&in), .trace = fdopen(dup(trace), "w")};
    FUZZ_NEVER(strlen(run_late(&plan, late, sizeof late)) >= sizeof late);
    int status = run_timeline_close(&plan, 0);
    FUZZ_NEVER(status != 0 && status != COMMAND_FAILED);
    status = status ? 0 : fuzz_run(read_again, &trace); /* what is written is a trace */
    close(trace);
    fuzz_loud();
    FUZZ_NEVER(status != 0);
    return 0;
}
