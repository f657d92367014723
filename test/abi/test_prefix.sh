# SPDX-License-Identifier: BSD-3-Clause
#
# With NBCOLL_PREFIX the global symbols of a vendored copy are the names in prefix.h, each with the prefix; and a name
# that prefix.h lacks is noticed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
with='-DNBCOLL_WITH_LOOPBACK -DNBCOLL_WITH_SHM -DNBCOLL_WITH_LAB'

# compare include-directory: what is listed there with what a copy made from there defines.
compare()
{
    sed -n 's/^#define \(nbcoll[a-z0-9_]*\) .*/acme_\1/p' "$1/nbcoll/prefix.h" >"$work/listed"
    "$CC" -w -O0 -DNBCOLL_PREFIX=acme_ -I"$1" $with -c "$NBCOLL_SOURCE/src/nbcoll.c" -o "$work/copy.o"
    nm -g --defined-only "$work/copy.o" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort >"$work/defined"
    diff "$work/listed" "$work/defined"
}

compare "$NBCOLL_SOURCE/include"

# The checker itself: a copy of the headers with one name less.
cp -r "$NBCOLL_SOURCE/include" "$work"
sed -i '/nbcoll_status_name/d' "$work/include/nbcoll/prefix.h"
[ "$(compare "$work/include" | sed -n 's/^[<>] //p')" = nbcoll_status_name ]
