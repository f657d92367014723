# SPDX-License-Identifier: BSD-3-Clause
#
# The README's figures beside the peers' are those of docs/performance.md: of buffers that are reused, persistent.
set -eu
awk '
function trimmed(text)
{
    gsub(/^ +| +$/, "", text)
    return text
}
FNR == 1 { file++ }
file == 1 && /^\| [24], reused \| (data|reductions) \| persistent \|/ {
    split($0, cell, "|")
    row = trimmed(cell[2]) " " trimmed(cell[3])
    sub(/, reused/, "", row)
    for (i = 5; i <= 8; i++) {
        sub(/;.*/, "", cell[i])
        measured[row, i] = trimmed(cell[i])
    }
}
file == 2 && /^\| [24] \| (data|reductions) \|/ {
    split($0, cell, "|")
    row = trimmed(cell[2]) " " trimmed(cell[3])
    for (i = 4; i <= 7; i++)
        if (++compared && trimmed(cell[i]) != measured[row, i + 1]) {
            print "README.md, " row ": " trimmed(cell[i]) ", measured: " measured[row, i + 1]
            wrong = 1
        }
}
END {
    if (compared != 16)
        print compared " figures compared instead of 16"
    exit wrong || compared != 16
}' "$NBCOLL_SOURCE/docs/performance.md" "$NBCOLL_SOURCE/README.md"
