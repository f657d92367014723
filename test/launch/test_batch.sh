# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks that batch systems start, as their environments say it: `nbcoll run PROGRAM` in an allocation of Slurm or PBS,
# and programs whose ranks srun, Kubernetes or a script has started each by itself, which meet in spite of strangers.
. "$NBCOLL_SOURCE/test/command/check.sh"
cluster=$NBCOLL_BINARY/examples/cluster/cluster
"$nbcoll" info | grep -q '^transports.* shm' && [ -x "$cluster" ] || exit 77
unset SLURM_JOB_NODELIST PBS_NODEFILE

# A remote shell to this machine; and an srun that takes what `nbcoll run` says to it.
printf '#!/bin/sh\necho "$1" >>"%s/hosts"\nshift\nexec "$@"\n' "$work" >"$work/launcher"
mkdir "$work/bin"
cat >"$work/bin/srun" <<END
#!/bin/sh
[ "\$1 \$2 \$3 \$4 \$5" = '--nodes=1 --ntasks=1 --overlap --unbuffered --nodelist' ] || exit 9
shift 5
exec '$work/launcher' "\$@"
END
chmod +x "$work/launcher" "$work/bin/srun"

# allocated hosts ranks: the run that follows had these.
allocated()
{
    [ "$status" -eq 0 ] || fail "exit status $status"
    prints "$2 ranks over shm"
    [ "$(sort "$work/hosts" | tr '\n' ' ')" = "$1" ] || fail "instead of '$1': $(cat "$work/hosts")"
    rm "$work/hosts"
}

export PATH="$work/bin:$PATH"
export SLURM_JOB_NODELIST='n[1-2],gpu' SLURM_TASKS_PER_NODE='2(x2),1'
run run "$cluster"
allocated 'gpu n1 n2 ' 5
run run --launcher "$work/launcher" --hosts a:1,b "$cluster"
allocated 'a b ' 2
run run -n 3 "$cluster"
[ "$status" -eq 0 ] && prints '3 ranks over shm' && [ ! -e "$work/hosts" ] || fail '-n is for this machine:'
SLURM_TASKS_PER_NODE='2,2'
refuses "nbcoll run: 'gpu': hosts are 1..256 names, each with :1..:256" run "$cluster"
unset SLURM_JOB_NODELIST SLURM_TASKS_PER_NODE
printf 'n1\nn1\nn2\n' >"$work/nodes"
PBS_NODEFILE=$work/nodes run run --launcher "$work/launcher" "$cluster"
allocated 'n1 n2 ' 3
PBS_NODEFILE=$work/none run run "$cluster"
[ "$status" -eq 3 ] && [ "$(cat "$work/err")" = "nbcoll run: $work/none: No such file or directory" ] || fail 'no file:'
refuses 'nbcoll run: -n is missing: how many ranks?' run "$cluster"

# meets what N command...: N ranks, each with $I, of which the first one comes last, in spite of strangers who say
# nothing, rubbish or very much. The ports are of this process.
umask 077
head -c 32 /dev/urandom >"$work/secret"
export NBCOLL_SECRET_FILE="$work/secret" NBCOLL_PORT=$((20000 + $$ % 10000))
busybox=$(command -v busybox || true)
meets()
{
    : >"$work/out"
    ranks=
    i=$(($2 - 1))
    while [ $i -ge 0 ]; do
        if [ $i -eq 0 ] && [ -n "$busybox" ]; then
            sleep 0.3
            for stranger in 'sleep 20' 'echo rubbish; sleep 20' 'head -c 9999999 /dev/zero; sleep 20'; do
                sh -c "until { $stranger; } | $busybox nc 127.0.0.1 $NBCOLL_PORT >/dev/null 2>&1; do sleep 0.05; done" &
                ranks="$ranks stranger:$!"
            done
        fi
        env I=$i sh -c "$3" >>"$work/out" 2>>"$work/err" &
        ranks="$ranks $!"
        i=$((i - 1))
    done
    for rank in $ranks; do
        case $rank in
            stranger:*) continue ;;
        esac
        wait "$rank" || fail "$1: a rank failed"
    done
    for rank in $ranks; do
        case $rank in
            stranger:*) kill "${rank#*:}" 2>/dev/null || true ;;
        esac
    done
    prints "$2 ranks over shm"
}

: >"$work/err"
meets Kubernetes 3 "JOB_COMPLETION_INDEX=\$I NBCOLL_RANKS=3 NBCOLL_HOST=localhost exec '$cluster'"
meets Slurm 3 "SLURM_PROCID=\$I SLURM_STEP_NUM_TASKS=3 SLURM_STEP_NODELIST='127.0.0.[1-2]' SLURM_JOB_ID=17 \
    SLURM_STEP_ID=0 exec '$cluster'"
meets 'a script' 2 "NBCOLL_RANK=\$I NBCOLL_RANKS=2 NBCOLL_HOST=127.0.0.1 exec '$cluster'"
mkdir "$work/.nbcoll"
cp "$work/secret" "$work/.nbcoll/secret"
meets 'the secret of all jobs' 2 "unset NBCOLL_SECRET_FILE; HOME='$work' NBCOLL_RANK=\$I NBCOLL_RANKS=2 \
    NBCOLL_HOST=127.0.0.1 exec '$cluster'"

# misses message variable...: a rank of these is refused.
misses()
{
    message=$1
    shift
    status=0
    env NBCOLL_HOST=127.0.0.1 "$@" "$cluster" >"$work/out" 2>"$work/err" || status=$?
    [ "$status" -eq 1 ] && grep -q "^finding the others: $message" "$work/err" || fail "$*: exit status $status"
}

chmod 644 "$work/secret"
misses 'a configuration field' NBCOLL_RANK=0 NBCOLL_RANKS=2
chmod 600 "$work/secret"
misses 'a configuration field' NBCOLL_RANK=0
misses 'a configuration field' NBCOLL_RANK=2 NBCOLL_RANKS=2
misses 'a configuration field' NBCOLL_RANK=0 NBCOLL_RANKS=2 NBCOLL_PORT=65536
misses 'a configuration field' NBCOLL_RANK=0 NBCOLL_RANKS=2 NBCOLL_SECRET_FILE=/none
