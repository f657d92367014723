# SPDX-License-Identifier: BSD-3-Clause
#
# What the tests of models share: they set `model` to a name in this folder, source this, and say what holds and what
# breaks. Each ends with a message when it finds something else.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
model=$NBCOLL_SOURCE/test/model/$model
command -v spin >/dev/null || exit 77

fail()
{
    echo "$1"
    cat said
    exit 1
}

# search how definitions...: tries all interleavings; `how` is what the checker is compiled with.
search()
{
    how=$1
    shift
    spin -a "$@" "$model" >said || fail "spin refused $*"
    gcc -w $how -DCOLLAPSE -DMEMLIM=1024 -o pan pan.c
    loops=
    [ "${how#*-DNP}" = "$how" ] || loops="-l ${fair-}"
    ./pan $loops -m100000 >said 2>&1 || fail "the search failed for $*"
}

# Says how many states there are; bit-state hashing, a limit or an early end would leave some out.
complete()
{
    grep -q 'errors: 0$' said && ! grep -qi 'not completed\|too small\|truncated\|out of memory\|bit statespace' said ||
        fail "$* does not hold, or was not searched to the end"
    grep -q '^Full statespace search' said || fail "$* was not searched in full"
    sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1 states: /p' said | tr -d '\n'
    echo "$*"
}

# Bytes, and an end.
holds()
{
    search "-O1 -DSAFETY" "$@"
    complete "holds $*"
}

# No endless execution: without progress labels each cycle is an error. With fair=-f only those in which each process
# that can always move does.
ends()
{
    search "-O1 -DNP" "$@"
    grep -q 'non-progress cycles.*+ ' said || fail "cycles of $* were not looked for"
    complete "ends $*"
}

# breaks rule error definitions...: without the rule, that error.
breaks()
{
    rule=BROKEN_$1 error=$2
    shift 2
    how="-O0 -DSAFETY"
    [ "$error" = "$loops_for_ever" ] && how="-O0 -DNP"
    search "$how" "-D$rule" "$@"
    grep -q "^pan:1: $error" said || fail "no '$error' with $rule $*"
    echo "$error: $rule${*:+ $*}"
}
bytes='assertion violated'
sleeps='invalid end state'
loops_for_ever='non-progress cycle'
