# SPDX-License-Identifier: BSD-3-Clause
#
# A vendored copy with -DNBCOLL_WITH_OFI=1 has ofi: in src/nbcoll.c and in the one file that src/amalgamate.awk
# writes, by gcc and by clang, with a prefix for all its names or without. Where there is no such provider it says so.
transport=ofi header=rdma/fabric.h library=fabric none=provider
. "$NBCOLL_SOURCE/test/consumer/vendored.sh"
