# SPDX-License-Identifier: BSD-3-Clause
#
# Read by the tests of the installed library: installs it (installed ON|OFF option..., for shared or static), moves what
# was installed elsewhere, and builds program.c there, by pkg-config and by find_package; wire.c, which tests a
# transport; clustered.c, which opens endpoints; proved.c, which proves and draws; tuned.c and placed.c, where inih and hwloc are there for them.
installed()
{
    shared=$1
    shift
    cmake -S "$NBCOLL_SOURCE" -B "$work/build" -DBUILD_SHARED_LIBS="$shared" -DCMAKE_INSTALL_PREFIX="$work/first" \
        -DCMAKE_C_COMPILER="$CC" -DCMAKE_BUILD_TYPE=None -DNBCOLL_EXAMPLES=OFF -DNBCOLL_BENCH=OFF \
        -DNBCOLL_TESTS=OFF -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 "$@"
    cmake --build "$work/build"
    cmake --install "$work/build"
    cp "$work/build/install_manifest.txt" "$work/manifest"
    rm -r "$work/build"
    mv "$work/first" "$work/moved"
    packages=$(dirname "$(find "$work/moved" -name nbcoll.pc)")
    library=$(dirname "$packages")
    cflags=$(PKG_CONFIG_PATH=$packages pkg-config --cflags nbcoll)
}

tuning=OFF
echo '#include <ini.h>' | "$CC" -E - >/dev/null 2>&1 && tuning=ON
printf '[bcast]\nbinomial =\n' >"$work/rules"
affinity=OFF
echo '#include <hwloc.h>' | "$CC" -E - >/dev/null 2>&1 && affinity=ON

# by_pkg_config program flags-of-pkg-config...: makes program, of wire.c program.wire, of proved.c program.proved, of clustered.c program.clustered,
# of offloaded.c program.offloaded, of around.c program.around
# and, of tuned.c, program.tuned
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
    # shellcheck disable=SC2046
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$NBCOLL_SOURCE/test/consumer/proved.c" -o "$output.proved" \
        $(PKG_CONFIG_PATH=$packages pkg-config --cflags --libs "$@" nbcoll_lab)
    # shellcheck disable=SC2046
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$NBCOLL_SOURCE/test/consumer/messaged.c" -o "$output.messaged" \
        $(PKG_CONFIG_PATH=$packages pkg-config --cflags --libs "$@" nbcoll_message)
    # shellcheck disable=SC2046
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$NBCOLL_SOURCE/test/consumer/offloaded.c" -o "$output.offloaded" \
        $(PKG_CONFIG_PATH=$packages pkg-config --cflags --libs "$@" nbcoll_offload)
    # shellcheck disable=SC2046
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$NBCOLL_SOURCE/test/consumer/around.c" -o "$output.around" \
        $(PKG_CONFIG_PATH=$packages pkg-config --cflags --libs "$@" nbcoll_neighbor)
    # shellcheck disable=SC2046
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$NBCOLL_SOURCE/test/consumer/clustered.c" -o "$output.clustered" \
        $(PKG_CONFIG_PATH=$packages pkg-config --cflags --libs "$@" nbcoll_cluster)
    [ $tuning = OFF ] ||
        # shellcheck disable=SC2046
        "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$NBCOLL_SOURCE/test/consumer/tuned.c" -o "$output.tuned" \
            $(PKG_CONFIG_PATH=$packages pkg-config --cflags --libs "$@" nbcoll_tuning)
    [ $affinity = OFF ] ||
        # shellcheck disable=SC2046
        "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$NBCOLL_SOURCE/test/consumer/placed.c" -o "$output.placed" \
            $(PKG_CONFIG_PATH=$packages pkg-config --cflags --libs "$@" nbcoll_affinity)
}

# runs program: program, program.clustered, program.wire and, if they are there, program.tuned and program.placed
runs()
{
    "$1" && "$1.proved" && "$1.messaged" && "$1.offloaded" && "$1.around" && "$1.clustered" && wire_passes "$1.wire" && { [ $tuning = OFF ] || "$1.tuned" "$work/rules"; } &&
        { [ $affinity = OFF ] || "$1.placed"; }
}

wire_passes()
{
    "$1" >"$work/results" || { cat "$work/results" && return 1; }
    grep -q '^wire: passed many_random_messages_arrive_exactly_once$' "$work/results"
}

# NBCOLL_IMPLEMENTATION and the flags of the compiler alone: program.c brings the library along, with names of its own
# where it asks for them. No library is there to be found.
by_implementation()
{
    while read -r compiler; do
        # shellcheck disable=SC2086 # words
        $compiler -Wall -Wextra -Wpedantic -Wshadow -Werror $cflags "$NBCOLL_SOURCE/test/consumer/implementation.c" \
            -o "$work/implementation"
        "$work/implementation"
    done <<END
gcc -std=c11
clang -std=gnu11 -DNBCOLL_EXPORT -DNBCOLL_INLINE -DNBCOLL_PREFIX=acme_ -DNBCOLL_WITH_SHM=0
END
    nm -g --defined-only "$work/implementation" >"$work/names"
    grep -q ' acme_nbcoll_iallreduce$' "$work/names"
    [ -z "$(grep ' nbcoll\|nbcoll_shm' "$work/names")" ]
    while read -r compiler; do
        # shellcheck disable=SC2086
        $compiler -Wall -Wextra -Wpedantic -Wshadow -Werror $cflags -fsyntax-only \
            "$NBCOLL_SOURCE/test/consumer/implementation.c"
    done <<END
gcc -std=gnu11 -DNBCOLL_WITH_LOOPBACK=0
clang -std=c11 -DNBCOLL_WITH_LAB=1
END
}

# by_inline flags-of-pkg-config...: NBCOLL_INLINE, in C and in C++, with the library.
by_inline()
{
    while read -r compiler; do
        # shellcheck disable=SC2046,SC2086 # words
        $compiler -DNBCOLL_INLINE -Wall -Wextra -Wpedantic -Wshadow -Werror -o "$work/inline" \
            $(PKG_CONFIG_PATH=$packages pkg-config --cflags --libs "$@" nbcoll)
        "$work/inline"
    done <<END
gcc -std=c11 $NBCOLL_SOURCE/test/consumer/program.c
clang -std=gnu11 $NBCOLL_SOURCE/test/consumer/program.c
g++ -std=c++17 $NBCOLL_SOURCE/test/consumer/inline.cpp
clang++ -std=gnu++17 $NBCOLL_SOURCE/test/consumer/inline.cpp
END
}

# refuses text lines-of-C compiler...: it says so of a file of these lines.
refuses()
{
    text=$1 lines=$2
    shift 2
    # shellcheck disable=SC2086
    if printf '%b' "$lines" | "$@" $cflags -fsyntax-only - \
        2>"$work/said"; then
        echo "accepted: $lines" && return 1
    fi
    grep -q "$text" "$work/said"
}

by_find_package()
{
    cmake -S "$NBCOLL_SOURCE/test/consumer/package" -B "$work/package" -DCMAKE_PREFIX_PATH="$work/moved" \
        -DCMAKE_C_COMPILER="$CC" -DTUNING=$tuning -DAFFINITY=$affinity
    cmake --build "$work/package"
    "$work/package/program"
    "$work/package/around"
    "$work/package/clustered"
    "$work/package/proved"
    "$work/package/messaged"
    wire_passes "$work/package/wire"
    [ $tuning = OFF ] || "$work/package/tuned" "$work/rules"
    [ $affinity = OFF ] || "$work/package/placed"
}
