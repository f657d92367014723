# SPDX-License-Identifier: BSD-3-Clause
#
# `nbcoll info --algorithms` lists every algorithm, each with an idea, its costs, a picture, and when it is chosen.
. "$(dirname "$0")/check.sh"

succeeds info --algorithms
awk '
function check() { if (title != "" && (!has_idea || !has_costs || !has_picture || !has_choice)) { print title; wrong = 1 } }
/^### / { check(); title = $0; has_idea = has_costs = has_picture = has_choice = 0; next }
/^[A-Z].*[a-z]/ && title != "" && !has_costs { has_idea = 1 }
/^8 ranks.* rounds?/ { has_costs = 1 }
/^     1 [0-7]>[0-7]/ { has_picture = 1 }
/^Chosen / { has_choice = 1 }
END { check(); exit wrong }' "$work/out" >"$work/lacking" || fail "no idea, no costs, no picture or no choice: $(cat "$work/lacking")"
refuses "nbcoll info: --algorithms stands alone" info --algorithms --json
