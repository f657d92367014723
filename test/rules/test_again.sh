# SPDX-License-Identifier: BSD-3-Clause
#
# What test/check.sh makes of tests that fail: each is tried again, alone; up to two that then pass are named as flaky and
# do not fail the check, more do, and so does what fails twice; the summary says so.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# tree test...: of tests that pass ("sound"), fail ("wrong...") or fail when others run, or the first time ("shy...").
tree()
{
    rm -rf "$work/tree"
    mkdir "$work/tree"
    for test in "$@"; do
        case $test in
        sound*) run=true ;;
        wrong*) run='exit 1' ;;
        shy*) run="test -e $test || { touch $test; exit 1; }" ;;
        esac
        echo "add_test(part/$test sh -c \"$run\")" >>"$work/tree/CTestTestfile.cmake"
    done
}

# gives status summary flaky...
gives()
{
    expected=$1 summary=$2
    shift 2
    status=0
    sh "$NBCOLL_SOURCE/test/again.sh" "$work/tree" >"$work/said" 2>&1 || status=$?
    for test in "$@"; do echo "flaky, passes alone: part/$test"; done >"$work/expected"
    grep '^flaky' "$work/said" | diff "$work/expected" - || { cat "$work/said" && exit 1; }
    [ "$(cat "$work/tree/summary")" = "$summary" ] || { cat "$work/tree/summary" "$work/said" && exit 1; }
    [ "$status" -eq "$expected" ] || { echo "exit status $status" && exit 1; }
}

tree sound1 sound2
gives 0 '100% tests passed, 0 tests failed out of 2'
tree sound1 shy1 shy2
gives 0 '100% tests passed, 0 tests failed out of 3' shy1 shy2
gives 0 '100% tests passed, 0 tests failed out of 3'
tree sound1 shy1 shy2 shy3
gives 1 '25% tests passed, 3 tests failed out of 4' shy1 shy2 shy3
tree sound1 sound2 wrong1 shy1
gives 1 '75% tests passed, 1 tests failed out of 4' shy1
tree sound1 wrong1 wrong10
gives 1 '33% tests passed, 2 tests failed out of 3'
grep -q 'part/wrong10 .*Failed' "$work/said"
