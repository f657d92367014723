# SPDX-License-Identifier: BSD-3-Clause
#
# bench/nodes plays its four ways, with the ranks on core 0 and who works for them on core 1.
program=$NBCOLL_BINARY/bench/nodes
[ -x "$program" ] || {
    echo "bench/nodes was not built"
    exit 77
}
taskset -c 0,1 true 2>/dev/null && [ "$(taskset -c 0,1 nproc)" -eq 2 ] || {
    echo "there are no cores 0 and 1"
    exit 77
}
out=$("$program" 1024 1) || exit 1
echo "$out"
[ "$(echo "$out" | grep -c '^ *1024  engines')" -eq 2 ] && [ "$(echo "$out" | grep -c '^ *1024  agents')" -eq 2 ]
