#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Debian's packages: they build from a copy of the tree, lintian finds no error in them, and a program is compiled, linked
# and run against what they hold, as is the command.
set -eu
for tool in dpkg-buildpackage dh lintian fakeroot; do
    command -v $tool >/dev/null || { echo "skipped: $tool is not installed" && exit 77; }
done
place=$NBCOLL_BINARY/packages
rm -rf "$place"
mkdir -p "$place/nbcoll"
cd "$NBCOLL_SOURCE"
cp -r CHANGELOG.md CMakeLists.txt CMakePresets.json LICENSE README.md bench docs examples include pkgconfig src transports \
    pkgconfig/debian "$place/nbcoll"
cd "$place/nbcoll"

version=$(sed -n 's/^project(nbcoll VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
grep -q "^nbcoll ($version-" debian/changelog || { echo "debian/changelog is not of $version" && exit 1; }
abi=$(sed -n 's/^#define NBCOLL_ABI \([0-9]*\).*/\1/p' include/nbcoll/nbcoll.h)
grep -q "^Package: libnbcoll$abi\$" debian/control || { echo "no library package is named by ABI $abi" && exit 1; }

export CCACHE_BASEDIR="$PWD" CCACHE_NOHASHDIR=1 DEB_BUILD_OPTIONS="nocheck noautodbgsym noopt parallel=$(nproc)"
if command -v ccache >/dev/null; then
    CCACHE_DIR=$(ccache -k cache_dir) # debhelper makes a home of its own
    export CCACHE_DIR CMAKE_C_COMPILER_LAUNCHER=ccache
fi
env -u CC -u CXX dpkg-buildpackage -b -uc -us >../log 2>&1 || { tail -40 ../log && exit 1; }
cd ..
lintian --allow-root --fail-on error ./*.changes >lintian 2>&1 || { cat lintian && exit 1; }
cat lintian

for package in "libnbcoll$abi" libnbcoll-dev libnbcoll-doc nbcoll nbcoll-openmpi nbcoll-mpich; do
    dpkg -x "$package"_*.deb root
done
triple=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
export PKG_CONFIG_SYSROOT_DIR="$PWD/root" PKG_CONFIG_PATH="$PWD/root/usr/lib/$triple/pkgconfig"
export LD_LIBRARY_PATH="$PWD/root/usr/lib/$triple" PATH="$PWD/root/usr/bin:$PATH"
hello=root/usr/share/doc/libnbcoll-doc/examples/hello
# shellcheck disable=SC2046 # flags are words
"$CC" -std=c11 -o hello $hello/*.c $(pkg-config --cflags --libs nbcoll)
readelf -d hello | grep -q "NEEDED.*libnbcoll\.so\.$abi\]" || { echo "hello is not linked with the package" && exit 1; }
[ "$(nbcoll run -n 3 ./hello | wc -l)" -ge 1 ]
"$CC" -std=c11 -o static $hello/*.c -I root/usr/include root/usr/lib/"$triple"/libnbcoll.a -lm -lpthread
nbcoll run -n 3 ./static >/dev/null
nbcoll --version | grep -q "nbcoll $version, ABI $abi"
for page in man1/nbcoll.1 man1/nbcoll-run.1 man3/nbcoll_nbcoll.h.3 man7/nbcoll.7; do
    [ -s root/usr/share/man/$page.gz ] || { echo "$page is in no package" && exit 1; }
done
for mpi in openmpi mpich; do
    ! dpkg -c libnbcoll-dev_*.deb | grep libnbcoll_$mpi || { echo "libnbcoll-dev has nbcoll-$mpi's" && exit 1; }
    mpicc.$mpi -o every_call "$NBCOLL_SOURCE/test/mpi/every_call.c"
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 NBCOLL_MPI=report,all \
        nbcoll mpirun --launcher mpirun.$mpi -n 2 ./every_call 2>&1 >/dev/null | grep -q 'MPI_Allreduce .* served' ||
        { echo "nbcoll-$mpi serves nothing" && exit 1; }
done
