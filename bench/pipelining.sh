#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# sh bench/pipelining.sh NBCOLL >docs/pictures/pipelining.svg
#
# When does the pipelined conjugate gradient (examples/conjugate) pay? Simulates ten iterations of both forms, of 1024 x
# 1024 points over 2 to 4096 ranks, on three networks, and draws how many times as long the plain one takes; the
# figures go to standard error. A point takes 1.2 ns from one sum to the next in the plain form, and 2.8 ns before the
# sum and 1.0 ns (the matrix) beside it in the pipelined one: measured with 64 x 64 points on one rank of a Zen 5 class
# core, with a test each 2 us, or ticks, or a driver. The halo is left out: both forms exchange as much, between sums.
set -eu
nbcoll=${1:?usage: sh bench/pipelining.sh NBCOLL}
points=$((1024 * 1024))

# took MODEL RANKS PROGRAM: ns until the last rank has ended ten of these
took() {
    program=$3
    for _ in 2 3 4 5 6 7 8 9 10; do
        program="$program; $3"
    done
    "$nbcoll" sim allreduce default --model "$1" --ranks "$2" --count 2 --type DOUBLE --program "$program" --json |
        sed -n 's/.*"waited": *\([0-9]*\).*/\1/p' | head -n 1
}

for model in das4 cluster ethernet; do
    ranks=2
    while [ $ranks -le 4096 ]; do
        half=$((12 * points / ranks / 10)) before=$((28 * points / ranks / 10)) beside=$((points / ranks))
        wait="start; wait"
        plain=$(took $model $ranks "compute ${half}ns; $wait; compute ${half}ns; $wait")
        pipelined=$(took $model $ranks "compute ${before}ns; start; compute ${beside}ns test 2us; wait")
        echo $model $ranks "$plain" "$pipelined"
        ranks=$((2 * ranks))
    done
done | awk '
{
    gain = $3 / $4
    printf "%-9s %5d ranks: plain %8.1f us, pipelined %8.1f us an iteration: %.2f\n", $1, $2, $3 / 1e4, $4 / 1e4, gain >"/dev/stderr"
    if ($1 != last) {
        if (last != "")
            print "\"/>"
        colour = last == "" ? "#b03030" : colour == "#b03030" ? "#3050b0" : "#308040"
        printf "<text x=\"500\" y=\"%.0f\" fill=\"%s\">%s</text>\n", 245 + 16 * lines++, colour, $1
        printf "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour
        last = $1
    }
    printf "%.1f,%.1f ", 50 + log($2) / log(2) * 43, 310 - 140 * gain
}
BEGIN {
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"600\" height=\"350\" font-family=\"sans-serif\" font-size=\"12\">"
    print "<rect width=\"600\" height=\"350\" fill=\"white\"/>"
    print "<text x=\"50\" y=\"16\">plain / pipelined, time of an iteration; 1024 x 1024 points</text>"
    for (i = 1; i <= 4; i++) {
        y = 310 - 70 * i
        printf "<line x1=\"50\" x2=\"590\" y1=\"%d\" y2=\"%d\" stroke=\"%s\"/>\n", y, y, i == 2 ? "black" : "#ccc"
        printf "<text x=\"42\" y=\"%d\" text-anchor=\"end\">%.1f</text>\n", y + 4, i / 2
    }
    for (i = 1; i <= 12; i++)
        printf "<text x=\"%d\" y=\"328\" text-anchor=\"middle\">%d</text>\n", 50 + 43 * i, 2 ^ i
    print "<text x=\"320\" y=\"345\" text-anchor=\"middle\">ranks</text>"
}
END { print "\"/>\n</svg>" }'
