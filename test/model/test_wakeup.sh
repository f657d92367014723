# SPDX-License-Identifier: BSD-3-Clause
#
# The sleeper's bargain with store buffers, model checked (wakeup.pml says what is checked): it holds with the kernel's
# barrier and with seq_cst stores, and no longer does when one of its rules is left out.
set -eu
model=wakeup.pml
. "$NBCOLL_SOURCE/test/model/search.sh"

holds
holds -DFENCED
breaks NO_BARRIER "$sleeps"
breaks BARRIER_FIRST "$sleeps"
breaks LOOK_FIRST "$sleeps"
breaks NO_SECOND_LOOK "$sleeps"
breaks NO_SECOND_LOOK "$sleeps" -DFENCED
