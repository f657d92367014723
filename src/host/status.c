/* SPDX-License-Identifier: BSD-3-Clause
 * Names and texts of status codes. */
#include "nbcoll/nbcoll.h"

const char *nbcoll_status_name(nbcoll_status status)
{
    static const char *const names[] = {
#define NBCOLLI_STATUS_NAME(name, text) "NBCOLL_" #name,
        NBCOLL_STATUS_LIST(NBCOLLI_STATUS_NAME)
#undef NBCOLLI_STATUS_NAME
    };
    return (unsigned)status < NBCOLL_STATUS_COUNT ? names[status] : "NBCOLL_?";
}

const char *nbcoll_status_text(nbcoll_status status)
{
    static const char *const texts[] = {
#define NBCOLLI_STATUS_TEXT(name, text) text,
        NBCOLL_STATUS_LIST(NBCOLLI_STATUS_TEXT)
#undef NBCOLLI_STATUS_TEXT
    };
    return (unsigned)status < NBCOLL_STATUS_COUNT ? texts[status] : "unknown status";
}
