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

refuses "nbcoll wiring: it takes one kind of wiring" wiring --ranks 4
refuses "nbcoll wiring: unknown wiring 'star'" wiring star --ranks 4
refuses "nbcoll wiring: --ranks is missing" wiring ring
refuses "nbcoll wiring: --rank 4: there are 4 ranks" wiring ring --ranks 4 --rank 4
