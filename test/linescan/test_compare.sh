# SPDX-License-Identifier: BSD-3-Clause
#
# --compare runs both forms by turns, says which is faster with an interval, or why it cannot tell, and draws who waited
# when. Totals that differ from job to job are an error.
. "$(dirname "$0")/common.sh"

text 1 3000 20 | gzip >text.gz
scan --compare 6 --buffer 4096 --picture waits.svg text.gz
same "status, totals" "0 $(wc_of text.gz)" "$status $lines_words_bytes"
tr -d '\n ' <out | grep -Eq '"comparison":\{"rounds":6,"processors":[0-9]+,"others":[0-9.e-]+,("(blocking|nonblocking|gain)":\[[0-9.e-]+,[0-9.e-]+,[0-9.e-]+\],?){3}\}' ||
    fail "JSON: $(cat out)"
[ "$(grep -c '>rank 0<' waits.svg)" -eq 2 ] || fail "not two panels"
grep -q '>Blocking scatter: [0-9.]* s\. Rank 0 waits' waits.svg && grep -q '>Nonblocking scatters: [0-9.]* s\. Rank 0 waits' waits.svg ||
    fail "no titles"
python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])' waits.svg || fail "no XML"

"$linescan" --compare 6 --buffer 4096 text.gz >out 2>err || fail "status $?: $(cat err)"
grep -q "^0 MB of text: rank 0 of 4 " out || fail "first line: $(cat out)"
grep -Eq '^  one process alone  .* s  \(all have the same totals\)$' out || fail "alone: $(cat out)"
for form in "blocking scatter" "nonblocking scatters"; do
    grep -Eq "^  $form  .* s  \[[0-9.]+, [0-9.]+\]   rank 0 waits [0-9]+% of the time$" out || fail "$form: $(cat out)"
done
[ "$(grep -Ec '^(Nonblocking is|No gain is|This machine is too busy|The rounds differ)' out)" -eq 1 ] ||
    fail "not one verdict: $(cat out)"

for wrong in "--compare 5" "--compare 100" "--compare 6 --blocking" "--picture waits.svg"; do
    # shellcheck disable=SC2086
    scan $wrong text.gz
    same "$wrong" 2 "$status"
done

# The interval holds the median of what the rounds are drawn from: of 2,000 comparisons of numbers from one seed, at
# least 95% for each number of rounds, and no verdict is drawn from fewer than six.
cat >interval.c <<'END'
#include "interval.h"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    srand48(argc > 1 ? atol(argv[1]) : 1);
    for (int n = 6; n <= 99; n += n < 12 ? 1 : 29) {
        int inside = 0;
        for (int i = 0; i < 2000; i++) {
            double ratio[99];
            for (int j = 0; j < n; j++)
                ratio[j] = drand48() < 0.5 ? 1 - drand48() / 8 : 1 + 4 * drand48();
            spread s = interval_of(ratio, n);
            if (s.low > s.middle || s.middle > s.high)
                return printf("%d rounds: %f %f %f\n", n, s.low, s.middle, s.high), 1;
            inside += s.low <= 1 && 1 <= s.high;
        }
        if (inside < 1880 || (n > 60 && inside > 1980)) /* 95% less three standard deviations; nor all of them */
            return printf("%d rounds: the interval holds the median in %d of 2000\n", n, inside), 1;
    }
    return 0;
}
END
parts=$NBCOLL_SOURCE/examples/linescan
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -I"$parts" -o interval interval.c "$parts/interval.c"
./interval "$seed" || fail "the interval"

# The verdict on each kind of result; where there are one processor or two ranks it says why nothing was gained.
cat >verdicts.c <<'END'
#include "verdict.h"
#include <stdio.h>
#include <string.h>
static int wrong;
static void expect(int ranks, int processors, double others, double low, double high, const char *words)
{
    comparison c = {.rounds = 9, .ranks = ranks, .processors = processors, .others = others, .gain = {low, 1, high}};
    char text[VERDICT_BYTES];
    verdict(&c, text);
    const char *line = strchr(text, '\n');
    if (!strstr(text, words) || (line && strchr(line + 1, '\n')) || (!strstr(text, "Other programs") != !(others > 0.1)))
        wrong = printf("%d ranks, %d processors, %f, %f to %f: %s\n", ranks, processors, others, low, high, text);
}
int main(void)
{
    expect(8, 2, 0.02, 1.2, 1.4, "Nonblocking is 1.00 times as fast");
    expect(8, 2, 0.3, 1.2, 1.4, "Nonblocking is 1.00 times as fast");
    expect(8, 2, 0.5, 1.2, 1.4, "too busy to tell");
    expect(8, 2, 0.02, 0.8, 0.9, "SLOWER");
    expect(8, 2, 0.3, 0.8, 0.9, "SLOWER");
    expect(8, 2, 0.5, 0.8, 0.9, "too busy to tell");
    expect(8, 2, 0.5, 0.9, 1.3, "too busy to tell");
    expect(8, 2, 0.5, 0.99, 1.01, "too busy to tell");
    expect(8, 2, -1, 0.9, 1.3, "differ too much");
    expect(8, 2, 0, 0.99, 1.01, "No gain is to be seen here (95% interval of the gain 0.99 to 1.01).");
    expect(4, 1, 0.02, 0.8, 1.3, "No gain is to be seen here (95% interval of the gain 0.80 to 1.30):\none processor");
    expect(2, 2, 0.02, 0.99, 1.01, "two ranks");
    return wrong;
}
END
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -I"$parts" -o verdicts verdicts.c "$parts/verdict.c"
./verdicts || fail "the verdict"
