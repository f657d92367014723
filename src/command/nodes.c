/* SPDX-License-Identifier: BSD-3-Clause
 * The options that say how ranks are placed on nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

#define MOST_ROOM 65536

/* "4x8": four of eight ranks. */
static int take_product(command_cases *cases, const char *value)
{
    char first[16] = "";
    const char *x = strchr(value, 'x');
    unsigned long long nodes, room;
    if (!x || (size_t)(x - value) >= sizeof first)
        return 0;
    memcpy(first, value, (size_t)(x - value));
    if (!command_number(first, 1, MOST_ROOM, &nodes) || !command_number(x + 1, 1, MOST_ROOM, &room) ||
        nodes * room > MOST_ROOM)
        return 0;
    cases->room[0] = (int)room;
    cases->placement.rooms = 1;
    cases->placed = (int)(nodes * room);
    return 1;
}

static int take_list(command_cases *cases, const char *value)
{
    size_t rooms[COMMAND_ROOMS], n;
    if (!command_numbers(value, 1, MOST_ROOM / COMMAND_ROOMS, rooms, COMMAND_ROOMS, &n) || n > COMMAND_ROOMS)
        return 0;
    cases->placed = 0;
    for (size_t i = 0; i < n; i++)
        cases->placed += cases->room[i] = (int)rooms[i];
    cases->placement.rooms = n;
    return 1;
}

int command_take_nodes(const command *self, void *user, const char *value)
{
    command_cases *cases = user;
    const char *slash = strchr(value, '/');
    size_t length = slash ? (size_t)(slash - value) : strlen(value);
    unsigned long long domain = 0;
    char sizes[512] = "";
    int is_right = length < sizeof sizes && (!slash || command_number(slash + 1, 1, MOST_ROOM, &domain));
    cases->placement.size = sizeof cases->placement;
    cases->placement.domain = (int)domain;
    if (is_right)
        memcpy(sizes, value, length);
    return is_right && (take_product(cases, sizes) || take_list(cases, sizes))
               ? 0
               : command_refuse(self, "--nodes takes sizes like 4x8 or 3,1,4, at most %d of them, or 4x8/2 with domains"
                                " of two ranks, not '%s'", COMMAND_ROOMS, value);
}

int command_take_numbering(const command *self, void *user, const char *value)
{
    command_cases *cases = user;
    static const char *const names[] = {"block", "round-robin", "random"};
    size_t length = strcspn(value, ":");
    unsigned long long seed = 1;
    int numbering = 0;
    while (numbering < 3 && (strlen(names[numbering]) != length || strncmp(value, names[numbering], length) != 0))
        numbering++;
    if (numbering == 3 || (value[length] && (numbering != NBCOLL_NUMBERING_RANDOM ||
                                             !command_number(value + length + 1, 0, UINT64_MAX, &seed))))
        return command_refuse(self, "--numbering is block, round-robin or random[:SEED], not '%s'", value);
    cases->placement.numbering = (nbcoll_numbering)numbering;
    cases->placement.seed = seed;
    return 0;
}

nbcoll_status command_nodes(const command_cases *cases, int ranks, nbcoll_nodes **out)
{
    nbcoll_placement placement = cases->placement;
    *out = NULL;
    placement.room = cases->room;
    return placement.rooms ? nbcoll_nodes_place(&placement, ranks, NULL, out) : NBCOLL_OK;
}

char *command_nodes_text(const command_cases *cases, char text[COMMAND_NODES_TEXT])
{
    const nbcoll_placement *p = &cases->placement;
    text[0] = '\0';
    for (size_t i = 0; i < p->rooms && strlen(text) < COMMAND_NODES_TEXT - 64; i++)
        command_add(text, COMMAND_NODES_TEXT, "%s%d", i ? "," : " --nodes ", cases->room[i]);
    if (p->rooms && p->domain)
        command_add(text, COMMAND_NODES_TEXT, "/%d", p->domain);
    if (p->rooms && p->numbering == NBCOLL_NUMBERING_ROUND_ROBIN)
        command_add(text, COMMAND_NODES_TEXT, " --numbering round-robin");
    if (p->rooms && p->numbering == NBCOLL_NUMBERING_RANDOM)
        command_add(text, COMMAND_NODES_TEXT, " --numbering random:%llu", (unsigned long long)p->seed);
    return text;
}
