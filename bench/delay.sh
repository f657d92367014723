#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# delay.sh [build directory]: bench/delay over verbs, whose device is rxe, in an emulated machine of four processors.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
program=$(realpath "${1:-$here/build/release}/test/vm/delay")
exec sh "$here/test/vm/guest.sh" --cores 4 --limit 580 "$program" 1000
