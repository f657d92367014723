# SPDX-License-Identifier: BSD-3-Clause
#
# documents.sh <tree>: says what is too long in the documents, or wrong. design.md has at most 4,000 words, its glossary
# 25 lines; the documents have 180 KiB together, with those that moved beside their code; src/README.md has a row for
# each folder of src; each test that a document names exists, and each path in contributing.md and design.md.
set -eu
cd "$1"

words=$(wc -w <docs/design.md)
[ "$words" -le 4000 ] || echo "docs/design.md: $words words"
lines=$(awk '/^## / { on = /Words$/ } on && /^- \*\*/' docs/design.md | wc -l)
[ "$lines" -le 25 ] && [ "$lines" -gt 0 ] || echo "docs/design.md: $lines lines of the glossary"
bytes=$(find docs src/offload src/relay test/storm test/model -maxdepth 1 -name '*.md' -exec cat {} + 2>/dev/null |
    wc -c)
[ "$bytes" -le $((180 * 1024)) ] || echo "docs: $bytes bytes"
for folder in src/*/; do
    name=$(basename "$folder")
    grep -qE "^\| ([a-z]+, )*$name(, [a-z]+)* \|" src/README.md || echo "src/README.md: has no row for $name"
done
for page in docs/contributing.md docs/design.md; do
    grep -oE '\b(src|test|include|transports|examples|bench|docs)/[A-Za-z0-9_./*-]*[A-Za-z0-9_]' $page | sort -u |
        while read -r path; do
            case $path in *toy* | *NAME* | *FOLDER* | *'*'*) continue ;; esac
            [ -e "$path" ] || [ -e "$path.c" ] || echo "$page: there is no $path"
        done
    grep -oE '\b(state|wire|exposures|run|comm|match|progress|calls)/[a-z]+\.[ch]\b' $page | sort -u |
        while read -r path; do
            [ -e "src/engine/$path" ] || echo "$page: there is no src/engine/$path"
        done
done
for page in README.md docs/*.md src/*/README.md; do
    grep -oE '\b[a-z]+/test_[a-z0-9_]+' "$page" | sort -u | while read -r name; do
        [ "${name#rules/}" = test_ ] || ls "test/$name".* >/dev/null 2>&1 || echo "$page: there is no test $name"
    done
done
