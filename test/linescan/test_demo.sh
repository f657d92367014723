# SPDX-License-Identifier: BSD-3-Clause
#
# examples/demo.sh prints its results on standard output, at most 12 lines, and nothing of what it runs on the way:
# every command there is replaced by one that talks.
. "$(dirname "$0")/common.sh"
[ -x "$NBCOLL_BINARY/nbcoll" ] || exit 77

text 1 3000 20 | gzip >text.gz
mkdir -p tree/examples tree/build/demo/examples bin
cp "$NBCOLL_SOURCE/examples/demo.sh" tree/examples
ln -s "$NBCOLL_SOURCE/examples/linescan" tree/examples/linescan
ln -s "$NBCOLL_BINARY/nbcoll" tree/build/demo/nbcoll
ln -s "$NBCOLL_BINARY/examples/linescan" tree/build/demo/examples/linescan
ln -s "$NBCOLL_BINARY/examples/radixsort" tree/build/demo/examples/radixsort
for command in cmake apt-get; do
    printf '#!/bin/sh\necho the output of %s\n' $command >bin/$command
done
printf '#!/bin/sh\necho installed\n' >bin/dpkg-query
chmod +x bin/*
PATH=$PWD/bin:$PATH
export PATH

sh tree/examples/demo.sh text.gz >out 2>err || fail "status $?: $(cat err)"
grep -q '^the output of cmake' tree/build/demo/log || fail "the build was not seen: $(cat err)"
grep -q 'the output of' out && fail "output of the build among the times: $(cat out)"
[ "$(grep -Ec '^  (one process alone|blocking scatter|nonblocking scatters) ' out)" -eq 3 ] || fail "not three times: $(cat out)"
[ "$(grep -Ec '(histograms|of that time).*, as by one sort$' out)" -eq 3 ] || fail "not sorted in three ways: $(cat out)"
[ -s tree/build/demo/linescan.svg ] || fail "no picture"
[ "$(wc -l <out)" -le 12 ] || fail "more than 12 lines of results: $(cat out)"
[ "$(wc -l <err)" -le 30 ] || fail "more than 30 lines on the way: $(cat err)"
sh tree/examples/demo.sh --json text.gz >out 2>err || fail "status $?: $(cat err)"
[ "$(head -c 1 out)$(tail -n 1 out)" = '{}' ] || fail "not one object: $(cat out)"
