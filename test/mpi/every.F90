! SPDX-License-Identifier: BSD-3-Clause
!
! Every collective of MPI from Fortran, by mpif.h (-DINCLUDED), by the module mpi, or by mpi_f08 (-DF08): blocking,
! nonblocking, of neighbours, and persistent where -DPERSISTENT says so; in place, and from MPI_BOTTOM. Each case writes
! a checksum of what every rank got. The output of two libraries is the same, or one is wrong.
#ifdef F08
#define HANDLE(of) type(of)
#else
#define HANDLE(of) integer
#endif
program every
#ifdef F08
    use mpi_f08
#elif !defined(INCLUDED)
    use mpi
#endif
    implicit none
#ifdef INCLUDED
    include 'mpif.h'
#endif
    integer, parameter :: room = 256
    integer, asynchronous :: f(room), t(room)
    integer :: counts(16), displs(16), bytes(16), n, ranks, rank, root, error, i, case
    integer(kind=MPI_ADDRESS_KIND) :: places(16), address
    logical :: flags(3), all_flags(3)
    double precision :: pair(2), best(2)
    complex :: z, sum_of_z
    character(len=4000) :: path
    HANDLE(MPI_Comm) :: comm, ring
    HANDLE(MPI_Request) :: request
    HANDLE(MPI_Datatype) :: types(16), absolute
    HANDLE(MPI_Op) :: op
#ifdef PERSISTENT
    external :: mpix_bcast_init, mpix_allreduce_init, mpix_alltoall_init, mpix_barrier_init
#endif
    external :: affine

    call MPI_Init(error)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    call MPI_Comm_size(comm, ranks, error)
    call MPI_Comm_rank(comm, rank, error)
    ! A graph: MPICH 4.0's mpi_f08 has MPI_Neighbor_alltoallw for no other topology.
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [mod(rank + 1, ranks)], MPI_UNWEIGHTED, 1, &
        [mod(rank + ranks - 1, ranks)], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., ring, error)
    call MPI_Op_create(affine, .false., op, error)
    call get_command_argument(1, path)
    write (path, '(a,a,i0)') trim(path), '.', rank
    open (unit=10, file=path)
    types = MPI_INTEGER
    do n = 1, 12
        root = mod(n, ranks)
        do i = 1, ranks
            counts(i) = n
            displs(i) = (i - 1) * (n + 1)
            bytes(i) = 4 * displs(i)
            places(i) = bytes(i)
        end do
        call blocking
        call nonblocking
        call neighbors
        call others
#ifdef PERSISTENT
        call persistent
#endif
    end do
    close (10)
    call MPI_Op_free(op, error)
    call MPI_Comm_free(ring, error)
    call MPI_Comm_free(comm, error)
    call MPI_Finalize(error)

