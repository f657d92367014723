# SPDX-License-Identifier: BSD-3-Clause
#
# A program that makes every blocking collective gets through the door what it gets from the MPI, and nbcoll serves it:
# with 2 ranks and 4, one of whose communicators has 2. With NBCOLL_MPI=off nothing is served.
set -eu
. "$NBCOLL_SOURCE/test/mpi/mpis.sh"
calls='Barrier Bcast Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan Gather Gatherv Scatter Scatterv
    Allgather Allgatherv Alltoall Alltoallv Alltoallw'
# By its default algorithms MPICH 4.0 crashes in MPI_Reduce in place at another root than 0, and in
# MPI_Reduce_scatter_block of elements with gaps by an operation that does not commute.
export MPIR_CVAR_DEVICE_COLLECTIVES=none MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM=recursive_doubling

check()
{
    compile every_call
    for ranks in 2 4; do
        run $ranks "$work/every_call" >"$work/native" || fail "$ranks ranks, natively: failed"
        NBCOLL_MPI=report LD_PRELOAD=$door run $ranks "$work/every_call" >"$work/door" || fail "$ranks ranks: failed"
        sort "$work/native" -o "$work/native"
        sort "$work/door" -o "$work/door"
        [ "$(wc -l <"$work/native")" -gt 1000 ] || fail "$ranks ranks: the program says too little"
        cmp "$work/native" "$work/door" || fail "$ranks ranks: results differ"
        for call in $calls; do
            grep -q "MPI_$call  *[0-9]* served" "$work/err" || fail "$ranks ranks: MPI_$call was not served"
        done
        [ $ranks -eq 2 ] || ! grep passed "$work/err" || fail "$ranks ranks: something passed"
    done
    NBCOLL_MPI=off LD_PRELOAD=$door run 4 "$work/every_call" >"$work/door" || fail "off: failed"
    sort "$work/door" | cmp "$work/native" - || fail "off: results differ"
    [ ! -s "$work/err" ] || fail "off: something was said"
}
each_mpi check
