#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# sh examples/demo.sh [--json] [arguments for linescan]
#
# Installs what is missing (Debian 12, as root), builds linescan and the launcher into build/demo and counts the words
# and the short sequences of bytes in compressed text four ways: by one rank, by 4 processes with the blocking scatter,
# by 4 with the nonblocking one, and by these with drivers; the times are printed beside each other
# (examples/linescan/compare.sh). Then 4 processes sort a hash of each line, waiting for their histograms, moving
# keys meanwhile, and with an agent's process that carries the collectives out (examples/radixsort, the first four
# million lines; not with --json). The text is /usr/share/doc, or, where images come without documentation, that of some
# Debian packages, which are unpacked into build/text and not installed. What it runs and what that prints goes to
# standard error, the times (--json: one object) to standard output.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)

run() {
    echo "+ $*" >&2
    "$@" >&2
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
    for package in gcc libc6-dev cmake make pkg-config zlib1g-dev libjansson-dev; do
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
    -DNBCOLL_TESTS=OFF -DNBCOLL_BENCH=OFF -DNBCOLL_COMMAND=ON
run cmake --build "$root/build/demo" --target linescan radixsort nbcoll_command --parallel "$(nproc)"

json=
if [ "${1-}" = --json ]; then
    json=--json
    shift
fi

# linescan reads /usr/share/doc unless files are named; where that holds little, name something that holds more.
named=no
for argument; do
    [ ! -e "$argument" ] || named=yes
done
if [ $named = no ] && [ "$(text_below /usr/share/doc)" -lt 4000000 ]; then
    [ "$(text_below "$root/build/text")" -ge 4000000 ] || fetch_text "$root/build/text"
    set -- "$@" "$root/build/text"
fi
sh "$root/examples/linescan/compare.sh" "$root/build/demo/nbcoll" "$root/build/demo/examples/linescan/linescan" \
    $json "$@"
[ -z "$json" ] || exit 0

# The same text; linescan's arguments are no concern of radixsort.
for argument; do
    shift
    [ ! -e "$argument" ] || set -- "$@" "$argument"
done
[ $# -gt 0 ] || set -- /usr/share/doc
echo
"$root/build/demo/nbcoll" run --agent -n 4 "$root/build/demo/examples/radixsort/radixsort" --keys 4000000 "$@"
