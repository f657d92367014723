# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll info` as text: what the build has, and the copy paths found, or why they could not be; both are success.
. "$(dirname "$0")/check.sh"

succeeds info
for title in barrier bcast types reductions transports vectors; do
    grep -q "^$title  *[^ ]" "$work/out" || fail "no $title"
done
grep -q '^transports.* shm' "$work/out" || exit 0
prints 'how large data moves over shared memory, by trial:'
prints 'threads      by reference'
grep -Eq '^processes    (pieces or process_vm_readv|pieces|fragments), since: .' "$work/out" || fail "no path between processes"
prints 'mem_alloc    in place'
prints 'cells of a communicator, by default, in the shared memory of each rank:'
grep -Eq '^ 64 ranks +[0-9]+ bytes; the quota of 1048576 has room for 1[0-9] communicators' "$work/out" ||
    fail "no cells of 64 ranks"

status=0
sh -c 'ulimit -n 6; exec "$1" info' sh "$nbcoll" >"$work/out" 2>"$work/err" || status=$?
[ "$status" -eq 0 ] || fail "without descriptors: exit status $status"
for between in threads processes mem_alloc; do
    grep -Eq "^$between +not found out, since: .+" "$work/out" || fail "no reason why no path was found:"
done
