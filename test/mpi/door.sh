# SPDX-License-Identifier: BSD-3-Clause
#
# What tests of the door share: . "$NBCOLL_SOURCE/test/mpi/door.sh"
set -eu
door=$NBCOLL_BINARY/libnbcoll_openmpi.so
if [ ! -e "$door" ] || ! command -v mpicc.openmpi mpirun.openmpi >/dev/null; then
    echo "skipped: libnbcoll_openmpi.so is not built, or Open MPI's mpicc or mpirun is not installed"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

fail()
{
    echo "$*"
    cat "$work/out" "$work/err"
    exit 1
}

# build PROGRAM
build()
{
    mpicc.openmpi -O1 -Wall -Wextra -Werror "$NBCOLL_SOURCE/test/mpi/$1.c" -o "$work/program" -lpthread
}

# natively RANKS ARGUMENTS: what it prints is in $work/native
natively()
{
    mpirun.openmpi -n "$1" "$work/program" $2 >"$work/out" 2>"$work/err" || fail "$1 ranks, natively: failed"
    mv "$work/out" "$work/native"
}

# through RANKS ARGUMENTS: what it prints is in $work/out, the report in $work/err
through()
{
    NBCOLL_MPI=report LD_PRELOAD=$door mpirun.openmpi -n "$1" "$work/program" $2 >"$work/out" 2>"$work/err" ||
        fail "$1 ranks: failed"
}

# served CALL...
served()
{
    for call; do
        grep -q "$call  *[0-9]* served" "$work/err" || fail "$call was not served"
    done
}

same()
{
    [ "$(wc -l <"$work/native")" -gt 1000 ] || fail "the program says too little"
    cmp "$work/native" "$work/out" || fail "results differ"
}

calls='barrier bcast reduce allreduce reduce_scatter reduce_scatter_block scan exscan gather gatherv scatter scatterv
    allgather allgatherv alltoall alltoallv alltoallw'
exchanges='neighbor_allgather neighbor_allgatherv neighbor_alltoall neighbor_alltoallv neighbor_alltoallw'
# named FORMAT NAME...: each name, with a capital one first for %C
named()
{
    format=$1
    shift
    for name; do
        case $format in
            *%C*) name=$(printf %s "$name" | cut -c1 | tr a-z A-Z)$(printf %s "$name" | cut -c2-) ;;
        esac
        printf '%s\n' "$format" | sed "s/%[Cc]/$name/"
    done
}
