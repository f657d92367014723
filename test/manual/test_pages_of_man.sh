# SPDX-License-Identifier: BSD-3-Clause
#
# The man pages and the HTML of the headers: every line of a declaration, and every name that the public headers
# declare, stands in both; each subcommand has a page with all of its options; groff has nothing to say of them.
set -eu
[ -x "$NBCOLL_BINARY/nbcoll" ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$NBCOLL_SOURCE/docs/man/pages.sh" "$NBCOLL_BINARY/nbcoll" "$NBCOLL_SOURCE" 0.1.0 "$work/pages"

# What a page says, without its marks.
of_man()
{
    sed -e 's/^\\&//' -e 's/\\-/-/g' -e 's/\\e/\\/g' "$1"
}
of_html()
{
    sed -e 's/<a id="[^"]*"><\/a>//g' -e 's/<[^>]*>//g' -e 's/&lt;/</g' -e 's/&gt;/>/g' -e 's/&amp;/\&/g' "$1"
}
count=0
for header in "$NBCOLL_SOURCE"/include/nbcoll/*.h; do
    name=$(basename "$header")
    grep -v '^ \*\|^/\*' "$header" | sed -n -e '/^#if/d' -e '/_H$/d' -e '/^NBCOLL_API/p' -e '/^static inline/p' \
        -e '/^typedef/p' -e '/^struct/p' -e '/^enum/p' -e '/^#define/p' -e '/^    [a-z].*;/p' >"$work/declared"
    count=$((count + $(wc -l <"$work/declared")))
    for page in man html; do
        [ $page = man ] && file=$work/pages/man3/nbcoll_$name.3 || file=$work/pages/html/$name.html
        of_$page "$file" >"$work/plain"
        grep -vxFf "$work/plain" "$work/declared" >"$work/missing" || :
        [ ! -s "$work/missing" ] || { echo "$file lacks:" && cat "$work/missing" && exit 1; }
    done
done
[ "$count" -gt 1000 ] || { echo "only $count declarations" && exit 1; }

for command in $("$NBCOLL_BINARY/nbcoll" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    of_man "$work/pages/man1/nbcoll-$command.1" >"$work/plain"
    "$NBCOLL_BINARY/nbcoll" help "$command" | sed 's/^usage: /       /' | grep -v '^$' >"$work/wanted"
    ! grep -vxFf "$work/plain" "$work/wanted" || { echo "nbcoll-$command(1) lacks this" && exit 1; }
done
for page in "$work"/pages/man?/*; do
    ! command -v groff >/dev/null || [ -z "$(groff -man -Tutf8 -ww "$page" 2>&1 >/dev/null)" ] ||
        { echo "groff complains of $page" && exit 1; }
done
