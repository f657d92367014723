# SPDX-License-Identifier: BSD-3-Clause
#
# The manifest of examples/cluster is one that Kubernetes takes as it is meant: its parts name each other rightly. Ranks
# with the environment that it gives, but for the host's name, come together.
. "$NBCOLL_SOURCE/test/command/check.sh"
cluster=$NBCOLL_BINARY/examples/cluster/cluster
python=/usr/bin/python3 # Debian's, which has python3-yaml
[ -x "$cluster" ] && $python -c 'import yaml' 2>/dev/null || exit 77

cat >"$work/check.py" <<'END'
import sys, yaml

service, job = yaml.safe_load_all(open(sys.argv[1]))
assert (service['apiVersion'], service['kind']) == ('v1', 'Service')
assert (job['apiVersion'], job['kind']) == ('batch/v1', 'Job')
name, spec = job['metadata']['name'], job['spec']
pod = spec['template']['spec']
rank, = pod['containers']
env = {e['name']: e['value'] for e in rank['env']}
assert set(spec) == {'completionMode', 'completions', 'parallelism', 'backoffLimit', 'template'}
assert set(pod) == {'subdomain', 'restartPolicy', 'containers', 'volumes'}
assert all(isinstance(v, str) for v in env.values())
assert spec['completionMode'] == 'Indexed' and spec['backoffLimit'] == 0 and pod['restartPolicy'] == 'Never'
assert spec['completions'] == spec['parallelism'] == int(env['NBCOLL_RANKS'])
assert pod['subdomain'] == service['metadata']['name'] and env['NBCOLL_HOST'] == f"{name}-0.{pod['subdomain']}"
of_service = service['spec']
assert of_service['clusterIP'] == 'None' and of_service['publishNotReadyAddresses'] is True
assert of_service['selector'] == {'job-name': name}
assert of_service['ports'][0]['port'] == int(env['NBCOLL_PORT'])
mount, = rank['volumeMounts']
volume, = pod['volumes']
assert mount['name'] == volume['name'] and volume['secret']['defaultMode'] == 0o400
assert env['NBCOLL_SECRET_FILE'] == mount['mountPath'] + '/secret'
env['NBCOLL_HOST'] = 'localhost'
env['NBCOLL_SECRET_FILE'] = sys.argv[2]
env['NBCOLL_PORT'] = str(20000 + int(sys.argv[3]) % 10000)
print(' '.join(f'{k}={v}' for k, v in env.items()))
END
umask 077
head -c 32 /dev/urandom >"$work/secret"
chmod 400 "$work/secret"
status=0
$python "$work/check.py" "$NBCOLL_SOURCE/examples/cluster/kubernetes.yaml" "$work/secret" $$ >"$work/out" 2>"$work/err" ||
    status=$?
[ "$status" -eq 0 ] || fail 'the manifest:'
env=$(cat "$work/out")
ranks=
: >"$work/out"
for i in 3 2 1 0; do
    # shellcheck disable=SC2086 # words
    env $env JOB_COMPLETION_INDEX=$i "$cluster" >>"$work/out" 2>>"$work/err" &
    ranks="$ranks $!"
done
for rank in $ranks; do
    wait "$rank" || fail 'a rank failed:'
done
prints '4 ranks over shm'
