/* SPDX-License-Identifier: BSD-3-Clause
 * Lists of hosts, as people, hostfiles and batch systems write them. See cluster.h. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "nbcoll/cluster.h"

#define NBCOLLI_HOSTS_NUMBER 999999999 /* in brackets, at most */

typedef struct nbcolli_hosts {
    nbcoll_cluster_place *place;
    int room, n;
    const char *counts; /* what is left of them, or null: the list has them */
    int ranks, times;   /* what they have said last, and for how many hosts more */
} nbcolli_hosts;

/* A decimal number of 1..most, or of 0.. with `zero`, which *at is led past. */
static bool nbcolli_hosts_number(const char **at, bool zero, int most, int *out)
{
    const char *begin = *at;

    for (*out = 0; **at >= '0' && **at <= '9'; ++*at) {
        if (*out > (most - (**at - '0')) / 10)
            return false;
        *out = 10 * *out + (**at - '0');
    }
    return *at > begin && (zero || *out > 0);
}

/* The ranks of the next host, which are the list's unless there are counts, such as "4(x2),3". */
static bool nbcolli_hosts_count(nbcolli_hosts *h, int *ranks)
{
    if (!h->counts)
        return true;
    if (h->times == 0) {
        h->times = 1;
        if (!nbcolli_hosts_number(&h->counts, false, NBCOLL_SHM_RANKS, &h->ranks))
            return false;
        if (strncmp(h->counts, "(x", 2) == 0) {
            h->counts += 2;
            if (!nbcolli_hosts_number(&h->counts, false, NBCOLLI_HOSTS_NUMBER, &h->times) || *h->counts++ != ')')
                return false;
        }
        if (*h->counts == ',' && h->counts[1])
            h->counts++;
        else if (*h->counts)
            return false;
    }
    h->times--;
    *ranks = h->ranks;
    return true;
}

static nbcoll_status nbcolli_hosts_add(nbcolli_hosts *h, const char *name, int ranks)
{
    int i = 0;

    if (!*name || *name == '-' || !nbcolli_hosts_count(h, &ranks))
        return NBCOLL_ERR_ARGUMENT;
    while (i < h->n && strcmp(h->place[i].name, name) != 0)
        i++;
    if (i == h->room)
        return NBCOLL_ERR_LIMIT;
    if (i == h->n)
        snprintf(h->place[h->n++].name, sizeof h->place->name, "%s", name);
    h->place[i].ranks += ranks;
    return h->place[i].ranks <= NBCOLL_SHM_RANKS ? NBCOLL_OK : NBCOLL_ERR_LIMIT;
}

/* Adds what an entry names: name[0..length) is said, [rest, end) not yet, and may have brackets. */
static nbcoll_status nbcolli_hosts_expand(nbcolli_hosts *h, char *name, size_t length, const char *rest,
                                          const char *end, int ranks)
{
    enum { ROOM = sizeof h->place->name };
    nbcoll_status status = NBCOLL_OK;

    for (; rest < end && *rest != '['; rest++) {
        if (length + 1 == ROOM || *rest == ']')
            return NBCOLL_ERR_ARGUMENT;
        name[length++] = *rest;
    }
    name[length] = 0;
    if (rest == end)
        return nbcolli_hosts_add(h, name, ranks);
    const char *close = memchr(rest, ']', (size_t)(end - rest));
    if (!close || length + 12 > ROOM)
        return NBCOLL_ERR_ARGUMENT;
    do {
        const char *first = ++rest;
        int low, high;
        if (!nbcolli_hosts_number(&rest, true, NBCOLLI_HOSTS_NUMBER, &low))
            return NBCOLL_ERR_ARGUMENT;
        int width = rest - first < 10 ? (int)(rest - first) : 10;
        high = low;
        if (*rest == '-' && (++rest, !nbcolli_hosts_number(&rest, true, NBCOLLI_HOSTS_NUMBER, &high) || high < low))
            return NBCOLL_ERR_ARGUMENT;
        for (int i = low; i <= high && status == NBCOLL_OK; i++) {
            int digits = snprintf(name + length, ROOM - length, "%0*d", width, i);
            status = nbcolli_hosts_expand(h, name, length + (size_t)digits, close + 1, end, ranks);
        }
    } while (*rest == ',' && status == NBCOLL_OK);
    return status == NBCOLL_OK && rest != close ? NBCOLL_ERR_ARGUMENT : status;
}

/* One entry, which *at is led past, and behind it up to the next one. */
static nbcoll_status nbcolli_hosts_entry(nbcolli_hosts *h, const char **at)
{
    char name[sizeof h->place->name];
    const char *begin = *at, *c = begin;
    int ranks = 1;

    for (bool is_in = false; *c && (is_in || !strchr(" \t\r\n,:#", *c)); c++)
        is_in = *c == '[' || (is_in && *c != ']');
    const char *end = c;
    if (*c == ':' && (c++, !nbcolli_hosts_number(&c, false, NBCOLL_SHM_RANKS, &ranks)))
        return NBCOLL_ERR_ARGUMENT;
    c += strspn(c, " \t\r");
    if (strncmp(c, "slots=", 6) == 0 && (c += 6, !nbcolli_hosts_number(&c, false, NBCOLL_SHM_RANKS, &ranks)))
        return NBCOLL_ERR_ARGUMENT;
    c += strspn(c, " \t\r");
    if (*c && !strchr(",\n#", *c))
        return NBCOLL_ERR_ARGUMENT;
    *at = c;
    return nbcolli_hosts_expand(h, name, 0, begin, end, ranks);
}

nbcoll_status nbcoll_cluster_read(const char *list, const char *counts, int most, nbcoll_cluster_place *place,
                                  int room, int *n, const char **wrong)
{
    nbcolli_hosts h = {.place = place, .room = room, .counts = counts};
    nbcoll_status status = NBCOLL_OK;

    if (!list || !place || !n)
        return NBCOLL_ERR_NULL;
    memset(place, 0, (size_t)room * sizeof *place);
    while (status == NBCOLL_OK && *(list += strspn(list, " \t\r\n,"))) {
        if (wrong)
            *wrong = list;
        if (*list == '#')
            list += strcspn(list, "\n");
        else
            status = nbcolli_hosts_entry(&h, &list);
    }
    if (status == NBCOLL_OK && (h.n == 0 || (h.counts && (*h.counts || h.times))))
        status = NBCOLL_ERR_ARGUMENT;
    *n = 0;
    for (int first = 0; *n < h.n && (most == 0 || first < most); first += place[(*n)++].ranks) {
        place[*n].first = first;
        if (most && place[*n].ranks > most - first)
            place[*n].ranks = most - first;
    }
    return status;
}
