# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll wiring` proves wirings of relays and prints them, and names what it cannot do.
. "$(dirname "$0")/check.sh"

# table 5.2 of the thesis
succeeds wiring bruck --ranks 9
diff -u - "$work/out" <<'END' || fail "not table 5.2"
wiring bruck: rank 0 of 9, 3 relays, 12 connections
relay 0: from nobody to 1_1 2_1 3_2 6_2
relay 1: from 7_0 8_0 to 3_2 6_2
relay 2: from 3_0 3_1 6_0 6_1 to nobody
END

# alone it lists the kinds: each of them can be printed
succeeds wiring
cp "$work/out" "$work/kinds"
[ "$(wc -l <"$work/kinds")" -eq 5 ] || fail "not five kinds"
while read -r kind idea; do
    [ -n "$idea" ] || fail "not told what $kind is"
    succeeds wiring "$kind" --ranks 4
done <"$work/kinds"

# one other rank, more ports
succeeds wiring cayley --ranks 9 --ports 3 --rank 8
diff -u - "$work/out" <<'END' || fail "not rank 8"
wiring cayley: rank 8 of 9, 2 relays, 3 connections
relay 0: from nobody to 2_2
relay 1: from 2_0 2_1 to nobody
END

# all ranks of all kinds
for kind in direct ring exchange bruck cayley; do
    succeeds wiring $kind --ranks 13 --all
    [ "$(grep -c '^wiring' "$work/out")" -eq 13 ] || fail "not all ranks of $kind"
done

# by nodes: 0 to 2; 3, 4; 5. Rank 0 has a relay for each of 1 and 2, rank 3 one for 4
succeeds wiring bruck --nodes 3,2,1 --ports 1
diff -u - "$work/out" <<'END' || fail "not rank 0 of three nodes"
wiring bruck by nodes: rank 0 of 6, 5 relays, 21 connections
relay 0: from nobody to 1_1 2_1 3_1 5_1
relay 1: from 5_0 to 1_1 2_1 3_1
relay 2: from 3_0 3_2 to 1_1 2_1 5_1
relay 3: from 1_0 to 2_1 3_1 5_1
relay 4: from 2_0 to 1_1 3_1 5_1
END
succeeds wiring ring --nodes 2x3 --numbering round-robin --rank 4
diff -u - "$work/out" <<'END' || fail "not rank 4 of two nodes"
wiring ring by nodes: rank 4 of 6, 2 relays, 4 connections
relay 0: from nobody to 0_3
relay 1: from 0_0 0_1 0_2 to nobody
END
for kind in direct ring exchange bruck cayley; do
    succeeds wiring $kind --ranks 13 --nodes 3,1,4 --numbering random:7 --all
    [ "$(grep -c "^wiring $kind by nodes" "$work/out")" -eq 13 ] || fail "not all ranks of $kind by nodes"
done
refuses "nbcoll wiring: --nodes takes sizes like 4x8 or 3,1,4, at most 64 of them, or 4x8/2 with domains of two ranks, not 'x'" wiring ring --nodes x

refuses "nbcoll wiring: it takes one kind of wiring" wiring --ranks 4
refuses "nbcoll wiring: unknown wiring 'star'" wiring star --ranks 4
refuses "nbcoll wiring: --ranks is missing" wiring ring
refuses "nbcoll wiring: --rank 4: there are 4 ranks" wiring ring --ranks 4 --rank 4
