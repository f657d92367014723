# SPDX-License-Identifier: BSD-3-Clause
#
# What tests of transports/mpi share: . "$NBCOLL_SOURCE/test/mpi_transport/over.sh"
. "$NBCOLL_SOURCE/test/mpi/door.sh"

# over PROGRAM LIBRARY...: compiles a program of this folder, with the transport over $mpi
over()
{
    program=$1
    shift
    mpicc.$mpi -std=c11 -O1 -Wall -Wextra -Werror -I"$NBCOLL_SOURCE/include" -I"$NBCOLL_SOURCE/test/support" \
        "$NBCOLL_SOURCE/test/mpi_transport/$program.c" -o "$work/program" -L"$NBCOLL_BINARY" \
        -L"$NBCOLL_BINARY/test" -Wl,-rpath,"$NBCOLL_BINARY" \
        "$@" -lnbcoll_mpi_$mpi -lnbcoll -lnbcoll_wide -lm -lpthread
}
