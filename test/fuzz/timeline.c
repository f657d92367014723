/* SPDX-License-Identifier: BSD-3-Clause
 * Files for `nbcoll timeline`: it says what ranks waited for, draws it, and writes it again; or names what is wrong. */
#include "fuzz.h"
#include "timeline.h"

/* No rank waits longer than it was in operations, nor for its messages' way longer than at all. */
static void explain(const timeline *t)
{
    timeline_waits w;
    const char *why;
    timeline_waits_find(t, &w);
    timeline_waits_explain(&w);
    for (size_t i = 0; i < w.waits; i++)
        if (w.wait[i].message >= 0) {
            int whom = timeline_waits_reason(&w, &w.wait[i], &why);
            FUZZ_NEVER(whom < 0 || whom >= t->ranks || !why);
        }
    for (int rank = 0; rank < t->ranks; rank++)
        FUZZ_NEVER(w.rank[rank].way > w.rank[rank].waited);
    timeline_waits_free(&w);
}

static int look(void *file)
{
    static const command self = {.name = "timeline"};
    timeline t;
    timeline_read(&self, file, &t);
    if (t.ranks <= 256) { /* the tables of more take long */
        explain(&t);
        timeline_svg(&t, stdout);
        timeline_chrome(&t, stdout);
    }
    timeline_free(&t);
    return 0;
}

FUZZ(timeline)
{
    char path[40];
    snprintf(path, sizeof path, "%s", fuzz_file(data, bytes));
    fuzz_quiet();
    int status = fuzz_run(look, path);
    FUZZ_NEVER(status != 0 && status != COMMAND_USAGE);
    fuzz_loud();
    return 0;
}
