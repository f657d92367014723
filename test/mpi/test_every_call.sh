# SPDX-License-Identifier: BSD-3-Clause
#
# A program that makes every blocking collective gets through the door what it gets from the MPI, and nbcoll serves it:
# with 2 ranks and 4, one of whose communicators has 2. Values are right, too, where some calls are left to the MPI,
# which was faster, or with NBCOLL_MPI=compare, where the times of both are printed. With NBCOLL_MPI=off nothing is
# served, nor where one of two
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
    run 2 report "$work/program" "$work/out"
    same
    rm "$work"/out*
    run 2 compare,all "$work/program" "$work/out"
    same
    grep -q 'MPI_Allreduce .* served, [0-9.]* us each' "$work/err" || fail "the time of nbcoll is not told"
    grep -q 'MPI_Allreduce .* for comparison, [0-9.]* us' "$work/err" || fail "the time of the MPI is not told"
    rm "$work"/out*
    run 2 off "$work/program" "$work/out"
    same
    [ ! -s "$work/err" ] || fail "off: something was said"
    mpirun.$mpi -n 1 env "LD_PRELOAD=$preload" "$work/program" "$work/out" : -n 1 "$work/program" "$work/out" \
        >"$work/out" 2>"$work/err" ||
        fail "mixed ranks: failed"
    same
    grep -q 'not all ranks .* have the door' "$work/err" || fail "mixed ranks: nothing was said"
}
with_mpi check openmpi mpich
