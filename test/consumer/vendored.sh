# SPDX-License-Identifier: BSD-3-Clause
#
# Read by the tests of a vendored copy with one transport more, which say: its name, the header that it needs, the
# library, and the member of its configuration by which no device is there.
set -eu
echo "#include <$header>" | "$CC" -E - >/dev/null 2>&1 || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict="-Wall -Wextra -Wpedantic -Wshadow -Werror -DNBCOLL_WITH_$(echo $transport | tr a-z A-Z)=1"

cat >"$work/program.c" <<END
#include <nbcoll/$transport.h>
int main(void)
{
    const nbcoll_${transport}_config config = {.size = sizeof config, .ranks = 1, .$none = "none"};
    nbcoll_${transport}_address mine;
    nbcoll_endpoint *end;
    return nbcoll_${transport}_open(&config, &mine, &end) != NBCOLL_ERR_UNSUPPORTED;
}
END
# shellcheck disable=SC2086 # words
gcc -std=c11 $strict -I"$NBCOLL_SOURCE/include" "$NBCOLL_SOURCE/src/nbcoll.c" "$work/program.c" -l$library -o "$work/program"
"$work/program"

mkdir "$work/alone"
(cd "$NBCOLL_SOURCE" && awk -v with=$transport -v prefix=1 -f src/amalgamate.awk) >"$work/alone/nbcoll.h"
cd "$work/alone"
printf '#define NBCOLL_IMPLEMENTATION\n#include "nbcoll.h"\n' >nbcoll.c
sed 's|^#include <nbcoll/.*|#include "nbcoll.h"|' ../program.c >program.c
# shellcheck disable=SC2086
clang -std=gnu11 $strict -DNBCOLL_PREFIX=acme_ -c nbcoll.c -o nbcoll.o
# shellcheck disable=SC2086
clang -std=gnu11 $strict -DNBCOLL_PREFIX=acme_ program.c nbcoll.o -l$library -o program
./program
nm -g --defined-only nbcoll.o | awk 'NF == 3 && $3 !~ /^acme_nbcoll/ { print "without a prefix: " $3; bad = 1 } END { exit bad }'
