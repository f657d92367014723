# SPDX-License-Identifier: BSD-3-Clause
#
# Two copies of nbcoll in one process. Linked into one program each has a prefix of its own; in two shared libraries,
# loaded with all their symbols visible to each other, they need none: no symbol of an embedded copy can be seen, in
# whichever way it was embedded. Each copy does its sums.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$NBCOLL_SOURCE/test/consumer
flags="-w -O0 -fPIC -DNBCOLL_WITH_LOOPBACK -I$NBCOLL_SOURCE/include"

# alone library function: all that it exports
alone()
{
    exported=$(nm -D --defined-only "$1" | awk '{ print $3 }')
    [ "$exported" = "$2" ] || { echo "$1 exports: $exported" && exit 1; }
}

mkdir "$work/alone"
(cd "$NBCOLL_SOURCE" && awk -v prefix=1 -f src/amalgamate.awk) >"$work/alone/nbcoll.h"
printf '#define NBCOLL_IMPLEMENTATION\n#include "nbcoll.h"\n' >"$work/alone/nbcoll.c"
for name in acme beta; do
    # shellcheck disable=SC2086 # the flags are words
    "$CC" $flags -DNBCOLL_PREFIX=${name}_ -c "$work/alone/nbcoll.c" -o "$work/nbcoll_$name.o"
    # shellcheck disable=SC2086
    "$CC" $flags -DNBCOLL_PREFIX=${name}_ -DPLUGIN=run_$name -c "$here/program.c" -o "$work/program_$name.o"
done
"$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$here/both.c" "$work"/*_acme.o "$work"/*_beta.o -o "$work/both"
"$work/both"
"$CC" -shared "$work"/*_acme.o -o "$work/acme.so"
alone "$work/acme.so" run_acme

printf '#define NBCOLL_IMPLEMENTATION\n#include "%s"\n' "$here/program.c" >"$work/brings.c"
for compiler in gcc clang; do
    # shellcheck disable=SC2086
    $compiler $flags -DPLUGIN=run_$compiler -shared "$work/brings.c" -o "$work/$compiler.so"
    alone "$work/$compiler.so" run_$compiler
done
"$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$here/loader.c" -o "$work/loader" -ldl
"$work/loader" "$work/gcc.so" run_gcc "$work/clang.so" run_clang
