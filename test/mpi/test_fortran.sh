# SPDX-License-Identifier: BSD-3-Clause
#
# A Fortran program that makes every collective gets through the door what it gets from the MPI, and nbcoll serves it:
# with mpif.h, the module mpi and mpi_f08.
. "$NBCOLL_SOURCE/test/mpi/door.sh"
command -v gfortran >/dev/null || { echo "skipped: gfortran is not installed"; exit 77; }

check()
{
    command -v mpifort.$mpi >/dev/null || { echo "left out: mpifort.$mpi is not installed"; return; }
    for by in INCLUDED MODULE F08; do
        extra=
        [ $by.$mpi != INCLUDED.openmpi ] || extra=-DPERSISTENT
        mpifort.$mpi -O1 -fallow-argument-mismatch -D$by $extra "$NBCOLL_SOURCE/test/mpi/every.F90" -o "$work/program" \
            2>"$work/err" || fail "$by: does not compile"
        for ranks in 2 ${extra:+3}; do
            rm -f "$work"/out* "$work"/native*
            natively $ranks "$work/out"
            rm -f "$work"/out*
            through $ranks "$work/out"
            same
            served $(named MPI_%C $calls)
            [ $mpi != openmpi ] || served $(named MPI_I%c $calls) $(named MPI_%C $exchanges)
            [ -z "$extra" ] || served MPI_Bcast_init MPI_Allreduce_init MPI_Alltoall_init MPI_Barrier_init
        done
    done
}
with_mpi check openmpi mpich
