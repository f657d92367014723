/* SPDX-License-Identifier: BSD-3-Clause
 * A list of hosts, behind a byte that says how many ranks are wanted at most and whether the last line is Slurm's
 * counts: hosts with names, each once, ranks that follow one another, or a named end, at an entry. */
#include "fuzz.h"
#include "nbcoll/cluster.h"

enum { ROOM = 16 };

FUZZ(hosts)
{
    fuzz_input in = {data, bytes};
    unsigned act = fuzz_byte(&in);
    int most = (int)(act >> 1), n = -1, first = 0;
    char *text = calloc(in.left + 1, 1);
    nbcoll_cluster_place *place = malloc(ROOM * sizeof *place);
    const char *wrong = NULL;
    FUZZ_NEVER(!text || !place);
    if (in.left)
        memcpy(text, in.at, in.left);
    char *counts = act & 1 ? strrchr(text, '\n') : NULL;
    if (counts)
        *counts++ = 0;
    nbcoll_status status = nbcoll_cluster_read(text, counts, most, place, ROOM, &n, &wrong);
    FUZZ_NEVER(status != NBCOLL_OK && status != NBCOLL_ERR_ARGUMENT && status != NBCOLL_ERR_LIMIT);
    FUZZ_NEVER(wrong && (wrong < text || wrong > text + strlen(text)));
    FUZZ_NEVER(status == NBCOLL_OK && (n < 1 || n > ROOM));
    for (int i = 0; status == NBCOLL_OK && i < n; i++) {
        FUZZ_NEVER(!memchr(place[i].name, 0, sizeof place[i].name) || !place[i].name[0] || place[i].name[0] == '-');
        FUZZ_NEVER(place[i].first != first || place[i].ranks < 1 || place[i].ranks > NBCOLL_SHM_RANKS);
        first += place[i].ranks;
        for (int j = 0; j < i; j++)
            FUZZ_NEVER(strcmp(place[i].name, place[j].name) == 0);
    }
    FUZZ_NEVER(status == NBCOLL_OK && most && first > most);
    free(place);
    free(text);
    return 0;
}
