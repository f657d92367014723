# SPDX-License-Identifier: BSD-3-Clause
#
# Writes nbcoll as one file, from the root of its tree:
#
#     awk -f src/amalgamate.awk >nbcoll.h
#
# That file is all public headers (but those of libraries of their own) and, where NBCOLL_IMPLEMENTATION is defined, the
# library: to be copied into a host, included by its files, and by one of them behind #define NBCOLL_IMPLEMENTATION
# (nbcoll/nbcoll.h). With -v headers=1 it is what NBCOLL_IMPLEMENTATION includes where the public headers lie beside it: an installation's
# nbcoll/implementation.c. Of the components (src/components.txt) it always
# holds wide and driver, which -DNBCOLL_WITH_WIDE=1 and -DNBCOLL_WITH_DRIVER=1 bring; with -v with=offload that one, too;
# with -v with="lab verbs" several, and what these need; with -v with=all all. With -v prefix=1 it has the names that
# NBCOLL_PREFIX renames.
#
# Each #include of a file of the tree is replaced by that file; but one with a guard is left out where it has come
# before, unless it had been under an #if that does not hold here; so have headers of the system. A private header that
# comes once needs no guard. The licence stands at the top, and no file names it again. What the sources share among
# themselves becomes static: functions and objects whose names begin with nbcolli_ are known to this file alone, and
# NBCOLL_PREFIX renames what is public.

