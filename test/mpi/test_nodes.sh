# SPDX-License-Identifier: BSD-3-Clause
#
# Programs that make every blocking collective, or start every nonblocking one among messages, get from ranks on several
# machines, through the door, what they get from the MPI, and nbcoll serves them: with 4 ranks on two nodes. The nodes
# are made up of names of the machine.
. "$NBCOLL_SOURCE/test/mpi/door.sh"

unshare --uts true 2>/dev/null || { echo "left out: this user may not give the machine another name" && exit 77; }
cat >"$work/node" <<'END'
hostname "node$((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} / 2))"
exec "$@"
END

# on_nodes ARGUMENTS MORE: MORE is for the door alone
on_nodes()
{
    rm -f "$work"/out* "$work"/native.*
    natively 4 "$1"
    rm -f "$work"/out*
    before="unshare --uts sh $work/node"
    # shellcheck disable=SC2086 # words
    run 4 report,all,nodes "$work/program" $1 $2
    before=
    same
    grep -q 'on 2 nodes' "$work/err" || fail "there are not two nodes"
    ! grep passed "$work/err" || fail "something passed"
}

check()
{
    build every_call
    on_nodes "$work/out" ""
    served $(named MPI_%C $calls)
    if [ $mpi = openmpi ]; then
        build nonblocking
        on_nodes 30 early
        served $(named MPI_I%c $calls)
    fi
}
with_mpi check openmpi mpich
