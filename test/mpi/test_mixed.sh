# SPDX-License-Identifier: BSD-3-Clause
#
# The MPI's progress and nbcoll's do not starve each other: programs that wait for a message by each call that can, while
# their partner waits for a collective, and the other way round, end, with the right values: 2 ranks and 3.
. "$NBCOLL_SOURCE/test/mpi/door.sh"

check()
{
    build mixed
    for ranks in 2 3; do
        through $ranks
        served MPI_Allreduce MPI_Barrier MPI_Bcast MPI_Reduce MPI_Scan
        [ $mpi != openmpi ] || served MPI_Iallreduce
    done
}
with_mpi check openmpi mpich
