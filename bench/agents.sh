#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# agents.sh [build directory [argument...]]: bench/agents in an emulated machine of four processors.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$here/build/release}/bench/agents
[ $# -eq 0 ] || shift
exec sh "$here/test/vm/guest.sh" --cores 4 --limit 1500 "$program" "$@"
