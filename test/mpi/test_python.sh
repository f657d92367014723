# SPDX-License-Identifier: BSD-3-Clause
#
# A program of mpi4py, which asks for MPI_THREAD_MULTIPLE, gets the right values through the door: with 2 ranks and 3.
. "$NBCOLL_SOURCE/test/mpi/door.sh"
for python in python3 /usr/bin/python3 ''; do
    [ -z "$python" ] || ! "$python" -c 'import mpi4py' 2>/dev/null || break
done
[ -n "$python" ] || { echo "skipped: mpi4py is not installed"; exit 77; }

# mpi4py is compiled for Open MPI.
check()
{
    for ranks in 2 3; do
        run $ranks report,all "$python" "$NBCOLL_SOURCE/test/mpi/every.py"
        served MPI_Bcast MPI_Ibarrier MPI_Ibcast MPI_Iallreduce MPI_Ialltoall MPI_Iallgather MPI_Ineighbor_allgather
    done
}
with_mpi check openmpi
