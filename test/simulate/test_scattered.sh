# SPDX-License-Identifier: BSD-3-Clause
#
# bench/scattered, which measures what the virtual NIC takes for copies that lie apart, measures five lengths.
program=$NBCOLL_BINARY/bench/scattered
[ -x "$program" ] || {
    echo "bench/scattered was not built"
    exit 77
}
out=$("$program" 1) || exit 1
echo "$out"
[ "$(echo "$out" | grep -c '^ *[0-9]* *[0-9]* *[0-9]* [0-9.]* (')" -eq 5 ]
