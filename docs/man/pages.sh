#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# pages.sh NBCOLL SOURCE VERSION FOLDER: writes the man pages into FOLDER/man1, man3 and man7, pages of HTML of the
# headers into FOLDER/html, and the catalogue of the algorithms into FOLDER/algorithms.md. NBCOLL is the command, whose
# helps become nbcoll(1) and a page for each subcommand.
set -eu
nbcoll=$1 source=$2 version=$3 folder=$4
rm -rf "$folder"
mkdir -p "$folder/man1" "$folder/man3" "$folder/man7" "$folder/html"

# command_page name purpose <help
command_page()
{
    awk -v name="$1" -v purpose="$2" -v version="$version" -f "$source/docs/man/command.awk" >"$folder/man1/$1.1"
}
"$nbcoll" help >"$folder/help"
command_page nbcoll "proves, draws, simulates, measures and runs collective operations" <"$folder/help"
sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1 \2/p' "$folder/help" | while read -r name purpose; do
    "$nbcoll" help "$name" >"$folder/one" </dev/null
    command_page "nbcoll-$name" "$purpose" <"$folder/one"
done

"$nbcoll" info --algorithms >"$folder/algorithms.md"

for header in "$source"/include/nbcoll/*.h; do
    name=$(basename "$header")
    awk -v version="$version" -f "$source/docs/man/header.awk" "$header" >"$folder/man3/nbcoll_$name.3"
    awk -v version="$version" -v html=1 -f "$source/docs/man/header.awk" "$header" >"$folder/html/$name.html"
done

{
    printf '.TH NBCOLL 7 "" "nbcoll %s" "nbcoll"\n.SH NAME\nnbcoll \\- nonblocking collective operations\n' "$version"
    # the first paragraph of the README
    awk '/^# / { print ".SH DESCRIPTION"; next } /^!|^##/ { exit } { gsub(/[*`]/, ""); gsub(/-/, "\\-"); print }' \
        "$source/README.md"
    printf '.SH COMMANDS\n.nf\n'
    sed -n '/^Commands:/,/^$/p' "$folder/help" | sed -e 1d -e 's/-/\\-/g'
    printf '.fi\n.SH HEADERS\n.nf\n'
    for page in "$folder"/man3/*.3; do
        basename "$page" .3 | sed 's/$/(3)/'
    done
    printf '.fi\n.SH SEE ALSO\n.BR nbcoll (1)\n'
} >"$folder/man7/nbcoll.7"
{
    printf '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>nbcoll</title></head><body>\n<h1>nbcoll'
    printf ' %s</h1>\n<ul>\n' "$version"
    for page in "$folder"/html/*.h.html; do
        name=$(basename "$page")
        printf '<li><a href="%s">%s</a></li>\n' "$name" "${name%.html}"
    done
    printf '</ul></body></html>\n'
} >"$folder/html/index.html"
rm "$folder/help" "$folder/one"