contains

    subroutine begin
        t = -1
        do i = 1, room
            f(i) = (rank + 1) * 3 + mod(i, 7)
        end do
    end subroutine

    subroutine finish(what)
        character(len=*), intent(in) :: what
        integer(kind=8) :: total
        total = 1
        do i = 1, room
            total = mod(total * 31 + t(i) + 7 * f(i), 1000000007_8)
        end do
        write (10, '(a,1x,i0,1x,i0,1x,i0,1x,i0)') what, n, rank, total, error
        call begin
    end subroutine

    subroutine ended(what)
        character(len=*), intent(in) :: what
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
        call finish(what)
    end subroutine

    subroutine blocking
        call begin
        call MPI_Barrier(comm, error)
        call MPI_Bcast(f, n, MPI_INTEGER, root, comm, error)
        call finish('bcast')
        call MPI_Gather(f, n, MPI_INTEGER, t, n, MPI_INTEGER, root, comm, error)
        call finish('gather')
        if (rank == root) then
            call MPI_Gather(MPI_IN_PLACE, n, MPI_INTEGER, t, n, MPI_INTEGER, root, comm, error)
        else
            call MPI_Gather(f, n, MPI_INTEGER, t, n, MPI_INTEGER, root, comm, error)
        end if
        call finish('gather in place')
        call MPI_Gatherv(f, n, MPI_INTEGER, t, counts, displs, MPI_INTEGER, root, comm, error)
        call finish('gatherv')
        call MPI_Scatter(f, n, MPI_INTEGER, t, n, MPI_INTEGER, root, comm, error)
        call finish('scatter')
        if (rank == root) then
            call MPI_Scatter(f, n, MPI_INTEGER, MPI_IN_PLACE, n, MPI_INTEGER, root, comm, error)
        else
            call MPI_Scatter(f, n, MPI_INTEGER, t, n, MPI_INTEGER, root, comm, error)
        end if
        call finish('scatter in place')
        call MPI_Scatterv(f, counts, displs, MPI_INTEGER, t, n, MPI_INTEGER, root, comm, error)
        call finish('scatterv')
        call MPI_Allgather(f, n, MPI_INTEGER, t, n, MPI_INTEGER, comm, error)
        call finish('allgather')
        call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, f, n, MPI_INTEGER, comm, error)
        call finish('allgather in place')
        call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INTEGER, f, counts, displs, MPI_INTEGER, comm, error)
        call finish('allgatherv in place')
        call MPI_Alltoall(f, n, MPI_INTEGER, t, n, MPI_INTEGER, comm, error)
        call finish('alltoall')
        call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, f, n, MPI_INTEGER, comm, error)
        call finish('alltoall in place')
        call MPI_Alltoallv(f, counts, displs, MPI_INTEGER, t, counts, displs, MPI_INTEGER, comm, error)
        call finish('alltoallv')
        call MPI_Alltoallw(f, counts, bytes, types, t, counts, bytes, types, comm, error)
        call finish('alltoallw')
        if (rank == root) then
            call MPI_Reduce(MPI_IN_PLACE, f, n, MPI_INTEGER, MPI_SUM, root, comm, error)
        else
            call MPI_Reduce(f, t, n, MPI_INTEGER, MPI_SUM, root, comm, error)
        end if
        call finish('reduce in place')
        call MPI_Allreduce(f, t, n, MPI_INTEGER, MPI_MAX, comm, error)
        call finish('allreduce')
        call MPI_Allreduce(MPI_IN_PLACE, f, n, MPI_INTEGER, MPI_SUM, comm, error)
        call finish('allreduce in place')
        call MPI_Reduce_scatter(f, t, counts, MPI_INTEGER, MPI_SUM, comm, error)
        call finish('reduce_scatter')
        call MPI_Reduce_scatter_block(f, t, n, MPI_INTEGER, MPI_SUM, comm, error)
        call finish('reduce_scatter_block')
        call MPI_Scan(MPI_IN_PLACE, f, n, MPI_INTEGER, MPI_SUM, comm, error)
        call finish('scan in place')
        call MPI_Exscan(MPI_IN_PLACE, f, n, MPI_INTEGER, MPI_SUM, comm, error)
        if (rank == 0) f(1:n) = 0
        call finish('exscan in place')
        call MPI_Allreduce(f, t, n, MPI_INTEGER, op, comm, error)
        call finish('allreduce, composed')
    end subroutine

    subroutine nonblocking
        call begin
        call MPI_Ibarrier(comm, request, error)
        call ended('ibarrier')
        call MPI_Ibcast(f, n, MPI_INTEGER, root, comm, request, error)
        call ended('ibcast')
        call MPI_Igather(f, n, MPI_INTEGER, t, n, MPI_INTEGER, root, comm, request, error)
        call ended('igather')
        call MPI_Igatherv(f, n, MPI_INTEGER, t, counts, displs, MPI_INTEGER, root, comm, request, error)
        call ended('igatherv')
        call MPI_Iscatter(f, n, MPI_INTEGER, t, n, MPI_INTEGER, root, comm, request, error)
        call ended('iscatter')
        call MPI_Iscatterv(f, counts, displs, MPI_INTEGER, t, n, MPI_INTEGER, root, comm, request, error)
        call ended('iscatterv')
        call MPI_Iallgather(MPI_IN_PLACE, 0, MPI_INTEGER, f, n, MPI_INTEGER, comm, request, error)
        call ended('iallgather in place')
        call MPI_Iallgatherv(f, n, MPI_INTEGER, t, counts, displs, MPI_INTEGER, comm, request, error)
        call ended('iallgatherv')
        call MPI_Ialltoall(f, n, MPI_INTEGER, t, n, MPI_INTEGER, comm, request, error)
        call ended('ialltoall')
        call MPI_Ialltoallv(f, counts, displs, MPI_INTEGER, t, counts, displs, MPI_INTEGER, comm, request, error)
        call ended('ialltoallv')
        call MPI_Ialltoallw(f, counts, bytes, types, t, counts, bytes, types, comm, request, error)
        call ended('ialltoallw')
        call MPI_Ireduce(f, t, n, MPI_INTEGER, MPI_SUM, root, comm, request, error)
        call ended('ireduce')
        call MPI_Iallreduce(MPI_IN_PLACE, f, n, MPI_INTEGER, MPI_SUM, comm, request, error)
        call ended('iallreduce in place')
        call MPI_Ireduce_scatter(f, t, counts, MPI_INTEGER, MPI_SUM, comm, request, error)
        call ended('ireduce_scatter')
        call MPI_Ireduce_scatter_block(f, t, n, MPI_INTEGER, MPI_SUM, comm, request, error)
        call ended('ireduce_scatter_block')
        call MPI_Iscan(f, t, n, MPI_INTEGER, op, comm, request, error)
        call ended('iscan, composed')
        call MPI_Iexscan(f, t, n, MPI_INTEGER, MPI_SUM, comm, request, error)
        call ended('iexscan')
    end subroutine

    subroutine neighbors
        call begin
        call MPI_Neighbor_allgather(f, n, MPI_INTEGER, t, n, MPI_INTEGER, ring, error)
        call finish('neighbor_allgather')
        call MPI_Neighbor_allgatherv(f, n, MPI_INTEGER, t, counts, displs, MPI_INTEGER, ring, error)
        call finish('neighbor_allgatherv')
        call MPI_Neighbor_alltoall(f, n, MPI_INTEGER, t, n, MPI_INTEGER, ring, error)
        call finish('neighbor_alltoall')
        call MPI_Neighbor_alltoallv(f, counts, displs, MPI_INTEGER, t, counts, displs, MPI_INTEGER, ring, error)
        call finish('neighbor_alltoallv')
        call MPI_Neighbor_alltoallw(f, counts, places, types, t, counts, places, types, ring, error)
        call finish('neighbor_alltoallw')
        call MPI_Ineighbor_allgather(f, n, MPI_INTEGER, t, n, MPI_INTEGER, ring, request, error)
        call ended('ineighbor_allgather')
        call MPI_Ineighbor_alltoall(f, n, MPI_INTEGER, t, n, MPI_INTEGER, ring, request, error)
        call ended('ineighbor_alltoall')
    end subroutine

    ! Types of Fortran's own, and a buffer that only its type's addresses say.
    subroutine others
        flags = [rank == 0, .true., mod(rank + n, 2) == 0]
        call MPI_Allreduce(flags, all_flags, 3, MPI_LOGICAL, MPI_LAND, comm, error)
        write (10, *) 'logical', n, rank, all_flags
        pair = [dble(mod(rank + n, ranks)), dble(rank)]
        call MPI_Allreduce(pair, best, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, comm, error)
        write (10, *) 'location', n, rank, best
        z = cmplx(rank, n)
        call MPI_Allreduce(z, sum_of_z, 1, MPI_COMPLEX, MPI_SUM, comm, error)
        write (10, *) 'complex', n, rank, sum_of_z
        call MPI_Allreduce(pair, best, 2, MPI_DOUBLE_PRECISION, MPI_SUM, comm, error)
        write (10, *) 'double', n, rank, best
        call begin
        call MPI_Get_address(f, address, error)
        call MPI_Type_create_hindexed(1, [n], [address], MPI_INTEGER, absolute, error)
        call MPI_Type_commit(absolute, error)
        call MPI_Bcast(MPI_BOTTOM, 1, absolute, root, comm, error)
        call finish('bcast of the bottom')
        call MPI_Ibcast(MPI_BOTTOM, 1, absolute, root, comm, request, error)
        call MPI_Type_free(absolute, error)
        call ended('ibcast of the bottom')
    end subroutine

