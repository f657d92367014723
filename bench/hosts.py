#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""nbcoll beside Open MPI and gloo between two machines: network namespaces of this host that a veth pair joins. As root.

hosts.py BUILD against [option]...   operations, beside Open MPI's mtl ofi and btl tcp and gloo's tcp (bench/against)
    --ranks 2,4,8  --mpi net,ofi,tcp  --operations ...  --bytes FLOATS,...  --rounds N  --budget US
    --provider NBCOLLS   (--mpi net: mtl ofi over net; ofi: over tcp;ofi_rxm)
hosts.py BUILD raw [BYTES,... [PROVIDER]]   messages: sockets, libfabric's provider alone, ofi (bench/ofi)
hosts.py BUILD hidden [MBIT]         what a driver hides of an allreduce where tbf limits the veth pair (bench/hidden)
hosts.py BUILD choice [RANKS [PROVIDER [ROUNDS]]]   every algorithm beside the chosen one (bench/choice)

against: all are in one process a rank, half of the ranks on each machine, and take turns, batch by batch. A row has the
median of nbcoll's faster form (persistent, or start and wait) and for each peer the median ratio of the batches of one
round to those of the peer's fastest form, with the 95% interval of that median. Bytes are those of a block, or of the
vector; gathered ones have 64 MiB at most. With --raw FILE the batches themselves are written, too. TCP's congestion
control is cubic, Linux's default, whatever this host has: bbr paces what it takes for a slow network."""
import argparse
import atexit
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

SPACE = f"nb{os.getpid()}x"
WORK = tempfile.mkdtemp()
SIZES = "2,256,4096,16384,65536,262144,1048576,4194304,16777216"  # floats
MPI = {"ofi": "--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include tcp;ofi_rxm",
       "net": "--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include net",
       "tcp": "--mca pml ob1 --mca btl tcp,vader,self --mca btl_tcp_if_include nb"}
AGENT = """#!/bin/sh
n=$((${1##*.} - 1))
shift
exec nsenter --net=/run/netns/%s$n --uts=%s/host$n sh -c "$*"
"""


def run(command):
    subprocess.run(command, shell=True, check=True)


def machines():
    """Two namespaces with a veth pair, each with a host name of its own: 10.99.0.1 and 10.99.0.2."""
    atexit.register(lambda: subprocess.run(
        f"for i in 0 1; do ip netns del {SPACE}$i; umount {WORK}/host$i; done; rm -rf {WORK}", shell=True,
        stderr=subprocess.DEVNULL))
    for i in 0, 1:
        run(f"ip netns add {SPACE}{i} && touch {WORK}/host{i} && unshare --uts={WORK}/host{i} hostname host{i}")
    run(f"ip link add nb netns {SPACE}0 type veth peer name nb netns {SPACE}1")
    for i in 0, 1:
        run(f"ip -n {SPACE}{i} link set lo up && ip -n {SPACE}{i} addr add 10.99.0.{i + 1}/24 dev nb && "
            f"ip -n {SPACE}{i} link set nb up && ip -n {SPACE}{i} route replace 10.99.0.0/24 dev nb src 10.99.0.{i + 1} "
            "congctl cubic")
    with open(f"{WORK}/agent", "w") as file:
        file.write(AGENT % (SPACE, WORK))
    os.chmod(f"{WORK}/agent", 0o755)


def launched(build, ranks, mpi, arguments):
    """The lines that bench/against prints. Open MPI's launcher starts a daemon on the other machine by the agent."""
    launcher = shutil.which("mpirun.openmpi") or "mpirun"
    gloo = tempfile.mkdtemp(dir=WORK)
    command = [f"{WORK}/agent", "10.99.0.1", "exec", launcher, "--host",
               f"10.99.0.1:{ranks // 2},10.99.0.2:{ranks // 2}", "--oversubscribe", "--bind-to none",
               f"--mca plm rsh --mca plm_rsh_agent {WORK}/agent --mca oob_tcp_if_include nb",
               f"--mca mpi_yield_when_idle {int(ranks > os.cpu_count())}", MPI[mpi].replace(";", "\\;"),
               f"-n {ranks} {os.path.abspath(build)}/bench/against/openmpi -n nb -g {gloo}",
               # mtl ofi waits without yielding: in the real-time class it would wait for ever for a rank of its core
               "-k" if ranks > os.cpu_count() else "", *arguments]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("{"):
                yield json.loads(line)
    if process.returncode:
        print(f"{ranks} ranks, {mpi}: exit status {process.returncode}", file=sys.stderr)


