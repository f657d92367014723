# SPDX-License-Identifier: BSD-3-Clause
#
# What tests of transports/mpi share: . "$NBCOLL_SOURCE/test/mpi_transport/over.sh"
. "$NBCOLL_SOURCE/test/mpi/door.sh"

# over PROGRAM LIBRARY...: compiles a program of this folder, with the transport over $mpi
over()
{
    program=$1
    shift
    # what Open MPI and MPICH leak is theirs; test/mpi looks at what the library does
    sanitize=$(nm "$NBCOLL_BINARY/libnbcoll.a" 2>/dev/null | grep -q __asan_init && echo -fsanitize=address,undefined) || true
    export ASAN_OPTIONS=detect_leaks=0
    # shellcheck disable=SC2086 # an option, or nothing
    mpicc.$mpi $sanitize -std=c11 -O1 -Wall -Wextra -Werror -I"$NBCOLL_SOURCE/include" -I"$NBCOLL_SOURCE/test/support" \
        "$NBCOLL_SOURCE/test/mpi_transport/$program.c" -o "$work/program" -L"$NBCOLL_BINARY" \
        -L"$NBCOLL_BINARY/test" -Wl,-rpath,"$NBCOLL_BINARY" \
        "$@" -lnbcoll_mpi_$mpi -lnbcoll -lnbcoll_wide -lm -lpthread
}
