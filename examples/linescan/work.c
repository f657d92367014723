/* SPDX-License-Identifier: BSD-3-Clause
 *
 * While rank 0 decompresses for D seconds, the other c - 1 of c processors have time to count for C = D (c - 1). With
 * more counting rank 0, which counts, too, gets less of its processor; with less there is less to decompress behind.
 */
#include "work.h"
#include "count.h"
#include "options.h"
#include "reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLE = 8 << 20 };

/* Of this thread: what else runs on the machine does not count. */
static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds for decompressing up to SAMPLE bytes of text into `text`. */
static double decompress(const list *files, unsigned char *text, size_t *bytes)
{
    reader *r = reader_open(files, &(reader_events){0});
    double began = processor_seconds();
    *bytes = 0;
    while (*bytes < SAMPLE && reader_next(r)) {
        size_t got;
        for (const unsigned char *view; view = reader_view(r, 1, &got), got > 0 && *bytes < SAMPLE;) {
            got = got < SAMPLE - *bytes ? got : SAMPLE - *bytes;
            memcpy(text + *bytes, view, got);
            *bytes += got;
            reader_take(r, got);
        }
    }
    double seconds = processor_seconds() - began;
    reader_close(r);
    return seconds;
}

static double count(const unsigned char *text, size_t bytes, unsigned grams)
{
    counter c;
    count_init(&c, 0, grams);
    double began = processor_seconds();
    count_text(&c, text, bytes);
    double seconds = processor_seconds() - began;
    count_free(&c);
    return seconds;
}

unsigned work_for(const list *files, int processors)
{
    unsigned char *text = malloc(SAMPLE);
    if (!text)
        fatal("sample", "no memory");
    size_t bytes;
    double wanted = decompress(files, text, &bytes) * (processors - 1), best = INFINITY;
    unsigned grams = 1;
    for (unsigned n = 1; n <= GRAMS_MOST; n++) {
        double far = fabs(count(text, bytes, n) - wanted);
        if (far < best) {
            best = far;
            grams = n;
        }
    }
    free(text);
    return grams;
}
