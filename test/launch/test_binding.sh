# SPDX-License-Identifier: BSD-3-Clause
#
# --bind puts ranks on cores, in a row or scattered, on groups of cores that share an L3 cache, or nowhere; only on
# processors that we may use.
. "$NBCOLL_SOURCE/test/command/check.sh"

# places argument...: the processors of each rank, in the order of ranks, in $work/places.
places()
{
    succeeds run "$@" sh -c 'echo $NBCOLL_RANK $(grep Cpus_allowed_list /proc/self/status)'
    sort -n "$work/out" | sed 's/.* //' >"$work/places"
}
ours=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
cores=$(lscpu -p=CORE,ONLINE 2>/dev/null | grep -v '^#' | sort -u | wc -l)

places -n 3 --bind none
[ "$(sort -u "$work/places")" = "$ours" ] || fail "--bind none binds:"

# taskset -c: the first of our processors
first=${ours%%[,-]*}
one()
{
    taskset -c "$first" "$nbcoll" run "$@" grep Cpus_allowed_list /proc/self/status | sed 's/.*\t//' | sort -u
}
[ "$(one -n 3 --bind core)" = "$first" ] || fail "a core that we may not use was taken"
[ "$(one -n 1)" = "$first" ] || fail "by default, a core that we may not use was taken"

# l3 is said to be unknown where it is
run run -n 2 --bind l3 true
[ "$status" -eq 0 ] || grep -qx 'nbcoll run: --bind l3: no L3 cache of this machine is known' "$work/err" || fail "l3:"

# what scatter has chosen, and why, is said, also that no core is to spare; of a machine that hwloc makes up
says()
{
    HWLOC_SYNTHETIC='l3:2 l2:2 core:1 pu:1' run run -n "$1" --bind scatter true
    [ "$status" -eq 0 ] && [ "$(cat "$work/err")" = "nbcoll run: --bind scatter: $2" ] || fail "scatter says:"
}
says 2 '2 ranks on 4 cores: 2 idle for drivers, 1 on each; ranks on processors 0,2, drivers on 1,3'
says 4 '4 ranks on 4 cores: no core to spare, drivers run where their ranks do; ranks on processors 0-3'

[ "$cores" -ge 2 ] && [ "$ours" = "$(cat /sys/devices/system/cpu/online)" ] || exit 0

# as many ranks as cores: one each, by default too; then from the first on again
for option in '' '--bind core'; do
    places -n "$cores" $option
    [ "$(sort -u "$work/places" | wc -l)" -eq "$cores" ] || fail "$option: not a core for each rank:"
done
places -n $((2 * cores)) --bind core
[ "$(sort -u "$work/places" | wc -l)" -eq "$cores" ] || fail "two ranks a core:"
[ "$(head -n "$cores" "$work/places")" = "$(tail -n "$cores" "$work/places")" ] || fail "the order of cores differs:"

# scattered over all cores, one each
run run -n "$cores" --bind scatter sh -c 'echo $NBCOLL_RANK $(grep Cpus_allowed_list /proc/self/status)'
[ "$status" -eq 0 ] || fail "--bind scatter: exit status $status"
sort -n "$work/out" | sed 's/.* //' >"$work/places"
[ "$(sort -u "$work/places" | wc -l)" -eq "$cores" ] || fail "--bind scatter: not a core for each rank:"

# more ranks than cores: not bound by default
places -n $((cores + 1))
[ "$(sort -u "$work/places")" = "$ours" ] || fail "more ranks than cores are bound:"
