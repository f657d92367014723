# SPDX-License-Identifier: BSD-3-Clause
#
# mpi.sh <tree>: says which line of a table of docs/mpi.md names no test, which test it names that is not there, and which
# function there is although the line says that there is none. In the last cell stand folder/name (a file), and behind
# that `case`s (functions of the file; `beginning_...`); or "absent:" and `words` that no name of a function in nbcoll.h
# may have.
set -eu
cd "$1"
page=docs/mpi.md
[ -e $page ] || exit 0

# A line for each thing that a row names: row, kind (file, case, absent, none), file, word.
named()
{
    awk -F'|' '
    /^\|/ { row[NR] = $0; cell[NR] = $(NF - 1) }
    /^\|-/ { delete row[NR]; delete row[NR - 1] }
    END {
        for (r = 1; r <= NR; r++) {
            if (!(r in row))
                continue
            file = "-"
            found = absent = 0
            n = split(cell[r], word, /[ ,;()]+/)
            for (i = 1; i <= n; i++) {
                w = word[i]
                if (w == "absent:") {
                    absent = found = 1
                } else if (w ~ /^[a-z]+\/[a-z0-9_]+$/) {
                    file = w
                    absent = 0
                    found = 1
                    print r, "file", file, "-"
                } else if (w ~ /^`[a-z0-9_]+(\.\.\.)?`$/) {
                    gsub(/[`.]/, "", w)
                    print r, absent ? "absent" : "case", file, w
                }
            }
            if (!found)
                print r, "none", "-", "-"
        }
    }' $page
}

named | while read -r row kind file word; do
    source=
    for suffix in c cpp sh; do
        [ ! -e "test/${file%/*}/test_${file#*/}.$suffix" ] || source=test/${file%/*}/test_${file#*/}.$suffix
    done
    case $kind in
    none) echo "$page:$row: names no test" ;;
    absent) ! grep -qE "^[A-Za-z].*nbcoll_[a-z_]*$word[a-z_]*\(" include/nbcoll/nbcoll.h ||
        echo "$page:$row: there is a function with $word in its name" ;;
    *) if [ -z "$source" ]; then
        [ "$kind" = case ] || echo "$page:$row: there is no test $file"
    elif [ "$kind" = case ] && ! grep -q "$word" "$source"; then
        echo "$page:$row: $source has no $word"
    fi ;;
    esac
done
