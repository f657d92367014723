# SPDX-License-Identifier: BSD-3-Clause
#
# promises.sh <tree>: says which promise of docs/design.md, a list item of its section Promises, names no test, and which
# test it names that is not there. A tree without promises is said, too.
set -eu
cd "$1"
page=docs/design.md
grep -qs '^## [0-9]*\. Promises' $page || { echo "$page: has no promises" && exit 0; }

awk '
function end() { if (promise != "") print promise, named ? named : "-" }
/^## / { end(); promise = ""; inside = /^## [0-9]+\. Promises/ }
inside && /^- / { end(); promise = FNR; named = "" }
promise != "" {
    n = split($0, word, /[^a-z0-9_\/]+/)
    for (i = 1; i <= n; i++)
        if (word[i] ~ /^[a-z]+\/test_[a-z0-9_]+$/)
            named = named " " word[i]
}
END { end() }' $page | while read -r row tests; do
    for test in $tests; do
        if [ "$test" = - ]; then
            echo "$page:$row: names no test"
        elif [ ! -e "test/$test.c" ] && [ ! -e "test/$test.sh" ] && [ ! -e "test/$test.cpp" ]; then
            echo "$page:$row: there is no test $test"
        fi
    done
done
