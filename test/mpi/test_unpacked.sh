# SPDX-License-Identifier: BSD-3-Clause
#
# Where MPI_Pack fails on one rank in the MPI_Start of a persistent neighbourhood exchange, no rank waits for ever.
. "$NBCOLL_SOURCE/test/mpi/door.sh"

check()
{
    build unpacked
    through 3
    served MPI_Neighbor_alltoall_init
    [ "$(grep -c ended "$work/out")" -eq 3 ] || fail "not all ranks ended"
}
with_mpi check openmpi
