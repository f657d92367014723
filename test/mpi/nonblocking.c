/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking collectives of MPI, all outstanding at a time among messages, and ended by each of the MPI's calls. What
 * a program may free early is freed early: types, operations, communicators. Then jobs that are drawn: starts, waits,
 * blocking calls and large messages in any order that is legal. Each case prints a checksum of every rank's buffers.
 * The output of two libraries is the same, or one is wrong. */
#include "shared.h"

enum { ROOM = 1 << 13, CALLS = 17, FORMS = 2 * CALLS, MESSAGES = 4, ALL = FORMS + 2 * MESSAGES };

static int rank, size, failed;
static MPI_Comm comm;
static int *from[FORMS], *to[FORMS];
static int counts[FORMS][RANKS], displs[FORMS][RANKS], others[FORMS][RANKS], places[FORMS][RANKS];
static MPI_Datatype types[FORMS][RANKS];
static int *message[2 * MESSAGES];

/* Counts of call c, from this rank to all and from all to it: of elements with an extent of at most 4 ints. */
static void draw(int c, int n)
{
    for (int i = 0, at = 0, their_at = 0; i < size; i++) {
        counts[c][i] = (i * 5 + rank * 3 + c) % (n + 1);
        others[c][i] = (rank * 5 + i * 3 + c) % (n + 1);
        displs[c][i] = at;
        places[c][i] = their_at;
        at += counts[c][i] + 1;
        their_at += others[c][i] + 1;
    }
}

/* The same counts on all ranks. */
static void draw_alike(int c, int n)
{
    for (int i = 0; i < size; i++) {
        counts[c][i] = (i * 5 + c) % (n + 1);
        displs[c][i] = (size - 1 - i) * (n + 2);
    }
}

static void move(int c, int n, int root, int in_place, MPI_Datatype mine, MPI_Datatype theirs, MPI_Request *request)
{
    int *f = from[c], *t = to[c], at_root = in_place && rank == root;
    switch (c % CALLS) {
    case 0:
        MPI_Ibarrier(comm, request);
        break;
    case 1:
        MPI_Ibcast(rank == root ? f : t, n, rank == root ? mine : theirs, root, comm, request);
        break;
    case 2:
        MPI_Igather(at_root ? MPI_IN_PLACE : f, n, mine, t, n, theirs, root, comm, request);
        break;
    case 3:
        MPI_Iscatter(f, n, mine, at_root ? MPI_IN_PLACE : t, n, theirs, root, comm, request);
        break;
    case 4:
        draw_alike(c, n);
        MPI_Igatherv(at_root ? MPI_IN_PLACE : f, counts[c][rank], mine, t, counts[c], displs[c], theirs, root, comm,
                     request);
        break;
    case 5:
        draw_alike(c, n);
        MPI_Iscatterv(f, counts[c], displs[c], mine, at_root ? MPI_IN_PLACE : t, counts[c][rank], theirs, root, comm,
                      request);
        break;
    case 6:
        MPI_Iallgather(in_place ? MPI_IN_PLACE : f, n, mine, t, n, theirs, comm, request);
        break;
    case 7:
        draw_alike(c, n);
        MPI_Iallgatherv(in_place ? MPI_IN_PLACE : f, counts[c][rank], mine, t, counts[c], displs[c], theirs, comm,
                        request);
        break;
    case 8:
        MPI_Ialltoall(in_place ? MPI_IN_PLACE : f, n, mine, t, n, theirs, comm, request);
        break;
    case 9:
        draw(c, n);
        MPI_Ialltoallv(f, counts[c], displs[c], mine, t, others[c], places[c], theirs, comm, request);
        break;
    default:
        draw(c, n);
        for (int i = 0; i < size; i++) {
            types[c][i] = theirs;
            displs[c][i] *= 4 * (int)sizeof(int);
            places[c][i] *= 4 * (int)sizeof(int);
        }
        MPI_Ialltoallw(f, counts[c], displs[c], types[c], t, others[c], places[c], types[c], comm, request);
    }
}

static void combine(int c, int n, int root, int in_place, MPI_Datatype type, MPI_Op op, MPI_Request *request)
{
    int *f = from[c], *t = to[c];
    const void *send = in_place ? MPI_IN_PLACE : (void *)f;
    switch (c % CALLS) {
    case 11:
        MPI_Ireduce(in_place && rank == root ? MPI_IN_PLACE : (void *)f, t, n, type, op, root, comm, request);
        break;
    case 12:
        MPI_Iallreduce(send, t, n, type, op, comm, request);
        break;
    case 13:
        draw_alike(c, n);
        MPI_Ireduce_scatter(send, t, counts[c], type, op, comm, request);
        break;
    case 14:
        MPI_Ireduce_scatter_block(send, t, n, type, op, comm, request);
        break;
    case 15:
        MPI_Iscan(send, t, n, type, op, comm, request);
        break;
    default:
        MPI_Iexscan(send, t, n, type, op, comm, request);
    }
}

