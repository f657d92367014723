# SPDX-License-Identifier: BSD-3-Clause
#
# The numbers of frozen.c hold, in C and in C++; they are of all structs, members, enumerators and numeric macros of the
# public headers; and one that is wrong, or missing, is noticed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
table=$NBCOLL_SOURCE/test/abi/frozen.c

[ "$(getconf LONG_BIT)" = 64 ] || exit 77
"$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$NBCOLL_SOURCE/include" "$table"
"$CXX" -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$NBCOLL_SOURCE/include" "$table"

sed 's/^\(OFFSET(nbcoll_request, generation,\) 8/\1 12/' "$table" >"$work/wrong.c"
if cmp -s "$table" "$work/wrong.c"; then echo "the table has no such row" && exit 1; fi
if "$CC" -std=c11 -fsyntax-only -I"$NBCOLL_SOURCE/include" "$work/wrong.c" 2>"$work/said"; then
    echo "a wrong offset is accepted" && exit 1
fi
grep -q 'the ABI has changed' "$work/said"

# public: what there is, as it begins in the table. An enumerator that ends in _COUNT grows when others are appended.
for header in "$NBCOLL_SOURCE"/include/nbcoll/*.h; do
    echo "#include <nbcoll/$(basename "$header")>"
done >"$work/all.c"
"$CC" -std=c11 -E -P -I"$NBCOLL_SOURCE/include" "$work/all.c" >"$work/all.i"
{
    sed -n 's/.*struct \(nbcoll_[a-z0-9_]*\) {.*/SIZE(\1,/p' "$work/all.i"
    awk '/enum [a-z0-9_]* *{/ { inside = 1 } inside { print } /}/ { inside = 0 }' "$work/all.i" |
        grep -o 'NBCOLL_[A-Z0-9_]*' | grep -v '^NBCOLL_[A-Z]*_COUNT$' | sed 's/.*/VALUE(&,/'
    "$CC" -std=c11 -E -dM -I"$NBCOLL_SOURCE/include" "$work/all.c" |
        sed -n '/[{"]\|(void\|__attribute__/d; s/^#define \(NBCOLL_[A-Z0-9_]*\) ..*/VALUE(\1,/p'
    clang -std=c11 -fsyntax-only -Xclang -fdump-record-layouts -I"$NBCOLL_SOURCE/include" "$table" |
        sed -n 's/^ *0 | struct \(nbcoll_[a-z0-9_]*\)$/\1/p; s/^ *[0-9]* |   [^ ].* \([a-z0-9_]*\)$/ \1/p' |
        awk '/^ / { print "OFFSET(" record ", " $1 "," } /^[^ ]/ { record = $1 }'
} >"$work/public"

# missing table: what it lacks.
missing()
{
    while read -r entry; do
        grep -qF "$entry" "$1" || echo "$entry"
    done <"$work/public"
}

lacking=$(missing "$table")
[ -z "$lacking" ] || { echo "frozen.c lacks $lacking" && exit 1; }

for entry in 'SIZE(nbcoll_shm_peer,' 'OFFSET(nbcoll_shm_peer, why,' 'VALUE(NBCOLL_SHM_BY_CMA,' \
    'VALUE(NBCOLL_SHM_RANKS,'; do
    grep -vF "$entry" "$table" >"$work/less.c"
    [ "$(missing "$work/less.c")" = "$entry" ] || { echo "not noticed: $entry" && exit 1; }
done
