# SPDX-License-Identifier: BSD-3-Clause
#
# For the tests of the doors: each_mpi CHECK calls CHECK for every MPI whose door is built, with $mpi and $door.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 # the machine may have other things to do

fail()
{
    echo "$mpi: $*"
    cat "$work/err"
    exit 1
}

# compile NAME: test/mpi/NAME.c becomes $work/NAME
compile()
{
    mpicc.$mpi -O1 -Wall -Wextra -Werror "$NBCOLL_SOURCE/test/mpi/$1.c" -o "$work/$1"
}

# run RANKS PROGRAM...: standard error goes to $work/err
run()
{
    mpirun.$mpi -n "$@" 2>"$work/err"
}

each_mpi()
{
    found=
    for mpi in openmpi mpich; do
        door=$NBCOLL_BINARY/libnbcoll_$mpi.so
        if [ ! -e "$door" ] || ! command -v mpicc.$mpi mpirun.$mpi >/dev/null; then
            echo "left out: libnbcoll_$mpi.so is not built, or its mpicc or mpirun is not installed"
            continue
        fi
        found=1
        "$1"
    done
    [ -n "$found" ] || exit 77
}
