/* SPDX-License-Identifier: BSD-3-Clause
 * What the calls have in common. What a call passes, and its end, are the MPI's: an error goes to the communicator's
 * handler. A call that the MPI is to refuse goes to the MPI, which does so before it communicates. */
#include "door.h"

/* How a call ends: with an error of the MPI's, or else of nbcoll's. */
int door_end(MPI_Comm comm, door_call call, int error, nbcoll_status status)
{
    door_count(call, DOOR_FATE_SERVED);
    if (error == MPI_SUCCESS && status != NBCOLL_OK)
        error = status == NBCOLL_ERR_MEMORY     ? MPI_ERR_NO_MEM
                : status == NBCOLL_ERR_COUNT    ? MPI_ERR_COUNT
                : status == NBCOLL_ERR_BUFFER   ? MPI_ERR_BUFFER
                : status == NBCOLL_ERR_MISMATCH ? MPI_ERR_TRUNCATE
                                                : MPI_ERR_OTHER;
    if (error != MPI_SUCCESS)
        PMPI_Comm_call_errhandler(comm, error);
    return error;
}

bool door_bad(int count, MPI_Datatype type)
{
    return count < 0 || type == MPI_DATATYPE_NULL;
}

bool door_any_bad(int n, const int counts[], MPI_Datatype type)
{
    bool is = !counts || type == MPI_DATATYPE_NULL;
    for (int i = 0; i < n && !is; i++)
        is = counts[i] < 0;
    return is;
}

/* Opens both; a null side is not used. Packs what is sent; in place, `own` block of what is received (-1: all). */
void door_sides_open(door_sides *s, const door_blocks *send, const door_blocks *recv, int own, bool as_is)
{
    static const door_blocks none = {.user = "", .n = 0, .type = MPI_BYTE};
    bool in_place = send && send->user == MPI_IN_PLACE;
    *s = (door_sides){.error = MPI_SUCCESS, .status = NBCOLL_OK};
    bool well = door_view_open(&s->send, send && !in_place ? send : &none, as_is);
    well &= door_view_open(&s->recv, recv ? recv : &none, as_is);
    if (!well)
        s->status = NBCOLL_ERR_MEMORY;
    else
        s->error = in_place ? door_view_load(&s->recv, own) : door_view_load(&s->send, -1);
    if (in_place)
        s->send.data = NBCOLL_IN_PLACE;
}

bool door_sides_ready(const door_sides *s)
{
    return s->error == MPI_SUCCESS && s->status == NBCOLL_OK;
}

/* Unpacks what was received, closes both, and ends the call. */
int door_sides_end(door_sides *s, MPI_Comm comm, door_call call)
{
    if (door_sides_ready(s))
        s->error = door_view_store(&s->recv, -1);
    door_view_close(&s->send);
    door_view_close(&s->recv);
    return door_end(comm, call, s->error, s->status);
}
