# SPDX-License-Identifier: BSD-3-Clause
#
# examples/halo: over any grid of ranks the last change is that of one rank, to the bit.
. "$NBCOLL_SOURCE/test/command/check.sh"
program=$NBCOLL_BINARY/examples/halo/halo
[ -x "$program" ] || exit 77

for grid in '1 x 1' '2 x 1' '3 x 1' '2 x 2' '3 x 2' '4 x 2'; do
    succeeds run -n $((${grid% x *} * ${grid#* x })) --timeout 60 "$program"
    prints "$grid ranks: in round 500 no cell changed by more than 0.036626471750679457"
done
