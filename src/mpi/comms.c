/* SPDX-License-Identifier: BSD-3-Clause
 * Which of nbcoll's communicators serves one of the MPI's: an attribute of that. */
#include <nbcoll/group.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "door.h"

enum {
    RANKS = 256, /* of a world, at most: NBCOLL_SHM_RANKS. Tags tell leaders apart by it */
    IDLE = 16    /* so many communicators made early in vain, and this rank wants no more of them */
};

static int keyval = MPI_KEYVAL_INVALID;
static nbcoll_comm *world; /* null: closed */
static atomic_int made;    /* communicators that this rank has led */
static atomic_int idle;    /* made early, and freed without a call; one less for each that had calls */

atomic_uint door_gone = 1;
DOOR_THREAD door_recent door_recents[DOOR_RECENT];

void door_state_use(door_state *state)
{
    atomic_fetch_add(&state->uses, 1);
}

/* What is busy all the same ends with its context. */
void door_state_leave(door_state *state)
{
    if (atomic_fetch_sub(&state->uses, 1) > 1)
        return;
    if (world) {
        if (state->is_early && (!state->is_used || atomic_load(&idle) > 0))
            atomic_fetch_add(&idle, state->is_used ? -1 : 1);
        nbcoll_neighbors_free(state->neighbors);
        if (state->comm != world)
            nbcoll_comm_free(state->comm);
    }
    free(state);
}

static door_state passes[DOOR_FATE_COUNT]; /* of communicators that pass: their fate alone */

/* MPI_Comm_dup and MPI_Comm_idup hand on that it is off; anything else the duplicate decides for itself. */
static int on_copy(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *hands_on)
{
    (void)comm, (void)key, (void)extra;
    *hands_on = value == &passes[DOOR_FATE_OFF];
    if (*hands_on)
        *(void **)copy = value;
    return MPI_SUCCESS;
}

/* The MPI's communicator goes. */
static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    atomic_fetch_add(&door_gone, 1);
    if (((door_state *)value)->fate == DOOR_FATE_SERVED)
        door_state_leave(value);
    return MPI_SUCCESS;
}

bool door_comms_open(nbcoll_comm *comm)
{
    door_state *state = malloc(sizeof *state);
    if (state && PMPI_Comm_create_keyval(on_copy, on_delete, &keyval, NULL) == MPI_SUCCESS) {
        *state = (door_state){.fate = DOOR_FATE_SERVED, .comm = comm, .uses = 1};
        if (PMPI_Comm_set_attr(MPI_COMM_WORLD, keyval, state) == MPI_SUCCESS) {
            world = comm;
            return true;
        }
    }
    free(state);
    return false;
}

void door_comms_close(void)
{
    world = NULL;
    atomic_fetch_add(&door_gone, 1);
    if (keyval != MPI_KEYVAL_INVALID)
        PMPI_Comm_free_keyval(&keyval);
}

/* ranks[i] becomes the rank in MPI_COMM_WORLD of rank i. False: some are of another world. All members see that. */
static bool members(MPI_Comm comm, int n, int ranks[])
{
    MPI_Group all, these;
    int own[RANKS];
    for (int i = 0; i < n; i++)
        own[i] = i;
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Comm_group(comm, &these);
    PMPI_Group_translate_ranks(these, n, own, all, ranks);
    PMPI_Group_free(&all);
    PMPI_Group_free(&these);
    for (int i = 0; i < n; i++)
        if (ranks[i] == MPI_UNDEFINED)
            return false;
    return true;
}

bool door_all(MPI_Comm comm, bool well)
{
    int mine = well, least = 0;
    return PMPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && least;
}

/* How some member wants a communicator: none until a call needs it, or none at all. */
typedef struct wish {
    bool later, off;
} wish;

