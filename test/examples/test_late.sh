# SPDX-License-Identifier: BSD-3-Clause
#
# examples/late: it ends well, whichever rank is late; launch/test_timeline records it.
set -eu
for rank in 0 1; do
    "$NBCOLL_BINARY/nbcoll" run -n 2 "$NBCOLL_BINARY/examples/late/late" $rank 1
done
