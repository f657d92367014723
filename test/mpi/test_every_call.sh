# SPDX-License-Identifier: BSD-3-Clause
#
# A program that makes every blocking collective gets through the door what it gets from the MPI, and nbcoll serves it:
# with 2 ranks and 4, one of whose communicators has 2. Values are right, too, where some calls
# are left to the MPI. With NBCOLL_MPI=off nothing is served, nor where one of two
# ranks lacks the door.
. "$NBCOLL_SOURCE/test/mpi/door.sh"

check()
{
    build every_call
    rm -f "$work"/out*
    for ranks in 2 4; do
        natively $ranks "$work/out"
        through $ranks "$work/out"
        same
        served $(named MPI_%C $calls)
        [ $ranks -eq 2 ] || ! grep passed "$work/err" || fail "something passed"
    done
    native=$work/native.2
    rm "$work"/out*
    NBCOLL_MPI=report LD_PRELOAD=$door mpirun.$mpi -n 2 "$work/program" "$work/out" >"$work/out" 2>"$work/err" ||
        fail "by choice: failed"
    same
    rm "$work"/out*
    NBCOLL_MPI=off LD_PRELOAD=$door mpirun.$mpi -n 2 "$work/program" "$work/out" >"$work/out" 2>"$work/err" ||
        fail "off: failed"
    same
    [ ! -s "$work/err" ] || fail "off: something was said"
    mpirun.$mpi -n 1 env "LD_PRELOAD=$door" "$work/program" "$work/out" : -n 1 "$work/program" "$work/out" \
        >"$work/out" 2>"$work/err" ||
        fail "mixed ranks: failed"
    same
    grep -q 'not all ranks .* have the door' "$work/err" || fail "mixed ranks: nothing was said"
}
with_mpi check openmpi mpich
