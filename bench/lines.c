/* SPDX-License-Identifier: BSD-3-Clause
 * What lines cost over shm, on one thread that steps all ranks: a post of a line of 8 and of 48 bytes and of a message
 * of 8, a progress that takes it, and a progress that finds nothing among 2, 8, 32 and 256 ranks. Medians of batches.
 * With an argument (post8, post48, message, take, empty2 .. empty256) only that part runs, once, for an instruction
 * count, where the tool knows pidfd_open:
 *
 *     valgrind --tool=callgrind --collect-atstart=no "--toggle-collect=measured_*" bench/lines post8 */
#include "ranks.h"

enum { BATCH = 1000, BATCHES = 201, MOST = 256 };

static void expect(int ok)
{
    must(ok ? NBCOLL_OK : NBCOLL_ERR_TRANSPORT);
}

/* ---- ends: opening is collective, so each is opened by a thread ------------------------------------------------ */

typedef struct opening {
    nbcoll_shm_config config;
    nbcoll_endpoint *end;
} opening;

static void *open_one(void *argument)
{
    opening *o = argument;
    must(nbcoll_shm_open(&o->config, &o->end));
    return NULL;
}

static void open_ends(int ranks, nbcoll_endpoint *end[])
{
    static opening o[MOST];
    nbcoll_shm_config config = {.size = sizeof config, .ranks = ranks, .quota = 4096};

    must(nbcoll_shm_id_make(&config.id));
    for (int i = 0; i < ranks; i++) {
        o[i] = (opening){config, NULL};
        o[i].config.rank = i;
    }
    run_threads(ranks, open_one, o, sizeof *o);
    for (int i = 0; i < ranks; i++)
        end[i] = o[i].end;
}

static void close_ends(int ranks, nbcoll_endpoint *end[])
{
    for (int i = 0; i < ranks; i++)
        nbcoll_endpoint_close(end[i]);
}

/* ---- what is measured ------------------------------------------------------------------------------------------ */

enum { BLOCK = 20 }; /* posts before the receiver takes them */

static const unsigned char payload[NBCOLL_LINE_PAYLOAD] = {1};

static __attribute__((noinline)) void measured_lines(nbcoll_endpoint *ep, size_t bytes, int n)
{
    for (int i = 0; i < n; i++)
        expect(ep->transport->lines->post(ep, 1, 7, 1, payload, bytes) == NBCOLL_POST_DONE);
}

static __attribute__((noinline)) void measured_messages(nbcoll_endpoint *ep, int n)
{
    nbcoll_header header = {{1}};
    nbcoll_work work = {0};
    for (int i = 0; i < n; i++)
        expect(ep->transport->post(ep, 1, &header, payload, 8, &work) == NBCOLL_POST_DONE);
}

static __attribute__((noinline)) void measured_takes(nbcoll_endpoint *from, nbcoll_endpoint *to, int n)
{
    for (int i = 0; i < n; i++) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        expect(from->transport->lines->post(from, 1, 7, 1, payload, 8) == NBCOLL_POST_DONE);
        to->transport->progress(to, &found);
        expect(found.lines && !found.lines->next);
    }
}

static __attribute__((noinline)) void measured_empty_passes(nbcoll_endpoint *ep, int n)
{
    for (int i = 0; i < n; i++) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        ep->transport->progress(ep, &found);
        expect(!found.lines && !found.arrived);
    }
}

static void take_all(nbcoll_endpoint *ep)
{
    for (int i = 0; i < BLOCK; i++) {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        ep->transport->progress(ep, &found);
    }
}

enum part { POST8, POST48, MESSAGE, TAKE, EMPTY };

/* Nanoseconds of one call, of a batch. */
static double batch(enum part part, nbcoll_endpoint *end[])
{
    double sum = 0;

    for (int i = 0; i < BATCH; i += BLOCK) {
        double at = now();
        switch (part) {
        case POST8: measured_lines(end[0], 8, BLOCK); break;
        case POST48: measured_lines(end[0], 48, BLOCK); break;
        case MESSAGE: measured_messages(end[0], BLOCK); break;
        case TAKE: measured_takes(end[0], end[1], BLOCK); break;
        case EMPTY: measured_empty_passes(end[1], BLOCK); break;
        }
        sum += now() - at;
        take_all(end[1]);
    }
    return sum / BATCH;
}

static void measure(const char *name, enum part part, int ranks, int once)
{
    nbcoll_endpoint *end[MOST];
    double took[BATCHES];
    int batches = once ? 1 : BATCHES;

    open_ends(ranks, end);
    for (int i = 0; i < batches; i++)
        took[i] = batch(part, end);
    double usual = median(took, batches);
    printf("%-12s %4d ranks %8.1f ns (min %.1f)%s\n", name, ranks, usual, took[0],
           part == TAKE ? ", with the post" : "");
    close_ends(ranks, end);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        enum part part;
        int ranks;
    } parts[] = {{"post8", POST8, 2},  {"post48", POST48, 2}, {"message", MESSAGE, 2},  {"take", TAKE, 2},
                 {"empty2", EMPTY, 2}, {"empty8", EMPTY, 8},  {"empty32", EMPTY, 32},   {"empty256", EMPTY, 256}};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (argc < 2 || strcmp(argv[1], parts[i].name) == 0)
            measure(parts[i].name, parts[i].part, parts[i].ranks, argc > 1);
    return 0;
}
