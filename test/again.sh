# SPDX-License-Identifier: BSD-3-Clause
#
# again.sh DIR: runs all tests of a tree of ctest in parallel, then what failed once more, each test alone. What then
# passes is flaky: it is named, and is to be mended at its cause. Up to two of these do not count as failed; more do, and
# so does what fails twice. Where more than twenty failed nothing is tried again. DIR/log gets what ctest says, and
# DIR/summary how many tests failed, as ctest says it.
set -eu
dir=$1
again=$dir/again
failures=$dir/Testing/Temporary/LastTestsFailed.log
rm -f "$failures" "$dir/summary"
mkdir -p "$again"

status=0
ctest --test-dir "$dir" --parallel "$(nproc)" --output-on-failure --no-tests=error --no-label-summary \
    --output-log "$dir/log" || status=$?
line=$(grep '% tests passed' "$dir/log" | tail -n 1)
sed 's/^[0-9]*://' "$failures" >"$again/failed" 2>/dev/null || :
: >"$again/flaky"
failed=$(wc -l <"$again/failed")

if [ "$failed" -gt 0 ] && [ "$failed" -le 20 ]; then
    while read -r test; do
        if ctest --test-dir "$dir" -R "^$test\$" --output-on-failure --no-tests=error --no-label-summary </dev/null \
            >"$again/log"; then
            echo "$test" >>"$again/flaky"
        else
            cat "$again/log"
        fi
    done <"$again/failed"
    flaky=$(wc -l <"$again/flaky")
    [ "$flaky" -gt 2 ] || failed=$((failed - flaky))
    total=${line##* }
    line="$((100 * (total - failed) / total))% tests passed, $failed tests failed out of $total"
    status=$((failed > 0))
fi
echo "$line" >"$dir/summary"
sed 's/^/flaky, passes alone: /' "$again/flaky"
exit "$status"
