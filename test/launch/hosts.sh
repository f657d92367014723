# SPDX-License-Identifier: BSD-3-Clause
#
# Read by the tests of `nbcoll run --hosts`, after check.sh: two machines, and what is expected of a run there.
a=nbcoll-$$-a
b=nbcoll-$$-b

# Makes the machines a and b: namespaces that a cable joins. Skips the test where these are refused.
machines()
{
    ip netns add $a 2>/dev/null && ip netns add $b || exit 77
    trap 'ip netns del $a; ip netns del $b; rm -rf "$work"' EXIT
    ip link add one netns $a type veth peer name other netns $b || exit 77
    ip -n $a addr add 10.99.0.1/24 dev one && ip -n $b addr add 10.99.0.2/24 dev other
    ip -n $a link set lo up && ip -n $b link set lo up
    ip -n $a link set one up && ip -n $b link set other up
    while { ip -n $a -6 addr; ip -n $b -6 addr; } | grep -q tentative; do sleep 0.1; done # until the links are settled
}

is_left()
{
    { ip netns pids $a && ip netns pids $b; } >"$work/left"
    [ -s "$work/left" ]
}

# nothing_left what: after so many tenths of a second no process is left on a host.
nothing_left()
{
    tenths=0
    while is_left; do
        [ $((tenths += 1)) -lt 80 ] || fail "$1: left on a host: $(cat "$work/left")"
        sleep 0.1
    done
}

# ended status what: with this exit status, and nothing is left.
ended()
{
    [ "$status" -eq "$1" ] || fail "$2: exit status $status instead of $1"
    nothing_left "$2"
}

said()
{
    grep -qx -- "$1" "$work/err" || fail "not said: '$1'"
}

# failures A B: of ranks on these hosts, which are named.
failures()
{
    hosts --hosts "$1:2,$2:2" sh -c '[ $NBCOLL_RANK = 2 ] && exit 7; sleep 100'
    ended 7 'a rank fails'
    said "nbcoll run: rank 2 on $2 (process [0-9]*) failed: exit status 7"
    said "nbcoll run: host $2, ranks 2..3 (process [0-9]*) failed: exit status 7"
    hosts --hosts "$1:2,$2:2" sh -c '[ $NBCOLL_RANK = 1 ] && kill -SEGV $$; sleep 100'
    ended 139 'a rank dies'
    said "nbcoll run: rank 1 on $1 (process [0-9]*) was killed by signal 11 (SIGSEGV: .*"
    hosts --hosts "$1,$2" no-such-program
    ended 127 'no program'
    grep -q "^nbcoll run: rank [01] on .*: no-such-program: No such file or directory" "$work/err" || fail 'no program:'
}

# killed VICTIMS: of the launcher's processes, $guard and $launcher, these are killed.
killed()
{
    case $1 in
        guard) kill -9 "$guard" ;;
        launcher) kill -9 "$launcher" ;;
        both) kill -9 "$guard" "$launcher" ;;
    esac
    wait "$guard" || status=$?
    nothing_left "kill -9 of $1"
}
