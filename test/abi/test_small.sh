# SPDX-License-Identifier: BSD-3-Clause
#
# nbcoll is small: the one-file form with loopback and shm, the machine code that it becomes, the program that calls
# one collective, the engine and the command are no larger than the bars below. Who makes something smaller lowers its
# bar. A bar rises only by what a new function of the core takes: types of units and operations that are resolved took
# 145 lines of the one file, 5 KB of its text and 5 KB of hello; 32-bit counts (nbcoll_ints) 40 lines of the one file;
# messages that are abandoned 20 of the engine; `nbcoll run --hosts` 349 and `nbcoll mpirun` 97 of the command.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$NBCOLL_SOURCE"

# within figure unit bar: the figure is no larger than the bar, and not so much smaller that the bar says nothing.
failed=0
within()
{
    echo "$1: $2 $3, at most $4"
    [ "$2" -le "$4" ] || failed=1
    [ "$2" -ge $(($4 * 9 / 10)) ] || { echo "$1: lower the bar" && failed=1; }
}

text()
{
    size "$1" | awk 'NR == 2 { print $1 }'
}

# Lines without comments and blanks, of the C files in the folders.
code_lines()
{
    find "$@" -name '*.[ch]' -exec "$CC" -fpreprocessed -dD -E -P {} \; 2>/dev/null | grep -c '[^[:space:]]'
}

awk -f src/amalgamate.awk >"$work/nbcoll.h"
printf '#define NBCOLL_IMPLEMENTATION\n#include "nbcoll.h"\n' >"$work/one.c"
"$CC" -w -O2 -DNBCOLL_WITH_LOOPBACK -DNBCOLL_WITH_SHM -c "$work/one.c" -o "$work/one.o"
"$CC" -w -O2 -Iinclude examples/hello/*.c "$NBCOLL_BINARY/libnbcoll.a" -pthread -lm -o "$work/hello"
strip "$work/hello"

within 'one file' "$(wc -l <"$work/nbcoll.h")" lines 33340
within 'its text' $(($(text "$work/one.o") / 1000)) KB 443
within 'hello, static' $(($(text "$work/hello") / 1000)) KB 341
within 'src/engine' "$(find src/engine -name '*.[ch]' -exec cat {} + | wc -l)" lines 13676
within 'src/engine without comments' "$(code_lines src/engine)" lines 10492
within 'src/command' "$(find src/command -name '*.[ch]' -exec cat {} + | wc -l)" lines 10726
exit $failed
