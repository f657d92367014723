# SPDX-License-Identifier: BSD-3-Clause
#
# Where the MPI in the process is another version than the door was compiled for, all calls pass, and rank 0 says so. A
# later version of the same series is served. Of another MPI the program ends at once.
. "$NBCOLL_SOURCE/test/mpi/door.sh"

check()
{
    case $mpi in
        openmpi) is=$(mpirun.openmpi --version | sed -n 's/.* \([0-9]*\.[0-9]*\)\.[0-9].*/Open MPI v\1/p') ;;
        mpich) is="MPICH Version:$(printf '\t')$(mpirun.mpich --version | sed -n 's/.*Version: *\([0-9]*\.[0-9]*\).*/\1/p')" ;;
    esac
    build version
    run 2 report,all "$work/program" "$is.99, and so on"
    served MPI_Allreduce
    run 2 report,all "$work/program" "${is}9.1"
    [ "$(grep -c 'another version of the MPI: all calls pass' "$work/err")" -eq 1 ] || fail "it is not said once"
    ! grep -q served "$work/err" || fail "something was served"
    ! mpirun.$mpi -n 2 env "LD_PRELOAD=$preload" "$work/program" "Other MPI 3.1" >"$work/out" 2>"$work/err" ||
        fail "another MPI: did not end"
    [ "$(grep -c 'another MPI than the door' "$work/err")" -eq 1 ] || fail "another MPI: it is not said once"
}
with_mpi check openmpi mpich
