# SPDX-License-Identifier: BSD-3-Clause
#
# An endpoint closes while another thread is in the midst of sending to it: nobody writes what is freed, or what another
# endpoint receives into.
. "$NBCOLL_SOURCE/test/mpi_transport/over.sh"

check()
{
    over closing
    timeout 60 "$work/program" >"$work/out" 2>"$work/err" || fail "failed"
}
with_mpi check openmpi mpich
