# SPDX-License-Identifier: BSD-3-Clause
#
# A build without hwloc binds nothing, and one without nbcoll_affinity scatters nothing: they say so to whoever asks.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/main.c" <<'END'
#include "run.h"

int main(int argc, char *argv[])
{
    static const command self = {.name = "run"};
    run_binding *binding;
    int status = run_bind_find(&self, argc > 1 ? argv[1] : 0, 1, &binding);
    return status ? status : binding != 0;
}
END
command=$NBCOLL_SOURCE/src/command
"$CC" -std=c11 -D_GNU_SOURCE= -Wall -Wextra -Wpedantic -Werror -I"$NBCOLL_SOURCE/include" -I"$command" \
    "$work/main.c" "$command/run_bind.c" "$command/options.c" "$NBCOLL_SOURCE/src/host/status.c" -o "$work/main"
"$work/main"
"$work/main" none
for where in core scatter l3; do
    status=0
    "$work/main" $where 2>"$work/said" || status=$?
    [ $status -eq 2 ]
    [ "$(cat "$work/said")" = \
        "nbcoll run: --bind $where: this build is without hwloc and knows only --bind none" ]
done

# with hwloc, which knows the other places, but without nbcoll_affinity
echo '#include <hwloc.h>' | "$CC" -E - >/dev/null 2>&1 || exit 0
"$CC" -std=c11 -D_GNU_SOURCE= -DNBCOLL_HAVE_HWLOC= -Wall -Wextra -Wpedantic -Werror -I"$NBCOLL_SOURCE/include" \
    -I"$command" "$work/main.c" "$command/run_bind.c" "$command/options.c" "$NBCOLL_SOURCE/src/host/status.c" \
    -o "$work/main" -lhwloc
status=0
"$work/main" scatter 2>"$work/said" || status=$?
[ $status -eq 2 ]
[ "$(cat "$work/said")" = "nbcoll run: --bind scatter: this build is without nbcoll_affinity" ]
