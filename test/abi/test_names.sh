# SPDX-License-Identifier: BSD-3-Clause
#
# NBCOLL_IMPLEMENTATION brings into its file only names that begin with nbcoll_, nbcolli_, NBCOLL_ or NBCOLLI_:
# functions and variables, static ones too, types, tags, enumerators and macros. Of the one file that src/amalgamate.awk
# writes all that the compiler has seen is listed, from its debugging information and its preprocessor.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2046 # words
with=$(sh "$NBCOLL_SOURCE/src/components.sh" flags $(sh "$NBCOLL_SOURCE/src/components.sh" names parts))

(cd "$NBCOLL_SOURCE" && awk -v with=all -f src/amalgamate.awk) >"$work/nbcoll.h"
cat >"$work/bare.h" <<'END'
#define BARE_MACRO
struct bare_tag { int member; };
union bare_union { int member; };
enum { BARE_ENUMERATOR };
typedef int bare_type;
static int bare_variable;
static inline int bare_function(int parameter)
{
    int local = bare_variable;
    return local + parameter;
}
END

# bare file: the names that file.h brings without a prefix of ours.
bare()
{
    printf '#define NBCOLL_IMPLEMENTATION\n#include "%s.h"\n' "$1" >"$work/one.c"
    # shellcheck disable=SC2086 # words
    gcc -std=c11 -D_GNU_SOURCE $with -dD -E "$work/one.c" |
        awk -v file="\"$work/$1.h\"" '
            /^# [0-9]/ { ours = $3 == file }
            ours && /^#define/ { sub(/\(.*/, "", $2); print $2 }' >"$work/names"
    # shellcheck disable=SC2086
    gcc -std=c11 -D_GNU_SOURCE $with -w -g -gdwarf-4 -fno-eliminate-unused-debug-types -fkeep-inline-functions \
        -fkeep-static-functions -c "$work/one.c" -o "$work/one.o"
    # Entries of depth 1 are of file scope; those of the standard headers lie in other files. Enumerators are inside.
    readelf --debug-dump=rawline "$work/one.o" | awk -v file="$1.h" '$NF == file { print $1; exit }' >"$work/number"
    readelf --debug-dump=info "$work/one.o" | awk -v ours="$(cat "$work/number")" '
        function tell() {
            if (name != "" && (depth == 1 && from == ours || depth == 2 && kind ~ /enumerator/ && around == ours))
                print name
        }
        /^ *<[0-9a-f]+><[0-9a-f]+>: Abbrev Number/ {
            tell()
            if (depth == 1)
                around = from
            depth = substr($1, 2) + 0
            kind = $NF
            name = from = ""
        }
        /DW_AT_name/ { name = $NF }
        /DW_AT_decl_file/ { from = $NF }
        END { tell() }' >>"$work/names"
    LC_ALL=C sort -u "$work/names" | grep -v '^nbcolli\{0,1\}_\|^NBCOLLI\{0,1\}_\|^_GNU_SOURCE$' || true
}

found=$(bare nbcoll)
[ -z "$found" ] || { echo "not prefixed:" $found && exit 1; }
[ "$(wc -l <"$work/names")" -gt 2000 ]
[ "$(bare bare | tr '\n' ' ')" = \
    'BARE_ENUMERATOR BARE_MACRO bare_function bare_tag bare_type bare_union bare_variable ' ]