/* Starts call c with types and an operation that are freed at once. */
static void start(int c, int n, int round, MPI_Request *request)
{
    int root = (c + round) % size, in_place = c >= CALLS;
    MPI_Datatype mine = pair((c + round + rank) % 3), theirs = pair((c + round + 1) % 3);
    MPI_Op op;
    MPI_Op_create(compose, 0, &op);
    if (c % CALLS < 11)
        move(c, n, root, in_place, mine, theirs, request);
    else if ((c + round) % 3 == 2)
        combine(c, n, root, in_place, MPI_INT, MPI_SUM, request);
    else
        combine(c, n, root, in_place, theirs, op, request);
    MPI_Op_free(&op);
    MPI_Type_free(&mine);
    MPI_Type_free(&theirs);
}

/* Ends them all, in one of the MPI's ways. */
static void finish(int way, int n, MPI_Request requests[])
{
    int done = 0, flag = 0, index, indices[ALL];
    switch (way) {
    case 0:
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        break;
    case 1:
        while (!flag)
            MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
        break;
    case 2:
        for (int i = n; i-- > 0;)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        break;
    case 3:
        for (; done != MPI_UNDEFINED;)
            MPI_Waitsome(n, requests, &done, indices, MPI_STATUSES_IGNORE);
        break;
    case 4:
        for (; done != MPI_UNDEFINED;)
            MPI_Testsome(n, requests, &done, indices, MPI_STATUSES_IGNORE);
        break;
    case 5:
        do
            MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
        while (index != MPI_UNDEFINED);
        break;
    default:
        for (int i = 0; i < n; i++)
            for (flag = 0; !flag;)
                MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < n; i++)
        failed |= requests[i] != MPI_REQUEST_NULL;
}

/* What an in-place reduce_scatter leaves behind its result may be anything. */
static size_t ints_of(int c, int n, int round)
{
    if (c != CALLS + 13 && c != CALLS + 14)
        return ROOM;
    int ints = (c == CALLS + 13 ? counts[c][rank] : n) * ((c + round) % 3 == 2 ? 1 : 2);
    return (c + round) % 3 != 2 && (c + round + 1) % 3 == 1 ? 2 * (size_t)ints : (size_t)ints;
}

enum { KEPT, FREED, FREED_EARLY };

static void everything(const char *name, MPI_Comm of, int frees)
{
    MPI_Request requests[ALL];
    for (int round = 0; round < 14; round++) {
        int n = round * round * 3, used = 0, large = round % 2 ? 1 << 16 : 100;
        comm = of;
        if (frees)
            MPI_Comm_dup(of, &comm);
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        int right = (rank + 1) % size, left = (rank + size - 1) % size;
        for (int c = 0; c < FORMS; c++) {
            for (int i = 0; i < ROOM; i++) {
                from[c][i] = (rank + 1) * 3 + (i + c) % 7;
                to[c][i] = c >= CALLS ? from[c][i] : -1;
            }
            if (c < 2 * MESSAGES && c % 2 == 0) {
                memset(message[c], rank + c, (size_t)large);
                MPI_Isend(message[c], large, MPI_BYTE, right, c, comm, &requests[used++]);
                MPI_Irecv(message[c + 1], large, MPI_BYTE, left, c, comm, &requests[used++]);
            }
            start(c, n, round, &requests[used++]);
        }
        if (frees == FREED_EARLY)
            MPI_Comm_free(&comm);
        finish(round % 7, used, requests);
        if (frees == FREED)
            MPI_Comm_free(&comm);
        for (int c = 0; c < FORMS; c++) {
            char what[64];
            snprintf(what, sizeof what, "%s round %d call %d", name, round, c);
            say(what, n, sum_of(sum_of(1, from[c], ROOM * sizeof(int)), to[c], ints_of(c, n, round) * sizeof(int)));
        }
        for (int c = 0; c < MESSAGES; c++)
            failed |= large && ((char *)message[2 * c + 1])[large - 1] != (char)(left + 2 * c);
    }
}

/* ---- jobs that are drawn ---- */

static uint64_t seed;

