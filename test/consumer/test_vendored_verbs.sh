# SPDX-License-Identifier: BSD-3-Clause
#
# A vendored copy with -DNBCOLL_WITH_VERBS=1 has verbs: in src/nbcoll.c and in the one file that src/amalgamate.awk
# writes, by gcc and by clang, with a prefix for all its names or without. Where there is no device it says so.
transport=verbs header=infiniband/verbs.h library=ibverbs none=device
. "$NBCOLL_SOURCE/test/consumer/vendored.sh"
