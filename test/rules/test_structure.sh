# SPDX-License-Identifier: BSD-3-Clause
#
# No circle between the folders of the library, nor between the files of a folder of src, and no call upwards in the
# engine.
. "$NBCOLL_SOURCE/test/rules/rule.sh"
rule structure

# file...: a tree of files, each behind a line "== name"; `refuses` and `accepts` name the first of them.
sample()
{
    rm -rf "$work/tree"
    mkdir -p "$work/tree/src/engine"
    printf '## state\n## wire\n' >"$work/tree/src/engine/README.md"
    while IFS= read -r line; do
        case $line in
        '== '*)
            file=$work/tree/${line#== }
            mkdir -p "$(dirname "$file")"
            ;;
        *) printf '%s\n' "$line" >>"$file" ;;
        esac
    done
    sh "$checker" "$work/tree" >"$work/said"
}

# function name callee: the definition of a function that calls another one
function_()
{
    printf 'int %s(int n,\n    int m)\n{\n    return %s(n, m);\n}\n' "$1" "$2"
}

# Folders.
low=src/reduce/low.c
high=src/select/high.c
(echo "== $low" && function_ nbcolli_low other && echo "== $high" && function_ nbcolli_high nbcolli_low) | accepts $low
(echo "== $low" && function_ nbcolli_low nbcolli_high && echo "== $high" && function_ nbcolli_high nbcolli_low) >"$work/two"
sample <"$work/two"
grep -qx "$low: uses nbcolli_high of $high, which leads back to src/reduce" "$work/said"
grep -qx "$high: uses nbcolli_low of $low, which leads back to src/select" "$work/said"
# by way of a third folder, and by a header
(cat "$work/two" && echo '== src/show/show.h' && echo '#include "../reduce/low.h"') | sed "s/_low(n, m)/_none(n, m)/" >"$work/three"
accepts $low <"$work/three"
(cat "$work/three" && echo "== $high" && echo '#include "../show/show.h"') | sample
grep -q 'src/show/show.h: uses #include of src/reduce/low.h, which leads back to src/show' "$work/said"
# by a name that is pasted
(echo "== $high" && echo '#define X(n) nbcolli_##n,' && echo 'X(low)' && echo "== $low" &&
    function_ nbcolli_low nbcolli_high && echo "== src/select/a.c" && function_ nbcolli_high other) | sample
grep -qx "$high: uses nbcolli_low of $low, which leads back to src/select" "$work/said"
# Words in comments and strings, and functions of a file's own, are nobody's.
(echo "== $low" && function_ nbcolli_low other && echo '/* nbcolli_high */' && echo 'char *s = "nbcolli_high";' &&
    echo "== $high" && function_ nbcolli_high nbcolli_low) | accepts $low
(echo "== $low" && function_ nbcolli_low nbcolli_same && echo "== $high" && printf 'static ' &&
    function_ nbcolli_same nbcolli_low) | accepts $low

# The engine: a file and its header are one; two files are two.
one=src/engine/state/one
two=src/engine/state/two
(echo "== $one.h" && echo 'int nbcolli_one(int n, int m);' && printf 'static inline ' &&
    function_ nbcolli_both nbcolli_one && echo "== $one.c" && echo '#include "one.h"' &&
    function_ nbcolli_one nbcolli_both) | accepts $one.h
(echo "== $one.c" && function_ nbcolli_one nbcolli_two && echo "== $two.h" && printf 'static inline ' &&
    function_ nbcolli_two nbcolli_one) | sample
grep -qx "$one.c: uses nbcolli_two of $two.h, which leads back to $one" "$work/said"
# Another folder: each file is one for itself, and a header that declares what others define does not use it.
low=src/verify/low
(echo "== $low.h" && echo 'int nbcolli_up(int n, int m);' && printf 'static inline ' && function_ nbcolli_in other &&
    echo "== $low.c" && function_ nbcolli_low nbcolli_in && echo "== src/verify/up.c" &&
    function_ nbcolli_up nbcolli_low && echo "== src/verify/top.c" && function_ nbcolli_top nbcolli_up) |
    accepts $low.h
(echo "== $low.c" && function_ nbcolli_low nbcolli_up && echo "== src/verify/up.c" &&
    function_ nbcolli_up nbcolli_low) | sample
grep -qx "$low.c: uses nbcolli_up of src/verify/up.c, which leads back to $low.c" "$work/said"
(echo "== $low.h" && echo '#define UP(n) \' && echo '    nbcolli_up(n, n)' && echo "== src/verify/up.c" &&
    echo '#include "low.h"' && function_ nbcolli_up other) | sample
grep -qx "$low.h: uses nbcolli_up of src/verify/up.c, which leads back to $low.h" "$work/said"
(echo "== $low.h" && printf 'static inline ' && function_ nbcolli_in nbcolli_up && echo "== src/verify/up.c" &&
    echo '#include "low.h"' && function_ nbcolli_up other) | sample
grep -qx "$low.h: uses nbcolli_up of src/verify/up.c, which leads back to $low.h" "$work/said"
# Agents and relays.
core=src/select/core.c
(echo "== $core" && function_ nbcolli_core nbcolli_agent && echo "== src/offload/agent.c" &&
    function_ nbcolli_agent other) | refuses $core ': uses nbcolli_agent of src/offload/agent.c'
(echo "== $core" && echo '#include "nbcoll/relay.h"') | refuses $core ': uses #include of nbcoll/relay.h'
(echo "== src/offload/agent.c" && echo '#include "nbcoll/offload.h"' && function_ nbcolli_agent nbcolli_core &&
    echo "== $core" && function_ nbcolli_core other) | accepts src/offload/agent.c
(echo "== transports/loopback/core.c" && echo '#include "../loopback_pairs/pairs.h"') | sample
grep -qx 'transports/loopback/core.c: uses #include of transports/loopback_pairs/pairs.h' "$work/said"
(echo "== $core" && function_ nbcolli_core nbcolli_wire && echo "== src/topology/topology.c" &&
    function_ nbcolli_wire other) | refuses $core ': uses nbcolli_wire of src/topology/topology.c'
# Public headers, of which each but the component's own is without it.
(echo "== $core" && echo "== include/nbcoll/launch.h" && echo '#include "offload.h"') | sample
grep -qx 'include/nbcoll/launch.h: includes offload.h, which is of a component' "$work/said"
(echo "== include/nbcoll/verify.h" && echo '#if defined NBCOLL_WITH_LAB && !NBCOLL_WITH_LAB' &&
    echo '#include "offload.h"' && echo "== $core" && function_ nbcolli_core other) | accepts $core
# Layers.
up=src/engine/wire/up.c
(echo "== $up" && function_ nbcolli_up nbcolli_one && echo "== $one.c" && function_ nbcolli_one other) | accepts $up
(echo "== $one.c" && function_ nbcolli_one nbcolli_up && echo "== $up" && function_ nbcolli_up other) |
    refuses $one.c ": uses nbcolli_up of a higher layer, $up"
(echo "== $one.c" && echo '#include "../wire/up.h"') |
    refuses $one.c ': uses #include of a higher layer, src/engine/wire/up.h'
(echo "== src/engine/other/up.c" && function_ nbcolli_up other) | sample
grep -qx 'src/engine/other: has no heading in src/engine/README.md' "$work/said"

# A tree in which there is nothing to check.
sample </dev/null
grep -qx 'nothing to check' "$work/said"
