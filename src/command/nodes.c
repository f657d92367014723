/* SPDX-License-Identifier: BSD-3-Clause
 * The options that say how ranks are placed on nodes. */
#include <stdio.h>
#include <string.h>

#include "command.h"

#define MOST_ROOM 65536

/* "4x8": four of eight ranks; or "3,1,4". 0: it is neither. */
static int take_sizes(command_cases *cases, const char **at)
{
    size_t rooms[COMMAND_ROOMS];
    const char *list = *at;
    unsigned long long nodes, room;
    cases->placement.rooms = 1;
    if (command_number_at(at, 1, MOST_ROOM, &nodes) && **at == 'x') {
        ++*at;
        if (!command_number_at(at, 1, MOST_ROOM, &room) || nodes * room > MOST_ROOM)
            return 0;
        cases->room[0] = (int)room;
        cases->placed = (int)(nodes * room);
        return 1;
    }
    *at = list;
    if (!command_numbers(at, 1, MOST_ROOM / COMMAND_ROOMS, rooms, COMMAND_ROOMS, &cases->placement.rooms) ||
        cases->placement.rooms > COMMAND_ROOMS)
        return 0;
    cases->placed = 0;
    for (size_t i = 0; i < cases->placement.rooms; i++)
        cases->placed += cases->room[i] = (int)rooms[i];
    return 1;
}

int command_take_nodes(const command *self, void *user, const char *value)
{
    command_cases *cases = user;
    const char *at = value;
    unsigned long long domain = 0;
    int is_right = take_sizes(cases, &at);
    cases->nodes_said = value;
    if (!cases->most) /* which --ranks behind this changes */
        cases->fewest = cases->most = cases->placed;
    if (is_right && *at == '/') {
        at++;
        is_right = command_number_at(&at, 1, MOST_ROOM, &domain);
    }
    cases->placement.size = sizeof cases->placement;
    cases->placement.domain = (int)domain;
    if (is_right && !*at)
        return 0;
    return command_refuse(self, "--nodes takes sizes like 4x8 or 3,1,4, at most %d of them, or 4x8/2 with domains of "
                          "two ranks, not '%s'", COMMAND_ROOMS, value);
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
    cases->numbering_said = value;
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
    const char *sizes = cases->nodes_said, *numbering = sizes ? cases->numbering_said : NULL;
    snprintf(text, COMMAND_NODES_TEXT, "%s%s%s%s", sizes ? " --nodes " : "", sizes ? sizes : "",
             numbering ? " --numbering " : "", numbering ? numbering : "");
    return text;
}
