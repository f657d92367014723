# SPDX-License-Identifier: BSD-3-Clause
#
# Two copies of nbcoll in one process, each with a prefix of its own: in two shared libraries loaded at run time with
# all their symbols visible to each other, and linked into one program. Each copy does its sums.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$NBCOLL_SOURCE/test/consumer

for name in acme beta; do
    flags="-w -O0 -fPIC -DNBCOLL_WITH_LOOPBACK -DNBCOLL_PREFIX=${name}_ -I$NBCOLL_SOURCE/include"
    # shellcheck disable=SC2086 # the flags are words
    "$CC" $flags -c "$NBCOLL_SOURCE/src/nbcoll.c" -o "$work/nbcoll_$name.o"
    # shellcheck disable=SC2086
    "$CC" $flags -DPLUGIN=run_$name -c "$here/program.c" -o "$work/program_$name.o"
    "$CC" -shared "$work/program_$name.o" "$work/nbcoll_$name.o" -o "$work/$name.so"
done

"$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$here/loader.c" -o "$work/loader" -ldl
"$work/loader" "$work/acme.so" run_acme "$work/beta.so" run_beta

"$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$here/both.c" "$work"/*_acme.o "$work"/*_beta.o -o "$work/both"
"$work/both"
