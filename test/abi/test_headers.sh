# SPDX-License-Identifier: BSD-3-Clause
#
# Each public header compiles alone, as C11 and as C++17, with and without a prefix, by gcc and by clang, without a
# warning; and none needs atomics of the including program.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict="-Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only -I$NBCOLL_SOURCE/include"
failed=0

try()
{
    "$@" || { echo "refused: $*" && failed=1; }
}

for header in "$NBCOLL_SOURCE"/include/nbcoll/*.h; do
    name=$(basename "$header")
    printf '#include <nbcoll/%s>\nextern int alone;\n' "$name" >"$work/alone.c"
    cp "$work/alone.c" "$work/alone.cpp"
    if sed 's|//.*||' "$header" | grep -n '_Atomic\|stdatomic'; then
        echo "$name uses atomics"
        failed=1
    fi
    for prefix in "" -DNBCOLL_PREFIX=acme_; do
        try gcc -std=c11 $strict $prefix "$work/alone.c"
        try g++ -std=c++17 $strict $prefix "$work/alone.cpp"
        try clang -std=c11 $strict $prefix "$work/alone.c"
        try clang++ -std=c++17 $strict $prefix "$work/alone.cpp"
    done
done
exit $failed
