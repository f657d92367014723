# SPDX-License-Identifier: BSD-3-Clause
#
# The protocol of cells, model checked (cells.pml says what is checked, and of what): it holds in each configuration, in
# all interleavings, and no longer does when one of its rules is left out. NBCOLL_FULL adds larger configurations.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
model=$NBCOLL_SOURCE/test/model/cells.pml
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
    [ "${how#*-DNP}" = "$how" ] || loops=-l
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

# No endless execution: without progress labels each cycle is an error.
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
    search "-O0 -DSAFETY" "-D$rule" "$@"
    grep -q "^pan:1: $error" said || fail "no '$error' with $rule $*"
    echo "$error: $rule${*:+ $*}"
}
bytes='assertion violated'
sleeps='invalid end state'

holds -DCANCELS=1
holds -DCANCELS=1 -DREFERENCE
holds -DCANCELS=1 -DREFERENCE -DTAGS=2 -DPIECES=2
holds -DCANCELS=1 -DTAGS=2 -DPIECES=2 -DAPART
holds -DCANCELS=1 -DTAGS=2 -DPIECES=2 -DTWO_LOOKS
holds -DCANCELS=1 -DREFERENCE -DTAGS=2 -DPATIENCE
holds -DCANCELS=1 -DREFERENCE -DTAGS=2 -DWIRING=EXCHANGE
holds -DCANCELS=2 -DTAGS=2
holds -DREFERENCE -DSLOTS=2 -DWIRING=TURNS
holds -DREFERENCE -DRANKS=3 -DTAGS=2
holds -DREFERENCE -DRANKS=3 -DTAGS=2 -DWIRING=CHAIN
ends -DPIECES=2 -DREFERENCE
ends -DCANCELS=1 -DREFERENCE -DTAGS=2
ends -DREFERENCE -DSLOTS=2 -DWIRING=TURNS

if [ -n "${NBCOLL_FULL-}" ]; then
    holds -DCANCELS=1 -DREFERENCE -DPIECES=2 -DAPART
    holds -DCANCELS=2
    holds -DCANCELS=2 -DREFERENCE -DTAGS=2
    holds -DCANCELS=1 -DREFERENCE -DWIRING=EXCHANGE
    holds -DCANCELS=1 -DREFERENCE -DSLOTS=2 -DWIRING=TURNS
    holds -DREFERENCE -DRANKS=3 -DTAGS=2 -DPIECES=2 -DWIRING=CHAIN
fi

breaks NO_REUSE "$bytes"
breaks SHOW_FIRST "$bytes" -DREFERENCE -DPIECES=2
breaks ACK_FIRST "$bytes" -DREFERENCE
breaks COUNT_OUT_OF_ORDER "$bytes" -DREFERENCE -DPIECES=2
breaks NO_SECOND_LOOK "$sleeps"
breaks RING_FIRST "$sleeps"
breaks NO_RING_AT_ACK "$sleeps" -DREFERENCE
breaks SETTLE_AT_ONCE "$bytes" -DREFERENCE -DCANCELS=1
breaks NEED_SHOWN_ONLY "$bytes" -DTAGS=2 -DPIECES=2 -DCANCELS=1 -DTWO_LOOKS
breaks NO_ANSWER "$sleeps" -DREFERENCE -DTAGS=2 -DCANCELS=1 -DPATIENCE
breaks RAISE_EARLY "$bytes" -DREFERENCE -DCANCELS=1
breaks RAISE_OVER_QUEUED "$bytes" -DREFERENCE -DCANCELS=1
breaks RAISE_AT_END "$sleeps" -DREFERENCE -DTAGS=2 -DCANCELS=1 -DWIRING=EXCHANGE
breaks RAISE_LAST_ONLY "$sleeps" -DCANCELS=2
