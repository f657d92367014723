/* SPDX-License-Identifier: BSD-3-Clause
 * A program may free a type or an operation as soon as a nonblocking call that uses it has returned. */
#include <pthread.h>

#include "door.h"

/* A type that is made of another one refers to it, in every MPI: MPI_Type_get_contents can return it still. */
int door_keep_type(MPI_Datatype type, MPI_Datatype *kept)
{
    int ints, places, types, combiner;
    *kept = MPI_DATATYPE_NULL;
    int error = PMPI_Type_get_envelope(type, &ints, &places, &types, &combiner);
    if (error != MPI_SUCCESS || combiner == MPI_COMBINER_NAMED)
        return error;
    return PMPI_Type_contiguous(1, type, kept);
}

void door_free_type(MPI_Datatype *kept)
{
    if (*kept != MPI_DATATYPE_NULL)
        PMPI_Type_free(kept);
}

/* Nothing refers to an operation. So it is freed when the last that uses it has ended. */
typedef struct used_op {
    MPI_Op op;
    int uses;
    bool is_freed; /* by the program */
    struct used_op *next;
} used_op;

static used_op *ops;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static used_op **find(MPI_Op op)
{
    used_op **at = &ops;
    while (*at && (*at)->op != op)
        at = &(*at)->next;
    return at;
}

bool door_keep_op(MPI_Op op)
{
    if (op == MPI_OP_NULL)
        return true;
    pthread_mutex_lock(&lock);
    used_op *found = *find(op);
    if (!found) {
        found = malloc(sizeof *found);
        if (found) {
            *found = (used_op){.op = op, .next = ops};
            ops = found;
        }
    }
    if (found)
        found->uses++;
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

void door_free_op(MPI_Op op)
{
    if (op == MPI_OP_NULL)
        return;
    used_op *gone = NULL;
    pthread_mutex_lock(&lock);
    used_op **at = find(op);
    if (*at && --(*at)->uses == 0) {
        gone = *at;
        *at = gone->next;
    }
    pthread_mutex_unlock(&lock);
    if (gone && gone->is_freed)
        PMPI_Op_free(&gone->op);
    free(gone);
}

int MPI_Op_free(MPI_Op *op)
{
    used_op *found = NULL;
    pthread_mutex_lock(&lock);
    if (ops && op && (found = *find(*op)) != NULL)
        found->is_freed = true;
    pthread_mutex_unlock(&lock);
    if (!found)
        return PMPI_Op_free(op);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}
