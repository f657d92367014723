# SPDX-License-Identifier: BSD-3-Clause
#
# The documents are as short as agreed, and the files and tests that they name exist.
. "$NBCOLL_SOURCE/test/rules/rule.sh"
rule documents

# says file line text: of a tree with that line at the end of the file the checker says the text, and nothing else.
says()
{
    rm -rf "$work/tree"
    mkdir -p "$work/tree/docs" "$work/tree/src/engine/run" "$work/tree/test/unit"
    cd "$work/tree"
    touch README.md src/engine/README.md docs/contributing.md src/engine/run/run.h test/unit/test_good.c
    printf '## 3. Words\n\n- **run**: run/run.h, unit/test_good, src/engine/run\n' >docs/design.md
    echo '| engine, run | |' >src/README.md
    echo "$2" >>"$1"
    sh "$checker" . >"$work/said"
    [ "$(cat "$work/said")" = "$3" ] || { echo "of $1, instead of '$3': $(cat "$work/said")" && exit 1; }
}

says README.md '' ''
says docs/design.md "$(lines 4000 word)" 'docs/design.md: 4008 words'
says docs/design.md "$(lines 25 '- **word**:')" 'docs/design.md: 26 lines of the glossary'
says docs/drivers.md "$(lines 3200 "$(printf '%57s' x)")" "docs: $((3200 * 58 + 66)) bytes"
says docs/contributing.md 'in src/engine/gone.c' 'docs/contributing.md: there is no src/engine/gone.c'
says docs/design.md 'in run/gone.h' 'docs/design.md: there is no src/engine/run/gone.h'
says README.md 'by unit/test_gone' 'README.md: there is no test unit/test_gone'
mkdir "$work/tree/src/more"
sh "$checker" "$work/tree" | grep -qx 'src/README.md: has no row for more'
