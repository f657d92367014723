# SPDX-License-Identifier: BSD-3-Clause
#
# Read by the tests of the command `nbcoll`: how to run it and what to expect. A failed expectation ends the test.
set -eu
nbcoll=$NBCOLL_BINARY/nbcoll
[ -x "$nbcoll" ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# run argument...: leaves what it wrote in $work/out and $work/err, and its exit status in $status.
run()
{
    status=0
    "$nbcoll" "$@" >"$work/out" 2>"$work/err" || status=$?
}

fail()
{
    echo "$1"
    cat "$work/out" "$work/err"
    exit 1
}

# succeeds argument...: exit status 0, and not a word on standard error.
succeeds()
{
    run "$@"
    [ "$status" -eq 0 ] || fail "nbcoll $*: exit status $status"
    [ ! -s "$work/err" ] || fail "nbcoll $*: said something on standard error"
}

# refuses message argument...: exit status 2, that one line on standard error, nothing else.
refuses()
{
    message=$1
    shift
    run "$@"
    [ "$status" -eq 2 ] || fail "nbcoll $*: exit status $status instead of 2"
    [ "$(cat "$work/err")" = "$message" ] || fail "nbcoll $*: instead of '$message':"
    [ ! -s "$work/out" ] || fail "nbcoll $*: printed something"
}

# prints text: the last output has such a line.
prints()
{
    grep -qx -- "$1" "$work/out" || fail "no line '$1' in:"
}

# what the last output says was covered, and what was not: a line each
covered()
{
    sed -n '/^covered: /,$p' "$work/out" | tr '\n' ' ' | sed 's/ not covered: /\nnot covered: /; s/ $/\n/'
}
