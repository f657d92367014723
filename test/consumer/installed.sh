# SPDX-License-Identifier: BSD-3-Clause
#
# Read by the tests of the installed library: installs it (installed ON|OFF option..., for shared or static), moves what
# was installed elsewhere, and builds program.c and the programs of components there, by pkg-config and by find_package.
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

# Programs of test/consumer and the component that each is linked with.
consumers='wire:conformance proved:lab messaged:message offloaded:offload around:neighbor summed:elements clustered:cluster'
[ $tuning = OFF ] || consumers="$consumers tuned:tuning"
[ $affinity = OFF ] || consumers="$consumers placed:affinity"

# by_pkg_config program flags-of-pkg-config...: makes program of program.c, and program.<consumer> of the others
by_pkg_config()
{
    output=$1
    shift
    # shellcheck disable=SC2046 # the flags are words
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$NBCOLL_SOURCE/test/consumer/program.c" -o "$output" \
        $(PKG_CONFIG_PATH=$packages pkg-config --cflags --libs "$@" nbcoll)
    for consumer in $consumers; do
        # shellcheck disable=SC2046
        "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror "$NBCOLL_SOURCE/test/consumer/${consumer%:*}.c" \
            -o "$output.${consumer%:*}" $(PKG_CONFIG_PATH=$packages pkg-config --cflags --libs "$@" "nbcoll_${consumer#*:}")
    done
}

# runs program, and with it those of the consumers, which lie beside it as program.<consumer>
runs()
{
    "$1" || return 1
    for consumer in $consumers; do
        case $consumer in
        wire:*) wire_passes "$1.wire" || return 1 ;;
        tuned:*) "$1.tuned" "$work/rules" || return 1 ;;
        *) "$1.${consumer%:*}" || return 1 ;;
        esac
    done
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
        -DCMAKE_C_COMPILER="$CC" -DCONSUMERS="$(echo "$consumers" | tr ' ' ';')"
    cmake --build "$work/package"
    mv "$work/package/program" "$work/found"
    for consumer in $consumers; do
        mv "$work/package/${consumer%:*}" "$work/found.${consumer%:*}"
    done
    runs "$work/found"
}