static unsigned drawn(unsigned below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

enum { OPEN = 8, BIG = 1 << 19, SMALL = 64 };

/* All ranks draw the same events, and each takes its part in each. So no rank waits for a later event than another. */
static void job(int number)
{
    MPI_Request open[OPEN], sends[64];
    int *a[OPEN], *b[OPEN], lengths[OPEN] = {0}, sent = 0;
    uint64_t sum = 1;
    seed = (uint64_t)number * 2654435761u + 1;
    for (int i = 0; i < OPEN; i++) {
        open[i] = MPI_REQUEST_NULL;
        a[i] = calloc(BIG, sizeof(int));
        b[i] = calloc(BIG, sizeof(int));
    }
    int *out = calloc(BIG, sizeof(int)), *in = calloc(BIG, sizeof(int));
    for (int event = 0; event < 24; event++) {
        int what = (int)drawn(6), i = (int)drawn(OPEN), kind = (int)drawn(4);
        int n = (int)drawn(drawn(4) ? SMALL : drawn(4) ? BIG / RANKS : BIG), root = (int)drawn((unsigned)size);
        int peer = (root + 1 + (int)drawn((unsigned)size - 1)) % size;
        if (what <= 1) { /* a start in place i, once what was there has ended */
            MPI_Wait(&open[i], MPI_STATUS_IGNORE);
            for (int k = 0; k < n; k++)
                a[i][k] = rank * 7 + k % 13 + event;
            lengths[i] = n;
            if (kind == 0)
                MPI_Iallreduce(a[i], b[i], n, MPI_INT, MPI_SUM, comm, &open[i]);
            else if (kind == 1)
                MPI_Ibcast(a[i], n, MPI_INT, root, comm, &open[i]);
            else if (kind == 2)
                MPI_Ialltoall(a[i], n / size, MPI_INT, b[i], n / size, MPI_INT, comm, &open[i]);
            else
                MPI_Ireduce(a[i], b[i], n, MPI_INT, MPI_MAX, root, comm, &open[i]);
        } else if (what == 2) {
            MPI_Wait(&open[i], MPI_STATUS_IGNORE);
            sum = sum_of(sum, b[i], (size_t)lengths[i] * sizeof(int));
        } else if (what == 3 && kind < 2) { /* from root to peer: blocking, or its end waits for the end of the job */
            if (rank == root && kind == 0)
                MPI_Send(out, n, MPI_INT, peer, 0, comm);
            else if (rank == root)
                MPI_Isend(out, n, MPI_INT, peer, 0, comm, &sends[sent++]);
            else if (rank == peer)
                MPI_Recv(in, BIG, MPI_INT, root, 0, comm, MPI_STATUS_IGNORE);
        } else if (what == 3 || what == 4) { /* both ways at once */
            if (rank == root || rank == peer)
                MPI_Sendrecv(out, n, MPI_INT, rank == root ? peer : root, 1, in, BIG, MPI_INT,
                             rank == root ? peer : root, 1, comm, MPI_STATUS_IGNORE);
        } else if (kind < 2) {
            MPI_Allreduce(out, in, n, MPI_INT, MPI_MAX, comm);
        } else {
            MPI_Bcast(in, n, MPI_INT, root, comm);
        }
    }
    MPI_Waitall(OPEN, open, MPI_STATUSES_IGNORE);
    MPI_Waitall(sent, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < OPEN; i++) {
        sum = sum_of(sum, b[i], (size_t)lengths[i] * sizeof(int));
        free(a[i]);
        free(b[i]);
    }
    free(out);
    free(in);
    say("job", number, sum);
}

/* Many of one kind, more than are in flight at a time. */
static void many(void)
{
    enum { MANY = 300 };
    MPI_Request requests[MANY];
    static int ones[MANY], sums[MANY];
    uint64_t sum = 1;
    for (int i = 0; i < MANY; i++) {
        ones[i] = rank + i;
        MPI_Iallreduce(&ones[i], &sums[i], 1, MPI_INT, MPI_SUM, comm, &requests[i]);
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++)
        sum = sum_of(sum, &sums[i], sizeof sums[i]);
    say("many", MANY, sum);
}

int main(int argc, char *argv[])
{
    /* Open MPI 4.1.4 itself crashes when a communicator is freed while libnbc's operations on it are open. */
    int me, jobs = argc > 1 ? atoi(argv[1]) : 40, early = argc > 2;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int c = 0; c < FORMS; c++) {
        from[c] = malloc(ROOM * sizeof(int));
        to[c] = malloc(ROOM * sizeof(int));
    }
    for (int i = 0; i < 2 * MESSAGES; i++)
        message[i] = malloc(1 << 16);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
    everything("world", MPI_COMM_WORLD, KEPT);
    everything("freed", MPI_COMM_WORLD, early ? FREED_EARLY : FREED);
    everything("half", half, KEPT);
    MPI_Comm_free(&half);
    comm = MPI_COMM_WORLD;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    many();
    for (int i = 0; i < jobs; i++)
        job(i);
    for (int c = 0; c < FORMS; c++) {
        free(from[c]);
        free(to[c]);
    }
    for (int i = 0; i < 2 * MESSAGES; i++)
        free(message[i]);
    MPI_Finalize();
    return failed;
}
