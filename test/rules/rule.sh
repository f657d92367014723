# SPDX-License-Identifier: BSD-3-Clause
#
# Read by the tests of the rules: rule <name> checks the tree; then refuses and accepts check the checker itself, on
# samples that are written to a tree of their own.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# rule name: the tree keeps it.
rule()
{
    checker=$NBCOLL_SOURCE/test/rules/$1.sh
    sh "$checker" "$NBCOLL_SOURCE" >"$work/said"
    if [ -s "$work/said" ]; then
        cat "$work/said"
        exit 1
    fi
}

# sample file: standard input becomes that file of a fresh tree, and the checker speaks about it.
sample()
{
    rm -rf "$work/tree"
    mkdir -p "$work/tree/$(dirname "$1")"
    cat >"$work/tree/$1"
    sh "$checker" "$work/tree" >"$work/said"
}

# refuses file text: the checker says `text` of the sample, and nothing else.
refuses()
{
    sample "$1"
    [ "$(cat "$work/said")" = "$1$2" ] || { echo "of $1, instead of '$2': $(cat "$work/said")" && exit 1; }
}

# accepts file
accepts()
{
    sample "$1"
    [ ! -s "$work/said" ] || { cat "$work/said" && exit 1; }
}

# lines n text: n lines of it
lines()
{
    awk -v n="$1" -v text="$2" 'BEGIN { while (n-- > 0) print text }'
}
