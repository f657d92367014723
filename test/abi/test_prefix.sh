# SPDX-License-Identifier: BSD-3-Clause
#
# With NBCOLL_PREFIX the global symbols of a copy in one file are the names in prefix.h, each with the prefix; and a name
# that prefix.h lacks is noticed. Of the tree's src/nbcoll.c the prefix is refused.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2046 # words
with=$(sh "$NBCOLL_SOURCE/src/components.sh" flags $(sh "$NBCOLL_SOURCE/src/components.sh" names parts))

# compare tree: what is listed there with what a copy made from there defines.
compare()
{
    sed -n 's/^#define \(nbcoll[a-z0-9_]*\) .*/acme_\1/p' "$1/include/nbcoll/prefix.h" >"$work/listed"
    (cd "$1" && awk -v with=all -v prefix=1 -f src/amalgamate.awk) >"$work/nbcoll.h"
    printf '#define NBCOLL_IMPLEMENTATION\n#include "nbcoll.h"\n' >"$work/nbcoll.c"
    # shellcheck disable=SC2086 # words
    "$CC" -w -O0 -DNBCOLL_PREFIX=acme_ $with -c "$work/nbcoll.c" -o "$work/copy.o"
    nm -g --defined-only "$work/copy.o" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort >"$work/defined"
    diff "$work/listed" "$work/defined"
}

compare "$NBCOLL_SOURCE"

# The checker itself: a copy of the tree with one name less.
cp -r "$NBCOLL_SOURCE/include" "$NBCOLL_SOURCE/src" "$NBCOLL_SOURCE/transports" "$NBCOLL_SOURCE/LICENSE" "$work"
sed -i '/nbcoll_status_name/d' "$work/include/nbcoll/prefix.h"
[ "$(compare "$work" | sed -n 's/^[<>] //p')" = nbcoll_status_name ]

! "$CC" -fsyntax-only -DNBCOLL_PREFIX=acme_ -I"$NBCOLL_SOURCE/include" "$NBCOLL_SOURCE/src/nbcoll.c" 2>"$work/said"
grep -q 'error.*NBCOLL_PREFIX needs the one-file form' "$work/said"
