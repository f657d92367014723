# SPDX-License-Identifier: BSD-3-Clause
#
# Where one of three ranks runs out of memory in a collective, whichever allocation of the door's fails first, and all
# after it, all ranks come back from the call, that one with MPI_ERR_NO_MEM. Without any memory it cannot pack.
. "$NBCOLL_SOURCE/test/mpi/door.sh"

check()
{
    build scarce
    for call in $calls; do
        granted=-1 asked=0
        while [ "$granted" -lt "$asked" ]; do
            granted=$((granted + 1))
            run 3 all "$work/program" $granted $call
            asked=$(sed -n 's/asked \([0-9]*\):.*/\1/p' "$work/out")
            [ "$granted" -gt 0 ] || [ $call = dup ] || grep -q error "$work/out" || fail "$call went well"
        done
        grep -q well "$work/out" || fail "$call failed with all memory"
    done
}
calls='alltoallw iallreduce dup'
with_mpi check openmpi
