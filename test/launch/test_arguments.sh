# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll run` explains itself when asked, and refuses a bad argument by one line that names it.
. "$NBCOLL_SOURCE/test/command/check.sh"

succeeds help run
grep -q '^usage: nbcoll run -n N' "$work/out" || fail "no usage"
cp "$work/out" "$work/help"
succeeds run --help
cmp -s "$work/help" "$work/out" || fail "run --help is not help run"
succeeds run -n 2 --help
cmp -s "$work/help" "$work/out" || fail "run -n 2 --help is not help run"

succeeds run -h
cmp -s "$work/help" "$work/out" || fail "run -h is not help run"
succeeds run -np 3 echo here
[ "$(grep -c '^here$' "$work/out")" -eq 3 ] || fail "-np 3 is not -n 3"
refuses "nbcoll run: which program?" run -np 2
refuses "nbcoll run: -n takes a number of 1..256, not 'p'" run -np

refuses "nbcoll run: -n is missing: how many ranks?" run
refuses "nbcoll run: -n is missing: how many ranks?" run true
refuses "nbcoll run: which program?" run -n 2
refuses "nbcoll run: which program?" run -n 2 --
refuses "nbcoll run: option requires an argument -- 'n'" run -n
refuses "nbcoll run: option '--bind' requires an argument" run -n 2 --bind
refuses "nbcoll run: invalid option -- 'x'" run -x
refuses "nbcoll run: unrecognized option '--ranks'" run --ranks 2 true
refuses "nbcoll run: x/y: it cannot be opened" run -n 2 --tuning x/y true
printf '[bcast]\nfast =\n' >"$work/rules"
refuses "nbcoll run: $work/rules:2: bcast has no algorithm 'fast'" run -n 2 --tuning "$work/rules" true
refuses "nbcoll run: option '--prefix' doesn't allow an argument" run -n 2 --prefix=1 true
for over in loopback verbs, verbsx ''; do
    refuses "nbcoll run: --agent is memory, verbs or verbs:DEVICES, not '$over'" run -n 2 "--agent=$over" true
done
for value in 0 -1 x '' 1073741825; do
    refuses "nbcoll run: --agent-scratch takes a number of 1..1073741824, not '$value'" run -n 2 --agent --agent-scratch "$value" true
done
refuses "nbcoll run: --agent-scratch goes with --agent" run -n 2 --agent-scratch 4096 true
for value in 0 -1 x 2x '' 257 99999999999999999999; do
    refuses "nbcoll run: -n takes a number of 1..256, not '$value'" run -n "$value" true
done
for value in -1 x 1x '' . inf nan 1..2 99999999999999999999; do
    refuses "nbcoll run: --timeout takes a number of 0..1000000000, not '$value'" run -n 2 --timeout "$value" true
done
for where in cores L3 ''; do
    refuses "nbcoll run: --bind is core, scatter, l3 or none, not '$where'" run -n 2 --bind "$where" true
done
