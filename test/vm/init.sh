#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The first program of a guest: see guest.sh.
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mkdir -p /dev/shm /run
mount -t tmpfs none /dev/shm
while read -r module; do
    insmod "/modules/$module" || echo "no $module"
done </modules/list
. /command
for word in $(cat /proc/cmdline); do
    case $word in
    guest=*) GUEST=${word#guest=} ;;
    guests=*) GUESTS=${word#guests=} ;;
    devices=*) devices=${word#devices=} ;;
    esac
done
export GUEST GUESTS PATH=/bin:/usr/bin:/sbin:/usr/sbin
if [ "$GUESTS" = 2 ]; then
    $ip link set eth0 name d0
else
    $ip link add d0 type veth peer name d1
    $ip link set d1 up
fi
$ip link set lo up
$ip link set d0 up
$ip address add 10.7.0.$((GUEST + 1))/24 dev d0
$rdma link add rxe0 type rxe netdev d0
if [ "$devices" = 2 ]; then
    $ip link add d2 type veth peer name d3
    $ip link set d3 up
    $ip link set d2 up
    $ip address add 10.8.0.1/24 dev d2
    $rdma link add rxe1 type rxe netdev d2
fi
{
    "$@" </dev/null 2>&1
    echo "guest ends with $?"
} >/dev/ttyS1
sync
poweroff -f
