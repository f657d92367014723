/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Plays a job whose totals are wrong in the field that the first argument names, and reports it. For test_mismatch.sh.
 */
#include "check.h"
#include "list.h"
#include "ranks.h"
#include "report.h"

#include <string.h>

bool ranks_are_launched(void) /* for options.c */
{
    return false;
}

int main(int argc, char **argv)
{
    options o = {.ranks = 1, .grams = 2};
    outcome out = {.grams = o.grams};
    if (argc != 3)
        return EXIT_USAGE;
    list files = list_files(argv + 2, 1);
    out.files = 1;
    check_sequential(&files, o.grams, &out);
    out.total = out.sequential;
    out.total.lines += strcmp(argv[1], "lines") == 0;
    out.total.words += strcmp(argv[1], "words") == 0;
    out.total.bytes += strcmp(argv[1], "bytes") == 0;
    out.total.checksum += strcmp(argv[1], "checksum") == 0;
    out.total.sequences += strcmp(argv[1], "sequences") == 0;
    out.total.frequencies += strcmp(argv[1], "frequencies") == 0;
    out.files += strcmp(argv[1], "files") == 0;
    out.skipped += strcmp(argv[1], "skipped") == 0;
    check_sequential(&files, o.grams, &out);
    list_free(&files);
    return report(&o, &out, &(comparison){0}, false);
}
