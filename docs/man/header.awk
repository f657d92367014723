# SPDX-License-Identifier: BSD-3-Clause
#
# Makes a page of a public header: a man page, or with -v html=1 a page of HTML. Comments at the left margin become
# text, with what is indented in them kept as it is; all other lines are kept as they are, so that each declaration is
# on the page. Include guards and the brackets of C++ are left out.
#
#     awk -v version=0.1.0 -f docs/man/header.awk include/nbcoll/select.h >nbcoll_select.h.3
#     awk -v version=0.1.0 -v html=1 -f docs/man/header.awk include/nbcoll/select.h >select.h.html
function quoted(text)
{
    if (html) {
        gsub(/&/, "\\&amp;", text)
        gsub(/</, "\\&lt;", text)
        gsub(/>/, "\\&gt;", text)
        return text
    }
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    sub(/^[.']/, "\\\\\\&&", text)
    return text
}
# What follows is text, "" kept as it is, or a heading.
function turn(to)
{
    if (mode == to)
        return
    if (mode == "kept")
        print html ? "</pre>" : ".fi\n.RE"
    if (mode == "text" && html)
        print "</p>"
    if (to == "kept")
        print html ? "<pre>" : ".RS 2\n.nf"
    if (to == "text")
        print html ? "<p>" : ".PP"
    mode = to
}
function heading(text)
{
    turn("")
    print html ? "<h2>" quoted(text) "</h2>" : ".SH " toupper(quoted(text))
}
# Empty lines are printed only where more of the same follows.
function keep(line)
{
    if (line ~ /^[ \t]*$/) {
        empty = mode == "kept"
        return
    }
    turn("kept")
    if (empty)
        print ""
    empty = 0
    if (html && match(line, /nbcoll_[a-z0-9_]+\(/) && line ~ /^(NBCOLL_API|static inline)/)
        printf "<a id=\"%s\"></a>", substr(line, RSTART, RLENGTH - 1)
    print quoted(line)
}
function say(line)
{
    sub(/^ ?\* ?/, "", line)
    if (line ~ /^ /)
        keep(line)
    else if (line == "") {
        if (mode == "kept")
            empty = 1
        else
            turn("")
    } else {
        empty = 0
        turn("text")
        print quoted(line)
    }
}
function begin(file)
{
    sub(/.*\//, "", file)
    if (html)
        printf "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title>\n" \
            "<style>body{max-width:60em;margin:2em auto;font-family:sans-serif}pre{background:#f4f4f4;padding:.5em}" \
            "</style></head><body>\n<h1>#include &lt;nbcoll/%s&gt;</h1>\n", file, file
    else
        printf ".TH NBCOLL_%s 3 \"\" \"nbcoll %s\" \"nbcoll\"\n.SH NAME\nnbcoll_%s \\- a header of nbcoll\n" \
            ".SH SYNOPSIS\n.B #include <nbcoll/%s>\n.SH DESCRIPTION\n", toupper(file), version, file, file
}
FNR == 1 { begin(FILENAME) }
/SPDX-License-Identifier/ { is_comment = !/\*\//; next }
/^NBCOLLI_(BEGIN|END)$/ { next }
/^#(ifndef|define) NBCOLL_[A-Z_]*_H$/ { next }
is_comment {
    is_comment = !/\*\//
    sub(/ *\*\/.*/, "")
    if (!/^ *$/)
        say($0)
    else if (is_comment)
        say("")
    if (!is_comment)
        turn("")
    next
}
/^\/\* -+ .* -+ \*\/$/ {
    sub(/^\/\* -+ /, "")
    sub(/ -+ \*\/$/, "")
    heading($0)
    next
}
/^\/\*/ {
    is_comment = !/\*\//
    sub(/^\/\*/, " *")
    sub(/ *\*\/.*/, "")
    say($0)
    if (!is_comment)
        turn("")
    next
}
{ keep($0) }
END {
    turn("")
    if (html)
        print "</body></html>"
}
