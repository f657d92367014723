/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sequential pass: the same reader and counter, without cutting, scattering and reducing.
 */
#include "check.h"
#include "clock.h"
#include "interrupt.h"
#include "reader.h"

#include <string.h>

static bool go_on(void *user)
{
    (void)user;
    return !interrupted();
}

void check_sequential(const list *files, unsigned grams, outcome *out)
{
    reader *r = reader_open(files, &(reader_events){.tick = go_on});
    counter c;
    count_init(&c, 0, grams);
    double began = seconds_now();
    while (reader_next(r)) {
        size_t got;
        for (const unsigned char *view; view = reader_view(r, 1, &got), got > 0; reader_take(r, got))
            count_text(&c, view, got);
        count_file_end(&c);
    }
    count_finish(&c);
    out->sequential_seconds = seconds_now() - began;
    out->sequential = c.total;
    out->interrupted = r->stopped;
    out->checked = true;
    out->agrees =
        memcmp(&c.total, &out->total, sizeof c.total) == 0 && r->clean == out->files && r->skipped == out->skipped;
    count_free(&c);
    reader_close(r);
}
