# SPDX-License-Identifier: BSD-3-Clause
#
# The shared library, installed and moved, is found by pkg-config and by find_package; the ABI number is in its soname,
# and it exports only the names of src/nbcoll.map; of these no program links the private ones. So are the one that reads
# tuning files, the one that finds places, the conformance suite, and the components, which export what their headers name.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$NBCOLL_SOURCE/test/consumer/installed.sh"

installed ON -DNBCOLL_STATIC_TOO=ON
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
    tr '\n' ' ')" = 'nbcoll_tuning_free nbcoll_tuning_read nbcoll_tuning_read_with ' ]
[ $affinity = OFF ] || [ "$(nm -D --defined-only "$library/libnbcoll_affinity.so" | awk '{ print $3 }' |
    LC_ALL=C sort | tr '\n' ' ')" = \
    'nbcoll_affinity_domains nbcoll_affinity_find nbcoll_affinity_free nbcoll_affinity_near_name ' ]
[ "$(nm -D --defined-only "$library/libnbcoll_conformance.so" | awk '{ print $3 }' | LC_ALL=C sort | tr '\n' ' ')" = \
    'nbcoll_conformance_print nbcoll_conformance_run ' ]
for component in $(sh "$NBCOLL_SOURCE/src/components.sh" names parts); do
    sh "$NBCOLL_SOURCE/src/components.sh" headers "$component" | sed "s,.*,$NBCOLL_SOURCE/include/nbcoll/&.h," |
        xargs grep -ho '\bnbcoll_[a-z0-9_]*(' >"$work/named"
    nm -D --defined-only "$library/libnbcoll_$component.so" | awk '{ print $3 }' >"$work/$component"
    while read -r name; do
        grep -qF "$name(" "$work/named" || { echo "libnbcoll_$component.so exports $name" && exit 1; }
    done <"$work/$component"
done
all=ON
for component in $(sh "$NBCOLL_SOURCE/src/components.sh" names); do
    [ -e "$library/libnbcoll_$component.so" ] || { all=OFF && continue; }
    nm -D -u --without-symbol-versions "$library/libnbcoll_$component.so" | awk '{ print $2 }' >>"$work/used"
done
grep -qx nbcoll_agent_attach "$work/offload"
[ "$(nm -u "$work/program" | grep -c ' nbcoll_wide$')" = 1 ]
grep -qx nbcoll_verify_algorithm "$work/lab"
nm -D --defined-only --without-symbol-versions "$library/libnbcoll.so" | awk '$2 != "A" { print $3 }' |
    LC_ALL=C sort >"$work/exported"
grep '^nbcoll_' "$work/exported" | diff "$work/listed" -
# Of what is private it exports what components use, under a version of its own.
sed -n 's/^ *\(nbcolli_[a-z0-9_]*\);$/\1/p' "$NBCOLL_SOURCE/src/nbcoll.map" >"$work/private"
grep '^nbcolli_' "$work/used" | LC_ALL=C sort -u >"$work/needed"
[ -z "$(LC_ALL=C comm -13 "$work/private" "$work/needed")" ]
[ $all = OFF ] || diff "$work/private" "$work/needed"
grep '^nbcolli_' "$work/exported" | diff "$work/private" -
[ "$(nm -D --defined-only "$library/libnbcoll.so" | grep -c ' nbcolli_.*@@NBCOLL_PRIVATE$')" = "$(wc -l <"$work/private")" ]

# Beside the static one, in one build, with pages, examples and completion; and gone again.
# shellcheck disable=SC2086
"$CC" "$NBCOLL_SOURCE/test/consumer/program.c" -o "$work/static" $cflags "$library/libnbcoll.a" \
    "$library/libnbcoll_wide.a"
"$work/static"
# shellcheck disable=SC2086
"$CC" "$NBCOLL_SOURCE/test/consumer/proved.c" -o "$work/static" $cflags "$library/libnbcoll_lab.a" \
    "$library/libnbcoll_offload.a" "$library/libnbcoll.a" "$library/libnbcoll_wide.a"
"$work/static"
for file in man/man1/nbcoll-verify.1 man/man3/nbcoll_select.h.3 man/man7/nbcoll.7 doc/nbcoll/html/select.h.html \
    doc/nbcoll/algorithms.md \
    doc/nbcoll/tutorial.md doc/nbcoll/pictures/binomial.svg doc/nbcoll/examples/hello/main.c \
    bash-completion/completions/nbcoll zsh/site-functions/_nbcoll; do
    [ -s "$work/moved/share/$file" ] || { echo "$file is not installed" && exit 1; }
done
[ -f "$(PKG_CONFIG_PATH=$packages pkg-config --variable=examples nbcoll)/own_transport/socket.c" ]
mv "$work/moved" "$work/first"
cmake -D manifest="$work/manifest" -P "$NBCOLL_SOURCE/pkgconfig/uninstall.cmake"
[ -z "$(find "$work/first" ! -type d)" ] || { echo "still there:" && find "$work/first" ! -type d && exit 1; }
