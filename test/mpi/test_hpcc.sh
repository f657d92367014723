# SPDX-License-Identifier: BSD-3-Clause
#
# The HPC Challenge, as Debian has it for Open MPI, finds no errors through the door: with 4 ranks, and little data.
. "$NBCOLL_SOURCE/test/mpi/door.sh"
input=/usr/share/doc/hpcc/examples/_hpccinf.txt
[ -e "$input" ] && command -v hpcc >/dev/null || { echo "skipped: hpcc is not installed"; exit 77; }

# none PATTERN: there are such lines, each of which says that no tests were of this kind
none()
{
    grep -q "$1" hpccoutf.txt || fail "$1: it does not say"
    ! grep "$1" hpccoutf.txt | grep -v '^ *0 ' || fail "some tests are such"
}

check()
{
    sed '6s/[0-9]*/200/; 8s/[0-9]*/40/' "$input" >hpccinf.txt # rows and columns of matrices, and of their blocks
    run 4 report,all hpcc
    served MPI_Barrier MPI_Bcast MPI_Reduce MPI_Allreduce MPI_Gather MPI_Alltoall
    grep -q '^Success=1$' hpccoutf.txt || fail "no success"
    none 'completed and failed residual checks'
    ! grep 'Found .* errors in' hpccoutf.txt | grep -v 'Found 0 errors .*(passed)' || fail "errors were found"
    ! grep 'Node(s) with error' hpccoutf.txt | grep -v 'error 0$' || fail "nodes had errors"
}
cd "$work"
with_mpi check openmpi
