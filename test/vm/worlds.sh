# SPDX-License-Identifier: BSD-3-Clause
#
# worlds.sh PROGRAM...: runs programs of test/vm, one after the other, in one guest, and ends with the status of the first
# one that fails.
programs=
with=
for name; do
    program=$NBCOLL_BINARY/test/vm/$name
    if [ ! -x "$program" ]; then
        echo "$program was not built"
        exit 77
    fi
    programs="$programs $program"
    with="$with --with $program"
done
# shellcheck disable=SC2086 # options are words
exec sh "$(dirname "$0")/guest.sh" --limit 800 $with /bin/sh -c "for program in $programs; do \$program || exit; done"
