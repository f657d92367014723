# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives of mpi4py, which asks for MPI_THREAD_MULTIPLE: objects and buffers, in all forms that it has.
from array import array
from mpi4py import MPI

world = MPI.COMM_WORLD


def larger(a, b, datatype):
    b = memoryview(b).cast("i")
    b[0] = max(memoryview(a).cast("i")[0], b[0])


for comm in world, world.Dup(), world.Split(world.rank % 2, -world.rank), world.Create_cart([world.size]):
    rank, size = comm.rank, comm.size
    total = size * (size - 1) // 2
    kept = []

    def ints(n, value):
        kept.append(array("i", [value] * n))
        return kept[-1]

    assert comm.allreduce(rank) == total and comm.bcast({"root": rank}, 0) == {"root": 0}
    assert comm.allgather(str(rank)) == [str(i) for i in range(size)]
    requests, checks = [], []
    for i in range(5):
        recv = ints(4, -1)
        requests.append(comm.Iallreduce(ints(4, rank + i), recv, MPI.SUM))
        checks.append((recv, ints(4, total + i * size)))
        recv = ints(1, i if rank == 0 else -1)
        requests.append(comm.Ibcast(recv, 0))
        checks.append((recv, ints(1, i)))
        recv = ints(size, -1)
        requests.append(comm.Ialltoall(ints(size, rank), recv))
        checks.append((recv, array("i", range(size))))
        recv = ints(size, -1)
        requests.append(comm.Iallgather(ints(1, rank * i), recv))
        checks.append((recv, array("i", [j * i for j in range(size)])))
        requests.append(comm.isend(rank, (rank + 1) % size, i))
        requests.append(comm.Ibarrier())
        assert comm.recv(source=(rank - 1) % size, tag=i) == (rank - 1) % size
    recv = ints(1, -1)
    maximum = MPI.Op.Create(larger)
    requests.append(comm.Iallreduce(ints(1, rank), recv, maximum))
    checks.append((recv, ints(1, size - 1)))
    while any(requests):
        MPI.Request.Waitsome(requests)
    maximum.Free()
    for is_there, is_right in checks:
        assert is_there == is_right, (is_there, is_right)
    if comm.Get_topology() == MPI.CART:
        recv = ints(2, -1)
        comm.Ineighbor_allgather(ints(1, rank), recv).Wait()
        assert list(recv) == [rank - 1, rank + 1 if rank + 1 < size else -1]
    if comm != world:
        comm.Free()
print("well")
