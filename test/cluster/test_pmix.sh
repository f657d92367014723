# SPDX-License-Identifier: BSD-3-Clause
#
# Programs that are not MPI's, started by Open MPI's mpirun, find each other by PMIx; started by hand, by an id. Without
# either they say what is missing.
. "$NBCOLL_SOURCE/test/command/check.sh"
program=$NBCOLL_BINARY/examples/cluster/cluster
[ -x "$program" ] && command -v mpirun >/dev/null || exit 77
export LSAN_OPTIONS=detect_leaks=0 # libpmix has some
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

for ranks in 1 4; do
    timeout 60 mpirun --oversubscribe -n $ranks "$program" >"$work/out" 2>"$work/err" || fail "mpirun: $?"
    prints "$ranks ranks over shm"
done

mkfifo "$work/id"
timeout 60 "$program" 0 3 >"$work/id" &
{
    read -r id
    timeout 60 "$program" 1 3 "$id" &
    timeout 60 "$program" 2 3 "$id" || fail "rank 2: $?"
    wait $! || fail "rank 1: $?"
    cat >"$work/out"
} <"$work/id"
wait
prints '3 ranks over shm'

status=0
"$program" >"$work/out" 2>"$work/err" || status=$?
[ $status -eq 1 ] || fail "alone: $status"
grep -q '^finding the others: started without a launcher' "$work/err" || fail "what it says alone"
