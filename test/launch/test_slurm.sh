# SPDX-License-Identifier: BSD-3-Clause
#
# A real Slurm, of two nodes on this machine, started by this test with files of its own: `nbcoll run PROGRAM` in an
# allocation and in a batch script, and ranks that srun starts by itself. Whatever ends the launcher, no process is left.
. "$NBCOLL_SOURCE/test/command/check.sh"
PATH=$PATH:/usr/sbin:/sbin
cluster=$NBCOLL_BINARY/examples/cluster/cluster
"$nbcoll" info | grep -q '^transports.* shm' && [ -x "$cluster" ] && [ "$(id -u)" -eq 0 ] || exit 77
for program in munged slurmctld slurmd srun salloc sbatch; do
    command -v $program >/dev/null || { echo "no $program" && exit 77; }
done
umask 077
host=$(hostname -s)
port=$((10000 + $$ % 5000))
mkdir "$work/state"
head -c 1024 /dev/urandom >"$work/key"
cat >"$work/slurm.conf" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$work/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd-%n.log
SlurmctldPort=$port
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=4
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=4
PartitionName=p Nodes=n1,n2 Default=YES State=UP
END
export SLURM_CONF="$work/slurm.conf"

# Each writes where it runs.
end_slurm()
{
    for file in "$work"/*.pid; do
        [ ! -s "$file" ] || kill "$(cat "$file")" 2>/dev/null || true
    done
    for step in $(pgrep slurmstepd); do # of the job whose launcher was killed
        case $(readlink "/proc/$step/cwd") in "$work"*) kill -9 "$step" 2>/dev/null || true ;; esac
    done
    tenths=0
    until rm -rf "$work" 2>/dev/null || [ $((tenths += 1)) -gt 100 ]; do # they write once more
        sleep 0.1
    done
}
trap end_slurm EXIT
munged --force --key-file="$work/key" --socket="$work/munge" --pid-file="$work/munged.pid" \
    --log-file="$work/munged.log" --seed-file="$work/seed" 2>"$work/munged.says" || fail "$(cat "$work/munged.says")"
slurmctld && slurmd -N n1 && slurmd -N n2 || exit 77
tenths=0
until [ "$(sinfo -h -t idle -o %D 2>"$work/gone")" = 2 ]; do
    [ $((tenths += 1)) -lt 200 ] || fail "no nodes: $(cat "$work"/*.log)"
    sleep 0.1
done

# allocated command...: in an allocation of four ranks on two nodes.
allocated()
{
    status=0
    timeout 60 salloc -Q -N 2 --ntasks-per-node 2 "$@" >"$work/out" 2>"$work/err" || status=$?
}

allocated "$nbcoll" run --prefix sh -c 'echo "$SLURMD_NODENAME of $NBCOLL_RANKS"'
[ "$status" -eq 0 ] || fail "words: exit status $status"
[ "$(sort "$work/out" | tr '\n' ' ')" = '[0] n1 of 4 [1] n1 of 4 [2] n2 of 4 [3] n2 of 4 ' ] || fail 'words:'
allocated "$nbcoll" run "$cluster"
[ "$status" -eq 0 ] && prints '4 ranks over shm' || fail "a sum: exit status $status"
allocated "$nbcoll" run sh -c '[ $NBCOLL_RANK = 2 ] && exit 7; sleep 100'
[ "$status" -eq 7 ] || fail "a rank fails: exit status $status"
grep -q '^nbcoll run: rank 2 on n2 (process [0-9]*) failed: exit status 7$' "$work/err" || fail 'a rank fails:'

printf '#!/bin/sh\nexec "%s" run "%s"\n' "$nbcoll" "$cluster" >"$work/job"
sbatch -W -N 2 --ntasks-per-node 2 -o "$work/of_job" "$work/job" >"$work/out" 2>"$work/err" || fail 'a job failed:'
grep -qx '4 ranks over shm' "$work/of_job" || fail "a job: $(cat "$work/of_job")"

# By itself: the names of these nodes are in no list of names.
head -c 32 /dev/urandom >"$work/secret"
status=0
NBCOLL_SECRET_FILE="$work/secret" NBCOLL_HOST=127.0.0.1 timeout 60 srun -Q -N 2 --ntasks-per-node 2 "$cluster" \
    >"$work/out" 2>"$work/err" || status=$?
[ "$status" -eq 0 ] && prints '4 ranks over shm' || fail "srun by itself: exit status $status"

# What is left would sleep for so long, as nobody else does. Ranks have no children here: when srun ends, Slurm may kill a
# part, and with this way of tracking processes (not with cgroups) it misses what its ranks have started.
cat >"$work/killed" <<END
"$nbcoll" run sh -c 'trap "" TERM; echo begun; exec sleep 100.$$' >"$work/begun" &
guard=\$!
until [ "\$(grep -c begun "$work/begun")" -eq 4 ]; do sleep 0.1; done
kill -9 \$guard \$(pgrep -P \$guard)
tenths=0
while pgrep -af 'sleep 100[.]$$'; do
    [ \$((tenths += 1)) -lt 100 ] || exit 9
    sleep 0.1
done
END
: >"$work/begun"
allocated sh "$work/killed"
[ "$status" -eq 0 ] || fail "kill -9: exit status $status, left:"