# The lines of a file are lines[path, 1], lines[path, 2], ...; count[path] of them, or -1 if there is none.
function load(path, line, n, depth, opened, closed)
{
    if (path in count)
        return count[path] >= 0
    while ((status = (getline line < path)) > 0) {
        lines[path, ++n] = line
        if (line ~ /^#ifndef [A-Z0-9_]+$/ && !depth && !opened) {
            opened = n
            name = substr(line, 9)
        }
        if (line ~ /^[ \t]*#[ \t]*if/)
            depth++
        if (line ~ /^[ \t]*#[ \t]*endif/ && !--depth)
            closed = n
        if (line ~ /^#include/ && !opened || line ~ /^[ *]|^\/\*|^$/)
            continue
        if (!opened)
            opened = -1
        last = n
    }
    close(path)
    count[path] = status < 0 ? -1 : n + 0
    guard[path] = opened > 0 && lines[path, opened + 1] == "#define " name && closed == last ? opened : 0
    closing[path] = closed
    return status == 0
}

# The path without "." and "..".
function plain(path, part, n, i, kept)
{
    n = split(path, part, "/")
    path = ""
    kept = 0
    for (i = 1; i <= n; i++)
        if (part[i] == ".." && kept)
            kept--
        else if (part[i] != "." && part[i] != "")
            stack[++kept] = part[i]
    for (i = 1; i <= kept; i++)
        path = path (i > 1 ? "/" : "") stack[i]
    return path
}

# The file of the tree that an #include in `path` means, or "".
function meant(line, path, folder)
{
    if (line !~ /^[ \t]*#[ \t]*include[ \t]*["<]/)
        return ""
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", line)
    folder = path
    sub(/[^\/]*$/, "", folder)
    if (line ~ /^"/ && load(plain(folder substr(line, 2, index(substr(line, 2), "\"") - 1))))
        return plain(folder substr(line, 2, index(substr(line, 2), "\"") - 1))
    line = "include/" substr(line, 2, match(substr(line, 2), /[">]/) - 1)
    return load(line) ? line : ""
}

# A line at the outermost level of a source that declares or defines what is ours becomes static.
function private(path, line)
{
    if (path !~ /^(src|transports)\// || line !~ /^([a-z]|_Atomic )/ || line ~ /^(static|typedef)[ \t]/ ||
        line ~ /^(struct|union|enum) [a-z0-9_]+;/)
        return line
    if (line ~ /^extern[ \t]/)
        sub(/^extern[ \t]+/, "", line)
    else if (line !~ /^[a-z_][^(=]*[ *]nbcolli_[a-z0-9_]+[(,;]/ && line !~ /^const [^(]*nbcolli_[a-z0-9_]+(\[[^]]*\])? = /)
        return line
    return "static " line
}

# The component that such an #if asks for, or "".
function asked(line)
{
    sub(/^#if NBCOLL_WITH_/, "", line)
    return tolower(line) in wanted ? tolower(line) : ""
}

# Prints a line of the tree, not when the files are only counted.
function say(line)
{
    if (counting || line ~ /^\/\* SPDX-License-Identifier: .*\*\/$/)
        return
    if (line ~ /^\/\* SPDX-License-Identifier: /)
        begins = 1
    else if (!(begins && line == " *") && !(line == "" && said == "")) {
        if (begins)
            sub(/^ /, "/", line)
        begins = 0
        print said = line
    }
}

# `where` names the #ifs that are open, but for guards: ":3:17:" is the 17th inside the 3rd, ":offload:lab:" that of lab.
function expand(path, where, i, line, file, depth, held, outer, is_bare)
{
    depth = 0
    is_bare = guard[path] && times[path] == 1 && path ~ /^(src|transports)\/.*\.h$/
    times[path] += counting
    if (guard[path])
        seen[path] = where
    for (i = 1; i <= count[path]; i++) {
        line = lines[path, i]
        if (line ~ /^[ \t]*#[ \t]*if/) {
            held[++depth] = where
            if (asked(line))
                where = where condition[asked(line)]
            else if (i != guard[path])
                where = where (++conditions) ":"
        } else if (line ~ /^[ \t]*#[ \t]*el/)
            where = held[depth] (++conditions) ":"
        else if (line ~ /^[ \t]*#[ \t]*endif/)
            where = held[depth--]
        if (asked(line) && !wanted[asked(line)]) {
            say(line)
            say("#error \"this file is without " asked(line) ": awk -v with=" asked(line) " -f src/amalgamate.awk\"")
            say("#endif")
            for (outer = depth - 1; depth > outer; depth += (lines[path, i] ~ /^#if/) - (lines[path, i] == "#endif"))
                i++
            where = held[depth + 1]
            continue
        }
        if (is_bare && (i == guard[path] || i == guard[path] + 1 || i == closing[path]))
            continue
        file = meant(line, path)
        if (file == "" && line ~ /^[ \t]*#[ \t]*include/) {
            if (!(line in seen) || index(where, seen[line]) != 1)
                say(line)
            if (!(line in seen))
                seen[line] = where
        } else if (file == "")
            say(private(path, line))
        else if (!headers && file ~ /^include\/nbcoll\/(implementation\.c|inline\.h)$/)
            say("/* at the end */")
        else if (!headers && !prefix && file == "include/nbcoll/prefix.h")
            say("#error \"this file is without the names of a prefix: awk -v prefix=1 -f src/amalgamate.awk\"")
        else if (!(file in seen) || index(where, seen[file]) != 1 && !(seen[file] ~ /^:[a-z:]+$/ && index(where, seen[file])))
            if (headers && file ~ /^include\//) {
                say("#include \"" substr(file, length("include/nbcoll/") + 1) "\"")
                seen[file] = where
            } else
                expand(file, where)
    }
}

# The public headers of the tree, without those of components: nbcoll.h, which includes what it needs, and the others.
function public_headers(out, n, list, name)
{
    list = "LC_ALL=C ls include/nbcoll/*.h"
    out[n = 1] = "include/nbcoll/nbcoll.h"
    while ((list | getline name) > 0)
        if (!(name in of_component) && name !~ /\/(nbcoll|prefix|inline)\.h$/)
            out[++n] = name
    close(list)
    return n
}

# Reads the table: component[1], component[2], ..., of each the headers theirs[name, 1], ..., whether it is wanted, and
# the #if that holds where it is there: inside that of what it needs.
function read_components(i, k, n, column, header)
{
    load("src/components.txt")
    for (i = 1; i <= count["src/components.txt"]; i++) {
        if (lines["src/components.txt", i] ~ /^#/)
            continue
        split(lines["src/components.txt", i], column, / *[|] */)
        n = split(column[4], header, " ")
        for (k = 1; k <= n; k++)
            of_component["include/nbcoll/" header[k] ".h"] = column[1]
        if (column[2] == "never")
            continue
        component[++components] = column[1]
        for (theirs[column[1]] = k = 0; k++ < n;)
            theirs[column[1], ++theirs[column[1]]] = "include/nbcoll/" header[k] ".h"
        wanted[column[1]] = column[2] == "always" || with == "all" || index(" " with " ", " " column[1] " ")
        condition[column[1]] = condition[column[5]] column[1] ":"
        if (wanted[column[1]] && column[5] != "")
            wanted[column[5]] = 1
    }
}

# All files, from the public headers on.
function write(i, k, name)
{
    split("", seen)
    conditions = 0
    if (!headers) {
        for (i = 1; i <= n; i++)
            if (load(public[i]) && !(public[i] in seen))
                expand(public[i], ":")
        for (k = 1; k <= components; k++) {
            if (!wanted[component[k]])
                continue
            name = "NBCOLL_WITH_" toupper(component[k])
            say("")
            say("#if defined " name " && " name)
            for (i = 1; i <= theirs[component[k]]; i++)
                if (load(theirs[component[k], i]) && !(theirs[component[k], i] in seen))
                    expand(theirs[component[k], i], ":" condition[component[k]])
            say("#endif")
        }
        say("")
        say("#ifdef NBCOLL_IMPLEMENTATION")
    }
    load("src/nbcoll.c")
    say("#define NBCOLLI_ONE_FILE")
    expand("src/nbcoll.c", ":" (++conditions) ":")
    if (!headers) {
        say("#endif")
        say("")
        say("#if defined NBCOLL_INLINE || (defined NBCOLL_WITH_WIDE && NBCOLL_WITH_WIDE)")
        load("include/nbcoll/inline.h")
        expand("include/nbcoll/inline.h", ":" (++conditions) ":")
        say("#endif")
    }
}

BEGIN {
    if (!load("include/nbcoll/nbcoll.h")) {
        print "amalgamate.awk: not in the root of nbcoll's tree" >"/dev/stderr"
        exit 1
    }
    read_components()
    load("LICENSE")
    print "/* nbcoll in one file, written by src/amalgamate.awk: to change it change the tree.\n *"
    for (i = 1; i <= count["LICENSE"]; i++)
        print " *" (lines["LICENSE", i] == "" ? "" : " ") lines["LICENSE", i]
    print " */"
    n = public_headers(public)
    counting = 1
    write()
    counting = 0
    write()
}
