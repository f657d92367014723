# SPDX-License-Identifier: BSD-3-Clause
#
# A guest runs a program and ends with its status; its kernel's panic and the time limit have statuses of their own.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ends_with() {
    wanted=$1 limit=$2
    shift 2
    printf '#!/bin/sh\n%s\n' "$*" >"$work/program"
    chmod +x "$work/program"
    status=0
    sh "$here/guest.sh" --limit "$limit" --with /bin/sh "$work/program" >"$work/output" 2>&1 || status=$?
    [ $status -eq "$wanted" ] && return
    cat "$work/output"
    echo "it ended with $status, not $wanted: $*" >&2
    exit 1
}

ends_with 0 200 'echo "the device is $(cat /sys/class/infiniband/*/ports/1/state)"'
grep -q '^the device is 4: ACTIVE$' "$work/output"
ends_with 7 200 'exit 7'
ends_with 123 200 'echo c >/proc/sysrq-trigger'
ends_with 124 10 'sleep 1000'
