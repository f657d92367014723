/* SPDX-License-Identifier: BSD-3-Clause
 *
 * linescan: overlapping collectives with reading and computing, the way an application uses the library.
 *
 * Rank 0 reads gzip-compressed text and scatters it in blocks of whole lines; up to 16 scatters are in flight while
 * rank 0 decompresses on and every rank processes the lines it got. `linescan --help` tells the options; scan.h is
 * where to begin reading.
 */
#include "interrupt.h"
#include "options.h"
#include "ranks.h"
#include "scan.h"

int main(int argc, char **argv)
{
    options o;
    options_parse(&o, argc, argv);
    interrupt_catch();
    return ranks_run(o.ranks, o.driver, scan_main, &o);
}
