/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What root and workers share: buffers, waiting, and the course of a whole job on one rank.
 */
#include "scan.h"
#include "bar.h"
#include "check.h"
#include "clock.h"
#include "compare.h"
#include "interrupt.h"
#include "ranks.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE = 16 << 10 }; /* bytes that are counted between two looks at the library */

void scan_block(scan *s, const block *b)
{
    const unsigned char *text = b->text;
    double began = seconds_now();
    for (size_t left = b->used, slice; left > 0 && !interrupted(); left -= slice, text += slice) {
        slice = left < SLICE ? left : SLICE;
        count_text(&s->count, text, slice);
        must(nbcoll_progress(s->context), "progress");
    }
    waits_add(&s->waits, true, began);
}

void scan_scatter(scan *s, size_t i, const void *send, void *recv)
{
    const options *o = s->options;
    if (!s->blocking) {
        must(nbcoll_iscatter(send, recv, o->buffer, NBCOLL_BYTE, 0, s->comm, &s->requests[i]), "scatter");
        return;
    }
    double began = seconds_now();
    must(nbcoll_scatter(send, recv, o->buffer, NBCOLL_BYTE, 0, s->comm, NBCOLL_FOREVER), "scatter");
    waits_add(&s->waits, false, began);
}

size_t scan_wait(scan *s)
{
    size_t index = 0;
    double began = seconds_now();
    must(nbcoll_wait_any(s->in_flight, s->requests, &index, NBCOLL_FOREVER), "scatter");
    waits_add(&s->waits, false, began);
    return index;
}

size_t scan_free_buffer(const scan *s)
{
    size_t i = 0;
    while (i < s->in_flight && s->requests[i].at)
        i++;
    return i;
}

static void allocate(scan *s)
{
    size_t bytes = s->options->buffer * (nbcoll_comm_rank(s->comm) == 0 ? (size_t)s->ranks : 1);
    for (int i = 0; i < s->options->concurrent; i++) {
        void *memory = NULL;
        if (posix_memalign(&memory, 4096, bytes))
            fatal("buffers", "no memory");
        memset(memory, 0, bytes); /* the pages are there before the clock starts */
        s->blocks[i] = memory;
    }
}

static void wait_for_all(scan *s)
{
    double began = seconds_now();
    must(nbcoll_barrier(s->comm, NBCOLL_FOREVER), "barrier");
    waits_add(&s->waits, false, began);
}

static void reduce_classes(scan *s)
{
    uint64_t *mine = s->count.classes;
    int is_root = nbcoll_comm_rank(s->comm) == 0;
    must(nbcoll_reduce(is_root ? NBCOLL_IN_PLACE : mine, is_root ? mine : NULL, GRAM_CLASSES, NBCOLL_UINT64, NBCOLL_SUM,
                       0, s->comm, NBCOLL_FOREVER),
         "reduce");
}

/* Adds up what the ranks counted; the classes are rank 0's. */
static void reduce(scan *s, outcome *out)
{
    const totals *mine = &s->count.total;
    uint64_t send[5] = {mine->lines, mine->words, mine->bytes, mine->checksum, interrupted()}, sum[5] = {0};
    must(nbcoll_allreduce(send, sum, 5, NBCOLL_UINT64, NBCOLL_SUM, s->comm, NBCOLL_FOREVER), "allreduce");
    s->count.total = (totals){sum[0], sum[1], sum[2], sum[3], 0, 0};
    out->interrupted = sum[4] > 0;
    if (s->count.grams)
        reduce_classes(s);
    count_finish(&s->count);
    out->total = s->count.total;
}

/* One job on one rank, between two barriers. */
static void work(scan *s, reader *r, outcome *out)
{
    wait_for_all(s);
    s->waits = (waits){.began = seconds_now()};
    if (r)
        scan_root(s, r);
    else
        scan_worker(s);
    wait_for_all(s);
    double began = seconds_now();
    reduce(s, out);
    waits_add(&s->waits, false, began);
    out->ranks = s->ranks;
    out->seconds = s->waits.ended = seconds_now() - s->waits.began;
    double share = out->seconds > 0 ? s->waits.seconds / out->seconds : 0;
    must(nbcoll_gather(&share, out->waited, 1, NBCOLL_DOUBLE, 0, s->comm, NBCOLL_FOREVER), "gather");
}

/* ---- what only rank 0 does ---- */

typedef struct watch {
    bar bar;
    reader *reader;
    nbcoll_context *context;
} watch;

static bool tick(void *user)
{
    watch *w = user;
    bar_move(&w->bar, reader_position(w->reader));
    must(nbcoll_progress(w->context), "progress");
    return !interrupted();
}

static void skip(void *user, const char *path, const char *why)
{
    bar_skip(&((watch *)user)->bar, path, why);
}

/* One job on rank 0, which reads. */
static void lead(scan *s, const list *files, outcome *out)
{
    watch w = {.context = s->context};
    w.reader = reader_open(files, &(reader_events){&w, tick, skip});
    bar_begin(&w.bar, files->bytes);
    work(s, w.reader, out);
    bar_end(&w.bar);
    out->files = w.reader->clean;
    out->skipped = w.reader->skipped;
    reader_close(w.reader);
}

void scan_run(scan *s, const list *files, bool blocking, outcome *out)
{
    s->blocking = blocking;
    out->grams = s->grams;
    s->in_flight = blocking ? 1 : (size_t)s->options->concurrent;
    count_init(&s->count, s->options->work, s->grams);
    if (nbcoll_comm_rank(s->comm) == 0)
        lead(s, files, out);
    else
        work(s, NULL, out);
    count_free(&s->count);
}

/* All that a rank does; rank 0 then says what was found. */
static int run(scan *s, const list *files)
{
    outcome out = {0};
    comparison c = {0};
    if (s->options->compare)
        compare_run(s, files, &out, &c);
    else
        scan_run(s, files, s->options->blocking, &out);
    if (nbcoll_comm_rank(s->comm) != 0)
        return EXIT_CLEAN;
    if (s->options->check && !out.interrupted)
        check_sequential(files, s->grams, &out);
    return report(s->options, &out, &c, files->count == 0);
}

int scan_main(nbcoll_context *context, nbcoll_comm *comm, const void *user)
{
    scan *s = calloc(1, sizeof *s);
    if (!s)
        fatal("rank", "no memory");
    s->options = user;
    s->context = context;
    s->comm = comm;
    s->ranks = nbcoll_comm_size(comm);
    s->grams = s->options->grams;
    allocate(s);
    list files = {0};
    if (nbcoll_comm_rank(comm) == 0) {
        files = list_files(s->options->paths, s->options->path_count);
        if (files.count == 0)
            fprintf(stderr, "linescan: no file to read\n");
    }
    int result = run(s, &files);
    list_free(&files);
    for (int i = 0; i < s->options->concurrent; i++)
        free(s->blocks[i]);
    free(s);
    return result;
}
