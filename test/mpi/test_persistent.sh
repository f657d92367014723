# SPDX-License-Identifier: BSD-3-Clause
#
# A program that starts every persistent collective, in another order on each rank, and uses neighbourhoods in all forms
# gets through the door what it gets from the MPI, and nbcoll serves it: with 2 ranks and 4, and with communicators that
# it frees before their operations end.
. "$NBCOLL_SOURCE/test/mpi/door.sh"

check()
{
    build persistent
    for ranks in 2 4; do
        natively $ranks ''
        through $ranks early
        same
        served $(named MPI_%C_init $calls $exchanges) $(named MPI_%C $exchanges) $(named MPI_I%c $exchanges)
        ! grep passed "$work/err" || fail "something passed"
    done
}
with_mpi check openmpi
