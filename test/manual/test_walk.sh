# SPDX-License-Identifier: BSD-3-Clause
#
# The README, followed by somebody who has nothing else: nbcoll is built and installed as it says, its program is
# compiled and run, an algorithm proved and drawn, a transport tested and run. Says how long each command took; the
# README has the sum. Here the library is compiled without optimisation, which is faster, unless
# CMAKE_BUILD_TYPE says otherwise.
. "$NBCOLL_SOURCE/test/manual/page.sh"
grep -q . /usr/include/jansson.h 2>/dev/null || exit 77 # the command needs it

mkdir "$work/nbcoll"
for entry in "$NBCOLL_SOURCE"/*; do
    [ "$(basename "$entry")" = build ] || cp -r "$entry" "$work/nbcoll"
done
cd "$work/nbcoll"
install=$(sed -n 's/^    \(cmake --preset install .*\)/\1/p' README.md)
[ -n "$install" ]
export DESTDIR="$work/root" CMAKE_BUILD_TYPE="${CMAKE_BUILD_TYPE-Debug}"
failed=0
timed "$install"
unset DESTDIR
[ "$failed" = 0 ] || { cat "$work/said" && exit 1; }
use "$work/root/usr/local"
follow "$NBCOLL_SOURCE/README.md"
