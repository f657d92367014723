# SPDX-License-Identifier: BSD-3-Clause
#
# What tests of the doors share: . "$NBCOLL_SOURCE/test/mpi/door.sh"; then `with_mpi CHECK MPI...` calls CHECK for each
# of these MPIs whose door is built, with $mpi and $door.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
# By its default algorithms MPICH 4.0 crashes in MPI_Reduce in place at another root than 0, and in
# MPI_Reduce_scatter_block of elements with gaps by an operation that does not commute.
export MPIR_CVAR_DEVICE_COLLECTIVES=none MPIR_CVAR_REDUCE_SCATTER_BLOCK_INTRA_ALGORITHM=recursive_doubling
export OMPI_MCA_mpi_yield_when_idle=1 # the machine may have other things to do

with_mpi()
{
    check=$1 found=
    shift
    for mpi; do
        door=$NBCOLL_BINARY/libnbcoll_$mpi.so
        if [ ! -e "$door" ] || ! command -v mpicc.$mpi mpirun.$mpi >/dev/null; then
            echo "left out: libnbcoll_$mpi.so is not built, or its mpicc or mpirun is not installed"
            continue
        fi
        found=1
        # a sanitizer's library has to be there before all others
        preload=$(ldd "$door" | awk '/libasan/ { printf "%s:", $3 }')$door
        $check
    done
    [ -n "$found" ] || exit 77
}

fail()
{
    echo "$mpi: $*"
    cat "$work/out" "$work/err"
    exit 1
}

# build PROGRAM
build()
{
    mpicc.$mpi -O1 -Wall -Wextra -Werror -Wno-stringop-overflow "$NBCOLL_SOURCE/test/mpi/$1.c" -o "$work/program" \
        -lpthread
}

# natively RANKS ARGUMENTS: what it prints is in $native, of the first MPI: the right values are the same ones.
natively()
{
    native="$work/native.$1"
    [ ! -e "$native" ] || return 0
    mpirun.$mpi -n "$1" "$work/program" ${2-} >"$work/out" 2>"$work/err" || fail "$1 ranks, natively: failed"
    sort "$work"/out* >"$native"
}

# run RANKS HOW COMMAND...: the ranks, but not the launcher, have the door, with NBCOLL_MPI=HOW. $before starts each.
before=
run()
{
    ranks=$1 how=$2
    shift 2
    mpirun.$mpi -n "$ranks" $before env "NBCOLL_MPI=$how" "LD_PRELOAD=$preload" "$@" >"$work/out" 2>"$work/err" ||
        fail "$ranks ranks, $how: failed"
    leaks
}

# Under the address sanitizer: what the door has allocated itself is freed. What the MPI
# keeps at its end, most of it from components that it has unloaded by then, is not the door's.
export ASAN_OPTIONS="log_path=$work/asan:detect_stack_use_after_return=1" LSAN_OPTIONS=exitcode=0
leaks()
{
    for log in "$work"/asan.*; do
        [ ! -e "$log" ] || ! grep -A1 ' #0 .* in __interceptor_' "$log" | grep -q ' #1 .*/\(src\|transports\)/.*\.c:' ||
            { cat "$log" && fail "the door has lost memory"; }
        rm -f "$log"
    done
}

# through RANKS ARGUMENTS: what it prints is in $work/out, the report in $work/err
through()
{
    run "$1" report,all "$work/program" ${2-}
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
    [ "$(wc -l <"$native")" -gt 1000 ] || fail "the program says too little"
    sort "$work"/out* | cmp "$native" - || { sort "$work"/out* | diff "$native" - | head -5; fail "results differ"; }
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
