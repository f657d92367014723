# SPDX-License-Identifier: BSD-3-Clause
#
# The numbers of frozen.c hold, in C and in C++; and a wrong one is noticed.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
table=$NBCOLL_SOURCE/test/abi/frozen.c

[ "$(getconf LONG_BIT)" = 64 ] || exit 77
"$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$NBCOLL_SOURCE/include" "$table"
"$CXX" -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$NBCOLL_SOURCE/include" "$table"

sed 's/^\(OFFSET(nbcoll_request, index,\) 8/\1 12/' "$table" >"$work/wrong.c"
! cmp -s "$table" "$work/wrong.c"
! "$CC" -std=c11 -fsyntax-only -I"$NBCOLL_SOURCE/include" "$work/wrong.c" 2>"$work/said"
grep -q 'the ABI has changed' "$work/said"
