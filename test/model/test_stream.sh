# SPDX-License-Identifier: BSD-3-Clause
#
# Streams through the staging buffer, model checked (stream.pml says what is checked): each rule has a variant without it that
# fails. A ring that is not a whole number of elements long ends in the middle of one, and both sides wait.
set -eu
model=stream.pml fair=-f
. "$NBCOLL_SOURCE/test/model/search.sh"

holds
holds -DTAGS=1 -DPIECES=3 -DWINDOW=2
holds -DTAGS=1 -DPIECES=4 -DWINDOW=2 -DUNIT=2
ends -DTAGS=1
breaks NO_THROUGH "$bytes"
breaks ONE_READER "$bytes"
breaks THROUGH_FIRST "$bytes"
breaks READY_FIRST "$bytes"
breaks REUSE_AT_ONCE "$bytes"
breaks WAIT_FOR_FAILED "$sleeps"
breaks NO_WAKE "$sleeps"
breaks NO_SECOND_LOOK "$sleeps"
