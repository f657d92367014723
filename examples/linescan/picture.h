/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A drawing of who waited when.
 */
#ifndef LINESCAN_PICTURE_H
#define LINESCAN_PICTURE_H

#include "compare.h"

/* `of`: [form][rank]. */
void picture_draw(const char *file, const comparison *c, waits *const of[FORMS]);

#endif
