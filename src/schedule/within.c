/* SPDX-License-Identifier: BSD-3-Clause
 * An algorithm for a group of ranks, inside the schedule of all. The builder shows another head meanwhile, translates
 * ranks, and marks what is added with the group's number: nothing is copied. */
#include "builder.h"
#include "nbcoll/pattern.h"
#include "nodes.h"

static void nbcolli_within_refuse(nbcolli_builder *b, nbcoll_status status, const char *why, int i)
{
    nbcolli_builder_refuse(b, status, (nbcoll_step)b->drafts.used, why, i);
}

/* The group in ranks of the whole schedule, and this rank's number in it; null: it is refused, or (`*own` -1) this rank
 * is not in it. */
static const int *nbcolli_within_members(nbcolli_builder *b, const int group[], int n, int *own)
{
    *own = -1;
    for (int i = 0; i < n; i++) {
        int rank = group ? group[i] : i;
        if (rank < 0 || rank >= b->head.ranks) {
            nbcolli_within_refuse(b, NBCOLL_ERR_RANK, "rank %d of the group does not exist", rank);
            return NULL;
        }
        *own = rank == b->head.rank ? i : *own;
    }
    int *member = *own < 0 ? NULL : nbcolli_builder_room(b, (size_t)n + (size_t)b->head.ranks, sizeof *member);
    for (int i = 0; member && i < n; i++) {
        int rank = group ? group[i] : i, *seen = &member[n + rank];
        if ((*seen)++) {
            nbcolli_within_refuse(b, NBCOLL_ERR_RANK, "rank %d is in the group twice", rank);
            return NULL;
        }
        member[i] = nbcolli_builder_member(b, rank);
    }
    return member;
}

/* Of the group's ranks, in one table. */
static nbcoll_nodes *nbcolli_within_table(nbcolli_builder *b, const nbcoll_nodes *all, const int group[], int n)
{
    size_t ints = all->node ? nbcolli_nodes_ints(n) : 0;
    nbcoll_nodes *t = nbcolli_builder_room(b, 1, sizeof *t + (ints + (size_t)all->count) * sizeof(int));
    if (!t)
        return NULL;
    *t = (nbcoll_nodes){sizeof *t, n, 1, 1, NULL, NULL, NULL, NULL, NULL};
    int *room = (int *)(void *)(t + 1), *number = room + ints, nodes = 0; /* number: 1 + that of a node in the group */
    for (int i = 0; all->node && i < n; i++) {
        int node = nbcoll_node_of(all, group ? group[i] : i);
        if (!number[node])
            number[node] = ++nodes;
        room[i] = number[node] - 1;
    }
    if (all->node)
        nbcolli_nodes_fill(t, n, room);
    return t;
}

/* The nodes of the group's ranks, and their domains. */
static const nbcoll_nodes *nbcolli_within_nodes(nbcolli_builder *b, const int group[], int n)
{
    const nbcoll_nodes *domains = nbcoll_nodes_domains(b->head.nodes);
    nbcoll_nodes *t = nbcolli_within_table(b, b->head.nodes, group, n);

    if (t && domains)
        t->domains = nbcolli_within_table(b, domains, group, n);
    return t;
}

/* What its first steps wait for: what those outside would, and `after`. */
static nbcoll_step nbcolli_within_enter(nbcolli_builder *b, nbcoll_step after)
{
    if (after == NBCOLL_START || after == b->gate)
        return b->gate;
    if (b->gate == NBCOLL_START)
        return after;
    nbcoll_step both = nbcolli_builder_join(b); /* behind the gate, as all steps here */
    nbcolli_builder_after(b, both, after);
    return both;
}

/* The step that all steps from `first` on end with. */
static nbcoll_step nbcolli_within_leave(nbcolli_builder *b, nbcoll_step first, nbcoll_step after)
{
    nbcoll_step end = (nbcoll_step)b->drafts.used, last = NBCOLL_START;
    uint32_t lasts = 0;
    if (b->status != NBCOLL_OK || first == end)
        return after;
    for (nbcoll_step step = first; step < end; step++)
        if (!nbcolli_drafts(b)[step].is_followed) {
            lasts++;
            last = step;
        }
    if (lasts == 1 && nbcolli_drafts(b)[last].view.kind != NBCOLL_RECV) /* which may not wait for `after` */
        return last;
    nbcoll_step join = nbcolli_builder_join(b);
    for (nbcoll_step step = first; step < end && b->status == NBCOLL_OK; step++)
        if (!nbcolli_drafts(b)[step].is_followed)
            nbcolli_builder_after(b, join, step);
    if (after != NBCOLL_START && b->status == NBCOLL_OK)
        nbcolli_builder_after(b, join, after);
    return join;
}

