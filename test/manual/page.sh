# SPDX-License-Identifier: BSD-3-Clause
#
# Read by the tests of pages that have listings and commands.
#
#   ```c, ```cpp  a file, whose name is the first word of the comment in its first line
#   ```console    commands after "$ ", each with what it prints
#   ![](pictures/NAME.svg)   is the same as NAME.svg that the commands have drawn
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# use prefix: the page's commands find the nbcoll that is installed there.
use()
{
    PATH=$1/bin:$PATH
    PKG_CONFIG_PATH=$(dirname "$(find "$1" -name nbcoll.pc)")
    LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
    export PATH PKG_CONFIG_PATH LD_LIBRARY_PATH
}

# The page's files and commands into $work/page and $work/commands, what it says that they print into $work/wanted.
take_apart()
{
    rm -rf "$work/page" "$work/commands"
    mkdir "$work/page"
    awk -v folder="$work/page/" -v commands="$work/commands" '
        /^```c(pp)?$/ { is_listing = 1; file = ""; next }
        /^```console$/ { is_console = 1; next }
        /^```$/ { is_listing = is_console = 0; next }
        is_listing && file == "" { file = $2; sub(/:$/, "", file); file = folder file }
        is_listing { print >file }
        is_console && /^\$ / { print substr($0, 3) >commands }
        is_console { print }' "$1" >"$work/wanted"
    [ -s "$work/commands" ] || { echo "no commands"; exit 1; }
}

# timed command: runs it, and says how many seconds it took.
timed()
{
    began=$(date +%s%N)
    sh -c "$1" </dev/null >"$work/said" 2>&1 || failed=$?
    awk -v ns=$(($(date +%s%N) - began)) -v command="$1" 'BEGIN { printf "%6.1f s  %s\n", ns / 1e9, command }'
}

# follow page
follow()
{
    take_apart "$1"
    cd "$work/page"
    : >"$work/printed"
    while read -r line; do
        timed "$line"
        { echo "\$ $line" && cat "$work/said"; } >>"$work/printed"
    done <"$work/commands"
    diff -u "$work/wanted" "$work/printed" || { echo "$1: the commands print something else"; exit 1; }
    sed -n 's|.*(\(docs/\)\{0,1\}pictures/\(.*\)\.svg).*|\2|p' "$1" >"$work/pictures"
    while read -r name; do
        cmp "$NBCOLL_SOURCE/docs/pictures/$name.svg" "$name.svg" || { echo "$1: $name.svg is drawn otherwise"; exit 1; }
    done <"$work/pictures"
}
