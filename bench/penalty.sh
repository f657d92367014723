#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# sh bench/penalty.sh NBCOLL [argument]...: runs `nbcoll tune` with these arguments, and prints its first table
# (the penalty of the compiled-in choice: mean, and in brackets the worst) in Markdown.
set -eu
nbcoll=${1:?usage: sh bench/penalty.sh NBCOLL [argument of nbcoll tune]...}
shift

out=$("$nbcoll" tune "$@")
echo "$out" | awk '
/^$/ { exit }
/^ranks / {
    columns = NF - 3
    rule = "|---|"
    line = "| ranks |"
    for (i = 2; i <= columns + 1; i++) {
        line = line " " $i " |"
        rule = rule "---:|"
    }
    print line "\n" rule
    next
}
columns {
    line = "| " $1 " |"
    for (i = 0; i < columns; i++)
        line = line " " $(2 * i + 2) " (" $(2 * i + 3) ") |"
    print line
}'
