# SPDX-License-Identifier: BSD-3-Clause
#
# A program that starts every nonblocking collective, among messages, gets through the door what it gets from the MPI,
# and nbcoll serves it: with 2 ranks and 4, and with communicators that it frees before their operations end.
set -eu
door=$NBCOLL_BINARY/libnbcoll_openmpi.so
if [ ! -e "$door" ] || ! command -v mpicc.openmpi mpirun.openmpi >/dev/null; then
    echo "skipped: libnbcoll_openmpi.so is not built, or Open MPI's mpicc or mpirun is not installed"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mpicc.openmpi -O1 -Wall -Wextra -Werror "$NBCOLL_SOURCE/test/mpi/nonblocking.c" -o "$work/nonblocking"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

fail()
{
    echo "$*"
    cat "$work/err"
    exit 1
}

calls='barrier bcast reduce allreduce reduce_scatter reduce_scatter_block scan exscan gather gatherv scatter scatterv
    allgather allgatherv alltoall alltoallv alltoallw'
for ranks in 2 4; do
    mpirun.openmpi -n $ranks "$work/nonblocking" 30 >"$work/native" 2>"$work/err" || fail "$ranks ranks, natively: failed"
    NBCOLL_MPI=report LD_PRELOAD=$door mpirun.openmpi -n $ranks "$work/nonblocking" 30 early >"$work/door" \
        2>"$work/err" || fail "$ranks ranks: failed"
    [ "$(wc -l <"$work/native")" -gt 1000 ] || fail "$ranks ranks: the program says too little"
    cmp "$work/native" "$work/door" || fail "$ranks ranks: results differ"
    for call in $calls; do
        grep -q "MPI_I$call  *[0-9]* served" "$work/err" || fail "$ranks ranks: MPI_I$call was not served"
    done
    [ $ranks -eq 2 ] || ! grep passed "$work/err" || fail "$ranks ranks: something passed"
done
