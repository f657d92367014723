#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# check.sh [--full]: installs what is missing (Debian, as root), builds everything three times (optimised, with the
# address and undefined-behaviour sanitizers, with the thread sanitizer) and runs the tests of the three in one run of
# ctest, and what failed once more, alone (test/again.sh). Of the slow tests each sanitizer gets a third, another one
# after each commit; NBCOLL_SAMPLE=0, 1 or 2 in the environment chooses it. The last line says how many tests failed;
# above it stand those that are flaky. --full runs the whole grids instead of samples of them, all tests under the
# sanitizers, and soak for 20 minutes, and builds a fourth time, by clang, for a minute of each target of test/fuzz.
set -eu
cd "$(dirname "$0")/.."

case "$#${1-}" in
0) ;;
1--full) export NBCOLL_FULL=1 ;;
*) echo "usage: sh test/check.sh [--full]" >&2 && exit 2 ;;
esac

missing=
for package in build-essential clang libclang-rt-dev cmake ninja-build pkg-config libcmocka-dev libhwloc-dev \
    libinih-dev libjansson-dev libfftw3-dev groff-base zsh zlib1g-dev gnuplot-nox graphviz spin valgrind openmpi-bin libopenmpi-dev hpcc python3-mpi4py mpich libmpich-dev gfortran \
    libibverbs-dev ibverbs-providers libfabric-dev libopenblas-serial-dev libpmix-dev qemu-system-x86 busybox-static \
    iproute2 openssh-client openssh-server python3-yaml slurmctld slurmd \
    slurm-client munge kmod cpio debhelper dpkg-dev fakeroot lintian; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ -n "$missing" ]; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086 # the names are words
    apt-get install -y -qq --no-install-recommends $missing </dev/null
fi

presets="release asan tsan${NBCOLL_FULL:+ fuzz}"
sample=${NBCOLL_SAMPLE-$(($(git rev-list --count HEAD 2>/dev/null || echo 0) % 3))}
[ -z "${NBCOLL_FULL-}" ] || sample=
echo "sanitizers: ${sample:+third $sample of }the slow tests"
for preset in $presets; do
    cmake --preset $preset -DNBCOLL_SAMPLE=$sample >/dev/null
    cmake --build --preset $preset --parallel "$(nproc)"
done

for mpi in openmpi mpich; do
    [ -x build/release/bench/against/$mpi ] || { echo "bench/against/$mpi was not built" >&2 && exit 1; }
done

mkdir -p build/check
echo "subdirs($(printf ' ../%s' $presets))" >build/check/CTestTestfile.cmake
status=0
sh test/again.sh build/check || status=$?
if grep -q ' vm/.*\*\*\*Skipped' build/check/log; then
    echo "tests in a guest were skipped" >&2
    status=1
fi
for preset in $presets; do
    [ ! -s build/$preset/test/storm/fresh ] || sed "s/^/$preset: /" build/$preset/test/storm/fresh
done
cat build/check/summary
exit $status
