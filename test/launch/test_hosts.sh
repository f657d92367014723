# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll run --hosts` on two machines, which are network namespaces joined by a cable: ranks find each other, their
# lines, exit statuses and signals come back, and whatever ends the launcher, no process is left on either. The secret
# by which they find each other is on no command line.
. "$NBCOLL_SOURCE/test/command/check.sh"
. "$NBCOLL_SOURCE/test/launch/hosts.sh"
cluster=$NBCOLL_BINARY/examples/cluster/cluster
"$nbcoll" info | grep -q '^transports.* shm' && [ -x "$cluster" ] || exit 77
machines

# As a remote shell it is a parent that stays, and says so if there is no such host.
cat >"$work/shell" <<END
case \$1 in
    a) machine=$a ;;
    b) machine=$b ;;
    *) echo "no host \$1" >&2 && exit 255 ;;
esac
shift
ip netns exec \$machine "\$@"
exit \$?
END
printf '#!/bin/sh\nexec setsid -f -w sh %s/shell "$@"\n' "$work" >"$work/launcher"
chmod +x "$work/launcher"

# hosts argument...
hosts()
{
    run run --launcher "$work/launcher" --timeout 60 "$@"
}

# Ranks, their numbers and words, and the network.
hosts --hosts a:2,b:2 --prefix sh -c 'echo "$1 of $NBCOLL_RANKS"; pwd' - 'a  "b' </dev/null
ended 0 'words'
seq 0 3 | sed "s|.*|[&] a  \"b of 4\n[&] $(pwd)|" | sort >"$work/expected"
sort "$work/out" | cmp -s - "$work/expected" || fail 'words:'
if ldd "$cluster" | grep -q libfabric; then
    hosts --hosts a:2,b:2 "$cluster"
    ended 0 'a sum'
    prints '4 ranks over shm and ofi'
fi
hosts --hosts a:2,a:1 "$cluster"
ended 0 'one host'
prints '3 ranks over shm'
printf '# hosts\na slots=2\n\nb\nb:4\n' >"$work/hosts"
hosts --hostfile "$work/hosts" -n 4 sh -c 'echo $NBCOLL_RANK; ip -o -4 addr show scope global' </dev/null
ended 0 'a file'
[ "$(grep -c 10.99.0.1 "$work/out") $(grep -c 10.99.0.2 "$work/out")" = '2 2' ] || fail 'of a file:'

# A program for one machine is refused by its own first call.
hosts --hosts a,b "$NBCOLL_BINARY/examples/hello/hello"
ended 1 hello
said 'hello: not supported by this transport or build'

# The deaths of ranks and hosts.
failures a b
for list in a,nowhere nowhere,a; do
    hosts --hosts $list sleep 100
    ended 255 "no host in $list"
    said 'no host nowhere'
    said 'nbcoll run: host nowhere, rank [01] (process [0-9]*) failed: exit status 255'
done
hosts --hosts a:2,b:2 --timeout 0.5 sleep 100
ended 124 'its time is over'
grep -q 'nbcoll run: the time of 0.5 s is over; still running: ranks [0-3] on [ab] (.*), [0-3] on [ab] (' "$work/err" ||
    fail 'its time is over:'

# A signal reaches every rank; the launcher's death, by whatever, ends all.
"$nbcoll" run --launcher "$work/launcher" --hosts a:2,b:2 \
    sh -c 'trap "echo heard; exit 5" HUP; echo begun; sleep 100 & wait' >"$work/out" 2>"$work/err" &
until [ "$(grep -c begun "$work/out")" -eq 4 ]; do sleep 0.1; done
status=0
kill -HUP $! && wait $! || status=$?
ended 129 'a signal'
[ "$(grep -c heard "$work/out")" -eq 4 ] || fail 'a signal:'
for victims in guard launcher both; do
    : >"$work/out" # what was begun before
    # shellcheck disable=SC2016
    "$nbcoll" run --launcher "$work/launcher" --hosts a:2,b:2 \
        sh -c 'trap "" TERM; echo begun; sleep 100; sleep 100' >"$work/out" 2>"$work/err" &
    guard=$!
    until [ "$(grep -c begun "$work/out")" -eq 4 ]; do sleep 0.1; done
    launcher=$(pgrep -P $guard)
    cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' >"$work/lines"
    id=$(for process in $(ip netns pids $a); do tr '\0' '\n' <"/proc/$process/environ"; done 2>"$work/gone" |
        sed -n 's/^NBCOLL_ID=\([0-9a-f]*\)-.*/\1/p' | sort -u)
    [ ${#id} -eq 32 ] && ! grep -q "$id" "$work/lines" || fail "the secret '$id' is on a command line"
    for process in $guard $launcher; do
        ! grep -q "$id" /proc/$process/environ || fail 'the launcher has the secret in its environment'
    done
    killed $victims
done

# What is refused.
refuses "nbcoll run: 'b:x': hosts are 1..256 names, each with :1..:256" run --hosts a:1,b:x true
refuses 'nbcoll run: the hosts have places for 2 ranks' run -n 3 --hosts a,b true
refuses 'nbcoll run: --timeline and --agent are for one machine, without --hosts' run --hosts a --agent true
