#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# sh examples/demo.sh [--json] [arguments for linescan]
#
# Installs what is missing (Debian 12, as root), builds linescan and the launcher into build/demo, and counts the words
# and the short sequences of bytes in compressed text (examples/linescan): four processes for each processor, with the
# blocking scatter and with nonblocking ones, twelve rounds of both by turns. It prints how long each takes, which is
# faster, and by how much; or that this machine is too busy to tell; and it draws who waits when (build/demo/linescan.svg,
# and .png where rsvg-convert or convert is installed). Then 4 processes sort a hash of each line (examples/radixsort;
# not with --json): each waits for the histograms, moves keys meanwhile, or leaves it all to an agent's process. The text
# is some of /usr/share/doc, or, where images come without documentation, of some Debian packages, which are unpacked
# into build/text and not installed. What the demo does goes to standard error (all that tools print: to build/demo/log),
# the results (--json: one object) to standard output.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

mkdir -p "$root/build/demo"
log=$root/build/demo/log
: >"$log"

run() {
    echo "+ $*" >&2
    "$@" >>"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        return 1
    }
}

# Bytes of the .gz files below a directory.
text_below() {
    find "$1" -type f -name '*.gz' -printf '%s\n' 2>/dev/null | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
}

updated=no
update_lists() {
    [ $updated = yes ] || run apt-get -q update
    updated=yes
}

install_missing() {
    missing=
    for package in gcc libc6-dev cmake make pkg-config zlib1g-dev libjansson-dev libhwloc-dev; do
        dpkg-query -W -f '${db:Status-Status}\n' $package 2>/dev/null | grep -qx installed ||
            missing="$missing $package"
    done
    # pkgconf serves as pkg-config
    command -v pkg-config >/dev/null && missing=$(echo "$missing" | sed 's/ pkg-config//')
    [ -n "$missing" ] || return 0
    update_lists
    # shellcheck disable=SC2086
    run env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing
}

# Fills a directory with text from packages that have much of it.
fetch_text() {
    mkdir -p "$1/packages"
    update_lists
    for package in linux-doc-6.1 libharfbuzz0b linux-libc-dev git-man; do
        (cd "$1/packages" && run apt-get -q -o APT::Sandbox::User=root download $package) ||
            echo "demo: no package $package; going on without it" >&2
    done
    for package in "$1"/packages/*.deb; do
        run dpkg-deb -x "$package" "$1"
    done
    rm -r "$1/packages"
}

install_missing
run cmake -S "$root" -B "$root/build/demo" -DCMAKE_BUILD_TYPE=Release \
    -DNBCOLL_TESTS=OFF -DNBCOLL_BENCH=OFF -DNBCOLL_COMMAND=ON \
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=32
run cmake --build "$root/build/demo" --target linescan radixsort nbcoll_command --parallel "$(nproc)"

json=
if [ "${1-}" = --json ]; then
    json=--json
    shift
fi

# What is not named: the first files of /usr/share/doc, 20 MB of them; where that holds little, of some packages.
named=no
for argument; do
    [ ! -e "$argument" ] || named=yes
done
if [ $named = no ]; then
    from=/usr/share/doc
    if [ "$(text_below $from)" -lt 4000000 ]; then
        from=$root/build/text
        [ "$(text_below "$from")" -ge 4000000 ] || fetch_text "$from"
    fi
    rm -rf "$root/build/demo/text"
    mkdir "$root/build/demo/text"
    (cd "$from" && find . -type f -name '*.gz' -printf '%s %p\n' | LC_ALL=C sort -k 2 |
        awk '(sum += $1) <= 20000000 { sub("^[0-9]* ", ""); print }' |
        xargs -d '\n' cp --parents -t "$root/build/demo/text")
    set -- "$@" "$root/build/demo/text"
fi

# A block of 4 MiB for all ranks together, so that the text is about 20 of them. A file that is skipped (1) is named.
ranks=$(($(nproc) * 4)) picture=$root/build/demo/linescan status=0
[ $ranks -le 64 ] || ranks=64
"$root/build/demo/nbcoll" run -n $ranks "$root/build/demo/examples/linescan/linescan" --compare 12 \
    --buffer $((4194304 / ranks / 8 * 8)) --picture "$picture.svg" $json "$@" || status=$?
[ $status -le 1 ] || exit $status
if command -v rsvg-convert >/dev/null; then
    run rsvg-convert "$picture.svg" -o "$picture.png" || true
elif command -v convert >/dev/null; then
    run convert "$picture.svg" "$picture.png" || true
fi
[ -z "$json" ] || exit 0

# The same text; linescan's arguments are no concern of radixsort.
for argument; do
    shift
    [ ! -e "$argument" ] || set -- "$@" "$argument"
done
echo
"$root/build/demo/nbcoll" run --agent -n 4 "$root/build/demo/examples/radixsort/radixsort" --keys 4000000 "$@"
