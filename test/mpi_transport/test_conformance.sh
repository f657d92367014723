# SPDX-License-Identifier: BSD-3-Clause
#
# transports/mpi keeps the transport contract over each MPI. All cases but those of ranks that are processes, which ask
# what MPI cannot say: that one of them has died.
. "$NBCOLL_SOURCE/test/mpi_transport/over.sh"

check()
{
    over conform -lnbcoll_conformance
    "$work/program" >"$work/out" 2>"$work/err" || fail "a case failed"
    [ "$(grep -c ': passed' "$work/out")" -ge 32 ] || fail "too few cases were run"
}
with_mpi check openmpi mpich