/* Makes the communicator. All members call it, and all get one, or none. *asked becomes what any of them asks. */
static nbcoll_comm *make(MPI_Comm comm, int n, const int ranks[], bool fails, wish *asked)
{
    nbcoll_comm *out = NULL;
    int rank, said[] = {-1, fails, asked->later, asked->off}, agreed[4] = {0};
    PMPI_Comm_rank(comm, &rank);
    if (rank == 0)
        said[0] = ranks[0] + RANKS * (atomic_fetch_add(&made, 1) % (1 << 22)); /* no other group has this tag now */
    bool well = PMPI_Allreduce(said, agreed, 4, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS;
    *asked = (wish){.later = well && agreed[2], .off = well && agreed[3]};
    if (!well || agreed[1] || agreed[2] || agreed[3])
        return NULL;
    nbcoll_request request;
    nbcoll_status status = nbcoll_comm_icreate_group(world, n, ranks, agreed[0], &out, &request);
    if (status == NBCOLL_ERR_MEMORY) /* the others wait for this rank */
        door_give_up(world, ranks[rank == 0]);
    well = status == NBCOLL_OK && nbcoll_wait(&request, NBCOLL_FOREVER) == NBCOLL_OK;
    if (door_all(comm, well))
        return out;
    if (well)
        nbcoll_comm_free(out);
    return NULL;
}

static door_state *passing(door_fate fate)
{
    passes[fate].fate = fate;
    return &passes[fate];
}

/* Decides what becomes of a communicator, with `early` before a call needs that. What is not agreed on here all members
 * see alike. Null: later. */
static door_state *decide(MPI_Comm comm, bool early, bool off)
{
    wish asked = {.later = early && atomic_load(&idle) >= IDLE, .off = off};
    int inter = 0, n = 0, topology = MPI_UNDEFINED, of_world = nbcoll_comm_size(world), ranks[RANKS];
    door_fate fate = DOOR_FATE_SERVED;
    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_size(comm, &n);
    if (inter)
        fate = DOOR_FATE_INTER;
    else if (n == 1)
        fate = DOOR_FATE_ALONE;
    else if (n > of_world || !members(comm, n, ranks))
        fate = DOOR_FATE_STRANGERS;
    door_state *state = fate == DOOR_FATE_SERVED ? malloc(sizeof *state) : NULL;
    if (fate == DOOR_FATE_SERVED) {
        nbcoll_comm *made_now = make(comm, n, ranks, !state, &asked);
        if (made_now)
            *state = (door_state){.fate = DOOR_FATE_SERVED, .comm = made_now, .uses = 1, .is_early = early};
        else
            fate = asked.off ? DOOR_FATE_OFF : DOOR_FATE_UNMADE;
    }
    if (fate != DOOR_FATE_SERVED) {
        free(state);
        if (asked.later && !asked.off)
            return NULL;
        state = passing(fate);
    } else if (PMPI_Topo_test(comm, &topology) == MPI_SUCCESS && topology != MPI_UNDEFINED) {
        state->neighbors = door_neighbors(comm, state->comm);
    }
    PMPI_Comm_set_attr(comm, keyval, state);
    return state;
}

door_fate door_find_comm(MPI_Comm comm, bool may_wait, door_state **state)
{
    int found = 0;
    unsigned now = atomic_load_explicit(&door_gone, memory_order_relaxed);
    *state = NULL;
    if (!world || PMPI_Comm_get_attr(comm, keyval, state, &found) != MPI_SUCCESS)
        return DOOR_FATE_CLOSED;
    if (!found && !may_wait)
        return DOOR_FATE_UNDECIDED;
    if (!found)
        *state = decide(comm, false, false);
    door_recents[door_place((uintptr_t)comm)] = (door_recent){comm, now, *state};
    return (*state)->fate;
}

void door_comm_made(MPI_Comm comm, bool off)
{
    if (world && comm != MPI_COMM_NULL)
        decide(comm, true, off);
}

bool door_info_off(MPI_Info info)
{
    char value[4];
    int found = 0;
    return world && info != MPI_INFO_NULL &&
           PMPI_Info_get(info, "nbcoll", sizeof value - 1, value, &found) == MPI_SUCCESS && found &&
           strcmp(value, "off") == 0;
}

/* From then on the communicator's calls pass, if any member says so. What is under way stays nbcoll's. */
int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
    int error = PMPI_Comm_set_info(comm, info), inter = 1;
    if (error != MPI_SUCCESS || !world)
        return error;
    PMPI_Comm_test_inter(comm, &inter);
    if (!inter && !door_all(comm, !door_info_off(info)))
        PMPI_Comm_set_attr(comm, keyval, passing(DOOR_FATE_OFF)); /* what served it is left, as if it were freed */
    return MPI_SUCCESS;
}
