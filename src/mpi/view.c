/* SPDX-License-Identifier: BSD-3-Clause
 * The blocks of a call as bytes. Ranks may describe the same data by different types, so bytes are what they have in
 * common: types that lie as they are packed stay in place, all others are packed by the MPI, on each rank by itself. */
#include <limits.h>
#include <stdlib.h>

#include "door.h"

static MPI_Datatype type_of(const door_blocks *b, int i)
{
    return b->types ? b->types[i] : b->type;
}

static int count_of(const door_blocks *b, int i)
{
    return b->peers && b->peers[i] < 0 ? 0 : b->counts ? b->counts[i] : b->count;
}

/* Where it lies: in bytes if there are types, else in elements. */
static ptrdiff_t place_of(const door_blocks *b, int i)
{
    return b->places ? b->places[i] : b->displs[i];
}

/* Whether nbcoll can read and write the program's buffer itself. */
static bool lies_plain(const door_blocks *b)
{
    bool plain = b->user != MPI_BOTTOM && (b->types || door_plain_of(b->type));
    for (int i = 0; i < b->n && plain && b->counts; i++) {
        plain = count_of(b, i) == 0 || (place_of(b, i) >= 0 && door_plain_of(type_of(b, i)));
    }
    return plain;
}

bool door_view_open(door_view *view, const door_blocks *blocks, bool as_is)
{
    bool plain = true;
    size_t total = 0;
    view->of = *blocks;
    view->data = (void *)(uintptr_t)blocks->user;
    view->counts = view->displs = view->arrays = NULL;
    view->packed = NULL;
    view->lacks = false;
    view->kept = NULL;
    view->bytes = 0;
    if (!blocks->counts && !blocks->is_listed) {
        view->bytes = blocks->n > 0 ? door_bytes(blocks->count, blocks->type) : 0;
        total = view->bytes * (size_t)blocks->n;
        plain = as_is || (blocks->user != MPI_BOTTOM && (!total || door_plain_of(blocks->type)));
    } else {
        plain = as_is || lies_plain(blocks);
        view->arrays = blocks->n <= DOOR_FEW ? view->few : malloc(2 * (size_t)blocks->n * sizeof *view->arrays);
        if (!view->arrays)
            return false;
        view->counts = view->arrays;
        view->displs = view->arrays + blocks->n;
        for (int i = 0; i < blocks->n; i++) {
            size_t bytes = count_of(blocks, i) > 0 ? door_type_bytes(type_of(blocks, i)) : 0;
            view->counts[i] = bytes * (size_t)count_of(blocks, i);
            view->displs[i] = total;
            if (plain && blocks->counts)
                view->displs[i] = bytes ? (size_t)place_of(blocks, i) * (blocks->types ? 1 : bytes) : 0;
            total += view->counts[i];
        }
    }
    if (!plain)
        view->data = view->packed = malloc(total + 1);
    view->lacks = !plain && !view->packed;
    return true;
}

bool door_view_keep(door_view *view)
{
    if (!view->packed)
        return true;
    const door_blocks *b = &view->of;
    int n = b->types ? b->n : 1;
    view->kept = malloc((size_t)n * sizeof *view->kept + 1);
    for (int i = 0; i < n && view->kept; i++)
        view->kept[i] = MPI_DATATYPE_NULL;
    for (int i = 0; i < n && view->kept && b->n > 0; i++)
        if ((!b->types || count_of(b, i) > 0) && door_keep_type(type_of(b, i), &view->kept[i]) != MPI_SUCCESS)
            return false;
    return view->kept;
}

void door_view_close(door_view *view)
{
    for (int i = 0; view->kept && i < (view->of.types ? view->of.n : 1); i++)
        door_free_type(&view->kept[i]);
    free(view->kept);
    free(view->packed);
    if (view->arrays != view->few)
        free(view->arrays);
}

/* Packs or unpacks elements at an address. MPICH 4.0 does neither at MPI_BOTTOM: so seen from byte 1 all lies one byte
 * before. */
static int copy(uintptr_t user, int n, MPI_Datatype type, void *packed, int size, bool load)
{
    MPI_Datatype moved = MPI_DATATYPE_NULL;
    int done = 0, error = MPI_SUCCESS;
    if (user == 0) {
        error = PMPI_Type_create_hindexed(1, &n, &(MPI_Aint){-1}, type, &moved);
        if (error == MPI_SUCCESS)
            error = PMPI_Type_commit(&moved);
        user = 1;
        n = 1;
        type = moved;
    }
    if (error == MPI_SUCCESS && load)
        error = PMPI_Pack((void *)user, n, type, packed, size, &done, MPI_COMM_SELF);
    else if (error == MPI_SUCCESS)
        error = PMPI_Unpack(packed, size, &done, (void *)user, n, type, MPI_COMM_SELF);
    door_free_type(&moved);
    return error;
}

/* Block i of the program's buffer, and where it is packed, to be moved in pieces of at most INT_MAX bytes. */
static int move(door_view *view, int i, bool load)
{
    const door_blocks *b = &view->of;
    MPI_Datatype type = type_of(b, i);
    MPI_Aint lb, extent;
    size_t bytes = door_type_bytes(type), left = count_of(b, i) > 0 ? (size_t)count_of(b, i) : 0;
    if (bytes == 0 || left == 0)
        return MPI_SUCCESS;
    PMPI_Type_get_extent(type, &lb, &extent);
    ptrdiff_t at = b->types ? place_of(b, i) : b->counts ? place_of(b, i) * extent : (ptrdiff_t)i * b->count * extent;
    uintptr_t user = (uintptr_t)b->user + (uintptr_t)at;
    char *packed = (char *)view->packed + (view->counts ? view->displs[i] : (size_t)i * view->bytes);
    size_t piece = INT_MAX / bytes;
    for (int error = bytes > INT_MAX ? MPI_ERR_COUNT : MPI_SUCCESS; left > 0; left -= piece) {
        piece = left < piece ? left : piece;
        int size = (int)(piece * bytes);
        if (error == MPI_SUCCESS)
            error = copy(user, (int)piece, type, packed, size, load);
        if (error != MPI_SUCCESS)
            return error;
        user += (uintptr_t)extent * piece;
        packed += size;
    }
    return MPI_SUCCESS;
}

static int move_all(door_view *view, int i, bool load)
{
    int error = MPI_SUCCESS;
    if (!view->packed)
        return error;
    if (i >= 0)
        return move(view, i, load);
    for (i = 0; i < view->of.n && error == MPI_SUCCESS; i++)
        error = move(view, i, load);
    return error;
}

int door_view_load(door_view *view, int i)
{
    return move_all(view, i, true);
}

int door_view_store(door_view *view, int i)
{
    return move_all(view, i, false);
}
