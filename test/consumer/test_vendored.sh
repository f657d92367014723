# SPDX-License-Identifier: BSD-3-Clause
#
# A host that vendors nbcoll compiles one file: as C11 without a warning (by gcc and by clang), as GNU C, and with a
# prefix; and links a program with the result and the C library alone.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
with=$(ls "$NBCOLL_SOURCE/transports" | sed 's/.*/-DNBCOLL_WITH_\U&/')
program=$NBCOLL_SOURCE/test/consumer/program.c
unity=$NBCOLL_SOURCE/src/nbcoll.c

"$CC" -I"$NBCOLL_SOURCE/include" -c "$unity" -o "$work/bare.o"
while read -r flags; do
    # shellcheck disable=SC2086 # the compiler and its flags are words
    $flags -O1 $with -I"$NBCOLL_SOURCE/include" \
        "$unity" "$program" -o "$work/program"
    "$work/program"
done <<END
gcc -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror
clang -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Werror
$CC -std=gnu11
$CC -std=c11 -DNBCOLL_PREFIX=acme_
END
