# SPDX-License-Identifier: BSD-3-Clause
#
# With NBCOLL_PREFIX every global symbol of a vendored copy carries the prefix; and a name that prefix.h lacks is
# noticed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The global symbols of a prefixed copy (flags...) that do not carry the prefix.
unprefixed()
{
    "$CC" -w -O0 -DNBCOLL_PREFIX=acme_ "$@" -I"$NBCOLL_SOURCE/include" \
        -DNBCOLL_WITH_LOOPBACK -DNBCOLL_WITH_TRACE -DNBCOLL_WITH_FAULT \
        -c "$NBCOLL_SOURCE/src/nbcoll.c" -o "$work/copy.o"
    nm -g --defined-only "$work/copy.o" | awk 'NF == 3 && $3 !~ /^acme_/ { print $3 }'
}

missing=$(unprefixed)
[ -z "$missing" ] || { echo "not in prefix.h: $missing (see names.sh)" && exit 1; }

# The checker itself: a copy of the headers with one name less.
mkdir "$work/include"
cp -r "$NBCOLL_SOURCE/include/nbcoll" "$work/include"
sed '/nbcoll_status_name/d' "$NBCOLL_SOURCE/include/nbcoll/prefix.h" >"$work/include/nbcoll/prefix.h"
[ "$(unprefixed -I"$work/include")" = nbcoll_status_name ]
