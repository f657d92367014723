/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives and messages of which each needs the other: in each case a rank blocks in one while its partner cannot
 * come to it before the other has ended, small and large. A library that moves only one of them hangs. Every value is
 * checked. */
#include "shared.h"

enum { LARGE = 1 << 18, CALLS = 10, STEPS = 4, ORDERS = 24 };

static int rank, size, partner, failed;
static int *out, *in, *from, *to, *more;
static const char *where;

static void expect(int is, int is_to_be)
{
    if (is != is_to_be && failed++ < 10)
        printf("rank %d: %s: %d, not %d\n", rank, where, is, is_to_be);
}

static void prepare(int n, int salt)
{
    for (int i = 0; i < n; i++) {
        out[i] = rank * 1000 + salt + i;
        from[i] = rank + i;
        in[i] = to[i] = more[i] = -1;
    }
}

static void check_message(int n, int salt)
{
    expect(in[0], partner * 1000 + salt);
    expect(in[n - 1], partner * 1000 + salt + n - 1);
}

static void check_sum(const int *sum, int n)
{
    expect(sum[0], size * (size - 1) / 2);
    expect(sum[n - 1], size * (size - 1) / 2 + size * (n - 1));
}

/* Receives by each call that waits for a message. */
static void receive(int call, int n)
{
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status;
    MPI_Message message;
    int flag = 0, which;
    switch (call) {
    case 0: MPI_Recv(in, n, MPI_INT, partner, 0, MPI_COMM_WORLD, &status); return;
    case 1: MPI_Probe(partner, 0, MPI_COMM_WORLD, &status); break;
    case 2:
        while (!flag)
            MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, &status);
        break;
    case 3:
        MPI_Mprobe(partner, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(in, n, MPI_INT, &message, &status);
        return;
    case 4:
        while (!flag)
            MPI_Improbe(partner, 0, MPI_COMM_WORLD, &flag, &message, &status);
        MPI_Imrecv(in, n, MPI_INT, &message, request);
        break;
    default: MPI_Irecv(in, n, MPI_INT, partner, 0, MPI_COMM_WORLD, request);
    }
    switch (call) {
    case 4: MPI_Wait(request, &status); return;
    case 5: MPI_Waitall(2, request, MPI_STATUSES_IGNORE); return;
    case 6: MPI_Waitany(2, request, &which, &status); return;
    case 7: MPI_Waitsome(2, request, &flag, &which, &status); return;
    case 8:
        while (!flag)
            MPI_Test(request, &flag, &status);
        return;
    case 9:
        while (!flag)
            MPI_Testall(2, request, &flag, MPI_STATUSES_IGNORE);
        return;
    default: MPI_Recv(in, n, MPI_INT, partner, 0, MPI_COMM_WORLD, &status);
    }
}

/* One of a pair waits for a message, which the other one sends when its nonblocking collective has ended. */
static void waiting_for_messages(int call, int n, int first)
{
    MPI_Request request;
    prepare(n, call);
    MPI_Iallreduce(from, to, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (partner >= 0 && rank % 2 == first)
        receive(call, n);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_sum(to, n);
    if (partner >= 0 && rank % 2 != first) {
        if (call % 2)
            MPI_Ssend(out, n, MPI_INT, partner, 0, MPI_COMM_WORLD);
        else
            MPI_Send(out, n, MPI_INT, partner, 0, MPI_COMM_WORLD);
    } else if (partner >= 0) {
        check_message(n, call);
    }
}

/* One of a pair is in a collective while the other one sends it a message that it has asked for, or receives one. */
static void waiting_for_collectives(int call, int n, int first)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int sends = call % 2, root = first;
    prepare(n, call);
    if (partner >= 0 && rank % 2 == first) {
        if (sends)
            MPI_Isend(out, n, MPI_INT, partner, 0, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(in, n, MPI_INT, partner, 0, MPI_COMM_WORLD, &request);
    } else if (partner >= 0) {
        if (sends)
            receive(call % CALLS, n);
        else
            MPI_Ssend(out, n, MPI_INT, partner, 0, MPI_COMM_WORLD);
    }
    switch (call % 5) {
    case 0: MPI_Barrier(MPI_COMM_WORLD); break;
    case 1: MPI_Allreduce(from, to, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case 2: MPI_Bcast(from, n, MPI_INT, root, MPI_COMM_WORLD); break;
    case 3: MPI_Reduce(from, to, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD); break;
    default: MPI_Scan(from, to, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (call % 5 == 1)
        check_sum(to, n);
    if (call % 5 == 2)
        expect(from[n - 1], root + n - 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (partner >= 0 && sends != (rank % 2 == first))
        check_message(n, call);
}

/* A message both ways, a nonblocking collective and a blocking one, whose ends each rank awaits in its own order. */
static void in_every_order(int order, int n)
{
    MPI_Request request[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int step[STEPS] = {0, 1, 2, 3}, left = order, mine = (order + rank * 7) % ORDERS;
    prepare(n, order);
    left = mine;
    for (int i = 0; i < STEPS; i++) { /* the permutation of that number */
        int at = i + left % (STEPS - i), taken = step[at];
        left /= STEPS - i;
        step[at] = step[i];
        step[i] = taken;
    }
    MPI_Iallreduce(from, more, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request[2]);
    if (partner >= 0) {
        MPI_Irecv(in, n, MPI_INT, partner, 0, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(out, n, MPI_INT, partner, 0, MPI_COMM_WORLD, &request[1]);
    }
    for (int i = 0; i < STEPS; i++) {
        if (step[i] < 3)
            MPI_Wait(&request[step[i]], MPI_STATUS_IGNORE);
        else
            MPI_Allreduce(from, to, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    check_sum(to, n);
    check_sum(more, n);
    if (partner >= 0)
        check_message(n, order);
}

int main(int argc, char *argv[])
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    partner = (rank ^ 1) < size ? rank ^ 1 : -1;
    out = malloc(5 * LARGE * sizeof *out);
    in = out + LARGE;
    from = in + LARGE;
    to = from + LARGE;
    more = to + LARGE;
    for (int n = 1; n <= LARGE; n *= 512) {
        where = "waiting for messages";
        for (int call = 0; call < CALLS; call++)
            for (int first = 0; first < 2; first++)
                waiting_for_messages(call, n, first);
        where = "waiting for collectives";
        for (int call = 0; call < 2 * CALLS; call++)
            for (int first = 0; first < 2; first++)
                waiting_for_collectives(call, n, first);
        where = "in every order";
        for (int order = 0; order < ORDERS; order++)
            in_every_order(order, n);
    }
    free(out);
    MPI_Finalize();
    return failed;
}
