# SPDX-License-Identifier: BSD-3-Clause
#
# A vendored copy with -DNBCOLL_WITH_VERBS=1 has verbs: in src/nbcoll.c and in the one file that src/amalgamate.awk
# writes, by gcc and by clang, with a prefix for all its names or without. Where there is no device it says so.
set -eu
echo '#include <infiniband/verbs.h>' | "$CC" -E - >/dev/null 2>&1 || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict='-Wall -Wextra -Wpedantic -Wshadow -Werror -DNBCOLL_WITH_VERBS=1'

cat >"$work/program.c" <<'END'
#include <nbcoll/verbs.h>
int main(void)
{
    const nbcoll_verbs_config config = {.size = sizeof config, .ranks = 1, .device = "none"};
    nbcoll_verbs_address mine;
    nbcoll_endpoint *end;
    return nbcoll_verbs_open(&config, &mine, &end) != NBCOLL_ERR_UNSUPPORTED;
}
END
# shellcheck disable=SC2086 # words
gcc -std=c11 $strict -I"$NBCOLL_SOURCE/include" "$NBCOLL_SOURCE/src/nbcoll.c" "$work/program.c" -libverbs -o "$work/program"
"$work/program"

mkdir "$work/alone"
(cd "$NBCOLL_SOURCE" && awk -v with=verbs -v prefix=1 -f src/amalgamate.awk) >"$work/alone/nbcoll.h"
cd "$work/alone"
printf '#define NBCOLL_IMPLEMENTATION\n#include "nbcoll.h"\n' >nbcoll.c
sed 's|^#include <nbcoll/.*|#include "nbcoll.h"|' ../program.c >program.c
# shellcheck disable=SC2086
clang -std=gnu11 $strict -DNBCOLL_PREFIX=acme_ -c nbcoll.c -o nbcoll.o
# shellcheck disable=SC2086
clang -std=gnu11 $strict -DNBCOLL_PREFIX=acme_ program.c nbcoll.o -libverbs -o program
./program
nm -g --defined-only nbcoll.o | awk 'NF == 3 && $3 !~ /^acme_nbcoll/ { print "without a prefix: " $3; bad = 1 } END { exit bad }'
