/* SPDX-License-Identifier: BSD-3-Clause
 * Where ranks and the drivers of their progress would run on this machine. */
#include <stdio.h>

#ifdef NBCOLL_HAVE_AFFINITY
#include <nbcoll/affinity.h>
#endif

#include "command.h"
#include "info.h"

#ifdef NBCOLL_HAVE_AFFINITY

#define INFO_REASON 160

/* Keeps the reason that is told beside a status. */
static void keep(void *user, nbcoll_status why, const char *text)
{
    (void)why;
    snprintf(user, INFO_REASON, "%s", text);
}

json_t *info_places(int ranks)
{
    char reason[INFO_REASON] = "";
    const nbcoll_host host = {.size = sizeof host, .user = reason, .log = keep};
    nbcoll_affinity_config config = {.size = sizeof config, .ranks = ranks};
    nbcoll_affinity *found;
    nbcoll_status status = nbcoll_affinity_find(&host, &config, &found);
    if (status != NBCOLL_OK)
        return json_pack("{s:s}", "why", *reason ? reason : nbcoll_status_text(status));
    json_t *places = json_array();
    for (int i = 0; i < ranks; i++)
        json_array_append_new(places, json_pack("{s:i, s:i, s:s}", "rank", found->place[i].rank, "driver",
                                                found->place[i].driver, "share",
                                                nbcoll_affinity_near_name(found->place[i].near)));
    json_t *all = json_pack("{s:i, s:i, s:i, s:s, s:o}", "ranks", ranks, "cores", found->cores, "idle", found->idle,
                            "why", found->why, "places", places);
    nbcoll_affinity_free(found);
    return all;
}

#else

json_t *info_places(int ranks)
{
    (void)ranks;
    return json_pack("{s:s}", "why", "this build is without nbcoll_affinity");
}

#endif
