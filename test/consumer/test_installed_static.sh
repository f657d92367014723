# SPDX-License-Identifier: BSD-3-Clause
#
# The static library, installed and moved, is found by pkg-config and by find_package, and a program made with it runs
# without it; so does the command, and a program that reads tuning files.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$NBCOLL_SOURCE/test/consumer/installed.sh"

installed OFF
by_find_package
by_pkg_config "$work/program" --static
rm -r "$library"
runs "$work/program"
"$work/moved/bin/nbcoll" info
