# SPDX-License-Identifier: BSD-3-Clause
#
# Each line of docs/mpi.md names a test that is there.
. "$NBCOLL_SOURCE/test/rules/rule.sh"
rule mpi

# page line...: a page with these lines in a table, in a tree with one test and one header.
sample()
{
    rm -rf "$work/tree"
    mkdir -p "$work/tree/docs" "$work/tree/test/unit" "$work/tree/include/nbcoll"
    echo 'NBCOLL_API int nbcoll_bcast(void);' >"$work/tree/include/nbcoll/nbcoll.h"
    echo 'static void it_works_well(void **state)' >"$work/tree/test/unit/test_one.c"
    (printf '| MPI | shown by |\n|---|---|\n' && cat) >"$work/tree/$1"
    sh "$checker" "$work/tree" >"$work/said"
}
page=docs/mpi.md
printf '| a | unit/one |\n| b | unit/one `it_works_well`, `it_works_...` |\n| c | absent: `reduce` |\n' | accepts $page
echo '| a | |' | refuses $page ':3: names no test'
echo '| a | surely |' | refuses $page ':3: names no test'
echo '| a | unit/two |' | refuses $page ':3: there is no test unit/two'
echo '| a | unit/one `it_fails` |' | refuses $page ':3: test/unit/test_one.c has no it_fails'
echo '| a | unit/one; absent: `cast` |' | refuses $page ':3: there is a function with cast in its name'
