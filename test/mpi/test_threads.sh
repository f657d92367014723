# SPDX-License-Identifier: BSD-3-Clause
#
# Threads that call collectives at once, under MPI_THREAD_MULTIPLE, get the right values through the door: with 2 ranks
# and 3.
. "$NBCOLL_SOURCE/test/mpi/door.sh"

check()
{
    build threads
    for ranks in 2 3; do
        through $ranks 20
        served MPI_Bcast MPI_Allreduce MPI_Ibcast MPI_Iallreduce MPI_Allreduce_init
        ! grep passed "$work/err" || fail "something passed"
    done
}
with_mpi check openmpi
