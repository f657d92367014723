/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SIGINT as a flag. Each rank looks at it in its own process; what it stops, it announces to the others in data.
 */
#ifndef LINESCAN_INTERRUPT_H
#define LINESCAN_INTERRUPT_H

#include <stdbool.h>

/* From now on the first SIGINT sets the flag; a second one ends the process at once. */
void interrupt_catch(void);
bool interrupted(void);

#endif
