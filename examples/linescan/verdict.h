/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a comparison says.
 */
#ifndef LINESCAN_VERDICT_H
#define LINESCAN_VERDICT_H

#include "report.h"

enum { VERDICT_BYTES = 400 };

/* One or two lines: how much nonblocking scatters gain; or that nothing was gained, and why; or that it cannot be told.
 */
void verdict(const comparison *c, char text[VERDICT_BYTES]);

#endif
