# SPDX-License-Identifier: BSD-3-Clause
#
# A project that takes nbcoll in with add_subdirectory gets the target and nothing else: no test, no program, no install
# rule, and its own flags and build type stay as they were; what it links with the library exports nothing of that; and
# NBCOLL_IMPLEMENTATION finds the sources.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake -S "$NBCOLL_SOURCE/test/consumer/subdirectory" -B "$work/build" -DNBCOLL="$NBCOLL_SOURCE" \
    -DCMAKE_C_COMPILER="$CC" -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0
cmake --build "$work/build"
"$work/build/program"
"$work/build/implementation"
[ "$(nm -D --defined-only "$work/build/libplugin.so" | awk '{ print $3 }')" = run_plugin ]
[ -z "$(find "$work/build/nbcoll" -type f -perm -u+x)" ]
(cd "$work/build" && ctest -N) | grep 'Total Tests: 0'
