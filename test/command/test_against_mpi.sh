# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll bench --against` runs beside each MPI for which there is a program, checks what it measures, and does not time
# what is wrong. How long anything took is not looked at.
. "$(dirname "$0")/check.sh"

peers=
for peer in openmpi mpich; do
    [ ! -x "$NBCOLL_BINARY/bench/against/$peer" ] || peers="$peers $peer"
done
[ -n "$peers" ] || exit 77

# Every operation; a size below and one above what memory of nbcoll_mem_alloc is measured from; buffers both ways.
operations="barrier bcast scatter gather allgather alltoall reduce allreduce"
for peer in $peers; do
    run bench --against $peer --count 2,16384 --buffers both --rounds 2 --iterations 2 --parts --relaxed --csv
    [ "$status" -eq 0 ] || fail "$peer: exit status $status"
    ! grep -v "^wrong, not timed: MPI*CH .*, persistent \|^wrong, not timed: Open MPI .*, persistent " "$work/err" ||
        fail "$peer: more than persistent requests of the peer is wrong:"
    for operation in $operations; do
        rows=18 # three forms, two kinds of buffers, and three kinds of size and memory
        [ $operation != barrier ] || rows=3
        [ "$(grep -c "^$operation,2," "$work/out")" -eq $rows ] || fail "$peer: not $rows rows of $operation"
    done
done

# more ranks than cores of most machines, over Open MPI, which yields
run bench bcast allreduce --against openmpi --ranks 3 --count 300 --rounds 1 --iterations 1 --relaxed --csv
[ ! -x "$NBCOLL_BINARY/bench/against/openmpi" ] || [ "$status" -eq 0 ] || fail "3 ranks: exit status $status"

# what is made wrong is found, and not timed
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for peer in $peers; do
    launcher=mpirun
    ! command -v mpirun.$peer >/dev/null || launcher=mpirun.$peer
    options=-bind-to
    [ $peer = mpich ] || options="--oversubscribe --bind-to"
    # shellcheck disable=SC2086 # the options are words
    $launcher $options none -n 2 "$NBCOLL_BINARY/bench/against/$peer" -o reduce -c 5 -r 2 -i 2 -k -s nbcoll >"$work/out" \
        2>"$work/err" || fail "$peer: made wrong, it fails"
    grep -q '"library":"nbcoll","memory":"private","form":"blocking","right":false}' "$work/out" ||
        fail "$peer: made wrong, nbcoll is right"
    grep -q '"library":"mpi","memory":"private","form":"blocking","right":true,"iterations":2,.*"us":' "$work/out" ||
        fail "$peer: made wrong, the MPI is wrong"
done
