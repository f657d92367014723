# SPDX-License-Identifier: BSD-3-Clause
#
# The shared library, installed and moved, is found by pkg-config and by find_package; the ABI number is in its soname,
# and it exports only the names of src/nbcoll.map. So are the one that reads tuning files, the one that finds places and
# the conformance suite.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$NBCOLL_SOURCE/test/consumer/installed.sh"

installed ON
by_find_package
by_pkg_config "$work/program"
LD_LIBRARY_PATH=$library runs "$work/program"
if env -u LD_LIBRARY_PATH "$work/program" 2>/dev/null; then
    echo "it does not need the shared library" && exit 1
fi

abi=$(sed -n 's/^#define NBCOLL_ABI \([0-9]*\)u$/\1/p' "$NBCOLL_SOURCE/include/nbcoll/nbcoll.h")
readelf -d "$library/libnbcoll.so" | grep "soname: \[libnbcoll.so.$abi\]"
sed -n 's/^ *\(nbcoll_[a-z0-9_]*\);$/\1/p' "$NBCOLL_SOURCE/src/nbcoll.map" >"$work/listed"
[ $tuning = OFF ] || [ "$(nm -D --defined-only "$library/libnbcoll_tuning.so" | awk '{ print $3 }' | LC_ALL=C sort |
    tr '\n' ' ')" = 'nbcoll_tuning_free nbcoll_tuning_read ' ]
[ $affinity = OFF ] || [ "$(nm -D --defined-only "$library/libnbcoll_affinity.so" | awk '{ print $3 }' |
    LC_ALL=C sort | tr '\n' ' ')" = 'nbcoll_affinity_find nbcoll_affinity_free nbcoll_affinity_near_name ' ]
[ "$(nm -D --defined-only "$library/libnbcoll_conformance.so" | awk '{ print $3 }' | LC_ALL=C sort | tr '\n' ' ')" = \
    'nbcoll_conformance_print nbcoll_conformance_run ' ]
nm -D --defined-only "$library/libnbcoll.so" | awk '{ print $3 }' | LC_ALL=C sort | diff "$work/listed" -
