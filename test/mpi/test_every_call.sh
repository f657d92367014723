# SPDX-License-Identifier: BSD-3-Clause
#
# A program that makes every blocking collective gets through the door what it gets from the MPI, and nbcoll serves it:
# with 2 ranks and 4, one of whose communicators has 2. With NBCOLL_MPI=off nothing is served; a rank without the door
# makes all of them pass.
set -eu
door=$NBCOLL_BINARY/libnbcoll_openmpi.so
if [ ! -e "$door" ] || ! command -v mpicc.openmpi mpirun.openmpi >/dev/null; then
    echo "skipped: libnbcoll_openmpi.so is not built, or Open MPI's mpicc or mpirun is not installed"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpicc.openmpi -O1 -Wall -Wextra -Werror "$NBCOLL_SOURCE/test/mpi/every_call.c" -o "$work/every_call"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

fail()
{
    echo "$*"
    cat "$work/err"
    exit 1
}

calls='Barrier Bcast Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan Gather Gatherv Scatter Scatterv
    Allgather Allgatherv Alltoall Alltoallv Alltoallw'
for ranks in 2 4; do
    mpirun.openmpi -n $ranks "$work/every_call" >"$work/native" 2>"$work/err" || fail "$ranks ranks, natively: failed"
    NBCOLL_MPI=report LD_PRELOAD=$door mpirun.openmpi -n $ranks "$work/every_call" >"$work/door" 2>"$work/err" ||
        fail "$ranks ranks: failed"
    [ "$(wc -l <"$work/native")" -gt 1000 ] || fail "$ranks ranks: the program says too little"
    cmp "$work/native" "$work/door" || fail "$ranks ranks: results differ"
    for call in $calls; do
        grep -q "MPI_$call  *[0-9]* served" "$work/err" || fail "$ranks ranks: MPI_$call was not served"
    done
    [ $ranks -eq 2 ] || ! grep passed "$work/err" || fail "$ranks ranks: something passed"
done

NBCOLL_MPI=off LD_PRELOAD=$door mpirun.openmpi -n 2 "$work/every_call" >"$work/door" 2>"$work/err" || fail "off: failed"
[ ! -s "$work/err" ] || fail "off: something was said"
mpirun.openmpi -n 1 env "LD_PRELOAD=$door" "$work/every_call" : -n 1 "$work/every_call" >"$work/mixed" 2>"$work/err" ||
    fail "mixed ranks: failed"
cmp "$work/door" "$work/mixed" || fail "mixed ranks: results differ"
grep -q 'not all ranks .* have the door' "$work/err" || fail "mixed ranks: nothing was said"
