# SPDX-License-Identifier: BSD-3-Clause
#
# nbcoll mpirun starts a program by the launcher of either MPI, whose collectives are then served, with the options and
# the words behind them. It refuses the launcher of another MPI, and an MPI whose door is not there.
. "$NBCOLL_SOURCE/test/mpi/door.sh"
nbcoll=$NBCOLL_BINARY/nbcoll
[ -x "$nbcoll" ] || { echo "skipped: the command is not built"; exit 77; }

check()
{
    build every_call
    LD_PRELOAD=${preload%"$door"} NBCOLL_MPI=report,all \
        "$nbcoll" mpirun --launcher mpirun.$mpi -n 2 "$work/program" >"$work/out" 2>"$work/err" ||
        fail "nbcoll mpirun: failed"
    served MPI_Allreduce
    mkdir -p "$work/alone"
    cp "$nbcoll" "$work/alone"
    ! "$work/alone/nbcoll" mpirun --launcher mpirun.$mpi -n 2 "$work/program" 2>"$work/err" || fail "without a door"
    grep -q "nbcoll mpirun: libnbcoll_$mpi.so is not there" "$work/err" || fail "the missing door is not named"
}
with_mpi check openmpi mpich

# refused TEXT LAUNCHER
refused()
{
    status=0
    "$nbcoll" mpirun --launcher "$2" -n 2 true 2>"$work/err" || status=$?
    [ $status -eq 2 ] && grep -q "$1" "$work/err" || { echo "$2: $status" && cat "$work/err" && exit 1; }
}
printf '#!/bin/sh\necho "Another MPI, version 3"\n' >"$work/other"
chmod +x "$work/other"
refused 'neither .* nor .*: "Another MPI, version 3"' "$work/other"
refused 'none --version cannot be run' "$work/none"
