# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll info` as text: what the build has, and the copy paths found, or why they could not be; both are success.
. "$(dirname "$0")/check.sh"

# Of a machine that hwloc makes up: two L3 caches with two cores each.
export HWLOC_SYNTHETIC='l3:2 l2:2 core:1 pu:1'
succeeds info --ranks 2
if ! grep -qx 'places: this build is without nbcoll_affinity' "$work/out"; then
    prints 'places: 2 ranks on 4 cores: 2 idle for drivers, 1 on each'
    prints 'rank 0       on processor 0, its driver on 1: they share the L3 cache'
    prints 'rank 1       on processor 2, its driver on 3: they share the L3 cache'
    prints 'the machine: 0 packages, 1 memories, 4 cores, 4 processors'
    grep -Eqx 'L3 caches    2 of [0-9]+ KiB, each for 2 processors' "$work/out" || fail "no L3 caches"
    prints 'processors of the ranks, in turn, by --bind:'
    prints 'core         0 1'
    prints 'scatter      0 2'
    prints 'l3           0-1 2-3'
    succeeds info --ranks 4
    prints 'places: 4 ranks on 4 cores: no core to spare, drivers run where their ranks do'
    prints 'rank 3       on processor 3'
    # and of one as it was recorded
    unset HWLOC_SYNTHETIC
    HWLOC_XMLFILE=$(dirname "$0")/../affinity/epyc_7451.xml
    export HWLOC_XMLFILE
    succeeds info --ranks 38
    prints 'places: 38 ranks on 48 cores: 10 idle for drivers, 3 or 4 on each'
    prints 'rank 37      on processor 46, its driver on 47: they share the L3 cache'
    prints 'the machine: 2 packages, 8 memories, 48 cores, 96 processors'
    unset HWLOC_XMLFILE
fi
unset HWLOC_SYNTHETIC
refuses "nbcoll info: --ranks takes a number of 1..4096, not '0'" info --ranks 0

succeeds info
for title in barrier bcast types reductions transports vectors; do
    grep -q "^$title  *[^ ]" "$work/out" || fail "no $title"
done
grep -q '^schedules  *33554432 bytes of them a communicator keeps by default' "$work/out" || fail "no bound of schedules"
grep -q '^transports.* shm' "$work/out" || exit 0
prints 'how large data moves over shared memory, by trial:'
prints 'threads      by reference'
grep -Eq '^processes    (pieces or process_vm_readv|pieces|fragments), since: .' "$work/out" || fail "no path between processes"
prints 'mem_alloc    in place'
grep -Eqx 'shm +alpha [1-9][0-9]* ns, overhead [0-9]+ ns, beta [1-9][0-9]* ps, gamma .* ns;' "$work/out" || fail "no prices"
prints 'cells of a communicator, by default, in the shared memory of each rank:'
grep -Eq '^ 64 ranks +[0-9]+ bytes; the quota of 1048576 has room for 1[0-9] communicators' "$work/out" ||
    fail "no cells of 64 ranks"

status=0
sh -c 'ulimit -n 6; exec "$1" info' sh "$nbcoll" >"$work/out" 2>"$work/err" || status=$?
[ "$status" -eq 0 ] || fail "without descriptors: exit status $status"
for between in threads processes mem_alloc; do
    grep -Eq "^$between +not found out, since: .+" "$work/out" || fail "no reason why no path was found:"
done
