# SPDX-License-Identifier: BSD-3-Clause
#
# A build that cannot read tuning files has its command, which says so to whoever gives it one; and its package says that
# the component is missing. One without libibverbs, libfabric and libpmix still opens the endpoints of ranks on one
# machine. One without hwloc leaves the command out, and says so. clang builds it, optimised and without a warning.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$NBCOLL_SOURCE/test/consumer/installed.sh"

cat >"$work/pkg-config" <<'END'
#!/bin/sh
case "$*" in *hwloc*) exit 1 ;; esac
exec pkg-config "$@"
END
chmod +x "$work/pkg-config"
cmake -S "$NBCOLL_SOURCE" -B "$work/bare" -DNBCOLL_AFFINITY=OFF -DPKG_CONFIG_EXECUTABLE="$work/pkg-config" \
    2>"$work/said"
grep -qx 'nbcoll_command is left out: nbcoll_affinity is not built' "$work/said"
installed OFF -DNBCOLL_TUNING=OFF -DNBCOLL_VERBS=OFF -DNBCOLL_OFI=OFF -DNBCOLL_PMIX=OFF \
    -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Release -DNBCOLL_WERROR=ON
nbcoll=$work/moved/bin/nbcoll
for arguments in 'explain bcast --ranks 4' 'show bcast default --ranks 4' 'verify bcast default' 'sim bcast default' \
    'bench bcast' 'tune bcast --simulate' 'run -n 1 true'; do
    status=0
    # shellcheck disable=SC2086 # words
    set -- $arguments
    command=$1
    shift
    "$nbcoll" "$command" --tuning x "$@" 2>"$work/said" || status=$?
    [ "$status" -eq 2 ]
    [ "$(cat "$work/said")" = "nbcoll $command: --tuning x: this build cannot read tuning files" ]
done
"$nbcoll" explain bcast --ranks 4 --algorithm flat | grep -- '--algorithm'

consumers=$(echo "$consumers" | sed 's/ tuned:tuning//')
by_find_package
for component in tuning verbs ofi pmix; do
    [ ! -e "$packages/nbcoll_$component.pc" ]
done
by_pkg_config "$work/program" --static
runs "$work/program"
if ldd "$work/program.clustered" | grep 'verbs\|fabric\|pmix'; then
    echo "it needs libraries that the build was to do without" && exit 1
fi
if cmake -S "$NBCOLL_SOURCE/test/consumer/package" -B "$work/missing" -DCMAKE_PREFIX_PATH="$work/moved" -DCONSUMERS=tuned:tuning \
    2>"$work/said"; then
    echo "a component that is not there is found" && exit 1
fi
grep 'without the component tuning' "$work/said"
