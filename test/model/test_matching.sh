# SPDX-License-Identifier: BSD-3-Clause
#
# How messages meet receives, model checked (matching.pml says what is checked): each rule has a variant without it that
# fails.
set -eu
model=matching.pml
. "$NBCOLL_SOURCE/test/model/search.sh"

holds
holds -DCREDITS=2
holds -DFIRST=3 -DSECOND=0 -DWITHDRAWS=2
holds -DPROBES=1 -DRECEIVES=1
holds -DPROBES=1 -DRECEIVES=1 -DFIRST=3 -DSECOND=0
breaks EXACT_FIRST "$bytes"
breaks NO_NUMBERS "$bytes"
breaks KEPT_ARE_PASSED_OVER "$bytes"
breaks ANNOUNCED_WAIT "$sleeps"
breaks NOT_AGAIN "$bytes"
breaks MATCHED_WITHDRAWN "$bytes"
breaks CREDITS_GROW "$bytes" -DFIRST=3 -DSECOND=0
breaks CREDIT_OF_A_PROBE "$bytes" -DPROBES=1 -DRECEIVES=1
breaks PROBED_STAYS "$bytes" -DPROBES=1 -DRECEIVES=1
breaks PROBED_WITHDRAWN "$bytes" -DPROBES=1 -DRECEIVES=1
