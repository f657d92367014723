# SPDX-License-Identifier: BSD-3-Clause
#
# src/components.h and src/components.c are what src/components.sh writes from the table of components; every folder and
# header of the table is there; every header of a part of the one-file form says whose it is to who has left that out,
# and nbcoll.h brings what it needs; and a line of the table is enough for the one file to hold a new component.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$NBCOLL_SOURCE"

components()
{
    sh "${tree:-.}/src/components.sh" "$@"
}

components defines | diff src/components.h -
components sources | diff src/components.c -
for name in $(components names); do
    for folder in $(components folders "$name"); do
        [ -d "$folder" ] || { echo "$name: there is no $folder" && exit 1; }
    done
    for header in $(components headers "$name"); do
        [ -f "include/nbcoll/$header.h" ] || { echo "$name: there is no $header.h" && exit 1; }
    done
done
for name in $(components names held); do
    upper=$(echo "$name" | tr a-z A-Z)
    for header in $(components headers "$name"); do
        sed -n "/^#if defined NBCOLL_WITH_$upper && !NBCOLL_WITH_$upper\$/ { n; p }" "include/nbcoll/$header.h" |
            grep -q "^#error \"nbcoll/$header.h is of the component $name: define NBCOLL_WITH_$upper=1, or link nbcoll_$name\"" ||
            { echo "$header.h does not say whose it is" && exit 1; }
    done
    for need in $(components needs "$name" | tr a-z A-Z); do
        grep -q "^#define NBCOLL_WITH_$need NBCOLL_WITH_$upper " include/nbcoll/nbcoll.h ||
            { echo "nbcoll.h does not bring what $name needs" && exit 1; }
    done
done

# A line, a folder and a header.
tree=$work/tree
mkdir "$tree"
cp -r include src transports LICENSE "$tree"
echo 'novel | asked | src/novel | novel | | | what is new' >>"$tree/src/components.txt"
mkdir "$tree/src/novel"
printf '#include "nbcoll/novel.h"\n\nint nbcoll_novel(void)\n{\n    return 0;\n}\n' >"$tree/src/novel/novel.c"
{
    sed 's/lists/novel/g; s/LISTS/NOVEL/g; /^NBCOLLI_BEGIN/q' include/nbcoll/lists.h
    printf 'NBCOLL_API int nbcoll_novel(void);\nNBCOLLI_END\n#endif\n'
} >"$tree/include/nbcoll/novel.h"
components defines >"$work/new" && mv "$work/new" "$tree/src/components.h"
components sources >"$work/new" && mv "$work/new" "$tree/src/components.c"
(cd "$tree" && awk -v with=novel -f src/amalgamate.awk) >"$work/nbcoll.h"
printf '#define NBCOLL_IMPLEMENTATION\n#include "nbcoll.h"\nint main(void)\n{\n    return nbcoll_novel();\n}\n' >"$work/one.c"
# shellcheck disable=SC2046 # words
"$CC" -std=c11 -w $(components flags novel) "$work/one.c" -o "$work/one" -lm
"$work/one"