def fastest(cell, library, forms=None):
    timed = [e for e in cell["entries"] if e["library"] == library and e["right"] and (not forms or e["form"] in forms)]
    return min(timed, key=lambda e: statistics.median(e["us"]), default=None)


def ratio(ours, theirs):
    both = sorted(a / b for a, b in zip(ours["us"], theirs["us"]))
    outside = max(0, int((len(both) - 1.96 * math.sqrt(len(both))) / 2))
    return statistics.median(both), both[outside], both[-1 - outside]


def size(n):
    return "" if n == 0 else f"{n >> 20} M" if n >= 1 << 20 else f"{n >> 10} K" if n >= 1024 else str(n)


def us(entry):
    return f"{statistics.median(entry['us']):.4g}"


def against(build, options):
    rest = [f"-r {options.rounds} -u {options.budget}", *(f"-c {n}" for n in options.bytes.split(","))]
    rest += ["-p " + options.provider.replace(";", "\\;")] if options.provider else []
    rest += [f"-o {o}" for o in options.operations.split(",")]
    raw = open(options.raw, "a") if options.raw else None
    print("| ranks | | bytes | us | MPI over | us | ratio | gloo, us | ratio |\n|---|---|---|---:|---|---:|---|---:|---|")
    for ranks in map(int, options.ranks.split(",")):
        for mpi in options.mpi.split(","):
            for cell in launched(build, ranks, mpi, rest):
                if "operation" not in cell:
                    continue
                ours = fastest(cell, "nbcoll", ("persistent", "nonblocking"))
                columns = []
                for library in "mpi", "gloo":
                    theirs = fastest(cell, library)
                    columns += [us(theirs), "%.2f [%.2f, %.2f]" % ratio(ours, theirs)] if theirs and ours else ["", ""]
                print("|", " | ".join([str(ranks), cell["operation"], size(cell["bytes"]), us(ours) if ours else "wrong",
                                       mpi, *columns]), "|", flush=True)
                if raw:
                    raw.write(json.dumps(dict(cell, ranks=ranks, mpi=mpi)) + "\n")
                    raw.flush()


def raw(build, sizes, provider="tcp;ofi_rxm"):
    for n in sizes.split(","):
        subprocess.run([f"{build}/bench/ofi", provider, n, "51", SPACE], check=True)


def hidden(build, mbit):
    for i in 0, 1:
        run(f"tc -n {SPACE}{i} qdisc add dev nb root tbf rate {mbit}mbit burst 256k latency 200ms")
    # before other programs, also of other sessions
    first = "echo -20 >/proc/self/autogroup; exec nice -n -20 \"$@\""
    subprocess.run(["setsid", "-w", "sh", "-c", first, "sh", f"{build}/bench/hidden", SPACE], check=True)


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ("against", "raw", "hidden", "choice"):
        sys.exit(__doc__)
    build, what, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    machines()
    if what == "raw":
        raw(build, *(rest or ["16,1024,4096,16000,65536,1048576,16777216"]))
    if what == "hidden":
        hidden(build, *(rest or ["1000"]))
    if what == "choice":
        subprocess.run([f"{build}/bench/choice", SPACE, *rest], check=True)
    if what == "against":
        parser = argparse.ArgumentParser()
        for name, default in (("ranks", "2,4,8"), ("mpi", "net,ofi,tcp"), ("bytes", SIZES), ("rounds", "11"),
                              ("budget", "3000"), ("operations", "allreduce,bcast,allgather,alltoall,barrier"),
                              ("raw", ""), ("provider", "")):
            parser.add_argument(f"--{name}", default=default)
        against(build, parser.parse_args(rest))


main()
