#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# guest.sh [--cores N] [--devices N] [--guests N] [--vanishes] [--limit SECONDS] [--with PATH]... PROGRAM [ARGUMENT...]:
# runs a program in a virtual machine that has a real RDMA stack, over a device made of software (rxe), and ends with
# its status. What it prints comes out here. The kernel is Debian's, fetched once to build/vm of the project; QEMU
# emulates the processor.
#
#   --cores N         processors of each machine (2): one of them is for the stack while a program polls
#   --devices N       1 (default) or 2: the second one is rxe1, over d2 with the address 10.8.0.1; of one machine only
#   --guests N        1 (default) or 2 machines, whose devices see each other. Each runs the program, with GUEST=0 or 1
#                     in its environment. The status is that of machine 0, if that is not 0, else that of machine 1
#   --vanishes        machine 1 may end without a status: its program switches it off by writing 1 to the port 0x501
#   --limit SECONDS   after which it is ended (120)
#   --with PATH       a program or library that it starts or opens, which it finds under the same path
#
# In a machine the device is rxe0, over the network device d0 with the address 10.7.0.1; of the second one 10.7.0.2.
# Statuses of its own: 125, it could not be started; 124, the limit; 123, the guest's kernel has panicked; 122, the
# guest has ended without a status. The kernel's messages are then printed.
set -eu
PATH=$PATH:/usr/sbin:/sbin # where depmod, modprobe and ip are

fail() {
    echo "guest.sh: $2" >&2
    exit "$1"
}

cores=2 devices=1 guests=1 vanishes=no limit=120 with=
while [ $# -gt 0 ]; do
    case "$1" in
    --cores) cores=$2 && shift 2 ;;
    --devices) devices=$2 && shift 2 ;;
    --guests) guests=$2 && shift 2 ;;
    --vanishes) vanishes=yes && shift ;;
    --limit) limit=$2 && shift 2 ;;
    --with) with="$with $2" && shift 2 ;;
    -*) fail 125 "there is no option $1" ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || fail 125 "no program is named"

cache=$(cd "$(dirname "$0")/../.." && pwd)/build/vm
mkdir -p "$cache"
work=$(mktemp -d "$cache/run.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 125' INT TERM

# ---- the kernel, once -----------------------------------------------------------------------------------------------

# What the stack needs; crc32_generic comes first, without it rxe refuses a device.
modules="crc32_generic virtio_pci virtio_net veth rdma_rxe rdma_ucm ib_uverbs"

download_kernel() {
    package=$(apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends: linux-image-/ { print $2; exit }')
    [ -n "$package" ] && (cd "$work" && apt-get download -qq "$package" >/dev/null 2>&1)
}

fetch_kernel() {
    download_kernel || { apt-get update -qq && download_kernel; } ||
        fail 125 "the kernel (linux-image-amd64) cannot be fetched"
    dpkg-deb -x "$work"/linux-image-*.deb "$work/kernel"
    release=$(basename "$work"/kernel/lib/modules/*)
    depmod -b "$work/kernel" "$release"
    mkdir "$work/image"
    cp "$work"/kernel/boot/vmlinuz-* "$work/image/vmlinuz"
    for module in $modules; do
        modprobe -d "$work/kernel" -S "$release" --show-depends "$module" | awk '$1 == "insmod" { print $2 }'
    done | awk '!seen[$0]++' >"$work/list"
    while read -r file; do
        cp "$file" "$work/image"
        basename "$file"
    done <"$work/list" >"$work/image/modules"
    rm -rf "$work/kernel" "$work"/*.deb
    mv "$work/image" "$cache/kernel" 2>/dev/null || rm -rf "$work/image" # another run was faster
}

[ -f "$cache/kernel/modules" ] || fetch_kernel

# ---- what the machines find ---------------------------------------------------------------------------------------------

root=$work/root

# A file under its own path, and the libraries that it is linked with.
add() {
    [ -e "$1" ] || fail 125 "there is no $1"
    for file in "$1" $(ldd "$1" 2>/dev/null | grep -o '/[^ )]*'); do
        [ -e "$root$file" ] || { mkdir -p "$root$(dirname "$file")" && cp -L "$file" "$root$file"; }
    done
}

fill_root() {
    mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/modules"
    cp "$(command -v busybox)" "$root/bin/busybox"
    cp "$cache/kernel"/*.ko "$root/modules"
    cp "$cache/kernel/modules" "$root/modules/list"
    provider=$(ls /usr/lib/*/libibverbs/librxe-rdmav*.so)
    add "$provider"
    add /etc/libibverbs.d/rxe.driver
    program=$(command -v "$1") || fail 125 "there is no program $1"
    for file in "$(command -v ip)" "$(command -v rdma)" "$(realpath "$program")" $with; do
        add "$file"
    done
    cp "$(dirname "$0")/init.sh" "$root/init"
    {
        echo "set -- $(printf "'%s' " "$(realpath "$program")")"
        shift
        for argument; do
            printf "set -- \"\$@\" '%s'\n" "$(printf %s "$argument" | sed "s/'/'\\\\''/g")"
        done
        echo "ip=$(command -v ip) rdma=$(command -v rdma)"
    } >"$root/command"
    (cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) >"$work/initramfs"
}

fill_root "$@"

# ---- running them ------------------------------------------------------------------------------------------------------

# Machine $1: its kernel's messages go to a file, what the program prints to another one, which ends with its status.
# The kernel does not try its timer: where this machine is busy, the emulated one is late, and that would be a panic.
boot() {
    net=
    [ "$guests" -eq 1 ] ||
        net="-device virtio-net-pci,netdev=n,mac=52:54:00:00:00:0$1 -netdev stream,id=n,addr.type=unix,addr.path=$work/net"
    [ "$guests" -eq 1 ] || net="$net,server=$([ "$1" -eq 0 ] && echo on || echo off)"
    # shellcheck disable=SC2086 # options are words
    timeout -k 5 "$limit" qemu-system-x86_64 -accel tcg -cpu max -smp "$cores" -m 768 -nodefaults -no-reboot \
        -device isa-debug-exit,iobase=0x501,iosize=1 -display none \
        -kernel "$cache/kernel/vmlinuz" -initrd "$work/initramfs" \
        -append "console=ttyS0 panic=-1 quiet no_timer_check guest=$1 guests=$guests devices=$devices" \
        -serial "file:$work/messages.$1" -serial "file:$work/output.$1" $net
}

# What a machine has come to.
status_of() {
    status=$(sed -n 's/^guest ends with \([0-9]*\)\r*$/\1/p' "$work/output.$1")
    sed -e 's/\r$//' -e '/^guest ends with [0-9]*$/d' "$work/output.$1"
    [ -n "$status" ] && return "$status"
    [ "$1$vanishes$2" = 1yes3 ] && return # QEMU doubles what was written, and adds 1
    sed 's/\r$//' "$work/messages.$1" >&2
    [ "$2" -ne 124 ] || return 124
    grep -q 'Kernel panic' "$work/messages.$1" && return 123
    return 122
}

first=0
: >"$work/output.0"
if [ "$guests" -eq 2 ]; then
    : >"$work/output.1"
    boot 0 &
    until [ -S "$work/net" ]; do sleep 0.1; done
    ended=0
    boot 1 || ended=$?
    status_of 1 $ended || first=$?
    ended=0
    wait $! || ended=$?
else
    ended=0
    boot 0 || ended=$?
fi
status_of 0 $ended || exit $?
exit $first
