# SPDX-License-Identifier: BSD-3-Clause
#
# Each promise of docs/design.md names a test that is there.
. "$NBCOLL_SOURCE/test/rules/rule.sh"
rule promises

sample()
{
    rm -rf "$work/tree"
    mkdir -p "$work/tree/docs" "$work/tree/test/unit"
    touch "$work/tree/test/unit/test_one.c"
    (printf '## 11. Others\n- **Not a promise**\n## 12. Promises\n' && cat) >"$work/tree/$1"
    sh "$checker" "$work/tree" >"$work/said"
}
page=docs/design.md
printf -- '- **A**: kept\n  always (unit/test_one).\n- **B** (unit/test_one)\n## 13. More\n- **C**\n' | accepts $page
echo '- **A**: kept' | refuses $page ':4: names no test'
printf -- '- **A** (unit/test_one)\n- **B**: kept (unit/test_two, unit/test_one)\n' |
    refuses $page ':5: there is no test unit/test_two'
