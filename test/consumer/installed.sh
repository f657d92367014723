# SPDX-License-Identifier: BSD-3-Clause
#
# Read by the tests of the installed library: installs it (installed ON|OFF option..., for shared or static), moves what
# was installed elsewhere, and builds program.c there, by pkg-config and by find_package; wire.c, which tests a
# transport; and tuned.c, where inih is there for it.
installed()
{
    shared=$1
    shift
    cmake -S "$NBCOLL_SOURCE" -B "$work/build" -DBUILD_SHARED_LIBS="$shared" -DCMAKE_INSTALL_PREFIX="$work/first" \
        -DCMAKE_C_COMPILER="$CC" -DCMAKE_BUILD_TYPE=Debug -DNBCOLL_EXAMPLES=OFF -DNBCOLL_BENCH=OFF \
        -DNBCOLL_TESTS=OFF "$@"
    cmake --build "$work/build"
    cmake --install "$work/build"
    rm -r "$work/build"
    mv "$work/first" "$work/moved"
    packages=$(dirname "$(find "$work/moved" -name nbcoll.pc)")
    library=$(dirname "$packages")
}

tuning=OFF
echo '#include <ini.h>' | "$CC" -E - >/dev/null 2>&1 && tuning=ON
printf '[bcast]\nbinomial =\n' >"$work/rules"

# by_pkg_config program flags-of-pkg-config...: makes program, of wire.c program.wire and, of tuned.c, program.tuned
by_pkg_config()
{
    output=$1
    shift
    # shellcheck disable=SC2046 # the flags are words
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$NBCOLL_SOURCE/test/consumer/program.c" -o "$output" \
        $(PKG_CONFIG_PATH=$packages pkg-config --cflags --libs "$@" nbcoll)
    # shellcheck disable=SC2046
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$NBCOLL_SOURCE/test/consumer/wire.c" -o "$output.wire" \
        $(PKG_CONFIG_PATH=$packages pkg-config --cflags --libs "$@" nbcoll_conformance)
    [ $tuning = OFF ] ||
        # shellcheck disable=SC2046
        "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$NBCOLL_SOURCE/test/consumer/tuned.c" -o "$output.tuned" \
            $(PKG_CONFIG_PATH=$packages pkg-config --cflags --libs "$@" nbcoll_tuning)
}

# runs program: program, program.wire and, if there is one, program.tuned
runs()
{
    "$1" && wire_passes "$1.wire" && { [ $tuning = OFF ] || "$1.tuned" "$work/rules"; }
}

wire_passes()
{
    "$1" >"$work/results" || { cat "$work/results" && return 1; }
    grep -q '^wire: passed many_random_messages_arrive_exactly_once$' "$work/results"
}

by_find_package()
{
    cmake -S "$NBCOLL_SOURCE/test/consumer/package" -B "$work/package" -DCMAKE_PREFIX_PATH="$work/moved" \
        -DCMAKE_C_COMPILER="$CC" -DTUNING=$tuning
    cmake --build "$work/package"
    "$work/package/program"
    wire_passes "$work/package/wire"
    [ $tuning = OFF ] || "$work/package/tuned" "$work/rules"
}
