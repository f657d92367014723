/* SPDX-License-Identifier: BSD-3-Clause
 * Names and texts of status codes. */
#include "host.h"

const char *nbcoll_status_name(nbcoll_status status)
{
    static const char *const names[] = {
#define NBCOLLI_STATUS_NAME(name, text) "NBCOLL_" #name,
        NBCOLL_STATUS_LIST(NBCOLLI_STATUS_NAME)
#undef NBCOLLI_STATUS_NAME
    };
    return (unsigned)status < NBCOLL_STATUS_COUNT ? names[status] : "NBCOLL_?";
}

NBCOLLI_TELLS(nbcoll_status_text, nbcoll_status, NBCOLL_STATUS_LIST, NBCOLLI_TEXT_OF, "unknown status")
