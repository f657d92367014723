# SPDX-License-Identifier: BSD-3-Clause
#
# A host that vendors nbcoll compiles one file, as C11 or as GNU C, optimised or not, without a warning, by gcc and by
# clang, and links a program with the result and the C library alone. That file is src/nbcoll.c; or the one that
# src/amalgamate.awk writes, which needs nothing beside it, neither headers nor the tree, and which declares every public
# function to each file that includes it.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
with='-DNBCOLL_WITH_LOOPBACK -DNBCOLL_WITH_SHM'
program=$NBCOLL_SOURCE/test/consumer/program.c
unity=$NBCOLL_SOURCE/src/nbcoll.c
strict='-Wall -Wextra -Wpedantic -Wshadow -Werror'

"$CC" -DNBCOLL_WITH_LOOPBACK=0 -DNBCOLL_WITH_SHM=0 -I"$NBCOLL_SOURCE/include" -c "$unity" -o "$work/bare.o"
[ -z "$(nm "$work/bare.o" | grep 'nbcoll_shm\|nbcoll_loopback')" ]
while read -r flags; do
    # shellcheck disable=SC2086 # the compiler and its flags are words
    $flags $strict $with -I"$NBCOLL_SOURCE/include" "$unity" "$program" -o "$work/program"
    "$work/program"
done <<END
gcc -std=c11 -O2 -DNBCOLL_INLINE
gcc -std=gnu11 -O1
clang -std=gnu11 -O1
END

"$CC" -O1 -w -DNBCOLL_WITH_LAB -I"$NBCOLL_SOURCE/include" "$unity" "$NBCOLL_SOURCE/test/consumer/proved.c" -o "$work/proved"
"$work/proved"

"$CC" -O1 -w -DNBCOLL_WITH_OFFLOAD -I"$NBCOLL_SOURCE/include" "$unity" "$NBCOLL_SOURCE/test/consumer/offloaded.c" \
    -o "$work/offloaded"
"$work/offloaded"

"$CC" -O1 -w -DNBCOLL_WITH_MESSAGE -I"$NBCOLL_SOURCE/include" "$unity" "$NBCOLL_SOURCE/test/consumer/messaged.c" \
    -o "$work/messaged"
"$work/messaged"

mkdir "$work/alone"
(cd "$NBCOLL_SOURCE" && awk -f src/amalgamate.awk) >"$work/alone/nbcoll.h"
cd "$work/alone"
[ "$(grep -c '^#include "' nbcoll.h)" = 0 ]
grep -q 'Redistributions of source code must retain' nbcoll.h
printf '#define NBCOLL_IMPLEMENTATION\n#include "nbcoll.h"\n' >nbcoll.c
sed 's|^#include <nbcoll/.*|#include "nbcoll.h"|' "$program" >program.c
sed -n '1i #include "nbcoll.h"\nvoid *all[] = {
    s/^ *\(nbcoll_[a-z0-9_]*\);$/(void *)\1,/p
    $a };' "$NBCOLL_SOURCE/src/nbcoll.map" >all.c
gcc -w -Werror=implicit-function-declaration -fsyntax-only all.c
while read -r flags; do
    # shellcheck disable=SC2086
    $flags $strict $with nbcoll.c program.c -o program
    ./program
done <<END
gcc -std=gnu11 -DNBCOLL_INLINE
clang -std=c11
END

# The components and the names of a prefix: not in that file, which says so; in the one that is asked for them. Lab
# brings offload.
while read -r flag part; do
    if gcc -w "$flag" -fsyntax-only nbcoll.c 2>said; then
        echo "it has no $part, and does not say so" && exit 1
    fi
    grep -q "this file is without $part" said
done <<END
-DNBCOLL_WITH_OFFLOAD offload
-DNBCOLL_WITH_LAB lab
-DNBCOLL_WITH_MESSAGE message
-DNBCOLL_PREFIX=acme_ the names of a prefix
END
[ -z "$(gcc -w -c nbcoll.c -o nbcoll.o && nm nbcoll.o | grep 'nbcoll_agent_open\|nbcoll_relays_open\|nbcoll_topology_make')" ]
(cd "$NBCOLL_SOURCE" && awk -v with=offload -f src/amalgamate.awk) >nbcoll.h
sed 's|^#include <nbcoll/.*|#include "nbcoll.h"|' "$NBCOLL_SOURCE/test/consumer/offloaded.c" >offloaded.c
# shellcheck disable=SC2086
gcc -std=c11 $strict -DNBCOLL_WITH_OFFLOAD=1 nbcoll.c offloaded.c -o offloaded
./offloaded
# shellcheck disable=SC2086
clang -std=gnu11 $strict -fsyntax-only nbcoll.c
(cd "$NBCOLL_SOURCE" && awk -v with="message neighbor" -f src/amalgamate.awk) >nbcoll.h
sed 's|^#include <nbcoll/.*|#include "nbcoll.h"|' "$NBCOLL_SOURCE/test/consumer/messaged.c" >messaged.c
# shellcheck disable=SC2086
gcc -std=c11 $strict -DNBCOLL_WITH_MESSAGE=1 nbcoll.c messaged.c -o messaged
./messaged
(cd "$NBCOLL_SOURCE" && awk -v with=lab -f src/amalgamate.awk) >nbcoll.h
sed 's|^#include <nbcoll/.*|#include "nbcoll.h"|' "$NBCOLL_SOURCE/test/consumer/proved.c" >proved.c
# shellcheck disable=SC2086
gcc -std=c11 $strict -DNBCOLL_WITH_LAB=1 nbcoll.c proved.c -o proved
./proved
# shellcheck disable=SC2086
clang -std=gnu11 $strict -fsyntax-only nbcoll.c
