# SPDX-License-Identifier: BSD-3-Clause
#
# Calls of transports/mpi from a thread that may not call the MPI find nothing, and wrong configurations are refused.
. "$NBCOLL_SOURCE/test/mpi_transport/over.sh"

check()
{
    over calls
    timeout 60 "$work/program" >"$work/out" 2>"$work/err" || fail "failed"
}
with_mpi check openmpi mpich
