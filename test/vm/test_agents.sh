# SPDX-License-Identifier: BSD-3-Clause
#
# bench/agents plays its three ways in a guest, with a rank that pauses for a short time.
set -eu
here=$(dirname "$0")
program=$NBCOLL_BINARY/bench/agents
if [ ! -x "$program" ]; then
    echo "bench/agents was not built"
    exit 77
fi
output=$(sh "$here/guest.sh" --cores 4 --limit 200 "$program" brief 5)
echo "$output"
[ "$(echo "$output" | grep -c '^allgather, ring, one pauses  *[0-9]*  *-*[0-9]*%  *-*[0-9]*%  *-*[0-9]*%')" -eq 2 ]