/* Has `build` build for the group of which this rank is number `own`. */
static nbcoll_step nbcolli_within_build(nbcolli_builder *b, nbcoll_builder head, const int *members,
                                        const nbcoll_args *a, nbcoll_build *build, nbcoll_step after)
{
    nbcolli_builder outside = *b;
    nbcoll_step entry = nbcolli_within_enter(b, after), first = (nbcoll_step)b->drafts.used;

    b->head = head;
    b->members = members;
    b->group = ++b->groups;
    b->fresh = b->scratch;
    b->gate = b->entry = entry;
    b->stage = first;
    build(&b->head, a);
    b->head = outside.head;
    b->members = outside.members;
    b->group = outside.group;
    b->fresh = outside.fresh;
    b->gate = outside.gate;
    b->entry = outside.entry;
    b->stage = outside.stage;
    b->call = "nbcoll_within";
    return nbcolli_within_leave(b, first, after);
}

nbcoll_step nbcoll_within(nbcoll_builder *builder, const int group[], int n, const nbcoll_args *a, nbcoll_build *build,
                          nbcoll_step after)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_within");
    int own = -1;

    if (!b)
        return NBCOLL_START;
    if (!a || !build)
        nbcolli_within_refuse(b, NBCOLL_ERR_NULL, "arguments or algorithm are null", 0);
    else if (n < 0 || n > b->head.ranks)
        nbcolli_within_refuse(b, NBCOLL_ERR_RANK, "a group of %d", n);
    else if (after >= b->drafts.used || after == NBCOLL_END)
        nbcolli_within_refuse(b, NBCOLL_ERR_ARGUMENT, "it waits for step %d, which is none before it", (int)after);
    else if (b->groups >= NBCOLLI_MOST)
        nbcolli_within_refuse(b, NBCOLL_ERR_LIMIT, "more than %d groups", (int)(NBCOLLI_MOST - 1));
    if (b->status != NBCOLL_OK)
        return NBCOLL_START;
    const int *members = nbcolli_within_members(b, group, n, &own);
    const nbcoll_nodes *nodes = members ? nbcolli_within_nodes(b, group, n) : NULL;
    return nodes ? nbcolli_within_build(b, (nbcoll_builder){own, n, nodes}, members, a, build, after) : after;
}

/* ---- leaders --------------------------------------------------------------------------------------------------- */

const int *nbcoll_node_leaders(nbcoll_builder *builder, const nbcoll_nodes *t, int root)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_node_leaders");

    if (!b)
        return NULL;
    int *leader = nbcolli_builder_room(b, (size_t)t->count, sizeof *leader);
    for (int i = 0; leader && i < t->count; i++)
        leader[i] = nbcoll_node_leader(t, i, root);
    return leader;
}

/* Does a part begin with this rank? */
static int nbcolli_within_begins(const nbcoll_nodes *t, int rank, size_t parts, int in_order)
{
    int node = nbcoll_node_of(t, rank), place = nbcoll_node_place(t, rank);
    size_t size = (size_t)nbcoll_node_size(t, node), n = parts < size ? parts : size;
    if (!place || (in_order && nbcoll_node_rank(t, node, place - 1) != rank - 1))
        return 1;
    return (size_t)place == nbcoll_block_offset(size, (int)n, nbcoll_block_holding(size, (int)n, (size_t)place));
}

const nbcoll_nodes *nbcoll_nodes_parts(nbcoll_builder *builder, unsigned parts, int in_order)
{
    nbcolli_builder *b = nbcolli_builder_enter(builder, "nbcoll_nodes_parts");
    const nbcoll_nodes *all = builder->nodes;
    int ranks = builder->ranks;

    if ((parts < 2 && (!in_order || all->are_blocks)) || !b)
        return all;
    nbcoll_nodes *t = nbcolli_builder_room(b, 1, sizeof *t + nbcolli_nodes_ints(ranks) * sizeof(int));
    if (!t)
        return all;
    int *part = (int *)(void *)(t + 1); /* each is called by its first rank */
    for (int rank = 0; rank < ranks; rank++)
        part[rank] = nbcolli_within_begins(all, rank, parts ? parts : 1, in_order)
                         ? rank
                         : part[nbcoll_node_rank(all, nbcoll_node_of(all, rank), nbcoll_node_place(all, rank) - 1)];
    nbcolli_nodes_fill(t, ranks, part);
    return t;
}
