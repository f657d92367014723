# SPDX-License-Identifier: BSD-3-Clause
#
# Read by the tests of the installed library: installs it (installed ON|OFF, for shared or static), moves what was
# installed elsewhere, and builds program.c there, by pkg-config and by find_package.
installed()
{
    cmake -S "$NBCOLL_SOURCE" -B "$work/build" -DBUILD_SHARED_LIBS="$1" -DCMAKE_INSTALL_PREFIX="$work/first" \
        -DCMAKE_C_COMPILER="$CC" -DCMAKE_BUILD_TYPE=Debug -DNBCOLL_EXAMPLES=OFF -DNBCOLL_BENCH=OFF -DNBCOLL_TESTS=OFF
    cmake --build "$work/build"
    cmake --install "$work/build"
    rm -r "$work/build"
    mv "$work/first" "$work/moved"
    packages=$(dirname "$(find "$work/moved" -name nbcoll.pc)")
    library=$(dirname "$packages")
}

# by_pkg_config program flags-of-pkg-config...
by_pkg_config()
{
    output=$1
    shift
    # shellcheck disable=SC2046 # the flags are words
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$NBCOLL_SOURCE/test/consumer/program.c" -o "$output" \
        $(PKG_CONFIG_PATH=$packages pkg-config --cflags --libs "$@" nbcoll)
}

by_find_package()
{
    cmake -S "$NBCOLL_SOURCE/test/consumer/package" -B "$work/package" -DCMAKE_PREFIX_PATH="$work/moved" \
        -DCMAKE_C_COMPILER="$CC"
    cmake --build "$work/package"
    "$work/package/program"
}
