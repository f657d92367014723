# SPDX-License-Identifier: BSD-3-Clause
#
# The info key `nbcoll`, which is `off` on one rank, leaves the calls of that communicator and of its duplicates to the
# MPI, from the making or from MPI_Comm_set_info on; and no others.
. "$NBCOLL_SOURCE/test/mpi/door.sh"

off()
{
    for call; do
        grep -q "$call  *[0-9]* passed: the info key" "$work/err" || fail "$call did not pass"
        ! grep -q "$call  *[0-9]* served" "$work/err" || fail "$call was served"
    done
}

check()
{
    build info
    through 3 "$form"
    off MPI_Allreduce MPI_Allgather MPI_Alltoall MPI_Scatter
    served MPI_Bcast MPI_Barrier $more
}
form=nonblocking more=MPI_Ireduce
with_mpi check openmpi
form=blocking more=
with_mpi check mpich
