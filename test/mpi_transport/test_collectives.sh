# SPDX-License-Identifier: BSD-3-Clause
#
# Collectives over transports/mpi have their values, over each MPI, for 2 to 4 ranks, also with as few credits and
# receives as may be; and a rank that leaves is named to who waits for it.
. "$NBCOLL_SOURCE/test/mpi_transport/over.sh"

check()
{
    over collectives -lnbcoll_support -lcmocka -lnbcoll_offload
    for ranks in 2 3 4; do
        for way in '' least; do
            # shellcheck disable=SC2086 # nothing, or a word
            timeout 200 mpirun.$mpi -n $ranks "$work/program" $way >"$work/out" 2>"$work/err" ||
                fail "$ranks ranks $way: failed"
        done
    done
}
with_mpi check openmpi mpich
