# SPDX-License-Identifier: BSD-3-Clause
#
# bench/late plays all its ways, collectives and relays, with a rank that is late for a short time.
program=$NBCOLL_BINARY/bench/late
[ -x "$program" ] || {
    echo "bench/late was not built"
    exit 77
}
out=$("$program" 64 1000) || exit 1
echo "$out"
[ "$(echo "$out" | grep -c '^allgather ')" -eq 6 ] && [ "$(echo "$out" | grep -c '^relays ')" -eq 5 ] &&
    [ "$(echo "$out" | grep -c '^by nodes ')" -eq 2 ] && [ "$(echo "$out" | grep -c '^by agents ')" -eq 2 ]
