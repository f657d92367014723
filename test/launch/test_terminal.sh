# SPDX-License-Identifier: BSD-3-Clause
#
# Where our standard error is a terminal, it is rank 0's too, which may draw there; with --prefix, or where it is none,
# no rank has a terminal. Our own reports begin on a line of their own.
. "$NBCOLL_SOURCE/test/command/check.sh"
command -v script >/dev/null || exit 77

# on_terminal command: runs that with a terminal; leaves what it showed, without its carriage returns, in $work/out.
on_terminal()
{
    : >"$work/err"
    status=0
    script -qefc "$1" "$work/shown" </dev/null >/dev/null || status=$?
    sed '/^\r*$/d; /^Script \(started\|done\) on /d' "$work/shown" | tr -d '\r' >"$work/out"
}

cat >"$work/rank" <<'END'
where=pipe
[ ! -t 2 ] || where=terminal
[ ! -t 1 ] || where="$where, and more"
echo "$NBCOLL_RANK: $where"
END

# expect lines: what three ranks have said, in the order of ranks.
expect()
{
    [ "$(sort "$work/out")" = "$(printf "$1")" ] || fail "instead of '$1':"
}

on_terminal "'$nbcoll' run -n 3 sh '$work/rank'"
expect '0: terminal\n1: pipe\n2: pipe'
on_terminal "'$nbcoll' run -n 3 --prefix sh '$work/rank'"
expect '[0] 0: pipe\n[1] 1: pipe\n[2] 2: pipe'
on_terminal "'$nbcoll' run -n 3 sh '$work/rank' 2>'$work/err'"
expect '0: pipe\n1: pipe\n2: pipe'
succeeds run -n 3 sh "$work/rank"
expect '0: pipe\n1: pipe\n2: pipe'

on_terminal "'$nbcoll' run -n 2 sh -c 'printf half >&2; [ \$NBCOLL_RANK = 1 ] || exit 3'"
[ "$status" -eq 3 ] || fail "the exit status is $status"
grep -q '^nbcoll run: rank 0 .*failed: exit status 3$' "$work/out" || fail "no report on a line of its own:"
