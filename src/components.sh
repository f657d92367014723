# SPDX-License-Identifier: BSD-3-Clause
#
# What src/components.txt says, for scripts: sh src/components.sh <what> [component...]
#
#     names      all components; names parts: those that are built from the library's private functions; names held:
#                those of the one-file form, which are the parts and those that need a library of others
#     folders, headers, needs, flags    of these components: one a line; the flags bring them into src/nbcoll.c
#
# And it writes what is made from that: run it when a component, or a file of one, has come or gone.
#
#     sh src/components.sh defines >defines.new && mv defines.new src/components.h
#     sh src/components.sh sources >sources.new && mv sources.new src/components.c
set -eu
cd "$(dirname "$0")/.."
what=$1
shift

# rows number condition: that column of the rows for which an awk expression holds
rows()
{
    awk -F' *[|] *' -v those=" ${all-} " "!/^#/ && ($2) { print \$$1 }" src/components.txt
}

# column number component...
column()
{
    number=$1
    shift
    all=$* rows "$number" 'index(those, " " $1 " ")'
}

upper()
{
    echo "$1" | tr a-z A-Z
}

# of file...: the path of each as src/components.c includes it; of a folder transports/<name>_<more> with that transport
sources()
{
    for folder in $(column 3 "$1"); do
        transport=$(echo "$folder" | sed -n 's,^transports/\(.*\)_.*,\1,p')
        [ -z "$transport" ] || echo "#if NBCOLL_WITH_$(upper "$transport")"
        LC_ALL=C ls "$folder"/*.c | sed 's,^src/\(.*\),#include "\1",; s,^transports.*,#include "../&",'
        [ -z "$transport" ] || echo '#endif'
    done
}

# What the files of a component include of the system and src/nbcoll.c does not.
system_headers()
{
    for folder in $(column 3 "$1"); do
        cat "$folder"/*.[ch]
    done | sed -n '/<std\|<nbcoll/d; s/^\(#include <.*>\).*/\1/p' | LC_ALL=C sort -u | grep -vxF "$(cat src/nbcoll.c)"
}

parts='$2 != "never" && $6 !~ /[.]h/'
held='$2 != "never"'
case $what in
names)
    case ${1-all} in
    parts) rows 1 "$parts" ;;
    held) rows 1 "$held" ;;
    *) rows 1 1 ;;
    esac
    ;;
folders) column 3 "$@" | tr ' ' '\n' ;;
headers) column 4 "$@" | tr ' ' '\n' ;;
needs) column 5 "$@" | tr ' ' '\n' ;;
flags)
    for name in "$@"; do
        echo "-DNBCOLL_WITH_$(upper "$name")"
    done
    ;;
defines)
    echo '/* SPDX-License-Identifier: BSD-3-Clause'
    echo ' *'
    echo ' * Which components src/nbcoll.c holds, and what these need of the system. Written by src/components.sh. */'
    for name in $(rows 1 "$held"); do
        default=0
        for other in $(rows 1 "$held"); do
            case " $(column 5 "$other") " in
            *" $name "*) default=NBCOLL_WITH_$(upper "$other") ;;
            esac
        done
        printf '#ifndef NBCOLL_WITH_%s\n#define NBCOLL_WITH_%s %s\n#endif\n' "$(upper "$name")" "$(upper "$name")" $default
    done
    for name in $(rows 1 "$held && \$6 ~ /[.]h/"); do
        printf '#if NBCOLL_WITH_%s\n%s\n#endif\n' "$(upper "$name")" "$(system_headers "$name")"
    done
    ;;
sources)
    echo '/* SPDX-License-Identifier: BSD-3-Clause'
    echo ' *'
    echo ' * The files of the components, for src/nbcoll.c. Written by src/components.sh. */'
    for name in $(rows 1 "$held"); do
        printf '#if NBCOLL_WITH_%s\n%s\n#endif\n' "$(upper "$name")" "$(sources "$name")"
    done
    ;;
*)
    echo "components.sh: what is $what?" >&2
    exit 2
    ;;
esac
