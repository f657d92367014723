# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll topology` proves topologies of relays and prints them, and names what it cannot do.
. "$(dirname "$0")/check.sh"

# table 5.2 of the thesis
succeeds topology bruck --ranks 9
diff -u - "$work/out" <<'END' || fail "not table 5.2"
topology bruck: rank 0 of 9, 3 relays, 12 connections
relay 0: from nobody to 1_1 2_1 3_2 6_2
relay 1: from 7_0 8_0 to 3_2 6_2
relay 2: from 3_0 3_1 6_0 6_1 to nobody
END

# alone it lists the kinds: each of them can be printed
succeeds topology
cp "$work/out" "$work/kinds"
[ "$(wc -l <"$work/kinds")" -eq 5 ] || fail "not five kinds"
while read -r kind idea; do
    [ -n "$idea" ] || fail "not told what $kind is"
    succeeds topology "$kind" --ranks 4
done <"$work/kinds"

# one other rank, more ports
succeeds topology cayley --ranks 9 --ports 3 --rank 8
diff -u - "$work/out" <<'END' || fail "not rank 8"
topology cayley: rank 8 of 9, 2 relays, 3 connections
relay 0: from nobody to 2_2
relay 1: from 2_0 2_1 to nobody
END

# all ranks of all kinds
for kind in direct ring exchange bruck cayley; do
    succeeds topology $kind --ranks 13 --all
    [ "$(grep -c '^topology' "$work/out")" -eq 13 ] || fail "not all ranks of $kind"
done

# by nodes: 0 to 2; 3, 4; 5. Rank 0 has a relay for each of 1 and 2, rank 3 one for 4
succeeds topology bruck --nodes 3,2,1 --ports 1
diff -u - "$work/out" <<'END' || fail "not rank 0 of three nodes"
topology hierarchical bruck: rank 0 of 6, 5 relays, 21 connections
relay 0: from nobody to 1_1 2_1 3_1 5_1
relay 1: from 5_0 to 1_1 2_1 3_1
relay 2: from 3_0 3_2 to 1_1 2_1 5_1
relay 3: from 1_0 to 2_1 3_1 5_1
relay 4: from 2_0 to 1_1 3_1 5_1
END
succeeds topology ring --nodes 2x3 --numbering round-robin --rank 4
diff -u - "$work/out" <<'END' || fail "not rank 4 of two nodes"
topology hierarchical ring: rank 4 of 6, 2 relays, 4 connections
relay 0: from nobody to 0_3
relay 1: from 0_0 0_1 0_2 to nobody
END
for kind in direct ring exchange bruck cayley; do
    succeeds topology $kind --ranks 13 --nodes 3,1,4 --numbering random:7 --all
    [ "$(grep -c "^topology hierarchical $kind" "$work/out")" -eq 13 ] || fail "not all ranks of hierarchical $kind"
done
refuses "nbcoll topology: --nodes takes sizes like 4x8 or 3,1,4, at most 64 of them, or 4x8/2 with domains of two ranks, not 'x'" topology ring --nodes x

refuses "nbcoll topology: it takes one kind of topology" topology --ranks 4
refuses "nbcoll topology: unknown topology 'star'" topology star --ranks 4
refuses "nbcoll topology: --ranks is missing" topology ring
refuses "nbcoll topology: --rank 4: there are 4 ranks" topology ring --ranks 4 --rank 4
