# SPDX-License-Identifier: BSD-3-Clause
#
# Read by tests that count instructions of a program of bench, which is $program: of the release build alone, by valgrind.
grep -q '^CMAKE_BUILD_TYPE:[^=]*=RelWithDebInfo$' "$NBCOLL_BINARY/CMakeCache.txt" &&
    grep -q '^NBCOLL_SANITIZE:[^=]*=$' "$NBCOLL_BINARY/CMakeCache.txt" || {
    echo "not the release build"
    exit 77
}
command -v valgrind >/dev/null || {
    echo "valgrind is not installed"
    exit 77
}
[ -x "$program" ] || {
    echo "$program was not built"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# instructions MEASURED ARGUMENT...: those in functions whose names begin so, of $program with these arguments.
instructions()
{
    measured=$1
    shift
    valgrind --tool=callgrind --collect-atstart=no "--toggle-collect=measured_$measured*" \
        --callgrind-out-file="$work/out" "$program" "$@" 2>&1 | sed -n 's/.*Collected : *\([0-9]*\).*/\1/p'
}
