# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll info` as text: what the build has, and the copy paths found, or why they could not be; both are success.
. "$(dirname "$0")/check.sh"

# Of a machine that hwloc makes up: two L3 caches with two cores each.
export HWLOC_SYNTHETIC='l3:2 l2:2 core:1 pu:1'
succeeds info --ranks 2
prints 'places                 ranks 2, cores 4, idle 2, why 2 ranks on 4 cores: 2 idle for drivers, 1 on each'
prints '  places               rank 0, driver 1, share the L3 cache'
prints '  places               rank 2, driver 3, share the L3 cache'
prints 'machine                packages 0, memories 1, cores 4, processors 4'
grep -Eqx '  caches +level 3, count 2, bytes [0-9]+, processors 2' "$work/out" || fail "no L3 caches"
prints '  core                 0 1'
prints '  scatter              0 2'
prints '  l3                   0-1 2-3'
succeeds info --ranks 4
grep -q ', why 4 ranks on 4 cores: no core to spare, drivers run where their ranks do$' "$work/out" || fail "no reason"
prints '  places               rank 3, driver -1, share the core'
# and of one as it was recorded
unset HWLOC_SYNTHETIC
HWLOC_XMLFILE=$(dirname "$0")/../affinity/epyc_7451.xml
export HWLOC_XMLFILE
succeeds info --ranks 38
grep -q ', why 38 ranks on 48 cores: 10 idle for drivers, 3 or 4 on each$' "$work/out" || fail "no reason"
prints '  places               rank 46, driver 47, share the L3 cache'
prints 'machine                packages 2, memories 8, cores 48, processors 96'
unset HWLOC_XMLFILE
refuses "nbcoll info: --ranks takes a number of 1..4096, not '0'" info --ranks 0

succeeds info
for title in barrier bcast types reductions transports vectors; do
    grep -q "^ *$title  *[^ ]" "$work/out" || fail "no $title"
done
prints 'schedules              most 33554432'
grep -q '^transports.* shm' "$work/out" || exit 0
prints '  threads              path by reference'
grep -Eq '^  processes +path (pieces or process_vm_readv|pieces|fragments), why .' "$work/out" ||
    fail "no path between processes"
prints '  mem_alloc            path in place'
grep -Eqx 'prices +transport shm, payload [1-9][0-9]*, alpha_ns [1-9][0-9]*, beta_ps [1-9][0-9]*, overhead_ns .*' \
    "$work/out" || fail "no prices"
grep -Eq '^cells +ranks 64, bytes [0-9]+, quota 1048576, communicators 1[0-9]$' "$work/out" || fail "no cells of 64 ranks"

status=0
sh -c 'ulimit -n 6; exec "$1" info' sh "$nbcoll" >"$work/out" 2>"$work/err" || status=$?
[ "$status" -eq 0 ] || fail "without descriptors: exit status $status"
for between in threads processes mem_alloc; do
    grep -Eq "^  $between +path -, why .+" "$work/out" || fail "no reason why no path was found:"
done
