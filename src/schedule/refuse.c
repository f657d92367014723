/* SPDX-License-Identifier: BSD-3-Clause
 * The first error of a builder, and its words. */
#include <stdarg.h>
#include <stdio.h>

#include "builder.h"

void nbcolli_builder_refuse(nbcolli_builder *b, nbcoll_status status, nbcoll_step step, const char *format, ...)
{
    va_list arguments;
    if (b->status != NBCOLL_OK)
        return;
    b->status = status;
    char group[48] = "";
    if (b->group)
        snprintf(group, sizeof group, ", %d of %d of a group", b->head.rank, b->head.ranks);
    int used = snprintf(b->text, sizeof b->text, "%s: rank %d of %d%s, step %u, %s: ", b->name, b->rank, b->ranks,
                        group, step, b->call);
    va_start(arguments, format);
    if (used > 0 && (size_t)used < sizeof b->text) /* what does not fit is cut off */
        vsnprintf(b->text + used, sizeof b->text - (size_t)used, format, arguments);
    va_end(arguments);
}
