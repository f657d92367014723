# SPDX-License-Identifier: BSD-3-Clause
#
# Messages that agents carry, model checked (routes.pml says what is checked): each rule has a variant without it that
# fails.
set -eu
model=routes.pml
. "$NBCOLL_SOURCE/test/model/search.sh"

holds -DMESSAGES=2 -DRECEIVES=2
holds -DMESSAGES=2 -DRECEIVES=3
holds -DMESSAGES=3 -DRECEIVES=2
breaks SENDER_GOES_ON "$bytes"
breaks WILDCARD_STAYS "$bytes"
breaks EARLY_WITHDRAWN "$bytes"
breaks COUNTS_BEFORE "$bytes"
