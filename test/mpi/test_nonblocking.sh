# SPDX-License-Identifier: BSD-3-Clause
#
# A program that starts every nonblocking collective, among messages, gets through the door what it gets from the MPI,
# and nbcoll serves it: with 2 ranks and 4, and with communicators that it frees before their operations end.
. "$NBCOLL_SOURCE/test/mpi/door.sh"

check()
{
    build nonblocking
    for ranks in 2 4; do
        natively $ranks 30
        through $ranks '30 early'
        same
        served $(named MPI_I%c $calls)
        [ $ranks -eq 2 ] || ! grep passed "$work/err" || fail "something passed"
    done
}
with_mpi check openmpi
