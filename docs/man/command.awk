# SPDX-License-Identifier: BSD-3-Clause
#
# Makes a man page of what `nbcoll help` says:
#
#     nbcoll help verify | awk -v name=nbcoll-verify -v purpose="proves ..." -v version=0.1.0 -f docs/man/command.awk
function quoted(text)
{
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    sub(/^[.']/, "\\\\\\&&", text)
    return text
}
NR == 1 {
    printf ".TH %s 1 \"\" \"nbcoll %s\" \"nbcoll\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n", toupper(name), version,
        name, quoted(purpose)
    sub(/^usage: /, "       ")
}
NR > 1 && /^$/ && !is_described {
    is_described = 1
    print ".fi\n.SH DESCRIPTION\n.nf"
    next
}
{ print quoted($0) }
END { print ".fi\n.SH SEE ALSO\n.BR nbcoll (1),\n.BR nbcoll (7)" }
