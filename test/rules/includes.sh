# SPDX-License-Identifier: BSD-3-Clause
#
# includes.sh <tree>: says which file of the tree includes what its layer may not know. The layers:
#
#   src/algorithms        nbcoll/schedule.h and nbcoll/pattern.h, by algorithms.h of their own folder, nothing else of ours
#   transports/<name>     nbcoll/transport.h, nbcoll/<name>.h, ../../src/{host,wrap}/*.h, or files of their own folder
#   transports/loopback_pairs    nbcoll/offload.h and ../loopback/world.h, too: it is a part of loopback
#   src/command, src/conformance, src/mpi, examples, bench    public headers, or files of their own folder; bench also those of
#                         examples, and a folder of it those beside itself
#   include/nbcoll/*.h    public headers, by relative name
set -eu
cd "$1"

find include src transports examples bench -name '*.[ch]' 2>/dev/null | LC_ALL=C sort | xargs -r awk '
    function name_in_folder(folder, n, part) {
        n = split(substr(file, length(folder) + 2), part, "/")
        return part[1]
    }
    function allowed(what) {
        if (file ~ /^src\/algorithms\//)
            return what == "nbcoll/schedule.h" || what == "nbcoll/pattern.h" || what == "algorithms.h"
        if (file ~ /^transports\/loopback_pairs\// && (what == "nbcoll/offload.h" || what == "../loopback/world.h"))
            return 1
        if (file ~ /^transports\//)
            return what == "nbcoll/transport.h" || what ~ /^\.\.\/\.\.\/src\/(host|wrap)\/[a-z_]+\.h$/ ||
                   what == "nbcoll/" name_in_folder("transports") ".h" || own(what)
        if (file ~ /^(src\/command|src\/conformance|src\/mpi|examples|bench)\//)
            return what ~ /^nbcoll\/[a-z_]+\.h$/ || own(what) || file ~ /^bench/ && what ~ /^\.\.\/((\.\.\/)?examples\/|[a-z_]+\.h$)/
        if (file ~ /^include\/nbcoll\/[a-z_]+\.h$/)
            return what ~ /^[a-z_]+\.h$/ || what == "implementation.c" && file == "include/nbcoll/nbcoll.h"
        return what !~ /transports\// && what !~ /\.c$/ || file ~ /^src\/(nbcoll|components)\.c$/ || file == "include/nbcoll/implementation.c"
    }
    # A file beside it: not one of another folder, nor one of ours by its installed name.
    function own(what) {
        return what !~ /\//
    }
    /^[ \t]*#[ \t]*include/ {
        file = FILENAME
        line = $0
        sub(/^[ \t]*#[ \t]*include[ \t]*/, "", line)
        ours = line ~ /^"/ || line ~ /^<nbcoll\//
        line = substr(line, 2)
        sub(/[>"].*$/, "", line)
        if (ours && !allowed(line))
            print file ":" FNR ": must not include " line
    }'
