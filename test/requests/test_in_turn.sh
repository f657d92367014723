# SPDX-License-Identifier: BSD-3-Clause
#
# Who waits for any or some of many operations, in turn until all have ended, pays for those that end, not each time for
# all that are outstanding, or have ended: of 1024 a wait takes at most twice the instructions of one of 64. Of the
# release build alone.
grep -q '^CMAKE_BUILD_TYPE:[^=]*=RelWithDebInfo$' "$NBCOLL_BINARY/CMakeCache.txt" &&
    grep -q '^NBCOLL_SANITIZE:[^=]*=$' "$NBCOLL_BINARY/CMakeCache.txt" || {
    echo "not the release build"
    exit 77
}
command -v valgrind >/dev/null || {
    echo "valgrind is not installed"
    exit 77
}
program=$NBCOLL_BINARY/bench/outstanding
[ -x "$program" ] || {
    echo "bench/outstanding was not built"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# each FORM N: instructions of a wait for one of N.
each()
{
    all=$(valgrind --tool=callgrind --collect-atstart=no '--toggle-collect=measured_turn*' \
        --callgrind-out-file="$work/out" "$program" "$1" "$2" 2>&1 | sed -n 's/.*Collected : *\([0-9]*\).*/\1/p')
    echo $((all / $2))
}

failed=0
for form in any some ended; do
    few=$(each $form 64)
    many=$(each $form 1024)
    echo "$form: $few of 64, $many of 1024"
    [ "$few" -gt 0 ] && [ "$many" -le $((2 * few)) ] || failed=1
done
exit $failed
