# SPDX-License-Identifier: BSD-3-Clause
#
# structure.sh <tree>: says which file of the tree closes a circle, or calls upwards. Somebody who reads a folder, or a
# file of src, need not have read those that are built upon it. No circle is allowed between the folders of src and
# transports, nor between the files of a folder of src (in src/engine x.h and x.c are one); and a folder of the engine
# uses only itself and those above it in src/engine/README.md, whose headings "## <folder>" name them all. What every
# program needs uses nothing of the components (src/components.txt), nor their public headers: it reaches these by the
# tables of objects that the host passes in (src/engine/state/executor.h, context.h, transports/loopback/world.h); and
# a public header that is of no component, but for inline.h, includes none of these. A file uses what it includes, and the files whose
# functions it names (or whose names it makes by nbcolli_##). A header uses no function by declaring it. Functions of
# other names than nbcoll... are a file's own; the public headers are nobody's, and belong to everybody. A tree without
# files, and a folder of the engine without a heading, are said, too.
set -eu
components=$(dirname "$0")/../../src/components.sh
# shellcheck disable=SC2046 # words
folders=$(sh "$components" folders $(sh "$components" names) | tr '\n' ' ')
# shellcheck disable=SC2046
headers=$(sh "$components" headers $(sh "$components" names) | tr '\n' ' ')
cd "$1"

files=$(find src transports -name '*.[ch]' ! -path src/nbcoll.c ! -path src/components.c 2>/dev/null | LC_ALL=C sort)
[ -n "$files" ] || echo "nothing to check"
order=$(sed -n 's/^## //p' src/engine/README.md 2>/dev/null | tr '\n' ' ')
for folder in $(echo "$files" | sed -n 's,^src/engine/\([^/]*\)/.*,\1,p' | uniq); do
    case " $order" in
    *" $folder "*) ;;
    *) echo "src/engine/$folder: has no heading in src/engine/README.md" ;;
    esac
done

for header in $(find include -name '*.h' 2>/dev/null); do
    case " inline $headers" in *" $(basename "$header" .h) "*) continue ;; esac
    for theirs in $headers; do
        grep -q "^#include \"$theirs\.h\"" "$header" && echo "$header: includes $theirs.h, which is of a component"
    done
done

echo "$files" | xargs -r awk -v order="$order" -v folders="src/command src/mpi $folders" -v headers="$headers" '
BEGIN {
    layers = split(order, layer_name, " ")
    for (i = 1; i <= layers; i++)
        height[layer_name[i]] = i
    for (i = split(folders, list, " "); i > 0; i--)
        beside[list[i]]
    for (i = split(headers, list, " "); i > 0; i--)
        beside["nbcoll/" list[i] ".h"]
}
# The folder that a file belongs to, and its module: the file, in the engine without its ending.
function folder(file, part) {
    split(file, part, "/")
    return part[1] "/" part[2]
}
function module(file) {
    if (file ~ /^src\/engine\//)
        sub(/\.[ch]$/, "", file)
    return file
}
function layer(file, part) {
    return file ~ /^src\/engine\// && split(file, part, "/") == 4 ? height[part[3]] : 0
}
# path, as seen from the folder of file, without its dots
function resolved(file, path) {
    sub(/[^\/]*$/, "", file)
    path = file path
    while (sub(/[^\/.]+\/\.\.\//, "", path))
        ;
    return path
}
# Is the file of what every program needs? Or of a component?
function is_beside(file) {
    return folder(file) in beside || file in beside
}
# file uses something that is called `what` of another file
function uses(file, what, other) {
    if (!is_beside(file) && is_beside(other))
        print file ": uses " what " of " other
    if (folder(file) != folder(other))
        edge(folder(file), folder(other), file, what, other)
    if (folder(file) !~ /^src\// || folder(file) != folder(other) || module(file) == module(other))
        return
    edge(module(file), module(other), file, what, other)
    if (layer(file) < layer(other))
        print file ": uses " what " of a higher layer, " other
}
function edge(from, to, file, what, other) {
    if (!((from, to) in reason)) {
        reason[from, to] = file ": uses " what " of " other
        node[from] = node[to] = 1
        out[from] = out[from] " " to
    }
}
# Is there a way from `at` to `end`?
function leads(at, end, n, i, next_) {
    if (at == end)
        return 1
    if (seen[at]++)
        return 0
    n = split(out[at], next_, " ")
    for (i = 1; i <= n; i++)
        if (leads(next_[i], end))
            return 1
    return 0
}

FNR == 1 { comment = depth = macro = 0; head = "" }
# Comments and strings go.
{
    line = $0
    include = ""
    if (line ~ /^[ \t]*#[ \t]*include[ \t]*"/) {
        include = line
        sub(/^[^"]*"/, "", include)
        sub(/".*/, "", include)
    }
    gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, " ", line)
    if (comment && sub(/^.*\*\//, "", line))
        comment = 0
    if (comment)
        next
    if (sub(/\/\*.*/, "", line))
        comment = 1
}
!is_beside(FILENAME) && is_beside(include) { uses(FILENAME, "#include", include) }
include != "" && include !~ /^nbcoll\// { included[FILENAME, resolved(FILENAME, include)] = 1 }
# What a function is called stands before the first parenthesis of the lines in front of its body.
line ~ /^[A-Za-z]/ && line !~ /[;]$/ { head = "" }
line ~ /^[A-Za-z ]/ { head = head line }
line ~ /;[ \t]*$/ { head = "" }
line == "{" && match(head, /nbcoll[A-Za-z0-9_]*\(/) {
    name = substr(head, RSTART, RLENGTH - 1)
    if (head !~ /^static/ || FILENAME ~ /\.h$/)
        defined[name] = FILENAME
    head = ""
}
# A header that declares a function at the outermost level does not use it; one that is inline there, or a macro, does.
{
    macro = line ~ /^[ \t]*#/ || continued
    continued = macro && line ~ /\\$/
    outermost = depth == 0 && !macro
    if (!macro)
        depth += gsub(/{/, "{", line) - gsub(/}/, "}", line)
    if (outermost && FILENAME ~ /\.h$/)
        next
}
{
    if (line ~ /nbcolli_##/)
        pastes[FILENAME] = 1
    while (match(line, /[A-Za-z_][A-Za-z0-9_]*/)) {
        word = substr(line, RSTART, RLENGTH)
        line = substr(line, RSTART + RLENGTH)
        named[FILENAME, word] = 1
    }
}
END {
    for (pair in named) {
        split(pair, at, SUBSEP)
        name = at[2] in defined ? at[2] : pastes[at[1]] ? "nbcolli_" at[2] : ""
        if (name in defined && defined[name] != at[1])
            uses(at[1], name, defined[name])
    }
    for (pair in included) {
        split(pair, at, SUBSEP)
        uses(at[1], "#include", at[2])
    }
    for (pair in reason) {
        split(pair, at, SUBSEP)
        split("", seen)
        if (leads(at[2], at[1]))
            print reason[pair] ", which leads back to " at[1]
    }
}' | LC_ALL=C sort
