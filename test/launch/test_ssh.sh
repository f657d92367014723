# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll run --hosts` by a real ssh: over servers of its own, with keys and files of their own, first on this machine,
# then on two, which are network namespaces, where the launcher is on one of them. Lines, exit statuses and signals come
# back; whatever fails is named with host and rank; whatever ends the launcher, no process of a host is left.
. "$NBCOLL_SOURCE/test/command/check.sh"
. "$NBCOLL_SOURCE/test/launch/hosts.sh"
cluster=$NBCOLL_BINARY/examples/cluster/cluster
sshd=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) || { echo 'no sshd: openssh-server cannot be installed' && exit 77; }
"$nbcoll" info | grep -q '^transports.* shm' && [ -x "$cluster" ] || exit 77
mark=NBCOLL_TEST_SSH=$$
servers=

# Keys, and what server and client read instead of the system's and the user's files.
umask 077
ssh-keygen -q -t ed25519 -N '' -f "$work/of_host"
ssh-keygen -q -t ed25519 -N '' -f "$work/of_user"
cp "$work/of_user.pub" "$work/authorized"
cat >"$work/server" <<END
HostKey $work/of_host
AuthorizedKeysFile $work/authorized
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
SetEnv $mark
END
cat >"$work/client" <<END
IdentityFile $work/of_user
IdentitiesOnly yes
BatchMode yes
StrictHostKeyChecking no
UserKnownHostsFile $work/known
LogLevel ERROR
ConnectTimeout 5
Host a
    HostName 10.99.0.1
Host b
    HostName 10.99.0.2
Host nowhere
    HostName 127.0.0.2
END

# As root a server needs a folder for what it does before it knows the user: one that it alone sees.
printf '#!/bin/sh\n[ -d /run/sshd ] || { mount -t tmpfs none /run && mkdir -m 755 /run/sshd; }\nexec "$@"\n' >"$work/apart"
apart="unshare -m sh $work/apart"
[ "$(id -u)" -eq 0 ] || apart=
[ -z "$apart" ] || $apart true 2>/dev/null || exit 77

# serve address prefix...: a server there, on $port.
serve()
{
    address=$1
    shift
    : >"$work/server_says"
    # shellcheck disable=SC2086 # words
    "$@" $apart "$sshd" -D -e -f "$work/server" -o "ListenAddress=$address" -p $port 2>"$work/server_says" &
    server=$!
    servers="$servers $server"
    tenths=0
    until grep -q 'Server listening' "$work/server_says"; do
        [ $((tenths += 1)) -lt 100 ] && kill -0 $server 2>/dev/null || fail "no server: $(cat "$work/server_says")"
        sleep 0.1
    done
}

# They end when this test does.
end_servers()
{
    # shellcheck disable=SC2086
    [ -z "$servers" ] || kill $servers 2>/dev/null || true
    servers=
}
trap 'end_servers; rm -rf "$work"' EXIT

# In place of that of hosts.sh. Those of a host are the children of its server, and what bears the mark.
is_left()
{
    for server in $servers; do
        ! pgrep -P "$server" >"$work/left" || return 0
    done
    grep -lzxs -- "$mark" /proc/[0-9]*/environ >"$work/left"
}

# hosts argument...
hosts()
{
    run_inside run --launcher "ssh -F $work/client -p $port" --timeout 60 "$@"
}

run_inside()
{
    status=0
    $inside "$nbcoll" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}

# begun N: so many ranks have begun.
begun()
{
    tenths=0
    until [ "$(grep -c '^begun' "$1")" -eq 4 ]; do
        [ $((tenths += 1)) -lt 200 ] || fail 'not begun:'
        sleep 0.1
    done
}

# starts ARGUMENT...: four ranks in the background, as a group of their own, which say begun.
starts()
{
    : >"$work/out"
    $inside setsid env --default-signal=INT "$nbcoll" run --launcher "ssh -F $work/client -p $port" \
        --hosts "$1:2,$2:2" sh -c "$3" >"$work/out" 2>"$work/err" </dev/null &
    guard=$!
    begun "$work/out"
}

# Of the hosts $1 and $2, where these processes of the launcher are killed.
all_of_it()
{
    hosts --hosts "$1:2,$2:2" --prefix sh -c 'echo "$1 of $NBCOLL_RANKS"; echo to err >&2' - 'a  "b'
    ended 0 'words'
    [ "$(sort "$work/out")" = "$(seq 0 3 | sed 's/.*/[&] a  "b of 4/')" ] || fail 'words:'
    [ "$(sort "$work/err")" = "$(seq 0 3 | sed 's/.*/[&] to err/')" ] || fail 'words to standard error:'

    failures "$1" "$2"
    hosts --hosts "$1:2,nowhere:2" sleep 100
    ended 255 'no host'
    said 'ssh: connect to host 127.0.0.2 port .*'
    said 'nbcoll run: host nowhere, ranks 2..3 (process [0-9]*) failed: exit status 255'

    starts "$1" "$2" 'trap "echo heard; exit 5" INT; echo begun; sleep 100 & wait; wait'
    kill -INT -$guard
    status=0
    wait $guard || status=$?
    ended 130 'an interrupt'
    [ "$(grep -c '^heard' "$work/out")" -eq 4 ] || fail 'an interrupt:'
    for victims in $3; do
        starts "$1" "$2" 'trap "" TERM; echo begun; sleep 100; sleep 100'
        launcher=$(pgrep -P $guard)
        killed $victims
    done
}

# Ctrl-C at a terminal.
press()
{
    command -v script >/dev/null || return 0
    : >"$work/shown"
    status=0
    { begun "$work/shown" && printf '\003' && sleep 3; } | script -qefc "$inside '$nbcoll' run --launcher \
        'ssh -F $work/client -p $port' --hosts $1:2,$2:2 sh -c 'trap \"echo heard; exit 5\" INT; echo begun; sleep 100 & wait; wait'" \
        "$work/shown" >/dev/null || status=$?
    ended 130 'Ctrl-C'
    [ "$(grep -c 'heard.$' "$work/shown")" -eq 4 ] || fail "Ctrl-C: $(cat "$work/shown")"
}

# This machine, under two names. A port is free if the server can have it.
inside=
port=$((20000 + $$ % 10000))
serve 127.0.0.1 env
all_of_it localhost 127.0.0.1 'guard launcher both'
press localhost 127.0.0.1
hosts --hosts localhost:2,127.0.0.1:2 "$cluster"
ended 0 'a sum'
prints '4 ranks over shm'
end_servers

# Two machines.
machines
trap 'end_servers; ip netns del $a; ip netns del $b; rm -rf "$work"' EXIT
inside="ip netns exec $a"
serve 10.99.0.1 ip netns exec $a
serve 10.99.0.2 ip netns exec $b
all_of_it a b both
if ldd "$cluster" | grep -q libfabric; then
    hosts --hosts a:2,b:2 "$cluster"
    ended 0 'a sum over a network'
    prints '4 ranks over shm and ofi'
fi
