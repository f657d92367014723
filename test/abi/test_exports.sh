# SPDX-License-Identifier: BSD-3-Clause
#
# The shared library exports the names of src/nbcoll.map, no more and no fewer, all of them public and with the version
# of the ABI; and the map lists every public function. So does a copy that a host embeds with NBCOLL_EXPORT, which hides
# nothing of the system's.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
with='-DNBCOLL_WITH_LOOPBACK -DNBCOLL_WITH_SHM'
map=$NBCOLL_SOURCE/src/nbcoll.map

# shellcheck disable=SC2086 # words
"$CC" -w -O0 -fPIC -DNBCOLL_EXPORT -I"$NBCOLL_SOURCE/include" $with -c "$NBCOLL_SOURCE/src/nbcoll.c" -o "$work/nbcoll.o"
readelf -Ws "$work/nbcoll.o" >"$work/symbols"
[ -z "$(awk '$6 == "HIDDEN" && $7 == "UND" { print $8 }' "$work/symbols")" ]
sed -n 's/^ *\(nbcoll_[a-z0-9_]*\);$/\1/p' "$map" >"$work/listed"
awk '$5 == "GLOBAL" && $6 == "DEFAULT" && $7 != "UND" { print $8 }' "$work/symbols" | LC_ALL=C sort |
    diff "$work/listed" -

"$CC" -shared -Wl,--no-undefined -Wl,--version-script="$map" "$work/nbcoll.o" -o "$work/libnbcoll.so"
nm -D --defined-only --with-symbol-versions "$work/libnbcoll.so" | awk '$2 == "T" { print $3 }' >"$work/versioned"
abi=$(sed -n 's/^#define NBCOLL_ABI \([0-9]*\).*/\1/p' "$NBCOLL_SOURCE/include/nbcoll/nbcoll.h")
[ -z "$(grep -v "^nbcoll_[a-z0-9_]*@@NBCOLL_$abi\$" "$work/versioned")" ]
nm -D --defined-only --without-symbol-versions "$work/libnbcoll.so" | awk '$2 != "A" { print $3 }' |
    LC_ALL=C sort >"$work/exported"
diff "$work/listed" "$work/exported"

# What the headers declare: the name before the first parenthesis of each NBCOLL_API declaration. Components have
# libraries of their own.
cp "$NBCOLL_SOURCE"/include/nbcoll/*.h "$work"
# shellcheck disable=SC2046 # words
for header in $(sh "$NBCOLL_SOURCE/src/components.sh" headers $(sh "$NBCOLL_SOURCE/src/components.sh" names)); do
    rm "$work/$header.h"
done
sed -n 's/^NBCOLL_API [^(]*[ *]\(nbcoll_[a-z0-9_]*\)(.*/\1/p' "$work"/*.h | LC_ALL=C sort >"$work/declared"
diff "$work/declared" "$work/listed"