#ifdef PERSISTENT
    subroutine persistent
        integer :: requests(4), again
        call begin
        call mpix_bcast_init(f, n, MPI_INTEGER, root, comm, MPI_INFO_NULL, requests(1), error)
        call mpix_allreduce_init(MPI_IN_PLACE, t, n, MPI_INTEGER, MPI_SUM, comm, MPI_INFO_NULL, requests(2), error)
        call mpix_alltoall_init(f(100), n, MPI_INTEGER, t(100), n, MPI_INTEGER, comm, MPI_INFO_NULL, requests(3), error)
        call mpix_barrier_init(comm, MPI_INFO_NULL, requests(4), error)
        do again = 1, 3
            call MPI_Startall(4, requests, error)
            call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, error)
            call finish('persistent')
            call MPI_Start(requests(2), error)
            call MPI_Wait(requests(2), MPI_STATUS_IGNORE, error)
            call finish('persistent, alone')
        end do
        do again = 1, 4
            call MPI_Request_free(requests(again), error)
        end do
    end subroutine
#endif
end program

! The first of the two: associative, but it does not commute.
#ifdef F08
subroutine affine(a, b, n, of)
    use mpi_f08
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    implicit none
    type(c_ptr), value :: a, b
    integer :: n
    type(MPI_Datatype) :: of
    integer, pointer :: x(:), y(:)
    call c_f_pointer(a, x, [n])
    call c_f_pointer(b, y, [n])
    y = x
end subroutine
#else
subroutine affine(a, b, n, of)
    implicit none
    integer :: n, of, a(n), b(n)
    b = a
end subroutine
#endif
