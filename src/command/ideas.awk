# SPDX-License-Identifier: BSD-3-Clause
#
# Writes what `nbcoll info --algorithms` says of each algorithm of the catalogue, from the comments at the head of their
# files:
#
#     awk -f src/command/ideas.awk src/collectives/*.c src/algorithms/*.c
#
# Of such a comment the first paragraph counts: what stands before "Source:" is the idea. An algorithm's file is the one
# that defines its function; several in one file share its comment.

FNR == 1 {
    text = ""
    ended = 0
}
FILENAME ~ /collectives\/[a-z_]*\.c$/ {
    if (match($0, /^ +X\([A-Z_]+, [a-z0-9_]+, [a-z0-9_]+,/)) {
        split(substr($0, index($0, "(") + 1, RLENGTH), word, ", ")
        n++
        operation[n] = tolower(word[1])
        function_of[n] = word[2]
        name[n] = word[3]
    }
    next
}
FNR == 1 { next }
/^ \*$/ { ended = 1 }
!ended && /^ \* / {
    line = substr($0, 4)
    closed = sub(/ *\*\/$/, "", line)
    text = text (text == "" ? "" : " ") line
    ended = closed
}
match($0, /^void nbcolli_[a-z0-9_]+\(/) {
    defined_in[substr($0, RSTART + 13, RLENGTH - 14)] = text
}

function literal(words) {
    gsub(/\\/, "\\\\", words)
    gsub(/"/, "\\\"", words)
    return "\"" words "\""
}

END {
    print "/* SPDX-License-Identifier: BSD-3-Clause\n * Made by ideas.awk. */\nextern const char *const info_ideas[][4];\nconst char *const info_ideas[][4] = {"
    for (i = 1; i <= n; i++) {
        whole = defined_in[function_of[i]]
        at = index(whole, " Source: ")
        idea = at ? substr(whole, 1, at - 1) : whole
        print "    {" literal(operation[i]) ", " literal(name[i]) ", " literal(idea) ",\n     " literal(at ? substr(whole, at + 9) : "") "},"
    }
    print "    {0, 0, 0, 0}};"
}
