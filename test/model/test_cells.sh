# SPDX-License-Identifier: BSD-3-Clause
#
# The protocol of cells, model checked (cells.pml says what is checked, and of what): it holds in each configuration, in
# all interleavings, and no longer does when one of its rules is left out. NBCOLL_FULL adds larger configurations.
set -eu
model=cells.pml
. "$NBCOLL_SOURCE/test/model/search.sh"

holds -DCANCELS=1
holds -DCANCELS=1 -DREFERENCE
holds -DCANCELS=1 -DREFERENCE -DTAGS=2 -DPIECES=2
holds -DCANCELS=1 -DTAGS=2 -DPIECES=2 -DAPART
holds -DCANCELS=1 -DTAGS=2 -DPIECES=2 -DTWO_LOOKS
holds -DCANCELS=1 -DREFERENCE -DTAGS=2 -DPATIENCE
holds -DCANCELS=1 -DREFERENCE -DTAGS=2 -DWIRING=EXCHANGE
holds -DCANCELS=2 -DTAGS=2
holds -DREFERENCE -DSLOTS=2 -DWIRING=TURNS
holds -DREFERENCE -DRANKS=3 -DTAGS=2
holds -DREFERENCE -DRANKS=3 -DTAGS=2 -DWIRING=CHAIN
ends -DPIECES=2 -DREFERENCE
ends -DCANCELS=1 -DREFERENCE -DTAGS=2
ends -DREFERENCE -DSLOTS=2 -DWIRING=TURNS

if [ -n "${NBCOLL_FULL-}" ]; then
    holds -DCANCELS=1 -DREFERENCE -DPIECES=2 -DAPART
    holds -DCANCELS=2
    holds -DCANCELS=2 -DREFERENCE -DTAGS=2
    holds -DCANCELS=1 -DREFERENCE -DWIRING=EXCHANGE
    holds -DCANCELS=1 -DREFERENCE -DSLOTS=2 -DWIRING=TURNS
    holds -DREFERENCE -DRANKS=3 -DTAGS=2 -DPIECES=2 -DWIRING=CHAIN
fi

breaks NO_REUSE "$bytes"
breaks SHOW_FIRST "$bytes" -DREFERENCE -DPIECES=2
breaks ACK_FIRST "$bytes" -DREFERENCE
breaks COUNT_OUT_OF_ORDER "$bytes" -DREFERENCE -DPIECES=2
breaks NO_SECOND_LOOK "$sleeps"
breaks RING_FIRST "$sleeps"
breaks NO_RING_AT_ACK "$sleeps" -DREFERENCE
breaks SETTLE_AT_ONCE "$bytes" -DREFERENCE -DCANCELS=1
breaks NEED_SHOWN_ONLY "$bytes" -DTAGS=2 -DPIECES=2 -DCANCELS=1 -DTWO_LOOKS
breaks NO_ANSWER "$sleeps" -DREFERENCE -DTAGS=2 -DCANCELS=1 -DPATIENCE
breaks RAISE_EARLY "$bytes" -DREFERENCE -DCANCELS=1
breaks RAISE_OVER_QUEUED "$bytes" -DREFERENCE -DCANCELS=1
breaks RAISE_AT_END "$sleeps" -DREFERENCE -DTAGS=2 -DCANCELS=1 -DWIRING=EXCHANGE
breaks RAISE_LAST_ONLY "$sleeps" -DCANCELS=2
